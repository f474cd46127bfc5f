//! Betting against "the pairs are symmetric about θ": the e-process of one θ.
//!
//! Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
//! JRSS B 86 (2024), for confidence sequences by betting; Ramdas, Ruf, Larsson and Koolen,
//! "Testing exchangeability: fork-convexity, supermartingales and e-processes" (2022), for
//! symmetry. If the pairs are symmetric about θ, then whatever the size of d−θ its sign is a fair
//! coin, so the wealth of each bettor below is a non-negative martingale from 1, and the mean of
//! their wealths ever reaches 1/α with probability α at most (Ville's inequality).

/// Stakes: from careful to bold, each for both signs. Several, because the best one depends on
/// the unknown effect; few, because each costs the others a part of the starting capital. The
/// smallest lets effects down to a fiftieth of the scatter be seen in the end, the largest
/// decides a plain case in 13 pairs.
pub(crate) const STAKES: [f64; 4] = [0.03, 0.1, 0.22, 0.5];

/// The score −1…1 that is bet on: the distance from θ in units of `scale`, cut off at 1, so that
/// one wild pair wins or loses no more than any other. Without a scale the sign alone.
pub(crate) fn score(distance: f64, scale: f64) -> f64 {
    if distance == 0.0 {
        0.0
    } else if scale == 0.0 {
        distance.signum()
    } else {
        (distance / scale).clamp(-1.0, 1.0)
    }
}

/// The median of |x − θ| over sorted, non-empty values, in O(log n).
pub(crate) fn median_distance(sorted: &[f64], theta: f64) -> f64 {
    let count = sorted.len();
    let upper = nearest(sorted, theta, count / 2 + 1);
    if count % 2 == 1 {
        upper
    } else {
        nearest(sorted, theta, count / 2).midpoint(upper)
    }
}

/// Distance from θ of the `rank`-th nearest value: the `rank` nearest ones stand together.
fn nearest(sorted: &[f64], theta: f64, rank: usize) -> f64 {
    let (mut low, mut high) = (0, sorted.len() - rank);
    while low < high {
        let middle = usize::midpoint(low, high);
        if theta - sorted[middle] > sorted[middle + rank] - theta {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (theta - sorted[low])
        .abs()
        .max((sorted[low + rank - 1] - theta).abs())
}

/// Wealths kept as logarithms: may grow for ever (used for θ = 0, whose e-value is reported).
#[derive(Clone, Debug, Default)]
pub(crate) struct LogWealth {
    logs: [[f64; 2]; STAKES.len()],
}

impl LogWealth {
    pub(crate) fn bet(&mut self, score: f64) {
        for (logs, stake) in self.logs.iter_mut().zip(STAKES) {
            logs[0] += (stake * score).ln_1p();
            logs[1] += (-stake * score).ln_1p();
        }
    }

    /// Natural logarithm of the mean wealth.
    pub(crate) fn log_mean(&self) -> f64 {
        let all = self.logs.as_flattened();
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all.iter().map(|log| (log - most).exp()).sum();
        most + (sum / all.len() as f64).ln()
    }
}

/// Wealths kept as they are: quick, and safe while the mean stays below 1/α, since then no
/// single one exceeds 8/α. One that falls below 10⁻²⁰⁰ is ruined for good, which only makes
/// the test more careful.
#[derive(Clone, Debug)]
pub(crate) struct Wealth {
    up: [f64; STAKES.len()],
    down: [f64; STAKES.len()],
}

impl Wealth {
    pub(crate) fn new() -> Self {
        Self {
            up: [1.0; STAKES.len()],
            down: [1.0; STAKES.len()],
        }
    }

    /// Bets, and gives the mean wealth afterwards.
    pub(crate) fn bet(&mut self, score: f64) -> f64 {
        let mut sum = 0.0;
        for ((up, down), stake) in self.up.iter_mut().zip(&mut self.down).zip(STAKES) {
            *up *= 1.0 + stake * score;
            *down *= 1.0 - stake * score;
            sum += *up + *down;
        }
        for wealth in self.up.iter_mut().chain(&mut self.down) {
            if *wealth < 1e-200 {
                *wealth = 0.0;
            }
        }
        sum / (2 * STAKES.len()) as f64
    }
}

/// Inserts a value at its place.
pub(crate) fn insert(sorted: &mut Vec<f64>, value: f64) {
    let place = sorted.partition_point(|other| *other < value);
    sorted.insert(place, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_wealths_agree_with_the_definition() {
        let scores = [0.5, -1.0, 0.25, 1.0, 1.0, 0.0];
        let mut logs = LogWealth::default();
        let mut plain = Wealth::new();
        let mut mean = 1.0;
        for score in scores {
            logs.bet(score);
            mean = plain.bet(score);
        }
        let expected: f64 = STAKES
            .iter()
            .flat_map(|stake| [*stake, -stake])
            .map(|stake| {
                scores
                    .iter()
                    .map(|score| 1.0 + stake * score)
                    .product::<f64>()
            })
            .sum::<f64>()
            / 8.0;
        assert!((mean - expected).abs() < 1e-12);
        assert!((logs.log_mean() - expected.ln()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_quick_median_is_the_median(values in prop::collection::vec(-5.0..5.0f64, 1..40), theta in -8.0..8.0f64) {
            let sorted = crate::input_checks::sorted(&values);
            let expected = crate::quantile::mad_about(&sorted, theta);
            prop_assert!((median_distance(&sorted, theta) - expected).abs() < 1e-12);
        }
    }
}
