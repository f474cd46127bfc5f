//! The median with a distribution-free interval.

use genba_model::Estimate;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::quantile::median_of_sorted;
use crate::{Interval, IntervalRule, StatsError, input_checks};

/// The median with the interval between the order statistics k and n+1−k, the narrowest
/// symmetric pair whose binomial coverage reaches `level` (David and Nagaraja, *Order
/// Statistics*, 3rd ed., 7.1). It assumes independent runs of one distribution, and nothing
/// about its shape.
///
/// **Few runs.** At 95 % six runs are needed. For fewer the interval is the range of the values
/// and its level is what that has, 1 − 2^(1−n): 93.8 % for five, 87.5 % for four, 75 % for
/// three, 50 % for two; a single value has level 0.
///
/// # Errors
/// No values, a value that is not finite, a level outside 0…1.
///
/// ```
/// let runs = [1.02, 1.00, 1.01, 1.05, 1.00, 1.03, 1.01];
/// let median = genba_stats::median_interval(&runs, 0.95).unwrap();
/// assert_eq!(median.estimate.value, 1.01);
/// assert!(median.level >= 0.95);
/// ```
pub fn median_interval(values: &[f64], level: f64) -> Result<Interval, StatsError> {
    input_checks::finite(values, 1)?;
    input_checks::open_unit("level", level)?;
    let sorted = input_checks::sorted(values);
    let count = sorted.len();
    let (rank, reached) = rank_and_level(count, level);
    Ok(Interval {
        estimate: Estimate {
            value: median_of_sorted(&sorted),
            low: sorted[rank - 1],
            high: sorted[count - rank],
        },
        level: reached,
        rule: IntervalRule::of(count, reached, level),
        count,
    })
}

/// The largest rank k (from 1) whose interval [k, n+1−k] still covers with `level`, and the
/// coverage that it has; rank 1 if none does.
fn rank_and_level(count: usize, level: f64) -> (usize, f64) {
    let coverage = |rank: usize| {
        // P(at most rank−1 of n values lie below the median), on both sides.
        let below =
            Binomial::new(0.5, count as u64).map_or(1.0, |binomial| binomial.cdf(rank as u64 - 1));
        (1.0 - 2.0 * below).max(0.0)
    };
    let mut low = 1;
    let mut high = count.div_ceil(2);
    // Coverage falls as the rank rises: bisect for the last rank that reaches the level.
    while low < high {
        let middle = (low + high).div_ceil(2);
        if coverage(middle) >= level {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    (low, coverage(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_agree_with_the_published_table() {
        // Conover, Practical Nonparametric Statistics: ranks of the 95 % interval.
        for (count, rank) in [
            (6, 1),
            (8, 1),
            (9, 2),
            (12, 3),
            (15, 4),
            (20, 6),
            (30, 10),
            (50, 18),
            (100, 40),
        ] {
            assert_eq!(rank_and_level(count, 0.95).0, rank, "{count} values");
        }
    }

    #[test]
    fn few_runs_report_the_level_reached() {
        for (count, level) in [(1, 0.0), (2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)] {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            let interval = median_interval(&values, 0.95).unwrap();
            assert!((interval.level - level).abs() < 1e-12);
            assert_eq!(
                interval.rule,
                if count == 1 {
                    IntervalRule::Single
                } else {
                    IntervalRule::Range
                }
            );
            assert_eq!(
                (interval.estimate.low, interval.estimate.high),
                (0.0, f64::from(count - 1))
            );
        }
    }

    #[test]
    fn many_runs_are_handled() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let interval = median_interval(&values, 0.95).unwrap();
        // Half width about 1.96·√n/2 ranks.
        assert!((interval.estimate.high - interval.estimate.low - 619.8).abs() < 4.0);
    }

    proptest! {
        #[test]
        fn interval_holds_the_median_and_scales(values in prop::collection::vec(0.001..1e3f64, 1..80), factor in 0.01..100.0f64) {
            let one = median_interval(&values, 0.95).unwrap();
            prop_assert!(one.estimate.low <= one.estimate.value && one.estimate.value <= one.estimate.high);
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let two = median_interval(&scaled, 0.95).unwrap();
            prop_assert!((two.estimate.low - one.estimate.low * factor).abs() <= 1e-9 * two.estimate.low);
            prop_assert!((two.estimate.high - one.estimate.high * factor).abs() <= 1e-9 * two.estimate.high);
        }
    }
}
