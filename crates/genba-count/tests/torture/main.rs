//! Programs that try to break an engine that works inside their own process: signals at every
//! instruction, threads, forks, exceptions, changes of memory, descriptors and limits
//! (`testdata/torture`). Under genba's own engine each must write the same and end the same as
//! natively, and the counts must be right: functions named `straight_N_…` have no branches, and
//! each of their instructions is executed N times. What the engine cannot count it must refuse.
//!
//! Two runs of each in every test run, the second with all jumps recorded and with bursts; a hundred
//! by `make torture`, in all four combinations. `TORTURE=name` selects the programs whose names
//! contain that, `TORTURE_RUNS=N` the number of runs.

#[path = "../support/mod.rs"]
mod support;

mod check;
mod programs;

use programs::{PROGRAMS, Program};

fn wanted(program: &Program) -> bool {
    std::env::var("TORTURE").map_or(true, |part| program.label().contains(&part))
}

fn runs(usual: usize) -> usize {
    let given = std::env::var("TORTURE_RUNS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn torture(test: &str, runs: usize, wanted: impl Fn(&Program) -> bool) {
    let Some(engine) = support::engine("genba", test) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let mut failures = Vec::new();
    for program in PROGRAMS.iter().filter(|program| wanted(program)) {
        let Some(path) = check::compile(directory.path(), test, program) else {
            continue;
        };
        if let Err(reason) = engine.check(&check::request(
            directory.path(),
            &path,
            program,
            false,
            false,
        )) {
            genba_testing::skip(test, genba_testing::COUNT_ENGINE, &reason.to_string());
            return;
        }
        let native = check::natively(directory.path(), &path, program);
        let mut wrong = std::collections::BTreeMap::<String, usize>::new();
        for run in 0..runs {
            let (transfers, bursts) = (run % 2 == 1, run.div_ceil(2) % 2 == 1);
            let engine = engine.as_ref();
            let differences = check::run(
                engine,
                directory.path(),
                &path,
                program,
                &native,
                transfers,
                bursts,
            );
            for what in differences {
                let what = if bursts {
                    format!("with bursts: {what}")
                } else {
                    what
                };
                *wrong.entry(what).or_default() += 1;
            }
        }
        for (what, times) in wrong {
            let what = format!("{}: {times} of {runs} runs: {what}", program.label());
            eprintln!("{what}");
            failures.push(what);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn counted_programs_behave_as_natively() {
    torture("torture", runs(2), |program| {
        !program.slow && wanted(program)
    });
}

#[test]
#[ignore = "minutes: make torture"]
fn counted_programs_behave_as_natively_a_hundred_times() {
    torture("torture", runs(100), wanted);
}

#[test]
fn every_program_has_a_source_file() {
    for program in PROGRAMS {
        assert!(check::source(program).is_file(), "{}", program.source);
    }
}
