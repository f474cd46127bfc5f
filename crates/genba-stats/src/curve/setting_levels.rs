//! Level of each setting with its standard error, on a logarithmic scale.

use crate::quantile::{MAD_TO_SIGMA, median_of_sorted};
use crate::{StatsError, hodges_lehmann, input_checks};

use super::block_drift::without_drift;
use super::bootstrap_random::Random;
use super::{Axis, CurvePoint};

/// Runs up to which all pairwise averages are simply written down.
const FEW: usize = 40;
/// Weight of the pooled scatter beside a setting's own, in runs.
const POOLED: f64 = 4.0;
/// The Hodges–Lehmann estimate of few runs scatters this much more than the mean of normal ones.
const INEFFICIENCY: f64 = 1.1;
/// Distances beyond so many standard deviations count as that.
const WINSOR: f64 = 3.0;

/// A level whose jackknife error is so many times the usual one is torn between two heaps of runs.
const TORN: f64 = 2.0;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub x: f64,
    /// The place on the axis: log₂ x, or x.
    pub u: f64,
    /// Logarithm of the metric.
    pub z: f64,
    /// Its standard error.
    pub se: f64,
}

/// All settings, and what their runs scatter like.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub all: Vec<Level>,
    /// Part of the standard errors that no repeating makes smaller.
    floor: f64,
    counts: Vec<usize>,
    scales: Vec<f64>,
    /// Variances of the levels because the machine's changes are not known exactly.
    unknown: Vec<f64>,
    /// Distances from the level in standard deviations, of all runs.
    residuals: Vec<f64>,
}

/// Whether the numbers can be used: values above zero, no two settings alike.
pub(super) fn check(points: &[CurvePoint], axis: Axis) -> Result<(), StatsError> {
    for (index, point) in points.iter().enumerate() {
        input_checks::finite(&[point.x], 1)?;
        if axis == Axis::Log2 && point.x <= 0.0 {
            return Err(StatsError::NotPositive {
                index,
                value: point.x,
            });
        }
        let values: Vec<f64> = point.runs.iter().map(|run| run.1).collect();
        input_checks::positive(&values, 1)?;
    }
    Ok(())
}

impl Levels {
    /// Levels of the settings in the order of x; settings alike are one.
    ///
    /// `floor` is a scatter from setting to setting that repeating does not show (layout,
    /// alignment), as a share.
    pub fn of(points: &[CurvePoint], axis: Axis, floor: f64) -> Result<Self, StatsError> {
        check(points, axis)?;
        let mut order: Vec<&CurvePoint> = points.iter().collect();
        order.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mut xs: Vec<f64> = Vec::new();
        let mut runs: Vec<Vec<(u32, f64)>> = Vec::new();
        for point in order {
            let logs = point.runs.iter().map(|(block, value)| (*block, value.ln()));
            match runs.last_mut() {
                Some(last) if xs.last() == Some(&point.x) => last.extend(logs),
                _ => {
                    xs.push(point.x);
                    runs.push(logs.collect());
                }
            }
        }
        let (groups, unknown) = without_drift(&runs);
        let (summary, scales) = summarise(&groups, &unknown, floor);
        let mut residuals = Vec::new();
        for ((group, level), scale) in groups.iter().zip(&summary).zip(&scales) {
            let n = group.len() as f64;
            if n > 1.0 && *scale > 0.0 {
                let widen = (n / (n - 1.0)).sqrt();
                residuals.extend(group.iter().map(|z| (z - level.0) / scale * widen));
            }
        }
        let all = (xs.iter().zip(&summary))
            .map(|(x, (z, se))| Level {
                x: *x,
                u: axis.place(*x),
                z: *z,
                se: *se,
            })
            .collect();
        Ok(Self {
            all,
            floor,
            counts: groups.iter().map(Vec::len).collect(),
            scales,
            unknown,
            residuals,
        })
    }

    /// The same settings as they would have been measured if `truth` were the levels: runs drawn
    /// from the scatter that was seen, and summarised as the true ones were.
    pub fn redraw(&self, from: usize, truth: &[f64], random: &mut Random) -> Vec<Level> {
        let groups: Vec<Vec<f64>> = (truth.iter().enumerate())
            .map(|(offset, truth)| {
                let index = from + offset;
                let shift = (self.floor.powi(2) + self.unknown[index]).sqrt() * random.normal();
                (0..self.counts[index])
                    .map(|_| truth + shift + self.scales[index] * random.one_of(&self.residuals))
                    .collect()
            })
            .collect();
        let unknown = &self.unknown[from..from + truth.len()];
        let (summary, _) = summarise(&groups, unknown, self.floor);
        (self.all[from..].iter().zip(summary))
            .map(|(level, (z, se))| Level { z, se, ..*level })
            .collect()
    }

    /// Refuses settings most of which were run once: nothing is known of how runs scatter then.
    pub fn enough(&self) -> Result<(), StatsError> {
        let repeated = self.counts.iter().filter(|count| **count > 1);
        let (settings, runs) = repeated.fold((0, 0), |(n, sum), count| (n + 1, sum + count));
        if settings * 2 < self.counts.len() || runs < 4.min(2 * self.counts.len()) {
            return Err(StatsError::TooFew { needed: 2, got: 1 });
        }
        Ok(())
    }

    /// Number of runs of each setting.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Standard error of a level as repeating would show it: without the floor.
    pub fn own_error(&self, index: usize) -> f64 {
        (self.all[index].se.powi(2) - self.floor.powi(2))
            .max(0.0)
            .sqrt()
    }

    /// Typical standard deviation of one run, as a share.
    pub fn scatter(&self) -> f64 {
        median_of_sorted(&input_checks::sorted(&self.scales))
    }
}

