//! Programs that try to break an engine that works inside their own process: signals at every
//! instruction, threads, forks, exceptions, changes of memory, descriptors and limits
//! (`testdata/torture`). Under genba's own engine each must write the same and end the same as
//! natively, and the counts must be right: functions named `straight_N_…` have no branches, and
//! each of their instructions is executed N times. What the engine cannot count it must refuse.
//!
//! Two runs of each in every test run, the second with all jumps recorded and with bursts; a hundred
//! by `make torture`, in all four combinations, and with equivalent changes of the code that are switched on
//! and off. `TORTURE=name` selects the programs whose names
//! contain that, `TORTURE_RUNS=N` the number of runs.

#[path = "../integration/support/mod.rs"]
mod support;

mod check;
mod duet;
mod programs;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use genba_count::Engine;
use programs::{PROGRAMS, Program};

fn wanted(program: &Program) -> bool {
    std::env::var("TORTURE").map_or(true, |part| program.label().contains(&part))
}

fn runs(usual: usize) -> usize {
    let given = std::env::var("TORTURE_RUNS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// How a program is run under the engine.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Counted: by turns with all jumps recorded, and with bursts.
    Counted,
    /// Not counted, with changes of the code.
    Changed,
}

/// Checks the programs on all CPUs at a time.
fn torture(test: &str, mode: Mode, runs: usize, wanted: impl Fn(&Program) -> bool) {
    let programs: Vec<&Program> = PROGRAMS.iter().filter(|program| wanted(program)).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let Some(engine) = support::engine("genba", test) else {
                    return;
                };
                let directory = tempfile::tempdir().expect("a directory");
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let engine = engine.as_ref();
                    let wrong =
                        check_program(test, (engine, mode), directory.path(), program, runs);
                    failures.lock().expect("no worker has failed").extend(wrong);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no worker has failed");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What differs from the native run of a program, with how often.
fn check_program(
    test: &str,
    (engine, mode): (&dyn Engine, Mode),
    directory: &Path,
    program: &Program,
    runs: usize,
) -> Vec<String> {
    let Some(path) = check::compile(directory, test, program) else {
        return Vec::new();
    };
    let request = check::request(directory, &path, program, false, false);
    if let Err(reason) = engine.check(&request) {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &reason.to_string());
        return Vec::new();
    }
    let native = check::natively(directory, &path, program);
    let mut wrong = BTreeMap::<String, usize>::new();
    for run in 0..runs {
        let (transfers, bursts) = (run % 2 == 1, run.div_ceil(2) % 2 == 1);
        let (how, differences) = match mode {
            Mode::Changed => {
                let found = duet::run(directory, &path, program, &native, run as u64);
                ("with changes: ", found)
            }
            Mode::Counted => {
                let found = check::run(
                    engine, directory, &path, program, &native, transfers, bursts,
                );
                (if bursts { "with bursts: " } else { "" }, found)
            }
        };
        for what in differences {
            *wrong.entry(format!("{how}{what}")).or_default() += 1;
        }
    }
    let report = |(what, times): (String, usize)| {
        let what = format!("{}: {times} of {runs} runs: {what}", program.label());
        eprintln!("{what}");
        what
    };
    wrong.into_iter().map(report).collect()
}

#[test]
fn counted_programs_behave_as_natively() {
    torture("torture", Mode::Counted, runs(2), |program| {
        !program.slow && wanted(program)
    });
}

#[test]
fn changed_programs_behave_as_natively() {
    torture("torture", Mode::Changed, runs(1), |program| {
        !program.slow && wanted(program)
    });
    let available = support::engine("genba", "torture").is_some();
    assert!(!available || duet::BLOCKS.load(Ordering::Relaxed) > 0);
}

#[test]
#[ignore = "minutes: make torture"]
fn counted_programs_behave_as_natively_a_hundred_times() {
    torture("torture", Mode::Counted, runs(100), wanted);
}

#[test]
#[ignore = "minutes: make torture"]
fn changed_programs_behave_as_natively_a_hundred_times() {
    torture("torture", Mode::Changed, runs(100), wanted);
}

#[test]
fn every_program_has_a_source_file() {
    for program in PROGRAMS {
        assert!(check::source(program).is_file(), "{}", program.source);
    }
}
