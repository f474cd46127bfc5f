//! Recordings of real processes, read back.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, RecordOptions, choose_event};
use genba_profile::{ProfileError, Recording};
use support::{FIXTURE, compile, function, load, module_of, record};

fn perf_events(test: &str) -> bool {
    match choose_event(&RecordOptions::default()) {
        Ok(_) => true,
        Err(e) => {
            genba_testing::skip(test, genba_testing::PERF_EVENT, &e.to_string());
            false
        }
    }
}

/// What must hold for the fixture however it was sampled: its three functions in the right
/// processes and threads.
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
    let Some(program) = compile(directory.path(), "fixture", FIXTURE, &[]) else {
        return genba_testing::skip(TEST, "gcc", "no gcc");
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

#[test]
fn timer_signals_see_the_same() {
    const TEST: &str = "timer_signals_see_the_same";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), "fixture", FIXTURE, &[]) else {
        return genba_testing::skip(TEST, "gcc", "no gcc");
    };
    let out = directory.path().join("out.data");
    let options = RecordOptions {
        force_timer: true,
        call_graph: CallGraph::FramePointer,
        ..RecordOptions::default()
    };
    // Enough work for some ticks in every thread, at 100 ticks a second even.
    let argv = [program.to_str().expect("path"), "all", "200000000"];
    let done = record(&argv, &options, &out).expect("recorded");
    assert_eq!(done.event.name, "timer-signal");
    assert!(done.runs.len() == 1 && done.runs[0].record.exit.success());
    check_fixture(&program, &out, TEST);
    let info = Recording::open(&out).expect("open").info().events[0].clone();
    assert!(info.clock && !info.hardware && !info.kernel && info.stacks);
}

#[test]
fn a_static_program_cannot_be_preloaded_and_that_is_said() {
    const TEST: &str = "a_static_program_cannot_be_preloaded_and_that_is_said";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), "fixed", FIXTURE, &["-static"]) else {
        return genba_testing::skip(TEST, "gcc", "no gcc, or no static C library");
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

/// A program that waits for every signal, resets every handler and blocks everything must not
/// notice the sampler.
#[test]
fn the_timers_signal_stays_hidden() {
    const TEST: &str = "the_timers_signal_stays_hidden";
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
    let Some(program) = compile(directory.path(), "signals", SOURCE, &[]) else {
        return genba_testing::skip(TEST, "gcc", "no gcc");
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

#[test]
fn a_running_process_is_attached_to() {
    const TEST: &str = "a_running_process_is_attached_to";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), "fixture", FIXTURE, &[]) else {
        return genba_testing::skip(TEST, "gcc", "no gcc");
    };
    if !perf_events(TEST) {
        return;
    }
    let mut child = std::process::Command::new(&program)
        .args(["burn", "400000000"])
        .spawn()
        .expect("started");
    let options = RecordOptions {
        event: EventSpec::parse("cpu-clock").ok(),
        ..RecordOptions::default()
    };
    let out = directory.path().join("out.data");
    let cancel = genba_run::Cancel::new().expect("a token");
    let done = genba_profile::attach(child.id() as i32, &options, &out, &cancel);
    child.wait().expect("ended");
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
fn no_such_process() {
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
fn counters_agree_with_the_run() {
    let events = genba_profile::perf_stat::detailed();
    let mut launcher = genba_run::Launcher::new().expect("a launcher");
    let cancel = genba_run::Cancel::new().expect("a token");
    let spec = genba_run::CommandSpec::direct([
        "sh",
        "-c",
        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
    ]);
    let mut run =
        || genba_profile::perf_stat::once(&mut launcher, &spec, &events, &cancel).expect("counted");
    let runs = vec![run(), run()];
    let stat = genba_profile::perf_stat::stat_of(&["sh".to_owned()], runs);
    assert_eq!((stat.runs, stat.counters.len()), (2, events.len()));
    let clock = &stat.counters[0];
    let Some(ms) = clock.value else {
        return genba_testing::skip(
            "counters_agree_with_the_run",
            genba_testing::MACHINE,
            &stat.notes.join("; "),
        );
    };
    let cpu = stat.user.value + stat.system.value;
    // Two accounts of the same CPU time by the same kernel.
    assert!(
        (ms.value / 1e3 / cpu - 1.0).abs() < 0.25,
        "{} ms, {cpu} s",
        ms.value
    );
}

#[test]
fn short_runs_go_into_one_recording_until_there_is_enough() {
    let test = "short_runs_go_into_one_recording_until_there_is_enough";
    if !perf_events(test) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("recording");
    let mut launcher = genba_run::Launcher::new().expect("a launcher");
    let cancel = genba_run::Cancel::new().expect("a token");
    let line = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
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
