//! Synthetic results of `genba try`.

use genba_model::{
    ChangeKind, DiffSide, Estimate, FunctionDiff, InstructionDiff, Keep, LayoutEffect, LineDiff,
    Moved, MovedHow, ProfileDiff, TrialReport, Tried, TriedOutcome,
};

use super::comparison;

fn near(value: f64, half: f64) -> Estimate {
    Estimate {
        value,
        low: value - half,
        high: value + half,
    }
}

fn tried(name: &str, kind: ChangeKind, outcome: TriedOutcome, ratio: Option<f64>) -> Tried {
    Tried {
        name: name.to_owned(),
        kind,
        change: format!("how to make {name}"),
        caution: None,
        outcome,
        ratio: ratio.map(|ratio| near(ratio, 0.012)),
        pairs: if ratio.is_some() { 24 } else { 0 },
        within_layout: outcome == TriedOutcome::Slight,
        build_seconds: (kind == ChangeKind::Build).then_some(3.2),
        reason: None,
    }
}

fn side(name: &str, seconds: f64) -> DiffSide {
    DiffSide {
        name: name.to_owned(),
        command: vec!["./mix".to_owned()],
        event: None,
        samples: 4_000,
        runs: 3.0,
        seconds: Some(seconds),
        instructions: Some(420_000_000),
    }
}

/// A difference between two profiles.
pub fn difference() -> ProfileDiff {
    let function = |name: &str, before: Option<f64>, after: Option<f64>| FunctionDiff {
        function: name.to_owned(),
        module: "mix".to_owned(),
        file: Some("mix.cc".to_owned()),
        line: Some(4),
        before: before.map(|time| near(time, 0.001)),
        after: after.map(|time| near(time, 0.001)),
        change: near(after.unwrap_or(0.0) - before.unwrap_or(0.0), 0.0014),
        calls: Some((30_000_000, 0)),
        instructions: Some((240_000_000, 0)),
        moved: Vec::new(),
        inlined_here: Vec::new(),
    };
    let mut step = function("step", Some(0.030), None);
    step.moved.push(Moved {
        into: "main".to_owned(),
        how: MovedHow::Inlined,
        seconds: Some(0.007),
    });
    let mut main = function("main", Some(0.010), Some(0.017));
    main.inlined_here.push("step".to_owned());
    ProfileDiff {
        before: side("as it is", 0.040),
        after: side("LTO", 0.017),
        functions: vec![step, main, function("noise", None, Some(0.000_01))],
        lines: vec![LineDiff {
            file: "/src/mix.cc".to_owned(),
            line: 5,
            function: "step".to_owned(),
            inside_before: Some("step".to_owned()),
            inside_after: Some("main".to_owned()),
            before: 0.028,
            after: 0.007,
            executions: Some((30_000_000, 30_000_000)),
            text: Some("    state.value += round;".to_owned()),
        }],
        instructions: vec![InstructionDiff {
            function: "step".to_owned(),
            address_before: Some(0x11e0),
            address_after: None,
            text: "mov rax,rsi".to_owned(),
            before: Some(0.007),
            after: None,
            count_before: Some(30_000_000),
            count_after: None,
        }],
        notes: Vec::new(),
    }
}

/// A report with every outcome.
pub fn report() -> TrialReport {
    let compared = comparison::faster();
    let mut failed = tried("PGO", ChangeKind::Build, TriedOutcome::Failed, None);
    failed.reason = Some("the build failed with exit code 2\ncc: error\nmake: Error 1".to_owned());
    let mut missing = tried("mimalloc", ChangeKind::Run, TriedOutcome::Unavailable, None);
    missing.reason = Some("install it with: apt-get install libmimalloc2.0".to_owned());
    TrialReport {
        case: Some("7f3a".to_owned()),
        genba: "0.3.0".to_owned(),
        started: compared.started,
        host: compared.host,
        command: "./mix 30000000".to_owned(),
        metric: "cpu".to_owned(),
        delta: 0.01,
        alpha: 0.05,
        seed: 7,
        elapsed_seconds: 61.0,
        budget_seconds: Some(300.0),
        variants: compared.variants,
        comparisons: compared.comparisons,
        tried: vec![
            tried("LTO", ChangeKind::Build, TriedOutcome::Gain, Some(0.42)),
            tried("-O3", ChangeKind::Build, TriedOutcome::Slight, Some(0.98)),
            tried("jemalloc", ChangeKind::Run, TriedOutcome::Same, Some(1.001)),
            tried(
                "tcmalloc",
                ChangeKind::Run,
                TriedOutcome::Undecided,
                Some(1.006),
            ),
            tried(
                "frame pointers",
                ChangeKind::Build,
                TriedOutcome::Slower,
                Some(1.08),
            ),
            tried(
                "layout 1",
                ChangeKind::Layout,
                TriedOutcome::Same,
                Some(0.972),
            ),
            tried("-fno-plt", ChangeKind::Build, TriedOutcome::Identical, None),
            failed,
            missing,
        ],
        layout: Some(LayoutEffect {
            builds: 2,
            low: 0.972,
            high: 1.004,
        }),
        keep: Some(Keep {
            variant: "LTO".to_owned(),
            ratio: near(0.42, 0.012),
            build: Some("compile and link with -flto=auto".to_owned()),
            rebuild: Some("PATH=\"/x/tools:$PATH\" make".to_owned()),
            command: "./mix 30000000".to_owned(),
            cautions: vec!["the program then runs on processors like this one only".to_owned()],
        }),
        differences: vec![difference()],
        notes: vec!["something that must be known".to_owned()],
    }
}
