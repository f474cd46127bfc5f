//! The values of a step search in the order of their points, winsorised, as prefix sums.

use std::collections::BTreeMap;

use crate::input_checks;
use crate::quantile::{MAD_TO_SIGMA, median_of_sorted};

/// Residuals beyond so many standard deviations are moved there.
const WINSOR: f64 = 3.0;

/// Two levels and the scatter about them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    pub before: f64,
    pub after: f64,
    pub scatter: f64,
}

/// The places between two neighbouring measured points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// Last measured point ahead of the places.
    pub from: u64,
    /// Next measured point: the last of the places.
    pub to: u64,
    /// Natural logarithm of the marginal likelihood of each of its places, up to a constant.
    pub log_likelihood: f64,
    /// Means of the values on both sides.
    pub means: (f64, f64),
}

/// Values by point, on the scale on which the noise is alike everywhere.
pub(crate) struct StepData {
    /// Values (logarithms if `logs`) in the order of the points.
    values: Vec<(u64, f64)>,
    /// Whether they are logarithms.
    pub logs: bool,
}

impl StepData {
    /// Values above zero are taken as logarithms: noise grows with the value.
    pub(crate) fn new(by_point: &BTreeMap<u64, Vec<f64>>) -> Self {
        let logs = (by_point.values().flatten()).all(|value| *value > 0.0);
        let scale = |value: f64| if logs { value.ln() } else { value };
        let values = (by_point.iter())
            .flat_map(|(point, values)| values.iter().map(move |value| (*point, scale(*value))))
            .collect();
        Self { values, logs }
    }

    /// Medians of the first and of the last point, and the robust scatter about them.
    pub(crate) fn ends(&self) -> Levels {
        let of = |point: u64| -> Vec<f64> {
            let of = (self.values.iter()).filter(|(at, _)| *at == point);
            input_checks::sorted(&of.map(|(_, value)| *value).collect::<Vec<_>>())
        };
        let first = of(self.values.first().map_or(0, |(point, _)| *point));
        let last = of(self.values.last().map_or(0, |(point, _)| *point));
        let (before, after) = (median_of_sorted(&first), median_of_sorted(&last));
        let about = |values: &[f64], centre: f64| -> Vec<f64> {
            values.iter().map(|value| (value - centre).abs()).collect()
        };
        let mut distances = about(&first, before);
        distances.extend(about(&last, after));
        Levels {
            before,
            after,
            scatter: MAD_TO_SIGMA * median_of_sorted(&input_checks::sorted(&distances)),
        }
    }

    /// Robust scatter about two levels with the step behind `from`.
    pub(crate) fn scatter_about(&self, gap: &Gap) -> f64 {
        let distances: Vec<f64> = (self.values.iter())
            .map(|(point, value)| {
                let level = if *point <= gap.from {
                    gap.means.0
                } else {
                    gap.means.1
                };
                (value - level).abs()
            })
            .collect();
        MAD_TO_SIGMA * median_of_sorted(&input_checks::sorted(&distances))
    }

    /// The likelihood of a step in every gap, both levels and the scatter integrated out (flat
    /// priors for the levels, 1/σ for the scatter), values winsorised about `levels`.
    pub(crate) fn gaps(&self, levels: Levels) -> Vec<Gap> {
        let span = (levels.after - levels.before).abs();
        let (low, high) = (
            levels.before.min(levels.after) - WINSOR * levels.scatter,
            levels.before.max(levels.after) + WINSOR * levels.scatter,
        );
        // Differences from a value in the middle, so that no digits are lost in the squares.
        let origin = levels.before.midpoint(levels.after);
        let clipped = |value: f64| value.clamp(low, high) - origin;
        let (mut total, mut squares) = (0.0, 0.0);
        for (_, value) in &self.values {
            let value = clipped(*value);
            total += value;
            squares += value * value;
        }
        let count = self.values.len() as f64;
        // A scatter of nothing would make the likelihood infinite: a millionth of the step.
        let floor = count * (1e-6 * span).powi(2).max(f64::MIN_POSITIVE);
        let (mut left_sum, mut left_count) = (0.0, 0.0);
        let mut gaps = Vec::new();
        for pair in self.values.windows(2) {
            let ((from, value), (to, _)) = (pair[0], pair[1]);
            left_sum += clipped(value);
            left_count += 1.0;
            if from == to {
                continue;
            }
            let (right_sum, right_count) = (total - left_sum, count - left_count);
            let explained = left_sum * left_sum / left_count + right_sum * right_sum / right_count;
            let rest = (squares - explained).max(0.0) + floor;
            gaps.push(Gap {
                from,
                to,
                log_likelihood: -0.5 * f64::ln(left_count)
                    - 0.5 * f64::ln(right_count)
                    - (count - 2.0) / 2.0 * rest.ln(),
                means: (
                    origin + left_sum / left_count,
                    origin + right_sum / right_count,
                ),
            });
        }
        gaps
    }
}
