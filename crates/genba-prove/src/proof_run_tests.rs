//! Tests of what a proof claims.

use super::*;

#[test]
fn a_bound_is_as_uncertain_as_two_copies_of_the_same() {
    let estimate = |low, value, high| Estimate { value, low, high };
    let wide = widened(estimate(0.48, 0.5, 0.52), estimate(0.96, 0.99, 1.02));
    assert!((wide.low - 0.48 * 0.96).abs() < 1e-12 && (wide.high - 0.52 * 1.02).abs() < 1e-12);
    // That they are alike makes nothing more certain.
    let own = estimate(1.01, 1.02, 1.03);
    assert_eq!(widened(estimate(0.48, 0.5, 0.52), own).low, 0.48);
}

/// Pairs whose ratios alternate around a value, so many that nothing is too few.
fn compared(alpha: f64, ratio: f64, spread: f64) -> Compared {
    let mut one = Compared::new(alpha, MARGIN).expect("a judge");
    let mut windows = Vec::new();
    for number in 1..=240_u32 {
        let edited = number % 2 == 1;
        let side = if number % 4 < 2 {
            1.0 - spread
        } else {
            1.0 + spread
        };
        let time = if edited { ratio * side } else { 1.0 };
        windows.push(genba_count::native::DuetWindow {
            thread: 1,
            number,
            edited,
            rounds: 100,
            cpu_nanoseconds: (time * 4e6) as u64,
            page_faults: 0,
        });
    }
    let found = pairs(&windows);
    for pair in &found.compared {
        one.judge.push(pair.as_is, pair.edited).expect("times");
    }
    one.pairs.extend(found);
    one
}

fn outcome(alike: &Compared, changed: &Compared) -> Outcome {
    outcome_at(1.0, alike, changed)
}

/// Where translated code takes so many times the native program's time.
fn outcome_at(cost: f64, alike: &Compared, changed: &Compared) -> Outcome {
    let plan = Plan {
        kind: ProofKind::Equivalent,
        change: genba_model::CodeChange::OneDivision,
        edits: Vec::new(),
        single_thread: false,
        replicas: None,
    };
    let request = ProofRequest {
        spec: CommandSpec::direct(["true"]),
        module: String::new(),
        plans: Vec::new(),
        share: Estimate::exact(0.9),
        program_seconds: None,
        budget: Duration::from_secs(60),
        seed: 0,
    };
    judged(
        &request,
        &plan,
        alike,
        changed,
        &[cost],
        Some(true),
        Vec::new(),
    )
}

#[test]
fn large_effect_is_claimed_with_what_copies_may_differ_by() {
    let unsure = compared(SELF_CHECK_ALPHA, 1.0, 0.2);
    assert_ne!(unsure.judge.verdict(), Verdict::Same);
    let Outcome::Proven(proven, notes) = outcome(&unsure, &compared(ALPHA, 0.5, 0.01)) else {
        panic!("no claim");
    };
    let own = either_way(unsure.judge.ratio().expect("a ratio")).high;
    assert!(proven.program_speedup.low < 2.0 / own * 1.03, "{proven:?}");
    assert!(
        proven.program_speedup.low > 1.5 && notes.len() == 1,
        "{proven:?} {notes:?}"
    );
}

#[test]
fn effect_below_what_copies_may_differ_by_is_not_claimed() {
    let unsure = compared(SELF_CHECK_ALPHA, 1.0, 0.4);
    let found = outcome(&unsure, &compared(ALPHA, 0.99, 0.01));
    let Outcome::NoClaim(reason) = found else {
        panic!("{found:?}");
    };
    assert!(
        reason.starts_with("undecided: the change makes"),
        "{reason}"
    );
}

#[test]
fn no_gain_is_not_claimed_where_the_engine_takes_as_much_as_the_program() {
    let alike = || compared(SELF_CHECK_ALPHA, 1.0, 0.001);
    let of = |cost, ratio| outcome_at(cost, &alike(), &compared(ALPHA, ratio, 0.001));
    let Outcome::NoClaim(reason) = of(1.9, 1.05) else {
        panic!("slower by 5 %");
    };
    assert!(reason.contains("1.90×"), "{reason}");
    assert!(matches!(of(1.9, 1.0), Outcome::NoClaim(_)));
    assert!(matches!(of(1.1, 1.05), Outcome::Proven(..)));
    // A gain that shows beside it is there.
    assert!(matches!(of(1.9, 0.8), Outcome::Proven(..)));
}
