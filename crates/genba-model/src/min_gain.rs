//! The minimum gain for a finding to be reported.

use crate::NoiseFloor;

/// Minimum gain, whatever the runs could show: chosen; hardly anybody changes a program for less.
const MIN_GAIN: f64 = 0.02;

/// Upper bound of the minimum gain: samples and counts show larger gains also where wall times are
/// noisier than this. Chosen; no measurement.
const MAX_MIN_GAIN: f64 = 0.15;

/// Returns the minimum gain for a finding to be reported, as a share of the time: the smallest
/// noise floor of the runs, at least 2 % and at most 15 %.
#[must_use]
pub fn min_gain(noise_floors: &[NoiseFloor]) -> f64 {
    let smallest = noise_floors.iter().map(|floor| floor.share);
    let smallest = smallest.filter(|share| share.is_finite()).reduce(f64::min);
    smallest.unwrap_or(0.0).clamp(MIN_GAIN, MAX_MIN_GAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    #[test]
    fn min_gain_is_the_smallest_noise_floor_between_2_and_15_percent() {
        let floors = |shares: &[f64]| -> Vec<NoiseFloor> {
            let floor = |&share: &f64| NoiseFloor {
                metric: Metric::Wall,
                share,
            };
            shares.iter().map(floor).collect()
        };
        let close = |shares: &[f64], expected: f64| {
            assert!((min_gain(&floors(shares)) - expected).abs() < 1e-12);
        };
        close(&[], 0.02);
        close(&[0.001], 0.02);
        close(&[0.12, 0.05, f64::NAN], 0.05);
        close(&[0.4], 0.15);
    }
}
