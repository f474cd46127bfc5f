//! The crate's contract: whatever goes in, no NaN comes out, and bad input is an error.

use genba_stats::{
    ConfidenceSequence, Interval, Judge, OUTLIER_THRESHOLD, StopRule, cost_per_iteration, e_bh,
    first_unlike_rest, forecast, hodges_lehmann, mad, median, median_interval, midmean,
    noise_floor, outliers, paired_effect, quantile, signed_rank, subtracted_ratio, trend, wilson,
    wilson_weighted,
};
use proptest::prelude::*;

/// Any float at all: tiny, huge, zero, infinite, NaN.
fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 1e-3..1e3f64,
        1 => prop::num::f64::ANY,
        1 => Just(0.0),
    ]
}

fn sound(interval: &Interval) -> bool {
    let ends = interval.estimate;
    ends.low <= ends.value && ends.value <= ends.high && (0.0..=1.0).contains(&interval.level)
}

proptest! {
    #[test]
    fn no_nan_comes_out(values in prop::collection::vec(any_float(), 0..25), other in prop::collection::vec(any_float(), 25)) {
        let other = &other[..values.len()];
        let bad = values.is_empty() || values.iter().any(|value| !value.is_finite());
        for method in [median_interval, hodges_lehmann, midmean] {
            match method(&values, 0.95) {
                Ok(interval) => prop_assert!(!bad && sound(&interval), "{:?}", interval),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
        for value in [median(&values), mad(&values), quantile(&values, 0.9)] {
            prop_assert_eq!(value.is_err(), bad);
            prop_assert!(value.is_err() || !value.unwrap().is_nan());
        }
        if let Ok(test) = signed_rank(&values) {
            prop_assert!((0.0..=1.0).contains(&test.p_value));
        }
        if let Ok(found) = outliers(&values, OUTLIER_THRESHOLD) {
            prop_assert!(found.iter().all(|outlier| !outlier.score.is_nan()));
        }
        if let Ok(Some(found)) = trend(&values) {
            prop_assert!((-1.0..=1.0).contains(&found.tau) && (0.0..=1.0).contains(&found.p_value));
        }
        if let Ok(Some(ratio)) = first_unlike_rest(&values) {
            prop_assert!(ratio.is_finite());
        }
        if let Ok(floor) = noise_floor(&values, 50) {
            prop_assert!(floor >= 0.0 && floor.is_finite());
        }
        if let Ok(effect) = paired_effect(&values, other, 0.95) {
            prop_assert!(sound(&effect.ratio) && effect.median_ratio > 0.0);
        }
        if let Ok(cost) = cost_per_iteration(&values, other, 7, 0.95) {
            prop_assert!(sound(&cost));
        }
        if let Ok(ratio) = subtracted_ratio(&values, other, &vec![0.5; values.len()], 0.95) {
            prop_assert!(sound(&ratio), "{:?}", ratio);
        }
        let _ = StopRule::default().decide(&values, 1.0, 1.0, 30.0);
        let _ = e_bh(&values, 0.05);
    }

    #[test]
    fn scalars_are_safe(a in any_float(), b in any_float(), c in any_float()) {
        for share in [wilson(a, b, 0.95), wilson_weighted(a, b, c, 0.95)].into_iter().flatten() {
            prop_assert!(0.0 <= share.low && share.low <= share.value);
            prop_assert!(share.value <= share.high && share.high <= 1.0);
        }
        prop_assert!(wilson(1.0, 2.0, c).is_err() || (c > 0.0 && c < 1.0));
        let _ = forecast(a, b, c, 10);
    }

    #[test]
    fn judges_survive_anything(pairs in prop::collection::vec((any_float(), any_float()), 0..60)) {
        let mut judge = Judge::new(0.05, 0.01).unwrap();
        let mut sequence = ConfidenceSequence::new(0.05).unwrap();
        for (a, b) in pairs {
            let good = a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite();
            prop_assert_eq!(judge.push(a, b).is_ok(), good);
            prop_assert_eq!(sequence.push(a).is_ok(), a.is_finite());
            if let Some(ratio) = judge.ratio() {
                prop_assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
            }
            if let Some(interval) = sequence.interval() {
                prop_assert!(interval.low <= interval.value && interval.value <= interval.high);
            }
            prop_assert!(!sequence.log_e_value().is_nan());
            let _ = (judge.verdict(), judge.more_pairs());
        }
    }
}
