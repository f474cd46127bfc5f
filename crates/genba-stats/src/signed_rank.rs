//! Wilcoxon's signed-rank test and the ranks of its interval.

use crate::{StatsError, input_checks, normal_distribution};

/// Up to this many values the distribution is computed exactly.
const EXACT_UP_TO: usize = 50;

/// What the signed-rank test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of the positive values.
    pub positive_ranks: f64,
    /// Values that took part: those that are not zero.
    pub count: usize,
    /// Two-sided p-value; 1 where no value took part.
    pub p_value: f64,
    /// Whether the p-value is exact; else the normal approximation with tie correction.
    pub exact: bool,
}

/// Wilcoxon's signed-rank test of symmetry about zero. Source: Wilcoxon, "Individual comparisons
/// by ranking methods", Biometrics Bulletin 1 (1945); Hollander, Wolfe and Chicken, 3.1. Zeros
/// are left out, ties get mean ranks; exact up to 50 values without ties.
///
/// # Errors
/// No values, or a value that is not finite.
pub fn signed_rank(values: &[f64]) -> Result<SignedRank, StatsError> {
    input_checks::finite(values, 1)?;
    let mut sizes: Vec<(f64, bool)> = values
        .iter()
        .filter(|value| **value != 0.0)
        .map(|value| (value.abs(), *value > 0.0))
        .collect();
    sizes.sort_by(|left, right| left.0.total_cmp(&right.0));
    let count = sizes.len();
    if count == 0 {
        return Ok(SignedRank {
            positive_ranks: 0.0,
            count,
            p_value: 1.0,
            exact: true,
        });
    }
    let mut positive_ranks = 0.0;
    let mut tie_term = 0.0;
    let mut start = 0;
    for group in sizes.chunk_by(|left, right| left.0 == right.0) {
        let ties = group.len() as f64;
        let rank = start as f64 + (ties + 1.0) / 2.0;
        positive_ranks += rank * group.iter().filter(|(_, positive)| *positive).count() as f64;
        tie_term += ties * (ties * ties - 1.0);
        start += group.len();
    }
    let exact = tie_term == 0.0 && count <= EXACT_UP_TO;
    let p_value = if exact {
        let total = count * (count + 1) / 2;
        // Without ties the sum is an integer.
        let positive = positive_ranks as usize;
        let smaller = positive.min(total - positive);
        let below: f64 = distribution(count)[..=smaller].iter().sum();
        (2.0 * below).min(1.0)
    } else {
        let n = count as f64;
        let mean = n * (n + 1.0) / 4.0;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term / 48.0;
        let distance = ((positive_ranks - mean).abs() - 0.5).max(0.0);
        normal_distribution::two_sided(distance / variance.sqrt())
    };
    Ok(SignedRank {
        positive_ranks,
        count,
        p_value,
        exact,
    })
}

/// The rank k (from 1) such that the Walsh averages k and M+1−k bound the centre with at least
/// `level`, and the level reached; rank 1 with its lower level where none does.
pub(crate) fn lower_rank(count: usize, level: f64) -> (u64, f64) {
    let tail = (1.0 - level) / 2.0;
    if count <= EXACT_UP_TO {
        let probabilities = distribution(count);
        // Largest k with P(W ≤ k−1) ≤ tail.
        let mut below = probabilities[0];
        if below > tail {
            return (1, (1.0 - 2.0 * below).max(0.0));
        }
        let mut rank = 1;
        for probability in &probabilities[1..] {
            if below + probability > tail {
                break;
            }
            below += probability;
            rank += 1;
        }
        return (rank, 1.0 - 2.0 * below);
    }
    let n = count as f64;
    let mean = n * (n + 1.0) / 4.0;
    let sigma = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let rank = (mean + 0.5 + normal_distribution::quantile(tail) * sigma)
        .floor()
        .max(1.0);
    let reached = 1.0 - 2.0 * normal_distribution::cdf((rank - 0.5 - mean) / sigma);
    (rank as u64, reached)
}

/// Probabilities of each sum of positive ranks, 0…n(n+1)/2, under symmetry.
fn distribution(count: usize) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for rank in 1..=count {
        let mut next = vec![0.0; probabilities.len() + rank];
        for (sum, probability) in probabilities.iter().enumerate() {
            next[sum] += probability / 2.0;
            next[sum + rank] += probability / 2.0;
        }
        probabilities = next;
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_r_and_the_tables() {
        // R's example above: V = 40, p = 0.03906.
        let test = signed_rank(&[
            0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010,
        ])
        .unwrap();
        assert_eq!((test.positive_ranks, test.exact), (40.0, true));
        assert!((test.p_value - 0.039_062_5).abs() < 1e-12);
        // Published two-sided 5 % critical values: W ≤ 8 for 10, 52 for 20, 137 for 30, 434 for 50.
        for (count, critical) in [(6, 0), (10, 8), (20, 52), (30, 137), (50, 434)] {
            assert_eq!(lower_rank(count, 0.95).0, critical + 1, "{count}");
        }
    }

    #[test]
    fn approximation_agrees_with_the_exact_distribution() {
        let (exact, _) = lower_rank(50, 0.95);
        let (next, _) = lower_rank(51, 0.95);
        assert!(next > exact && next < exact + 25);
    }

    #[test]
    fn zeros_are_dropped_and_ties_share_ranks() {
        assert_eq!(signed_rank(&[0.0, 0.0]).unwrap().p_value, 1.0);
        let tied = signed_rank(&[1.0, 1.0, -1.0, 1.0]).unwrap();
        assert_eq!((tied.exact, tied.positive_ranks), (false, 7.5));
        assert!(signed_rank(&[f64::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn p_is_a_probability_and_blind_to_sign(values in prop::collection::vec(-10.0..10.0f64, 1..80)) {
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            let one = signed_rank(&values).unwrap();
            prop_assert!(one.p_value > 0.0 && one.p_value <= 1.0);
            prop_assert!((one.p_value - signed_rank(&negated).unwrap().p_value).abs() < 1e-12);
        }
    }
}
