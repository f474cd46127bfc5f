//! Sequential judge of a comparison: pairs are added one by one until there is a verdict.

use genba_model::Estimate;

use crate::verdict::check_delta;
use crate::{
    ConfidenceSequence, GroupSequentialTest, InterimTest, StatsError, Verdict, equivalent,
    forecast, log_ratios,
};

/// Compares a variant with its baseline while pairs are measured; valid after every pair.
///
/// ```
/// use genba_stats::{Judge, Verdict};
/// let mut judge = Judge::new(0.05, 0.01).unwrap();
/// while judge.verdict() == Verdict::Undecided {
///     judge.push(2.00, 1.90).unwrap(); // seconds of the baseline and of the variant
/// }
/// assert_eq!(judge.verdict(), Verdict::Faster);
/// ```
#[derive(Clone, Debug)]
pub struct Judge {
    delta: f64,
    sequence: ConfidenceSequence,
    interim_tests: GroupSequentialTest,
}

impl Judge {
    /// `alpha` is the significance level (0.05). `delta` is the equivalence margin (0.01): differences
    /// smaller than this are treated as equal; 0 never reports equivalence.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn new(alpha: f64, delta: f64) -> Result<Self, StatsError> {
        check_delta(delta)?;
        Ok(Self {
            delta,
            sequence: ConfidenceSequence::new(alpha)?,
            interim_tests: GroupSequentialTest::new(alpha)?,
        })
    }

    /// Adds a pair of values (both above 0) made next to one another in random order.
    ///
    /// # Errors
    /// A value that is not finite or not above 0; the judge is unchanged then.
    pub fn push(&mut self, baseline: f64, variant: f64) -> Result<(), StatsError> {
        let log_ratio = log_ratios(&[baseline], &[variant])?[0];
        self.sequence.push(log_ratio)?;
        self.interim_tests.push(log_ratio)
    }

    /// The verdict after the pairs so far.
    ///
    /// Where no one effect fits all pairs ([`ConfidenceSequence::conflict`]) the pairs must
    /// still speak against "no difference" as they stand, not only at some time past: an effect
    /// that changed its sign while it was measured is undecided.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let median = self.sequence.median().unwrap_or(0.0);
        if self.sequence.conflict() {
            let threshold = -self.sequence.alpha().ln();
            return match self.sequence.log_e_value() >= threshold {
                true if median < 0.0 => Verdict::Faster,
                true if median > 0.0 => Verdict::Slower,
                _ => Verdict::Undecided,
            };
        }
        if self.sequence.excludes_zero() {
            // On which side: that of the interval, whose end may touch 0 by interpolation.
            let below = self
                .sequence
                .interval()
                .map_or(median < 0.0, |logs| logs.high <= 0.0);
            return if below {
                Verdict::Faster
            } else {
                Verdict::Slower
            };
        }
        let same = self
            .sequence
            .ratio()
            .is_some_and(|ratio| equivalent(&ratio, self.delta));
        if same {
            Verdict::Same
        } else {
            Verdict::Undecided
        }
    }

    /// Ratio variant ÷ baseline with the interval valid at any time; `None` in the first pairs.
    #[must_use]
    pub fn ratio(&self) -> Option<Estimate> {
        self.sequence.ratio()
    }

    /// The interim test of the cross-check that found a difference, if any.
    #[must_use]
    pub fn cross_check(&self) -> Option<InterimTest> {
        self.interim_tests.rejected()
    }

    /// About how many more pairs a verdict needs; `None` if there is one, if there are fewer
    /// than eight pairs to judge from, or if the number is beyond all measuring.
    #[must_use]
    pub fn more_pairs(&self) -> Option<usize> {
        if self.verdict() != Verdict::Undecided || self.sequence.count() < 8 {
            return None;
        }
        forecast(
            self.sequence.median()?,
            self.sequence.scatter()?,
            self.delta,
            self.sequence.count(),
        )
    }

    /// The sequence beneath: pairs, e-value, conflict.
    #[must_use]
    pub fn sequence(&self) -> &ConfidenceSequence {
        &self.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_variants_are_judged_the_same() {
        let mut judge = Judge::new(0.05, 0.01).unwrap();
        for i in 0..600u32 {
            let noise = 1.0 + f64::from(i * 37 % 101) * 0.0004;
            let other = 1.0 + f64::from(i * 53 % 101) * 0.0004;
            judge.push(noise, other).unwrap();
            if judge.verdict() != Verdict::Undecided {
                break;
            }
            assert!(i < 8 || judge.more_pairs().is_some());
        }
        assert_eq!(judge.verdict(), Verdict::Same);
        assert_eq!(judge.more_pairs(), None);
    }

    /// Log ratios scattered evenly by ± 5 % about an effect.
    fn push_about(judge: &mut Judge, effect: f64, count: u32) {
        for i in 0..count {
            let d = effect + (f64::from(i * 37 % 101) - 50.0) / 1_000.0;
            judge.push(1.0, d.exp()).unwrap();
        }
    }

    #[test]
    fn effect_that_changes_sign_is_undecided() {
        let mut judge = Judge::new(0.05, 0.01).unwrap();
        push_about(&mut judge, 0.3, 100);
        assert_eq!(judge.verdict(), Verdict::Slower);
        push_about(&mut judge, -0.3, 110);
        assert!(judge.sequence().conflict());
        assert_eq!(judge.verdict(), Verdict::Undecided);
    }

    #[test]
    fn growing_effect_keeps_its_verdict() {
        let mut judge = Judge::new(0.05, 0.01).unwrap();
        push_about(&mut judge, 0.1, 200);
        push_about(&mut judge, 0.5, 600);
        assert!(judge.sequence().conflict());
        assert_eq!(judge.verdict(), Verdict::Slower);
    }

    #[test]
    fn zero_times_are_refused_and_change_nothing() {
        let mut judge = Judge::new(0.05, 0.01).unwrap();
        assert!(matches!(
            judge.push(1.0, 0.0),
            Err(StatsError::NotPositive { .. })
        ));
        assert!(judge.push(f64::NAN, 1.0).is_err());
        assert_eq!(judge.sequence().count(), 0);
        assert!(Judge::new(0.05, -1.0).is_err());
    }
}
