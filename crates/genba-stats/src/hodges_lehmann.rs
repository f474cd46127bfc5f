//! The Hodges–Lehmann estimate of location.

use genba_model::Estimate;

use crate::signed_rank::lower_rank;
use crate::{Interval, IntervalRule, StatsError, input_checks};

/// The one-sample Hodges–Lehmann estimate, the median of all pairwise averages (Walsh averages,
/// each value with itself as well), with the interval that inverts Wilcoxon's signed-rank test.
/// Source: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of
/// Mathematical Statistics 34 (1963); Hollander, Wolfe and Chicken, *Nonparametric Statistical
/// Methods*, 3rd ed., 3.2 and 3.3.
///
/// It assumes independent values, symmetric about the centre: right for log ratios of pairs in
/// random order, doubtful for raw run times with their right tail. Below six values at 95 % the
/// interval is the range with its level 1 − 2^(1−n), as for [`median_interval`].
///
/// Needs O(n) memory and O(n log n) time.
///
/// [`median_interval`]: crate::median_interval
///
/// # Errors
/// No values, a value that is not finite, a level outside 0…1.
pub fn hodges_lehmann(values: &[f64], level: f64) -> Result<Interval, StatsError> {
    input_checks::finite(values, 1)?;
    input_checks::open_unit("level", level)?;
    let sorted = input_checks::sorted(values);
    let count = sorted.len();
    let averages = count as u64 * (count as u64 + 1) / 2;
    let (rank, reached) = lower_rank(count, level);
    let low_middle = walsh(&sorted, averages.div_ceil(2));
    let high_middle = walsh(&sorted, averages / 2 + 1);
    Ok(Interval {
        estimate: Estimate {
            value: low_middle.midpoint(high_middle),
            low: walsh(&sorted, rank),
            high: walsh(&sorted, averages + 1 - rank),
        },
        level: reached,
        rule: IntervalRule::of(count, reached, level),
        count,
    })
}

/// The `rank`-th smallest (from 1) Walsh average of sorted values, exactly.
///
/// Bisection over the floating-point numbers themselves, in their order: at most 64 steps, each
/// counting the averages up to a candidate in one pass.
fn walsh(sorted: &[f64], rank: u64) -> f64 {
    let mut low = order_key(sorted[0]);
    let mut high = order_key(sorted[sorted.len() - 1]);
    while low < high {
        // Both fit, but their difference may not: average without overflow, rounding down.
        let middle = (low & high) + ((low ^ high) >> 1);
        if averages_up_to(sorted, from_order_key(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_order_key(low)
}

/// How many Walsh averages are at most `limit`.
fn averages_up_to(sorted: &[f64], limit: f64) -> u64 {
    let mut count = 0u64;
    let mut partners = sorted.len();
    for (index, value) in sorted.iter().enumerate() {
        // The averages rise with both values, so the last good partner only moves down.
        while partners > index && value.midpoint(sorted[partners - 1]) > limit {
            partners -= 1;
        }
        if partners <= index {
            break;
        }
        count += (partners - index) as u64;
    }
    count
}

/// Maps finite numbers to integers in the same order (both zeros apart, which does no harm).
fn order_key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ (((bits >> 63).cast_unsigned()) >> 1).cast_signed()
}

fn from_order_key(key: i64) -> f64 {
    let bits = key ^ (((key >> 63).cast_unsigned()) >> 1).cast_signed();
    f64::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all_walsh(values: &[f64]) -> Vec<f64> {
        let sorted = input_checks::sorted(values);
        let mut averages = Vec::new();
        for (index, left) in sorted.iter().enumerate() {
            for right in &sorted[index..] {
                averages.push(left.midpoint(*right));
            }
        }
        input_checks::sorted(&averages)
    }

    #[test]
    fn agrees_with_r() {
        // R: wilcox.test(c(1.83,.50,1.62,2.48,1.68,1.88,1.55,3.06,1.30)
        //      - c(.878,.647,.598,2.05,1.06,1.29,1.06,3.14,1.29), conf.int = TRUE):
        //      pseudomedian 0.46, interval 0.01 .. 0.786, exact, 96.1 %.
        let differences = [
            0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010,
        ];
        let interval = hodges_lehmann(&differences, 0.95).unwrap();
        assert!(
            (interval.estimate.value - 0.46).abs() < 1e-9,
            "{interval:?}"
        );
        assert!((interval.estimate.low - 0.01).abs() < 1e-9, "{interval:?}");
        assert!(
            (interval.estimate.high - 0.786).abs() < 1e-9,
            "{interval:?}"
        );
        assert!((interval.level - 0.9609375).abs() < 1e-9);
    }

    #[test]
    fn many_values_need_linear_memory() {
        let values: Vec<f64> = (0..100_000).map(|i| f64::from(i % 1_000)).collect();
        let interval = hodges_lehmann(&values, 0.95).unwrap();
        assert_eq!(interval.estimate.value, 499.5);
    }

    proptest! {
        #[test]
        fn every_rank_is_exact(values in prop::collection::vec(-1e3..1e3f64, 1..15)) {
            let expected = all_walsh(&values);
            let sorted = input_checks::sorted(&values);
            for (index, average) in expected.iter().enumerate() {
                prop_assert_eq!(walsh(&sorted, index as u64 + 1), *average);
            }
        }

        #[test]
        fn negation_turns_it_round(values in prop::collection::vec(-10.0..10.0f64, 1..40)) {
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            let one = hodges_lehmann(&values, 0.95).unwrap().estimate;
            let two = hodges_lehmann(&negated, 0.95).unwrap().estimate;
            prop_assert_eq!((one.value, one.low, one.high), (-two.value, -two.high, -two.low));
        }

        #[test]
        fn keys_keep_the_order(a in prop::num::f64::NORMAL, b in prop::num::f64::NORMAL) {
            prop_assert_eq!(a < b, order_key(a) < order_key(b));
            prop_assert_eq!(from_order_key(order_key(a)), a);
        }
    }
}