/// Levels and standard errors of groups of runs, and the scatter of each group's runs.
///
/// The scatter of a group is its own drawn towards that of all groups, as few runs say little
/// about theirs.
fn summarise(groups: &[Vec<f64>], unknown: &[f64], floor: f64) -> (Vec<(f64, f64)>, Vec<f64>) {
    let centres: Vec<f64> = groups.iter().map(|group| centre(group)).collect();
    let mut distances = Vec::new();
    for (group, centre) in groups.iter().zip(&centres) {
        let n = group.len() as f64;
        if n > 1.0 {
            let widen = (n / (n - 1.0)).sqrt();
            distances.extend(group.iter().map(|z| (z - centre).abs() * widen));
        }
    }
    let pooled = if distances.is_empty() {
        0.0
    } else {
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        // More than half of the runs may be alike to the last digit.
        (MAD_TO_SIGMA * median_of_sorted(&input_checks::sorted(&distances))).max(0.4 * mean)
    };
    let scales: Vec<f64> = (groups.iter().zip(&centres))
        .map(|(group, centre)| {
            let n = group.len() as f64;
            let own: f64 = (group.iter())
                .map(|z| (z - centre).abs().min(WINSOR * pooled).powi(2))
                .sum();
            let widen = n / (n - 1.0).max(1.0);
            let usual = ((POOLED * pooled * pooled + own * widen) / (POOLED + n)).sqrt();
            let torn = jackknife(group) * n.sqrt() / INEFFICIENCY;
            if torn > TORN * usual { torn } else { usual }
        })
        .collect();
    let levels = (groups.iter().zip(&centres).zip(scales.iter().zip(unknown)))
        .map(|((group, centre), (scale, unknown))| {
            let own = (INEFFICIENCY * scale).powi(2) / group.len() as f64;
            // Counts without any scatter must not weigh infinitely.
            (*centre, (own + unknown + floor * floor).sqrt().max(1e-9))
        })
        .collect();
    (levels, scales)
}

/// Standard error of the centre by leaving out one run after the other (Tukey 1958). One run far
/// off moves the centre of five little; with two of four far off, each decides.
fn jackknife(values: &[f64]) -> f64 {
    let n = values.len();
    if !(3..=FEW).contains(&n) {
        return 0.0;
    }
    let without: Vec<f64> = (0..n)
        .map(|left_out| {
            let rest = [&values[..left_out], &values[left_out + 1..]].concat();
            centre(&rest)
        })
        .collect();
    let mean = without.iter().sum::<f64>() / n as f64;
    let squares: f64 = without.iter().map(|one| (one - mean).powi(2)).sum();
    (squares * (n - 1) as f64 / n as f64).sqrt()
}

/// The Hodges–Lehmann estimate.
fn centre(values: &[f64]) -> f64 {
    if values.len() > FEW {
        return hodges_lehmann(values, 0.95).map_or(f64::NAN, |found| found.estimate.value);
    }
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, left) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|right| left.midpoint(*right)));
    }
    let middle = averages.len() / 2;
    let odd = averages.len() % 2 == 1;
    let (_, upper, _) = averages.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return upper;
    }
    let lower = (averages[..middle].iter().copied()).fold(f64::NEG_INFINITY, f64::max);
    lower.midpoint(upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(x: f64, values: &[f64]) -> CurvePoint {
        CurvePoint {
            x,
            runs: (0..).zip(values.iter().copied()).collect(),
        }
    }

    #[test]
    fn shared_drift_is_removed() {
        let drift = [1.0, 1.1, 1.2, 1.3, 1.25, 1.15];
        let points: Vec<CurvePoint> = (1..=8)
            .map(|x| {
                let values: Vec<f64> = (drift.iter().enumerate())
                    .map(|(i, d)| d * (1.0 + 0.001 * ((i * 7 + x * 3) % 5) as f64))
                    .collect();
                point(x as f64, &values)
            })
            .collect();
        let levels = Levels::of(&points, Axis::Linear, 0.0).unwrap();
        assert!(levels.scatter() < 0.01, "{}", levels.scatter());
        let ends = (levels.all[0].z - levels.all[7].z).abs();
        assert!(ends < 0.003, "{ends}");
    }

    #[test]
    fn values_without_a_logarithm_are_refused() {
        assert!(Levels::of(&[point(1.0, &[0.0])], Axis::Linear, 0.0).is_err());
        assert!(Levels::of(&[point(0.0, &[1.0])], Axis::Log2, 0.0).is_err());
        assert!(Levels::of(&[point(1.0, &[])], Axis::Log2, 0.0).is_err());
        assert!(Levels::of(&[point(f64::NAN, &[1.0])], Axis::Linear, 0.0).is_err());
    }

    proptest! {
        #[test]
        fn few_and_many_have_the_same_centre(values in prop::collection::vec(-5.0..5.0f64, 1..30)) {
            let exact = hodges_lehmann(&values, 0.95).unwrap().estimate.value;
            prop_assert!((centre(&values) - exact).abs() < 1e-12);
        }

        #[test]
        fn a_factor_moves_levels_only(values in prop::collection::vec(0.5..2.0f64, 2..12), factor in 0.01..100.0f64) {
            let one = Levels::of(&[point(1.0, &values)], Axis::Log2, 0.0).unwrap();
            let more: Vec<f64> = values.iter().map(|v| v * factor).collect();
            let two = Levels::of(&[point(1.0, &more)], Axis::Log2, 0.0).unwrap();
            prop_assert!((two.all[0].z - one.all[0].z - factor.ln()).abs() < 1e-9);
            prop_assert!((two.all[0].se - one.all[0].se).abs() < 1e-9);
        }
    }
}
