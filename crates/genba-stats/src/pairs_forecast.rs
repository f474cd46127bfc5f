//! Forecast of the number of pairs that a verdict still needs.

use crate::MIN_PAIRS;

/// (Pairs − [`START_UP`]) × (effect ÷ scatter)² at which the confidence sequence has decided in
/// half of the cases (alpha 5 %, normal scatter), by the simulation in this crate's tests.
const PAIRS_AT_UNIT_EFFECT: f64 = 9.6;
/// Pairs that even a plain case spends.
const START_UP: f64 = 9.0;

/// About how many more pairs an undecided comparison needs after `pairs` of them, if the truth
/// is what they show: `log_median` the median of the log ratios, `scatter` their robust standard
/// deviation, `delta` the share that is of no interest. The nearer of two ends counts: the
/// interval leaves 0, or it fits into ± delta.
///
/// It rests on the same pairs as the estimate and is no better than that: with few pairs, or an
/// effect near 0 or near delta, it may be wrong several times over; show one digit of it. `None` beyond 10⁷ pairs or for values that are not finite.
#[must_use]
pub fn forecast(log_median: f64, scatter: f64, delta: f64, pairs: usize) -> Option<usize> {
    let distance = log_median.abs();
    let needed = |margin: f64| START_UP + PAIRS_AT_UNIT_EFFECT * (scatter / margin).powi(2);
    let to_differ = needed(distance);
    let margin = delta.ln_1p() - distance;
    let to_equal = if margin > 0.0 {
        needed(margin)
    } else {
        f64::INFINITY
    };
    // A NaN (no scatter, no effect) loses against any number here.
    let total = to_differ.min(to_equal).max(MIN_PAIRS as f64);
    if !(total < 1e7 && distance.is_finite() && scatter.is_finite()) {
        return None;
    }
    // An unlucky comparison may have passed the forecast: then it needs a good part more.
    let more = (total.ceil() as usize).saturating_sub(pairs);
    Some(more.max(pairs / 5).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecast_uses_the_nearer_of_both_decisions() {
        // 5 % scatter, 2 % effect: about 69 pairs in all.
        let more = forecast(0.02, 0.05, 0.01, 20).unwrap();
        assert!((40..60).contains(&more), "{more}");
        // No effect, delta 1 %: the interval must shrink to that.
        let more = forecast(0.0, 0.02, 0.01, 20).unwrap();
        assert!((20..40).contains(&more), "{more}");
        assert_eq!(forecast(1e-9, 0.05, 0.0, 20), None);
        assert_eq!(forecast(f64::NAN, 0.05, 0.01, 20), None);
        assert!(forecast(0.0, 0.0, 0.01, 8).is_some());
    }
}
