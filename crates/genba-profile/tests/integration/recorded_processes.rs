//! Recordings of real processes, read back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{FIXTURE, compile, function, load, module_of, record};
use genba_model::CounterState;
use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions, Target, choose_event};
use genba_profile::{
    Companion, ProfileError, Recording, Snapshot, SnapshotPlan, SnapshotSink, Snapshotted,
    perf_stat, record_snapshots,
};
use genba_run::{Cancel, CommandSpec, Launcher};

fn perf_events(test: &str) -> bool {
    match choose_event(&RecordOptions::default()) {
        Ok(_) => true,
        Err(e) => {
            genba_testing::skip(test, genba_testing::PERF_EVENT, &e.to_string());
            false
        }
    }
}

/// The fixture, compiled.
fn fixture(test: &str, directory: &Path) -> Option<PathBuf> {
    compile(test, directory, FIXTURE, &[])
}

/// Asserts that the fixture's three functions were sampled in the right processes and threads.
fn check_fixture(program: &Path, out: &Path, test: &str) {
    let loaded = load(out);
    let tables = &loaded.tables;
    assert_eq!(tables.totals.damaged, 0);
    let path = program.to_str().expect("a plain path");
    let mut who: [BTreeSet<(i32, i32)>; 3] = Default::default();
    for (set, name) in who.iter_mut().zip(["in_main", "in_thread", "in_child"]) {
        let Some(range) = function(program, name) else {
            return genba_testing::skip(test, genba_testing::MACHINE, "no symbols in the fixture");
        };
        for s in &loaded.samples {
            let at = tables.location(s.location);
            if module_of(tables, s) == path && range.contains(&at.offset) {
                set.insert((s.pid, s.tid));
            }
        }
    }
    let [main, thread, child] = who;
    assert_eq!((main.len(), thread.len(), child.len()), (1, 1, 1));
    let (main, thread, child) = (main.first(), thread.first(), child.first());
    assert_eq!(
        main.map(|m| m.0),
        thread.map(|t| t.0),
        "one process, two threads"
    );
    assert_ne!(main, thread);
    assert_ne!(
        main.map(|m| m.0),
        child.map(|c| c.0),
        "the child is another process"
    );
    assert!(main.is_some_and(|m| m.0 == m.1));
}

#[test]
fn threads_forks_and_execs_are_followed() {
    const TEST: &str = "threads_forks_and_execs_are_followed";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = fixture(TEST, directory.path()) else {
        return;
    };
    if !perf_events(TEST) {
        return;
    }
    let out = directory.path().join("out.data");
    for event in ["cpu-clock", "task-clock"] {
        for call_graph in [
            CallGraph::None,
            CallGraph::FramePointer,
            CallGraph::Dwarf(16384),
        ] {
            let options = RecordOptions {
                event: EventSpec::parse(event).ok(),
                call_graph,
                ..RecordOptions::default()
            };
            let done =
                record(&[program.to_str().expect("path")], &options, &out).expect("recorded");
            let loaded = load(&out);
            assert_eq!(loaded.tables.totals.samples, done.samples);
            assert_eq!(loaded.tables.totals.lost, done.lost);
            assert_eq!(Recording::open(&out).expect("open").info().cut_short, None);
            assert!(
                loaded.samples.windows(2).all(|w| w[0].time <= w[1].time),
                "in time order"
            );
            check_fixture(&program, &out, TEST);
        }
    }
}

/// Writes snapshots to one file.
struct OneFile<'a> {
    path: &'a Path,
    taken: Vec<Snapshot>,
}

impl SnapshotSink for OneFile<'_> {
    fn begun(&mut self) {
        assert!(self.taken.is_empty());
    }

    fn next_file(&mut self) -> Result<PathBuf, String> {
        Ok(self.path.to_owned())
    }

    fn take(&mut self, snapshot: Result<Snapshot, ProfileError>) {
        self.taken.push(snapshot.expect("written"));
    }
}

/// A snapshot at the end of a command.
fn snapshot(argv: &[&str], options: &RecordOptions, window: Duration, out: &Path) -> Snapshot {
    let (requests, _nobody_asks) = std::io::pipe().expect("a pipe");
    let mut sink = OneFile {
        path: out,
        taken: Vec::new(),
    };
    let mut launcher = Launcher::new().expect("started");
    let spec = CommandSpec::direct(argv.iter().copied());
    let plan = SnapshotPlan {
        window,
        requests,
        at_end: true,
        sink: &mut sink,
    };
    let what = Snapshotted::Command(&mut launcher, &spec);
    let cancel = Cancel::new().expect("a token");
    let done = record_snapshots(what, plan, options, &cancel).expect("recorded");
    assert_eq!(sink.taken.len(), 1);
    let taken = sink.taken.remove(0);
    assert_eq!(done.samples, taken.samples);
    taken
}

