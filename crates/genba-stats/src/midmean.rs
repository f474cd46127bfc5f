//! The mean of the middle half.

use genba_model::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{Interval, IntervalRule, StatsError, input_checks};

/// The trimmed mean of the middle half (the lowest and highest quarters, rounded down, left out
/// of the mean but not forgotten in its interval), with the interval of Tukey and McLaughlin,
/// "Less vulnerable confidence and significance procedures for location…", Sankhyā A 25 (1963):
/// ± t(h−1) · √(SSD_w ÷ (h(h−1))), h the values kept, SSD_w the winsorised sum of squared
/// deviations.
///
/// The level is that asked for, approximately; below six values no interval is given by this
/// method, and the range of the values stands in with its level as a median's interval.
///
/// # Errors
/// No values, a value that is not finite or whose square is not, a level outside 0…1.
pub fn midmean(values: &[f64], level: f64) -> Result<Interval, StatsError> {
    input_checks::finite(values, 1)?;
    input_checks::open_unit("level", level)?;
    let sorted = input_checks::sorted(values);
    let count = sorted.len();
    let cut = count / 4;
    let kept = &sorted[cut..count - cut];
    let mean = mean(kept);
    input_checks::finite(&[mean], 1)?;
    if count < 6 {
        let reached = 1.0 - 0.5f64.powi(i32::try_from(count).unwrap_or(i32::MAX) - 1);
        return Ok(Interval {
            estimate: Estimate {
                value: mean,
                low: sorted[0],
                high: sorted[count - 1],
            },
            level: reached,
            rule: if count == 1 {
                IntervalRule::Single
            } else {
                IntervalRule::Range
            },
            count,
        });
    }
    let half = half_width(&sorted, cut, level);
    // Squares of values beyond 10¹⁵⁴ overflow.
    input_checks::finite(&[mean, half], 2)?;
    Ok(Interval {
        estimate: Estimate {
            value: mean,
            low: mean - half,
            high: mean + half,
        },
        level,
        rule: IntervalRule::Regular,
        count,
    })
}

fn half_width(sorted: &[f64], cut: usize, level: f64) -> f64 {
    let count = sorted.len();
    let kept = (count - 2 * cut) as f64;
    let winsorised: Vec<f64> = sorted
        .iter()
        .map(|value| value.clamp(sorted[cut], sorted[count - cut - 1]))
        .collect();
    let centre = mean(&winsorised);
    let squares: f64 = winsorised
        .iter()
        .map(|value| (value - centre).powi(2))
        .sum();
    let t =
        StudentsT::new(0.0, 1.0, kept - 1.0).map_or(f64::MAX, |t| t.inverse_cdf(0.5 + level / 2.0));
    t * (squares / (kept * (kept - 1.0))).sqrt()
}

/// Mean of non-empty values, computed about the first one so that it cannot overflow for values
/// of one sign and loses no digits where they lie close together.
fn mean(values: &[f64]) -> f64 {
    let first = values[0];
    first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_formula_by_hand() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0];
        let interval = midmean(&values, 0.95).unwrap();
        assert!((interval.estimate.value - 4.5).abs() < 1e-12);
        let half = interval.estimate.high - 4.5;
        assert!((half - HALF).abs() < 1e-6, "{half}");
    }
    // Winsorised values 3,3,3,4,5,6,6,6: SSD_w = 14, h = 4, t(3) = 3.182446;
    // half = 3.182446 · √(14 / 12).
    const HALF: f64 = 3.437_434;

    #[test]
    fn outlier_moves_the_midmean_little() {
        let mut values: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i) * 0.01).collect();
        let calm = midmean(&values, 0.95).unwrap().estimate.value;
        values[19] = 1e9;
        assert_eq!(midmean(&values, 0.95).unwrap().estimate.value, calm);
    }

    #[test]
    fn small_counts_give_valid_intervals_and_invalid_input_is_refused() {
        assert_eq!(midmean(&[3.0], 0.95).unwrap().rule, IntervalRule::Single);
        assert_eq!(
            midmean(&[3.0, 4.0, 5.0], 0.95).unwrap().rule,
            IntervalRule::Range
        );
        assert!(midmean(&[], 0.95).is_err());
        assert!(midmean(&[1.0, f64::INFINITY], 0.95).is_err());
        assert!(midmean(&[1.0], 1.0).is_err());
    }
}
