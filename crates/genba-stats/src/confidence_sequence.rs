//! Confidence sequence: an interval for the paired effect that is valid after every pair.

use genba_model::Estimate;

use crate::betting::{LogWealth, Wealth, insert, median_distance, score};
use crate::outliers::robust_scale;
use crate::quantile::{MAD_TO_SIGMA, mad_about, median_of_sorted};
use crate::{StatsError, input_checks};

/// Pairs before the grid of candidates is set. At α = 5 % the boldest bets need 13 pairs to win
/// (1.5¹³ ÷ 8 > 20), so nothing is lost.
const PILOT_PAIRS: usize = 8;
/// Grid steps grow in proportion to the distance from the pilot's centre beyond 0.4 scales, and
/// are about 0.012 scales inside.
const STEP: f64 = 0.03;
const CORE: f64 = 0.4;
/// The grid reaches to log ratios of ± 20 (a factor of 5·10⁸) at least.
const REACH: f64 = 20.0;

/// A confidence sequence for the centre of log ratios that come one by one: at *all* times
/// together the interval covers the true centre with probability 1 − alpha, so one may stop
/// whenever the interval pleases.
///
/// A candidate θ is dropped once the bets against "symmetric about θ" (see the module `betting`)
/// have reached 1/alpha; the interval is what is left, between the outermost candidates that
/// stand, and never widens. Log ratios of adjacent runs in coin-flip order are symmetric about 0
/// if the variants do not differ, *whatever* the noise does, so [`excludes_zero`] needs no
/// assumption but the coin; the interval's ends assume besides that an effect shifts the log
/// ratios.
///
/// [`excludes_zero`]: Self::excludes_zero
#[derive(Clone, Debug)]
pub struct ConfidenceSequence {
    alpha: f64,
    pilot: Vec<f64>,
    sorted: Vec<f64>,
    zero: LogWealth,
    points: Vec<Point>,
    range: Option<(f64, f64)>,
    zero_dropped: bool,
    conflict: bool,
}

/// A candidate θ.
#[derive(Clone, Debug)]
struct Point {
    theta: f64,
    wealth: Wealth,
    /// Largest mean wealth so far.
    peak: f64,
    dropped: bool,
}

impl ConfidenceSequence {
    /// A sequence with error probability `alpha` (0.05).
    ///
    /// # Errors
    /// An alpha outside 0…1.
    pub fn new(alpha: f64) -> Result<Self, StatsError> {
        input_checks::open_unit("alpha", alpha)?;
        Ok(Self {
            alpha,
            pilot: Vec::new(),
            sorted: Vec::new(),
            zero: LogWealth::default(),
            points: Vec::new(),
            range: None,
            zero_dropped: false,
            conflict: false,
        })
    }

    /// Adds the log ratio of the next pair.
    ///
    /// # Errors
    /// A log ratio that is not finite; the sequence is unchanged then.
    pub fn push(&mut self, log_ratio: f64) -> Result<(), StatsError> {
        if !log_ratio.is_finite() {
            return Err(StatsError::NotFinite {
                index: self.count(),
                value: log_ratio,
            });
        }
        let scale = past_scale(&self.sorted);
        insert(&mut self.sorted, log_ratio);
        self.zero.bet(score(log_ratio, scale));
        if self.count() < PILOT_PAIRS {
            self.pilot.push(log_ratio);
            return Ok(());
        }
        if self.count() == PILOT_PAIRS {
            self.pilot.push(log_ratio);
            self.lay_grid();
            let mut seen = Vec::with_capacity(PILOT_PAIRS);
            for value in std::mem::take(&mut self.pilot) {
                bet_all(&mut self.points, past_scale(&seen), value, 1.0 / self.alpha);
                insert(&mut seen, value);
            }
        } else {
            bet_all(&mut self.points, scale, log_ratio, 1.0 / self.alpha);
        }
        self.narrow();
        Ok(())
    }

    /// The error probability that it was made for.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Pairs so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Median of the log ratios (within the interval, where there is one) with the interval;
    /// `None` while it has no two finite ends.
    #[must_use]
    pub fn interval(&self) -> Option<Estimate> {
        let (low, high) = self.range?;
        Some(Estimate {
            value: self.median()?.clamp(low, high),
            low,
            high,
        })
    }

    /// The same as ratios variant ÷ baseline.
    #[must_use]
    pub fn ratio(&self) -> Option<Estimate> {
        let logs = self.interval()?;
        Some(Estimate {
            value: logs.value.exp(),
            low: logs.low.exp(),
            high: logs.high.exp(),
        })
    }

