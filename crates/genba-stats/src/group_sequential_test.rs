//! Wilcoxon's test at five interim_tests: the cross-check of the confidence sequence.

use crate::{StatsError, input_checks, signed_rank};

/// Numbers of pairs at which the interim tests are made.
pub const INTERIM_PAIRS: [usize; 5] = [12, 24, 48, 96, 192];

/// Wilcoxon's signed-rank test after 12, 24, 48, 96 and 192 pairs, each at alpha ÷ 5, so that
/// the whole has error probability alpha at most (Bonferroni over the looks; a simple group
/// sequential plan as of Pocock, Biometrika 64 (1977), yet without his correlation gain).
#[derive(Clone, Debug)]
pub struct GroupSequentialTest {
    alpha: f64,
    values: Vec<f64>,
    rejected: Option<InterimTest>,
}

/// The interim test that rejected "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimTest {
    /// Number of pairs.
    pub pairs: usize,
    /// p-value.
    pub p_value: f64,
    /// Whether the log ratios are mostly above 0 (the variant is larger).
    pub above: bool,
}

impl GroupSequentialTest {
    /// A test at significance level `alpha`.
    ///
    /// # Errors
    /// An alpha outside 0…1.
    pub fn new(alpha: f64) -> Result<Self, StatsError> {
        input_checks::open_unit("alpha", alpha)?;
        Ok(Self {
            alpha,
            values: Vec::new(),
            rejected: None,
        })
    }

    /// Adds the next pair's log ratio and looks, if it is time. Pairs after the last look or
    /// after a rejection change nothing.
    ///
    /// # Errors
    /// A log ratio that is not finite.
    pub fn push(&mut self, log_ratio: f64) -> Result<(), StatsError> {
        input_checks::finite(&[log_ratio], 1)?;
        if self.rejected.is_some() || self.values.len() >= INTERIM_PAIRS[INTERIM_PAIRS.len() - 1] {
            return Ok(());
        }
        self.values.push(log_ratio);
        if INTERIM_PAIRS.contains(&self.values.len()) {
            let test = signed_rank(&self.values)?;
            if test.p_value < self.alpha / INTERIM_PAIRS.len() as f64 {
                let n = test.count as f64;
                self.rejected = Some(InterimTest {
                    pairs: self.values.len(),
                    p_value: test.p_value,
                    above: test.positive_ranks > n * (n + 1.0) / 4.0,
                });
            }
        }
        Ok(())
    }

    /// The interim test that found a difference, if any.
    #[must_use]
    pub fn rejected(&self) -> Option<InterimTest> {
        self.rejected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_difference_is_rejected_at_the_first_interim_test() {
        let mut plan = GroupSequentialTest::new(0.05).unwrap();
        for i in 0..12 {
            assert_eq!(plan.rejected(), None);
            plan.push(-0.1 - f64::from(i) * 0.001).unwrap();
        }
        let look = plan.rejected().unwrap();
        assert_eq!((look.pairs, look.above), (12, false));
    }

    #[test]
    fn balanced_pairs_are_not_rejected() {
        let mut plan = GroupSequentialTest::new(0.05).unwrap();
        for i in 0..300 {
            let size = 1.0 + f64::from(i / 2);
            plan.push(if i % 2 == 0 { size } else { -size }).unwrap();
        }
        assert_eq!(plan.rejected(), None);
        assert!(plan.push(f64::NAN).is_err());
    }
}
