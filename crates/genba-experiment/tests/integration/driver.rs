//! The driver with runs that never were: planted effects, failures, oddities.

use crate::support::{Noise, judged, name_of, noisy, plan, simulate};
use genba_experiment::{End, MetricPlan, NoObserver, Plan, Stop, run_with_clock};
use genba_model::{ComparisonReport, ExitKind, VerdictName};
use genba_run::{Cancel, CommandSpec, Finished, MockExecutor};

fn verdict_of(seed: u64, factor: f64, plan: &Plan) -> ComparisonReport {
    let mut noise = Noise(seed);
    let mut index = 0;
    let measurement = simulate(plan, &mut |spec| {
        index += 1;
        let factor = if name_of(spec) == "b" { factor } else { 1.0 };
        Ok(noisy(&mut noise, factor, index))
    })
    .expect("a measurement");
    judged(plan, &measurement)
}

#[test]
fn planted_effects_are_found_and_absent_ones_are_not() {
    let (mut slower, mut faster, mut alarms) = (0, 0, 0);
    for seed in 0..40 {
        let plan = Plan {
            seed,
            ..plan(&["a", "b"])
        };
        let found = verdict_of(seed, 1.03, &plan);
        slower += u32::from(found.comparisons[0].verdict == VerdictName::Slower);
        let found = verdict_of(seed + 1000, 0.97, &plan);
        faster += u32::from(found.comparisons[0].verdict == VerdictName::Faster);
        let found = verdict_of(seed + 2000, 1.0, &plan);
        let verdict = found.comparisons[0].verdict;
        alarms += u32::from(!matches!(
            verdict,
            VerdictName::Same | VerdictName::Undecided
        ));
    }
    assert!(
        slower >= 36 && faster >= 36,
        "{slower} and {faster} of 40 found"
    );
    // 2 expected of 40 at 5 %; more than 6 has probability 0.3 %.
    assert!(alarms <= 6, "{alarms} false alarms of 40");
}

#[test]
fn verdict_of_a_worse_variant_ends_a_gate_on_one_side_of_its_threshold_only() {
    const LIMIT: f64 = 0.02;
    let straddling = |threshold: Option<f64>| {
        let of_seed = |seed: u64| {
            let plan = Plan {
                seed,
                threshold,
                ..plan(&["a", "b"])
            };
            let (mut noise, mut index) = (Noise(seed), 0);
            let measurement = simulate(&plan, &mut |spec| {
                index += 1;
                let factor = if name_of(spec) == "b" { 1.03 } else { 1.0 };
                Ok(noisy(&mut noise, factor, index))
            })
            .expect("a measurement");
            let found = &judged(&plan, &measurement).comparisons[0];
            let spans = found.may_be_worse_by(LIMIT) && !found.is_shown_worse_by(LIMIT);
            measurement.end() == End::Decided && spans
        };
        (0..30).filter(|seed| of_seed(*seed)).count()
    };
    assert!(straddling(None) > 0);
    assert_eq!(straddling(Some(LIMIT)), 0);
}

#[test]
fn a_fixed_number_of_pairs_is_kept_and_the_document_is_complete() {
    let plan = Plan {
        stop: Stop::Blocks(12),
        ..plan(&["a", "b"])
    };
    let found = verdict_of(3, 1.5, &plan);
    let first = &found.comparisons[0];
    assert_eq!(
        (
            first.baseline.as_str(),
            first.variant.as_str(),
            first.metric.as_str(),
            first.pairs
        ),
        ("a", "b", "wall", 12)
    );
    assert_eq!(first.verdict, VerdictName::Slower);
    assert!((first.ratio.value - 1.5).abs() < 0.1);
    assert!(first.ratio.low < first.ratio.value && first.ratio.value < first.ratio.high);
    assert_eq!((found.blocks, found.variants[1].runs), (12, 12));
    assert_eq!(found.variants[1].exit_codes, vec![Some(0); 12]);
    assert_eq!(found.variants[0].metrics["wall"].values.len(), 12);
    assert_eq!(found.ranks, [["a"], ["b"]]);
    // Equal memory is the same; faults of zero are not compared, and nobody is told.
    let rss = found.comparisons.iter().find(|one| one.metric == "max_rss");
    assert_eq!(rss.expect("compared").verdict, VerdictName::Same);
    assert!(
        found
            .comparisons
            .iter()
            .all(|one| one.metric != "major_faults")
    );
    assert_eq!(found.notes, Vec::<String>::new());
}