    /// Median of the log ratios.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        (!self.sorted.is_empty()).then(|| median_of_sorted(&self.sorted))
    }

    /// Robust standard deviation (1.4826 · MAD) of the log ratios about their median.
    #[must_use]
    pub fn scatter(&self) -> Option<f64> {
        Some(MAD_TO_SIGMA * mad_about(&self.sorted, self.median()?))
    }

    /// Whether "no difference" is refuted.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.zero_dropped
            && self
                .range
                .is_none_or(|(low, high)| low >= 0.0 || high <= 0.0)
    }

    /// Natural logarithm of the e-value against "no difference" now: an input of
    /// [`e_bh`](crate::e_bh) at whatever time the measurement was stopped.
    #[must_use]
    pub fn log_e_value(&self) -> f64 {
        self.zero.log_mean()
    }

    /// Whether every candidate has been refuted, so that no one effect fits all pairs: the
    /// effect changed while it was measured, or the pairs fall into lopsided groups. The
    /// interval is the last one before that.
    #[must_use]
    pub fn conflict(&self) -> bool {
        self.conflict
    }

    /// Candidates about the pilot's median, dense inside its scatter, sparse outside, 0 among
    /// them; the grid of the negated pilot is the negated grid.
    fn lay_grid(&mut self) {
        let centre = median_of_sorted(&self.sorted);
        let scale = robust_scale(&self.sorted, centre)
            .unwrap_or(0.0)
            .max(centre.abs() * 1e-6)
            .max(1e-9);
        // Log ratios near the largest number must not make the reach, and so the grid, endless.
        let reach = (REACH.max(1e3 * scale) + centre.abs()).min(f64::MAX);
        let steps = ((reach / (CORE * scale)).asinh() / STEP).ceil() as i32;
        let mut thetas: Vec<f64> = (-steps..=steps)
            .map(|step| centre + CORE * scale * (f64::from(step) * STEP).sinh())
            .map(|theta| theta.clamp(f64::MIN, f64::MAX))
            .chain([0.0])
            .collect();
        thetas.sort_by(f64::total_cmp);
        thetas.dedup();
        self.points = thetas
            .into_iter()
            .map(|theta| Point {
                theta,
                wealth: Wealth::new(),
                peak: 1.0,
                dropped: false,
            })
            .collect();
    }

    /// The interval after the bets: its ends where the peak wealth crosses 1/alpha between the
    /// outermost standing candidate and its dropped neighbour, by interpolation of logarithms.
    fn narrow(&mut self) {
        if self.conflict {
            return;
        }
        let threshold = (1.0 / self.alpha).ln();
        self.zero_dropped |= self
            .points
            .iter()
            .any(|point| point.theta == 0.0 && point.dropped);
        let first = self.points.iter().position(|point| !point.dropped);
        let last = self.points.iter().rposition(|point| !point.dropped);
        let (Some(first), Some(last)) = (first, last) else {
            self.conflict = true;
            return;
        };
        if first == 0 || last + 1 == self.points.len() {
            return;
        }
        let edge = |standing: &Point, dropped: &Point| {
            let (inside, outside) = (standing.peak.ln(), dropped.peak.ln());
            let share = ((threshold - inside) / (outside - inside)).clamp(0.0, 1.0);
            standing.theta + share * (dropped.theta - standing.theta)
        };
        let low = edge(&self.points[first], &self.points[first - 1]);
        let high = edge(&self.points[last], &self.points[last + 1]);
        // Rounding must not widen it.
        let (low, high) = match self.range {
            Some((before_low, before_high)) => (low.max(before_low), high.min(before_high)),
            None => (low, high),
        };
        self.range = Some((low, high));
        // Two candidates inside are enough to describe what is left; those dropped between
        // standing ones stay dropped, and those outside need no memory but the nearest.
        if first > 1 {
            self.points.drain(..first - 1);
        }
        let keep = self
            .points
            .iter()
            .rposition(|point| !point.dropped)
            .map_or(self.points.len(), |last| last + 2);
        self.points.truncate(keep);
    }
}

/// The scale of the next score: the median absolute deviation of the pairs so far, 0 while there
/// are none. It must not know the pair that is bet on.
///
/// Cutting off at one MAD keeps 84 % of the growth rate that normal noise allows (two would keep
/// 95 %), but on recorded noise of real commands, with its tails, it needs a third fewer pairs.
fn past_scale(sorted: &[f64]) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    median_distance(sorted, median_of_sorted(sorted))
}