#[test]
fn snapshot_follows_threads_forks_and_execs_and_holds_the_last_samples() {
    const TEST: &str = "snapshot_follows_threads_forks_and_execs_and_holds_the_last_samples";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = fixture(TEST, directory.path()) else {
        return;
    };
    if !perf_events(TEST) {
        return;
    }
    let out = directory.path().join("out.data");
    let argv = [program.to_str().expect("path")];
    let mut options = RecordOptions {
        event: EventSpec::parse("cpu-clock").ok(),
        call_graph: CallGraph::FramePointer,
        rate: Rate::Frequency(999),
        ..RecordOptions::default()
    };
    let taken = snapshot(&argv, &options, Duration::from_secs(600), &out);
    assert!(!taken.overwritten, "{taken:?}");
    let whole = load(&out);
    assert_eq!(whole.tables.totals.samples, taken.samples);
    check_fixture(&program, &out, TEST);
    // Only what is within the window, also with stack copies.
    options.call_graph = CallGraph::Dwarf(16384);
    options.rate = Rate::Frequency(4999);
    let taken = snapshot(&argv, &options, Duration::from_millis(1), &out);
    let last = load(&out);
    assert_eq!(last.tables.totals.damaged, 0);
    assert!(taken.samples < whole.tables.totals.samples, "{taken:?}");
    assert!(taken.seconds <= 0.001, "{taken:?}");
}

#[test]
fn timer_signals_sample_the_same_threads_and_processes() {
    const TEST: &str = "timer_signals_sample_the_same_threads_and_processes";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = fixture(TEST, directory.path()) else {
        return;
    };
    let out = directory.path().join("out.data");
    let options = RecordOptions {
        force_timer: true,
        call_graph: CallGraph::FramePointer,
        ..RecordOptions::default()
    };
    // Enough work for several ticks in every thread at 100 ticks per second.
    let argv = [program.to_str().expect("path"), "all", "200000000"];
    let done = record(&argv, &options, &out).expect("recorded");
    assert_eq!(done.event.name, "timer-signal");
    assert!(done.runs.len() == 1 && done.runs[0].record.exit.success());
    check_fixture(&program, &out, TEST);
    let info = Recording::open(&out).expect("open").info().events[0].clone();
    assert!(info.clock && !info.hardware && !info.kernel && info.stacks);
}

#[test]
fn static_program_is_refused_for_timer_signals_with_the_reason() {
    const TEST: &str = "static_program_is_refused_for_timer_signals_with_the_reason";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(TEST, directory.path(), FIXTURE, &["-static"]) else {
        return;
    };
    let options = RecordOptions {
        force_timer: true,
        ..RecordOptions::default()
    };
    let out = directory.path().join("out.data");
    let error = record(&[program.to_str().expect("path")], &options, &out).unwrap_err();
    assert!(matches!(&error, ProfileError::Timer { .. }), "{error}");
    assert!(error.to_string().contains("statically"), "{error}");
}

/// The program waits for every signal, resets every handler and blocks all signals.
#[test]
fn timer_signal_is_hidden_from_the_target() {
    const TEST: &str = "timer_signal_is_hidden_from_the_target";
    const SOURCE: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile double sink;
int main(){ for(int i=1;i<65;i++){ struct sigaction a; memset(&a,0,sizeof a); sigaction(i,&a,0); signal(i,SIG_DFL);}
  sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK,&all,0);
  double x=1; for(long i=0;i<200000000;i++) x=x*1.0000001+0.5; sink=x;
  struct timespec none={0,0}; return sigtimedwait(&all,0,&none)==-1 ? 0 : 3; }
"#;
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(TEST, directory.path(), SOURCE, &[]) else {
        return;
    };
    let options = RecordOptions {
        force_timer: true,
        ..RecordOptions::default()
    };
    let out = directory.path().join("out.data");
    let done = record(&[program.to_str().expect("path")], &options, &out).expect("recorded");
    assert!(done.runs.len() == 1 && done.runs[0].record.exit.success());
    assert!(done.samples > 0);
}

/// A child that waits for its input to end, which happens when it is being sampled.
struct ReleasedWhenSampled(std::process::Child);

impl Companion for ReleasedWhenSampled {
    fn begin(&mut self, _target: Target) {
        drop(self.0.stdin.take());
    }