#[test]
fn the_budget_is_kept_and_the_rest_forecast() {
    let plan = Plan {
        stop: Stop::Budget {
            seconds: 2.0,
            min_blocks: 1,
        },
        delta: 0.0001,
        ..plan(&["a", "b"])
    };
    let found = verdict_of(5, 1.0005, &plan);
    assert!(
        (1.8..2.2).contains(&found.elapsed_seconds),
        "{}",
        found.elapsed_seconds
    );
    assert_eq!(found.comparisons[0].verdict, VerdictName::Undecided);
    assert!(found.comparisons[0].more_pairs.is_some());
    assert_eq!(found.budget_seconds, Some(2.0));
}

#[test]
fn a_metric_of_zero_is_undecided_and_named() {
    let mut plan = plan(&["a", "b"]);
    plan.primary = "user".into();
    let mut count = 0;
    let measurement = simulate(&plan, &mut |_| {
        count += 1;
        let mut run = Finished::mock(0.01);
        run.record.target.user = if count % 5 == 0 { 0.0 } else { 0.005 };
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert_eq!(found.comparisons[0].metric, "user");
    assert_eq!(found.comparisons[0].verdict, VerdictName::Undecided);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("metric user of") && note.contains("is 0 in run"))
    );

    // All zero: it stops soon, and says why.
    let measurement = simulate(&plan, &mut |_| Ok(Finished::mock(0.01))).expect("a measurement");
    assert_eq!(measurement.end(), End::Unusable);
    let found = judged(&plan, &measurement);
    assert_eq!(found.comparisons[0].verdict, VerdictName::Undecided);
    assert_eq!(found.blocks, 20);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("stays undecided"))
    );
}

