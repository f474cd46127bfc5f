//! Drift, and a first run unlike the rest.

use crate::outliers::robust_scale;
use crate::quantile::median_of_sorted;
use crate::{OUTLIER_THRESHOLD, StatsError, input_checks, normal_distribution};

/// A monotonic drift over the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Kendall's tau between order and value, −1…1: above 0 the values rise.
    pub tau: f64,
    /// Two-sided p-value of "no trend"; assumes independent runs, so bursts of noise make it
    /// too small: take it as a hint.
    pub p_value: f64,
}

/// The Mann–Kendall test for a trend, with ties corrected. Source: Mann, "Nonparametric tests
/// against trend", Econometrica 13 (1945); Kendall, *Rank Correlation Methods* (1975). `None`
/// below eight values, where the normal approximation does not hold, and for values all equal.
///
/// # Errors
/// A value that is not finite.
pub fn trend(values: &[f64]) -> Result<Option<Trend>, StatsError> {
    input_checks::finite(values, 0)?;
    if values.len() < 8 {
        return Ok(None);
    }
    let sorted = input_checks::sorted(values);
    let n = values.len() as f64;
    let mut tie_term = 0.0;
    for group in sorted.chunk_by(|left, right| left == right) {
        let ties = group.len() as f64;
        tie_term += ties * (ties - 1.0) * (2.0 * ties + 5.0);
    }
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - tie_term) / 18.0;
    if variance <= 0.0 {
        return Ok(None);
    }
    let score = kendall_score(values, &sorted) as f64;
    let distance = (score.abs() - 1.0).max(0.0);
    Ok(Some(Trend {
        tau: score / (n * (n - 1.0) / 2.0),
        p_value: normal_distribution::two_sided(distance / variance.sqrt()),
    }))
}

/// Pairs that rise minus pairs that fall, by a Fenwick tree over ranks: O(n log n).
fn kendall_score(values: &[f64], sorted: &[f64]) -> i64 {
    let mut tree = vec![0i64; sorted.len() + 1];
    let mut score = 0;
    for (seen, value) in values.iter().enumerate() {
        // How many earlier values are smaller, and how many at most equal.
        let smaller = sorted.partition_point(|other| other < value);
        let at_most = sorted.partition_point(|other| other <= value);
        let below = prefix(&tree, smaller);
        let above = seen as i64 - prefix(&tree, at_most);
        score += below - above;
        // Count this value at the last place of its tie group.
        let mut index = at_most;
        while index < tree.len() {
            tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
    score
}

fn prefix(tree: &[i64], mut index: usize) -> i64 {
    let mut sum = 0;
    while index > 0 {
        sum += tree[index];
        index &= index - 1;
    }
    sum
}

/// The first run's ratio to the median of the rest, if it lies beyond [`OUTLIER_THRESHOLD`]
/// robust standard deviations of them and differs by 1 % at least: a cold cache, a lazy
/// compilation. `None` if it is like the rest, for fewer than five runs, or if the rest's median
/// is not above zero.
///
/// # Errors
/// A value that is not finite.
pub fn first_unlike_rest(values: &[f64]) -> Result<Option<f64>, StatsError> {
    input_checks::finite(values, 0)?;
    if values.len() < 5 {
        return Ok(None);
    }
    let (first, rest) = (values[0], &values[1..]);
    let centre = median_of_sorted(&input_checks::sorted(rest));
    if centre <= 0.0 {
        return Ok(None);
    }
    let ratio = first / centre;
    let far = match robust_scale(rest, centre) {
        Some(scale) => ((first - centre) / scale).abs() > OUTLIER_THRESHOLD,
        None => true,
    };
    Ok((far && (ratio - 1.0).abs() >= 0.01 && ratio.is_finite()).then_some(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn drift_and_its_direction_are_detected() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let found = trend(&rising).unwrap().unwrap();
        assert_eq!(found.tau, 1.0);
        assert!(found.p_value < 1e-6);
        let wave: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert!(trend(&wave).unwrap().unwrap().p_value > 0.5);
        assert_eq!(trend(&[1.0; 20]).unwrap(), None);
        assert_eq!(trend(&rising[..7]).unwrap(), None);
        assert!(trend(&[f64::NAN; 9]).is_err());
    }

    #[test]
    fn cold_first_run_is_detected() {
        let ratio = first_unlike_rest(&[3.0, 1.0, 1.01, 0.99, 1.0, 1.02])
            .unwrap()
            .unwrap();
        assert_eq!(ratio, 3.0);
        assert_eq!(
            first_unlike_rest(&[1.01, 1.0, 1.01, 0.99, 1.0, 1.02]).unwrap(),
            None
        );
        assert_eq!(first_unlike_rest(&[3.0, 1.0, 1.0]).unwrap(), None);
        assert_eq!(
            first_unlike_rest(&[2.0, 1.0, 1.0, 1.0, 1.0]).unwrap(),
            Some(2.0)
        );
        assert_eq!(first_unlike_rest(&[0.0; 9]).unwrap(), None);
    }

    proptest! {
        #[test]
        fn score_equals_the_definition(values in prop::collection::vec(-4i32..4, 1..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut expected = 0;
            for (index, left) in values.iter().enumerate() {
                for right in &values[index + 1..] {
                    expected += i64::from(right > left) - i64::from(right < left);
                }
            }
            prop_assert_eq!(kendall_score(&values, &input_checks::sorted(&values)), expected);
        }
    }
}