/// One bet against every candidate that stands.
fn bet_all(points: &mut [Point], scale: f64, value: f64, threshold: f64) {
    for point in points.iter_mut().filter(|point| !point.dropped) {
        let mean = point.wealth.bet(score(value - point.theta, scale));
        point.peak = point.peak.max(mean);
        point.dropped = point.peak >= threshold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sequence(values: &[f64]) -> ConfidenceSequence {
        let mut sequence = ConfidenceSequence::new(0.05).unwrap();
        for value in values {
            sequence.push(*value).unwrap();
        }
        sequence
    }

    /// Deterministic scatter, symmetric about 0, in no particular order.
    fn scatter(count: u32) -> Vec<f64> {
        (0..count)
            .map(|i| (f64::from(i * 37 % 101) - 50.0) / 1_000.0)
            .collect()
    }

    #[test]
    fn no_interval_before_the_eighth_pair() {
        assert_eq!(sequence(&[0.1; 7]).interval(), None);
        assert!(!sequence(&[0.1; 9]).excludes_zero());
    }

    #[test]
    fn constant_effect_excludes_zero() {
        let sequence = sequence(&[0.1; 30]);
        assert!(sequence.excludes_zero());
        let ratio = sequence.ratio().unwrap();
        assert!((ratio.value - 0.1f64.exp()).abs() < 1e-9);
        assert!(ratio.low > 1.1 && ratio.high < 1.11, "{ratio:?}");
        assert!(sequence.log_e_value() > 20f64.ln());
    }

    #[test]
    fn identical_pairs_do_not_exclude_zero() {
        let sequence = sequence(&[0.0; 40]);
        let interval = sequence.interval().unwrap();
        assert!(!sequence.excludes_zero());
        assert!(interval.low <= 0.0 && interval.high >= 0.0);
        assert!(interval.high - interval.low < 1e-6);
    }

    #[test]
    fn identical_pilot_then_scatter_still_gives_an_interval() {
        let mut values = vec![0.0; 8];
        values.extend(scatter(150));
        let interval = sequence(&values).interval().unwrap();
        assert!(interval.low < 0.0 && interval.high > 0.0 && interval.high < 0.05);
    }

    #[test]
    fn interval_never_widens() {
        let mut sequence = ConfidenceSequence::new(0.05).unwrap();
        let mut before: Option<Estimate> = None;
        for value in scatter(200) {
            sequence.push(value + 0.02).unwrap();
            if let (Some(before), Some(now)) = (before, sequence.interval()) {
                assert!(now.low >= before.low && now.high <= before.high);
            }
            before = sequence.interval();
        }
        let last = before.unwrap();
        assert!(last.low > 0.0 && last.high < 0.04, "{last:?}");
    }

    #[test]
    fn changing_effect_is_reported_as_a_conflict() {
        let mut values: Vec<f64> = scatter(100).iter().map(|d| d + 0.3).collect();
        values.extend(scatter(400).iter().map(|d| d - 0.3));
        let sequence = sequence(&values);
        assert!(sequence.conflict());
    }

    #[test]
    fn invalid_input_is_refused_and_changes_nothing() {
        let mut sequence = ConfidenceSequence::new(0.05).unwrap();
        assert!(sequence.push(f64::NAN).is_err());
        assert!(sequence.push(f64::INFINITY).is_err());
        assert_eq!(sequence.count(), 0);
        assert!(ConfidenceSequence::new(0.0).is_err());
        assert!(ConfidenceSequence::new(f64::NAN).is_err());
    }

    #[test]
    fn the_largest_numbers_make_no_endless_grid() {
        for values in [
            [f64::MAX; 40],
            std::array::from_fn(|i| if i % 2 == 0 { f64::MAX } else { f64::MIN }),
        ] {
            let sequence = sequence(&values);
            assert!(sequence.points.len() < 100_000, "{}", sequence.points.len());
            assert!(
                sequence
                    .interval()
                    .is_none_or(|found| !found.low.is_nan() && !found.high.is_nan())
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn swapping_turns_the_interval_round(values in prop::collection::vec(-0.2..0.3f64, 8..80)) {
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            let (one, two) = (sequence(&values), sequence(&negated));
            prop_assert_eq!(one.excludes_zero(), two.excludes_zero());
            prop_assert!((one.log_e_value() - two.log_e_value()).abs() < 1e-9);
            match (one.interval(), two.interval()) {
                (Some(one), Some(two)) => {
                    prop_assert!((one.low + two.high).abs() < 1e-9);
                    prop_assert!((one.high + two.low).abs() < 1e-9);
                }
                (one, two) => prop_assert_eq!(one, two),
            }
        }

        #[test]
        fn any_finite_input_is_survived(values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 1..40)) {
            let sequence = sequence(&values);
            if let Some(interval) = sequence.interval() {
                prop_assert!(!interval.low.is_nan() && !interval.high.is_nan() && !interval.value.is_nan());
            }
        }
    }
}
