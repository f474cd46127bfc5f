//! Wilcoxon's test at five looks: the cross-check of the confidence sequence.

use crate::{StatsError, input_checks, signed_rank};

/// Numbers of pairs at which the test is made.
pub const LOOKS: [usize; 5] = [12, 24, 48, 96, 192];

/// Wilcoxon's signed-rank test after 12, 24, 48, 96 and 192 pairs, each at alpha ÷ 5, so that
/// the whole has error probability alpha at most (Bonferroni over the looks; a simple group
/// sequential plan as of Pocock, Biometrika 64 (1977), yet without his correlation gain).
#[derive(Clone, Debug)]
pub struct FiveLooks {
    alpha: f64,
    values: Vec<f64>,
    rejected: Option<Look>,
}

/// The look that refuted "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Pairs at that look.
    pub pairs: usize,
    /// p-value there.
    pub p_value: f64,
    /// Whether the log ratios are mostly above 0 (the variant is larger).
    pub above: bool,
}

impl FiveLooks {
    /// A plan with error probability `alpha`.
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
        if self.rejected.is_some() || self.values.len() >= LOOKS[LOOKS.len() - 1] {
            return Ok(());
        }
        self.values.push(log_ratio);
        if LOOKS.contains(&self.values.len()) {
            let test = signed_rank(&self.values)?;
            if test.p_value < self.alpha / LOOKS.len() as f64 {
                let n = test.count as f64;
                self.rejected = Some(Look {
                    pairs: self.values.len(),
                    p_value: test.p_value,
                    above: test.positive_ranks > n * (n + 1.0) / 4.0,
                });
            }
        }
        Ok(())
    }

    /// The look that found a difference, if one did.
    #[must_use]
    pub fn rejected(&self) -> Option<Look> {
        self.rejected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_plain_difference_at_the_first_look() {
        let mut plan = FiveLooks::new(0.05).unwrap();
        for i in 0..12 {
            assert_eq!(plan.rejected(), None);
            plan.push(-0.1 - f64::from(i) * 0.001).unwrap();
        }
        let look = plan.rejected().unwrap();
        assert_eq!((look.pairs, look.above), (12, false));
    }

    #[test]
    fn balanced_pairs_find_nothing() {
        let mut plan = FiveLooks::new(0.05).unwrap();
        for i in 0..300 {
            let size = 1.0 + f64::from(i / 2);
            plan.push(if i % 2 == 0 { size } else { -size }).unwrap();
        }
        assert_eq!(plan.rejected(), None);
        assert!(plan.push(f64::NAN).is_err());
    }
}
