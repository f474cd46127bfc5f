//! Variants that fail, hang, or print something else, with runs that never were.

use crate::support::{Noise, judged, name_of, noisy, plan, simulate};
use genba_experiment::{ExperimentError, Plan, Stop};
use genba_model::ExitKind;
use genba_run::{Finished, RunError};

#[test]
fn a_variant_that_fails_is_taken_out_by_name_and_the_rest_goes_on() {
    let plan = Plan {
        stop: Stop::Blocks(10),
        ..plan(&["a", "b", "c", "d"])
    };
    let mut noise = Noise(1);
    let mut runs = 0;
    let measurement = simulate(&plan, &mut |spec| {
        let mut run = noisy(&mut noise, 1.0, 0);
        match name_of(spec).as_str() {
            "b" => {
                runs += 1;
                if runs == 4 {
                    run.record.exit = ExitKind::Code(9);
                    run.stderr.captured = b"b: no more\n".to_vec();
                }
            }
            "c" => run.record.exit = ExitKind::TimedOut,
            "d" => {
                return Err(RunError::NotFound {
                    program: "d".into(),
                    searched: String::new(),
                });
            }
            _ => {}
        }
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    let excluded = |index: usize| found.variants[index].excluded.clone().unwrap_or_default();
    assert_eq!(excluded(1), "exited with code 9: b: no more");
    assert!(excluded(2).contains("time-out"));
    assert!(excluded(3).contains("not found"));
    assert_eq!((found.variants[0].runs, found.variants[1].runs), (10, 3));
    assert!(found.comparisons.is_empty());
}

#[test]
fn failing_run_is_repeated_for_its_error_output() {
    let plan = Plan {
        stop: Stop::Blocks(10),
        ..plan(&["a", "b", "c"])
    };
    let (mut b, mut c) = (0, 0);
    let measurement = simulate(&plan, &mut |spec| {
        let mut run = Finished::mock(0.001);
        let count = match name_of(spec).as_str() {
            "b" => &mut b,
            "c" => &mut c,
            _ => return Ok(run),
        };
        *count += 1;
        // b fails from its fourth run on, c in its fourth only.
        if *count == 4 || (*count > 4 && name_of(spec) == "b") {
            run.record.exit = ExitKind::Code(9);
            if !matches!(spec.stderr, genba_run::Output::Null) {
                run.stderr.captured = b"no more".to_vec();
            }
        }
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    let excluded = |index: usize| found.variants[index].excluded.clone().unwrap_or_default();
    assert_eq!(excluded(1), "exited with code 9: no more");
    assert_eq!(excluded(2), "exited with code 9; repeated, it succeeded");
    assert_eq!((b, c), (5, 5));
}

#[test]
fn without_its_baseline_the_next_variant_is_the_baseline() {
    let plan = Plan {
        stop: Stop::Blocks(10),
        ..plan(&["a", "b", "c"])
    };
    let mut noise = Noise(1);
    let measurement = simulate(&plan, &mut |spec| {
        let mut run = noisy(&mut noise, 1.0, 0);
        if name_of(spec) == "a" {
            run.record.exit = ExitKind::Signal {
                signal: 11,
                core: false,
            };
        }
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert_eq!(found.variants[0].name, "b");
    assert!(
        found
            .comparisons
            .iter()
            .all(|one| one.baseline == "b" && one.variant == "c")
    );
    assert!(!found.comparisons.is_empty());
}

#[test]
fn nothing_left_is_an_error_with_every_reason() {
    let plan = plan(&["a", "b"]);
    let error = simulate(&plan, &mut |spec| {
        Err(RunError::NotFound {
            program: name_of(spec),
            searched: String::new(),
        })
    })
    .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("a: a: not found") && text.contains("b: b: not found"),
        "{text}"
    );
    assert!(matches!(
        error,
        ExperimentError::NothingLeft { usage: true, .. }
    ));
}

#[test]
fn failures_are_measured_if_asked() {
    let plan = Plan {
        stop: Stop::Blocks(3),
        ignore_failure: true,
        ..plan(&["a"])
    };
    let measurement = simulate(&plan, &mut |_| {
        let mut run = Finished::mock(1.0);
        run.record.exit = ExitKind::Code(2);
        Ok(run)
    })
    .expect("a measurement");
    assert_eq!(
        judged(&plan, &measurement).variants[0].exit_codes,
        vec![Some(2); 3]
    );
}

#[test]
fn other_output_is_taken_out_and_varying_output_is_not_believed() {
    let plan = Plan {
        stop: Stop::Blocks(5),
        check_output: true,
        ..plan(&["a", "b", "c"])
    };
    let print = |run: &mut Finished, hash| {
        run.stdout.bytes = Some(4);
        run.stdout.hash = Some(hash);
    };
    let measurement = simulate(&plan, &mut |spec| {
        let mut run = Finished::mock(1.0);
        print(&mut run, if name_of(spec) == "c" { 2 } else { 1 });
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert_eq!(found.variants[1].excluded, None);
    assert!(
        found.variants[2]
            .excluded
            .as_ref()
            .unwrap()
            .contains("something else than a")
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("byte for byte"))
    );

    let mut count = 0;
    let measurement = simulate(&plan, &mut |_| {
        count += 1;
        let mut run = Finished::mock(1.0);
        print(&mut run, count);
        Ok(run)
    })
    .expect("a measurement");
    let found = judged(&plan, &measurement);
    assert!(
        found
            .variants
            .iter()
            .all(|variant| variant.excluded.is_none())
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("changes from run to run"))
    );
}