    fn end(&mut self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn running_process_is_sampled_from_attaching_on() {
    const TEST: &str = "running_process_is_sampled_from_attaching_on";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = fixture(TEST, directory.path()) else {
        return;
    };
    if !perf_events(TEST) {
        return;
    }
    let child = std::process::Command::new(&program)
        .args(["wait", "40000000"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let pid = child.id() as i32;
    let mut child = ReleasedWhenSampled(child);
    let options = RecordOptions {
        event: EventSpec::parse("cpu-clock").ok(),
        ..RecordOptions::default()
    };
    let out = directory.path().join("out.data");
    let cancel = genba_run::Cancel::new().expect("a token");
    let attach = genba_profile::Attach {
        pids: &[pid],
        timeout: None,
        command: None,
    };
    let done = genba_profile::attach_with(attach, &options, &out, &cancel, &mut child);
    child.0.wait().expect("ended");
    let done = done.expect("attached");
    assert!(done.runs.is_empty() && done.samples > 0);
    let loaded = load(&out);
    let path = program.to_str().expect("path");
    let inside = loaded
        .samples
        .iter()
        .filter(|s| module_of(&loaded.tables, s) == path)
        .count();
    assert!(
        inside * 10 > loaded.samples.len() * 5,
        "{inside} of {}",
        loaded.samples.len()
    );
}

#[test]
fn attaching_to_a_process_that_does_not_exist_is_an_error() {
    let cancel = genba_run::Cancel::new().expect("a token");
    for pid in [0, -1, i32::MAX] {
        let error = genba_profile::attach(
            pid,
            &RecordOptions::default(),
            Path::new("/dev/null"),
            &cancel,
        );
        assert!(
            matches!(error, Err(ProfileError::Attach { .. })),
            "{error:?}"
        );
    }
}

#[test]
fn counters_agree_with_the_runs_resource_usage() {
    const TEST: &str = "counters_agree_with_the_runs_resource_usage";
    let events = perf_stat::parse_list("task-clock,page-faults").expect("known events");
    let mut launcher = genba_run::Launcher::new().expect("a launcher");
    let cancel = genba_run::Cancel::new().expect("a token");
    let line = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let spec = genba_run::CommandSpec::direct(["sh", "-c", line]);
    let mut run = || perf_stat::once(&mut launcher, &spec, &events, &cancel).expect("counted");
    let runs = vec![run(), run()];
    for run in &runs {
        let [clock, faults] = &run.readings[..] else {
            panic!("{} readings", run.readings.len());
        };
        if clock.state != CounterState::Counted {
            let notes = run.notes.join("; ");
            return genba_testing::skip(TEST, genba_testing::PERF_EVENT, &notes);
        }
        assert_eq!((clock.running_share, faults.running_share), (1.0, 1.0));
        // The kernel accounts faults from the fork on, the counter from `execve` on.
        let record = &run.finished.record;
        let accounted = (record.minor_faults + record.major_faults) as f64;
        assert!(
            faults.value > 0.0 && faults.value <= accounted,
            "{} of {accounted}",
            faults.value
        );
    }
    let stat = perf_stat::stat_of(&["sh".to_owned()], runs);
    assert_eq!((stat.runs, stat.counters.len()), (2, events.len()));
    let clock = &stat.counters[0];
    let ms = clock.value.expect("counted").value;
    let utilized = clock.note.as_ref().expect("a ratio").value;
    assert_eq!(utilized, ms / 1e3 / stat.wall.value);
}

#[test]
fn short_runs_are_recorded_into_one_file_until_enough() {
    let test = "short_runs_are_recorded_into_one_file_until_enough";
    if !perf_events(test) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("recording");
    let mut launcher = genba_run::Launcher::new().expect("a launcher");
    let cancel = genba_run::Cancel::new().expect("a token");
    let line = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    let spec = genba_run::CommandSpec::direct(["sh", "-c", line]);
    let options = RecordOptions::default();
    let mut count = 0;
    let mut enough = |_: &genba_run::Finished, _: &genba_profile::sampler::SampleCounts| {
        count += 1;
        count == 7
    };
    let done =
        genba_profile::record_until(&mut launcher, &spec, &options, &path, &cancel, &mut enough)
            .expect("recorded");
    assert_eq!(done.runs.len(), 7);
    let loaded = load(&path);
    assert_eq!(loaded.tables.totals.samples, done.samples);
    let pids: BTreeSet<i32> = loaded.samples.iter().map(|s| s.pid).collect();
    let runs: BTreeSet<i32> = done.runs.iter().map(|run| run.pid).collect();
    assert!(
        pids.len() > 1 && pids.is_subset(&runs),
        "{pids:?} of {runs:?}"
    );
}
