//! Effect and verdict of a variant from its column and that of the baseline. Pure.

use genba_model::{Direction, Estimate, VerdictName};
use genba_stats::{
    IntervalRule, Judge, MIN_PAIRS, Verdict, forecast, log_ratios, mad, median, paired_effect,
    signed_rank,
};

/// Parameters of a paired comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub alpha: f64,
    pub delta: f64,
    pub direction: Direction,
    /// Whether the number of pairs was fixed beforehand and reached.
    pub fixed: bool,
}

/// Evidence against "no difference".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Evidence {
    /// Natural logarithm of an e-value.
    LogE(f64),
    /// A p-value.
    P(f64),
}

/// Effect of a variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effect {
    /// Variant ÷ baseline.
    pub ratio: Estimate,
    pub verdict: VerdictName,
    pub pairs: u32,
    pub more_pairs: Option<u32>,
    pub cross_check: Option<bool>,
    pub evidence: Evidence,
    /// Level of the interval if it is below the level asked for.
    pub low_level: Option<f64>,
}

/// Usable pairs, and the first pair with an unusable value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    pub baseline: Vec<f64>,
    pub variant: Vec<f64>,
    /// Number of pairs with a zero.
    pub zeros: usize,
    /// The first pair with a missing, negative or zero value: whether it is the baseline's, run
    /// (from 0), value.
    pub unusable: Option<(bool, usize, f64)>,
    /// Whether pairs were skipped as unusable.
    pub skipped: bool,
}

/// A zero is replaced by this share of the other value of its pair.
const ZERO_REPLACEMENT_SHARE: f64 = 1e-3;
/// Share of pairs with a zero above which there is no verdict.
const MAX_ZERO_SHARE: f64 = 0.1;

/// A pair as the judges use it; `None` if a value is negative or not finite.
///
/// A coarse clock reports zero for short runs. The log ratio then has a sign, but no size. Methods
/// that bound the influence of a pair treat it as very large, and stay symmetric in the variants.
pub(crate) fn usable(baseline: f64, variant: f64) -> Option<(f64, f64)> {
    let good = |value: f64| value.is_finite() && value >= 0.0;
    if !(good(baseline) && good(variant)) {
        return None;
    }
    Some(match (baseline == 0.0, variant == 0.0) {
        (true, true) => (1.0, 1.0),
        (true, false) => (variant * ZERO_REPLACEMENT_SHARE, variant),
        (false, true) => (baseline, baseline * ZERO_REPLACEMENT_SHARE),
        (false, false) => (baseline, variant),
    })
    // The product may underflow to zero.
    .filter(|(left, right)| *left > 0.0 && *right > 0.0)
}

/// Whether these pairs, with this number of zeros, allow a verdict.
pub(crate) fn sound(left_out: bool, zeros: usize, pairs: usize) -> bool {
    !left_out && zeros as f64 <= MAX_ZERO_SHARE * pairs as f64
}

impl Pairs {
    /// Pairs run `i` of both: they are from the same block.
    pub fn of(baseline: &[f64], variant: &[f64]) -> Self {
        let mut pairs = Self::default();
        for (run, (left, right)) in baseline.iter().zip(variant).enumerate() {
            let zero = *left == 0.0 || *right == 0.0;
            let found = usable(*left, *right);
            if let Some((left, right)) = found {
                pairs.baseline.push(left);
                pairs.variant.push(right);
            }
            pairs.zeros += usize::from(zero);
            pairs.skipped |= found.is_none();
            if (zero || found.is_none()) && pairs.unusable.is_none() {
                let at_fault = !(left.is_finite() && *left > 0.0);
                pairs.unusable = Some((at_fault, run, if at_fault { *left } else { *right }));
            }
        }
        pairs
    }

    /// Whether they allow a verdict.
    pub fn sound(&self) -> bool {
        sound(self.skipped, self.zeros, self.baseline.len())
    }

    /// Effect and verdict; `None` without a pair.
    pub fn judge(&self, question: &Question) -> Option<Effect> {
        let logs = log_ratios(&self.baseline, &self.variant).ok()?;
        // With fewer pairs than the sequence needs it had no part in the decision to stop, so the
        // number counts as fixed beforehand (by the budget).
        let mut effect = if question.fixed || logs.len() < MIN_PAIRS {
            self.at_a_fixed_number(&logs, question)?
        } else {
            self.at_any_number(&logs, question)?
        };
        if !self.sound() {
            effect.verdict = VerdictName::Undecided;
        }
        Some(effect)
    }