#[test]
fn the_targets_own_metric_decides_and_a_missing_one_is_named() {
    let mut plan = plan(&["a", "b"]);
    plan.metrics = vec![MetricPlan::parse_regex(r"rate:op/s=rate (\S+)").unwrap()];
    plan.primary = "rate".into();
    let mut count = 0;
    let measurement = simulate(&plan, &mut |spec| {
        count += 1;
        let mut run = Finished::mock(0.01);
        let rate = if name_of(spec) == "b" {
            200 + count % 5
        } else {
            100 + count % 7
        };
        run.stdout.captured = format!("rate {rate}\n").into_bytes();
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert_eq!(found.comparisons[0].verdict, VerdictName::Faster);
    assert!((found.comparisons[0].ratio.value - 2.0).abs() < 0.1);
    assert_eq!(found.variants[0].metrics["rate"].unit, "op/s");
    assert_eq!(found.ranks, [["b"], ["a"]]);

    let measurement = simulate(&plan, &mut |spec| {
        let mut run = Finished::mock(0.01);
        if name_of(spec) == "a" {
            run.stdout.captured = b"rate nan\n".to_vec();
        } else {
            run.stdout.captured = b"rate 5\n".to_vec();
        }
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("metric rate of a: invalid number \"nan\" (run 1")),
        "{:?}",
        found.notes
    );
    assert!(!found.variants[0].metrics.contains_key("rate"));
}

#[test]
fn a_single_command_stops_when_its_median_is_known() {
    let plan = plan(&["a"]);
    let mut noise = Noise(4);
    let measurement = simulate(&plan, &mut |_| {
        Ok(Finished::mock(0.1 * (1.0 + 0.01 * noise.next())))
    })
    .expect("a measurement");
    assert_eq!(measurement.end(), End::Decided);
    let found = judged(&plan, &measurement);
    assert!((10..30).contains(&found.variants[0].runs));
    assert!(found.comparisons.is_empty() && found.ranks.is_empty());
}

#[test]
fn several_variants_are_corrected_and_ranked() {
    let plan = plan(&["a", "b", "c", "d"]);
    let mut noise = Noise(11);
    let mut index = 0;
    let measurement = simulate(&plan, &mut |spec| {
        index += 1;
        let factor = match name_of(spec).as_str() {
            "b" => 1.5,
            "c" => 0.5,
            _ => 1.0,
        };
        Ok(noisy(&mut noise, factor, index))
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    let of = |variant: &str| {
        let mut all = found.comparisons.iter();
        all.find(|one| one.variant == variant && one.metric == "wall")
            .unwrap()
    };
    assert_eq!(of("b").verdict, VerdictName::Slower);
    assert_eq!(of("c").verdict, VerdictName::Faster);
    let correction = of("b").corrected.as_ref().unwrap();
    assert_eq!(
        (correction.method.as_str(), correction.holds),
        ("e-BH", true)
    );
    assert_eq!(found.ranks.first().unwrap(), &["c"]);
    assert_eq!(found.ranks.last().unwrap(), &["b"]);
    assert_eq!(found.ranks.len(), 3);
}

#[test]
fn the_empty_loop_is_taken_off() {
    let mut plan = plan(&["empty", "a", "b"]);
    plan.stop = Stop::Blocks(20);
    plan.variants[0].overhead_only = true;
    for index in [1, 2] {
        plan.variants[index].iterations = Some(1000);
        plan.variants[index].subtract = Some("empty".into());
    }
    let mut noise = Noise(2);
    let measurement = simulate(&plan, &mut |spec| {
        let base = match name_of(spec).as_str() {
            "empty" => 1.0,
            "a" => 2.0,
            _ => 4.0,
        };
        Ok(Finished::mock(base + 0.01 * noise.next()))
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    let cost = |name: &str| {
        let mut all = found.iterations.iter();
        all.find(|one| one.variant == name && one.metric == "wall")
            .unwrap()
            .cost
    };
    assert!((cost("a").value - 1e-3).abs() < 2e-5);
    assert!((cost("b").value - 3e-3).abs() < 2e-5);
    assert!(cost("a").low < cost("a").high);
    let mut all = found.comparisons.iter();
    let left = all.find(|one| one.metric == "wall_per_iteration").unwrap();
    assert!((left.ratio.value - 3.0).abs() < 0.05 && left.verdict == VerdictName::Slower);
    assert!(
        found
            .comparisons
            .iter()
            .all(|one| one.baseline == "a" && one.variant == "b")
    );
}

#[test]
fn an_interruption_keeps_what_there_is_and_cleans_up() {
    let mut plan = plan(&["a", "b"]);
    plan.variants[1].cleanup = vec![CommandSpec::direct(["sweep"])];
    plan.variants[0].prepare = vec![CommandSpec::direct(["ready"])];
    let cancel = Cancel::new().expect("a token");
    let trigger = cancel.clone();
    let mut count = 0;
    let mut mock = MockExecutor::new(move |spec: &CommandSpec| {
        let mut run = Finished::mock(1.0);
        if spec.argv[0] == "a" || spec.argv[0] == "b" {
            count += 1;
            if count == 8 {
                trigger.trigger();
                run.record.exit = ExitKind::Cancelled;
            }
        }
        Ok(run)
    });
    let mut time = 0.0;
    let measurement = run_with_clock(&plan, &mut mock, &cancel, &mut NoObserver, &mut || {
        time += 0.001;
        time
    })
    .expect("what there is");
    let calls: Vec<String> = mock
        .calls
        .iter()
        .map(|argv| argv[0].to_string_lossy().into_owned())
        .collect();
    assert_eq!(calls.last().unwrap(), "sweep");
    assert!(
        calls
            .windows(2)
            .all(|pair| pair[1] != "a" || pair[0] == "ready")
    );
    assert_eq!(measurement.end(), End::Interrupted);
    let found = judged(&plan, &measurement);
    assert_eq!(found.blocks, 3);
    assert_eq!(found.variants[0].runs + found.variants[1].runs, 7);
    assert!(found.notes.iter().any(|note| note.contains("interrupted")));
}

#[test]
fn warm_up_runs_are_not_measured_and_the_environment_varies() {
    let plan = Plan {
        warmup: 3,
        stop: Stop::Blocks(30),
        ..plan(&["a", "b"])
    };
    let mut lengths = std::collections::BTreeSet::new();
    let mut count = 0;
    let measurement = simulate(&plan, &mut |spec| {
        count += 1;
        let padding = spec
            .environment
            .changes
            .get(std::ffi::OsStr::new("GENBA_PADDING"));
        lengths.insert(padding.unwrap().as_ref().unwrap().len());
        Ok(Finished::mock(1.0))
    })
    .expect("a measurement");
    assert_eq!(count, 66);
    assert!(lengths.len() > 50);
    assert_eq!(judged(&plan, &measurement).variants[0].runs, 30);
}

#[test]
fn a_cold_first_run_is_named() {
    let plan = Plan {
        stop: Stop::Blocks(10),
        ..plan(&["a"])
    };
    let mut noise = Noise(3);
    let mut count = 0;
    let measurement = simulate(&plan, &mut |_| {
        count += 1;
        let factor = if count == 1 { 3.0 } else { 1.0 };
        Ok(Finished::mock(factor * (1.0 + 0.001 * noise.next())))
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert!(found.hazards.iter().any(|hazard| hazard.id == "first-run"));
    // A mock uses no CPU time at all: it waits.
    assert!(found.hazards.iter().any(|hazard| hazard.id == "waiting"));
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(&["a", "b"]);
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    };
    assert!(refused(&|plan| plan.variants.clear()).contains("no command"));
    assert!(refused(&|plan| plan.variants[1].name = "a".into()).contains("two variants"));
    assert!(refused(&|plan| plan.primary = "speed".into()).contains("wall"));
    assert!(refused(&|plan| plan.alpha = f64::NAN).contains("alpha"));
    assert!(refused(&|plan| plan.variants[0].subtract = Some("x".into())).contains("subtract"));
    assert!(
        refused(&|plan| plan.metrics = vec![MetricPlan::channel("wall", "", None)])
            .contains("built-in")
    );
}