    fn at_a_fixed_number(&self, logs: &[f64], question: &Question) -> Option<Effect> {
        let found = paired_effect(&self.baseline, &self.variant, 1.0 - question.alpha).ok()?;
        let ratio = found.ratio.estimate;
        let regular = found.ratio.rule == IntervalRule::Regular;
        let verdict = if regular {
            Verdict::of_ratio(&ratio, question.delta)
        } else {
            Verdict::Undecided
        };
        let more = (verdict == Verdict::Undecided)
            .then(|| more_pairs(logs, question.delta))
            .flatten();
        Some(Effect {
            ratio,
            verdict: verdict_name(verdict, question.direction),
            pairs: count(logs.len()),
            more_pairs: more,
            cross_check: None,
            evidence: Evidence::P(signed_rank(logs).map_or(1.0, |test| test.p_value)),
            low_level: (!regular).then_some(found.ratio.level),
        })
    }

    fn at_any_number(&self, logs: &[f64], question: &Question) -> Option<Effect> {
        let mut judge = Judge::new(question.alpha, question.delta).ok()?;
        for (baseline, variant) in self.baseline.iter().zip(&self.variant) {
            judge.push(*baseline, *variant).ok()?;
        }
        let usable = |ratio: &Estimate| ratio.low.is_finite() && ratio.high.is_finite();
        let verdict = judge.verdict();
        let Some(ratio) = judge.ratio().filter(usable) else {
            // No finite end yet: the range of the ratios is shown, without a verdict.
            let ratios: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
            let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let high = ratios.iter().copied().fold(0.0, f64::max);
            let value = median(&ratios).ok()?;
            return high.is_finite().then(|| Effect {
                ratio: Estimate { value, low, high },
                verdict: VerdictName::Undecided,
                pairs: count(logs.len()),
                more_pairs: more_pairs(logs, question.delta),
                cross_check: Some(judge.cross_check().is_some()),
                evidence: Evidence::LogE(judge.sequence().log_e_value()),
                low_level: Some(0.0),
            });
        };
        Some(Effect {
            ratio,
            verdict: verdict_name(verdict, question.direction),
            pairs: count(logs.len()),
            more_pairs: judge.more_pairs().map(count),
            cross_check: Some(judge.cross_check().is_some()),
            evidence: Evidence::LogE(judge.sequence().log_e_value()),
            low_level: None,
        })
    }
}

/// About how many more pairs a verdict needs.
pub(crate) fn more_pairs(logs: &[f64], delta: f64) -> Option<u32> {
    // Two or three pairs do not determine the scatter.
    if logs.len() < 4 {
        return None;
    }
    let scatter = genba_stats::MAD_TO_SIGMA * mad(logs).ok()?;
    forecast(median(logs).ok()?, scatter, delta, logs.len()).map(count)
}

/// Name of a verdict; if more is better, the larger value counts as faster.
pub(crate) fn verdict_name(verdict: Verdict, direction: Direction) -> VerdictName {
    let verdict = match direction {
        Direction::LessIsBetter => verdict,
        Direction::MoreIsBetter => verdict.swapped(),
    };
    match verdict {
        Verdict::Faster => VerdictName::Faster,
        Verdict::Slower => VerdictName::Slower,
        Verdict::Same => VerdictName::Same,
        Verdict::Undecided => VerdictName::Undecided,
    }
}

pub(crate) fn differs(verdict: VerdictName) -> bool {
    matches!(verdict, VerdictName::Faster | VerdictName::Slower)
}

pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Which differences hold after correction for multiple comparisons, and the method: e-BH if all
/// evidence is e-values, else Holm on p-values. `None` for a single comparison.
pub(crate) fn corrected(evidence: &[Evidence], alpha: f64) -> Option<(&'static str, Vec<bool>)> {
    if evidence.len() < 2 {
        return None;
    }
    let logs: Option<Vec<f64>> = (evidence.iter())
        .map(|one| match one {
            Evidence::LogE(log) => Some(*log),
            Evidence::P(_) => None,
        })
        .collect();
    if let Some(logs) = logs {
        return genba_stats::e_bh(&logs, alpha)
            .ok()
            .map(|holds| ("e-BH", holds));
    }
    // The inverse of an e-value is a valid p-value (Markov), so a mixture is handled as p-values.
    let p_values: Vec<f64> = (evidence.iter())
        .map(|one| match one {
            Evidence::LogE(log) => (-log).exp().min(1.0),
            Evidence::P(p) => *p,
        })
        .collect();
    genba_stats::holm(&p_values, alpha)
        .ok()
        .map(|holds| ("Holm", holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn question(fixed: bool, direction: Direction) -> Question {
        Question {
            alpha: 0.05,
            delta: 0.01,
            direction,
            fixed,
        }
    }

    /// Pairs with twice the time and a small scatter.
    fn doubled(count: u32) -> Pairs {
        let left: Vec<f64> = (0..count)
            .map(|i| 1.0 + f64::from(i * 7 % 11) * 0.001)
            .collect();
        let right: Vec<f64> = (0..count)
            .map(|i| 2.0 + f64::from(i * 5 % 13) * 0.001)
            .collect();
        Pairs::of(&left, &right)
    }

    #[test]
    fn six_pairs_allow_a_verdict_and_five_do_not() {
        let less = question(true, Direction::LessIsBetter);
        let six = doubled(6).judge(&less).unwrap();
        assert_eq!(six.verdict, VerdictName::Slower);
        assert_eq!(six.low_level, None);
        let five = doubled(5).judge(&less).unwrap();
        assert_eq!(five.verdict, VerdictName::Undecided);
        assert!(five.low_level.unwrap() < 0.95);
        assert!(five.more_pairs.is_some());
        let one = doubled(1).judge(&less).unwrap();
        assert_eq!((one.verdict, one.pairs), (VerdictName::Undecided, 1));
        assert_eq!(Pairs::default().judge(&less), None);
    }

    #[test]
    fn larger_rate_is_faster() {
        for fixed in [true, false] {
            let more = question(fixed, Direction::MoreIsBetter);
            let effect = doubled(30).judge(&more).unwrap();
            assert_eq!(effect.verdict, VerdictName::Faster);
            assert!((effect.ratio.value - 2.0).abs() < 0.02);
        }
    }

    #[test]
    fn few_zeros_allow_a_verdict_and_many_do_not() {
        let mut right = vec![2.0; 30];
        right[4] = 0.0;
        let pairs = Pairs::of(&[1.0; 30], &right);
        assert_eq!((pairs.unusable, pairs.zeros), (Some((false, 4, 0.0)), 1));
        let effect = pairs
            .judge(&question(false, Direction::LessIsBetter))
            .unwrap();
        assert_eq!((effect.verdict, effect.pairs), (VerdictName::Slower, 30));
        assert!((effect.ratio.value - 2.0).abs() < 1e-9);
        right[5..9].fill(0.0);
        let effect = Pairs::of(&[1.0; 30], &right)
            .judge(&question(false, Direction::LessIsBetter))
            .unwrap();
        assert_eq!(effect.verdict, VerdictName::Undecided);
    }

    #[test]
    fn zeros_are_replaced_symmetrically() {
        assert_eq!(usable(0.0, 2.0), Some((0.002, 2.0)));
        assert_eq!(usable(2.0, 0.0), Some((2.0, 0.002)));
        assert_eq!(usable(0.0, 0.0), Some((1.0, 1.0)));
        assert_eq!(usable(-1.0, 1.0), None);
        assert_eq!(usable(1.0, f64::NAN), None);
        assert_eq!(usable(0.0, f64::MIN_POSITIVE / 1e15), None);
    }

    #[test]
    fn missing_value_leaves_the_comparison_undecided() {
        let mut right = vec![2.0; 30];
        right[4] = -1.0;
        let pairs = Pairs::of(&[1.0; 30], &right);
        assert_eq!(pairs.unusable, Some((false, 4, -1.0)));
        let effect = pairs
            .judge(&question(true, Direction::LessIsBetter))
            .unwrap();
        assert_eq!((effect.verdict, effect.pairs), (VerdictName::Undecided, 29));
    }

    #[test]
    fn correction_is_e_bh_for_e_values_and_holm_otherwise() {
        let e = [Evidence::LogE(9.0), Evidence::LogE(0.0)];
        assert_eq!(corrected(&e, 0.05), Some(("e-BH", vec![true, false])));
        let p = [Evidence::P(0.03), Evidence::P(0.04)];
        assert_eq!(corrected(&p, 0.05), Some(("Holm", vec![false, false])));
        let mixed = [Evidence::P(0.001), Evidence::LogE(9.0)];
        assert_eq!(corrected(&mixed, 0.05), Some(("Holm", vec![true, true])));
        assert_eq!(corrected(&e[..1], 0.05), None);
    }

    proptest! {
        #[test]
        fn any_values_give_a_finite_ordered_interval(
            left in prop::collection::vec(prop::num::f64::ANY, 0..40),
            right in prop::collection::vec(prop::num::f64::ANY, 0..40),
            fixed: bool,
        ) {
            let effect = Pairs::of(&left, &right).judge(&question(fixed, Direction::LessIsBetter));
            if let Some(effect) = effect {
                let ratio = effect.ratio;
                prop_assert!(ratio.value.is_finite() && ratio.low.is_finite() && ratio.high.is_finite());
                prop_assert!(ratio.low <= ratio.high);
            }
        }
    }
}
