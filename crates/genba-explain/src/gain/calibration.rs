//! Intervals of speedups from outcomes: split-conformal prediction.
//!
//! For programs whose fix was measured, the table `corpus/outcomes.tsv` has the speedup by the model and the measured
//! one. The score of an outcome is ln((measured − 1) ÷ (modelled − 1)), the logarithm of the odds of the saved time:
//! it has no end where little or nearly everything is gained. Of the causes of a group (V. Vovk et al., "Algorithmic learning in a
//! random world", 2005: Mondrian prediction) the conformal quantiles of the scores, the ⌈(n + 1)·q⌉th smallest of n (J. Lei et
//! al., JASA 2018), are the ends of the interval, and their median is the estimate: of work that need not be done the model sees a
//! part. Where the model's own bound is above the upper end, that is the end. `corpus/calibrate` makes the constants of the table;
//! the tests here compare them with it. On programs like those of the table the interval holds the level's part of
//! outcomes; on others, `docs/explain.md` says what was counted.

use genba_model::{Cause, Estimate};

use crate::constants::calibration::{GROUPS, OTHERS};
use crate::gain::amdahl::max_speedup;

/// What outcomes of a group of causes say: factors on the modelled gain, which is the speedup minus one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcomes {
    /// The causes.
    pub causes: &'static [&'static str],
    /// Number of outcomes.
    pub count: usize,
    /// Lower conformal quantile.
    pub low: f64,
    /// Median.
    pub middle: f64,
    /// Upper conformal quantile.
    pub high: f64,
}

/// The outcomes that a cause's speedup is calibrated on.
fn outcomes(cause: Cause) -> &'static Outcomes {
    let own = GROUPS
        .iter()
        .find(|group| group.causes.contains(&cause.id()));
    own.unwrap_or(&OTHERS)
}

/// The speedup with the interval of outcomes, of a program of `cpu_seconds` (0 if unknown).
pub(crate) fn calibrated(cause: Cause, modelled: Estimate, cpu_seconds: f64) -> Estimate {
    let group = outcomes(cause);
    let most = max_speedup(cpu_seconds);
    let speedup = |factor: f64| (1.0 + (modelled.value - 1.0) * factor).min(most);
    Estimate {
        value: speedup(group.middle),
        low: speedup(group.low),
        // What the model itself cannot exclude: of a share near all of the time hardly anything may be left.
        high: speedup(group.high).max(modelled.high.min(most)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constants::calibration::LEVEL;

    /// Measured ÷ modelled gain of the outcomes of these causes, in order.
    fn ratios(of: &dyn Fn(&str) -> bool) -> Vec<f64> {
        let table = include_str!("../../../../corpus/outcomes.tsv");
        let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
        let mut found: Vec<f64> = rows
            .map(|row| row.split('\t').collect::<Vec<_>>())
            .filter(|row| of(row[1]))
            .map(|row| {
                let speedup = |at: usize| row[at].parse::<f64>().expect("a speedup");
                // A gain below a hundredth is none that a measurement here shows.
                (speedup(5) - 1.0).max(0.01) / (speedup(2) - 1.0)
            })
            .collect();
        found.sort_by(f64::total_cmp);
        found
    }

    /// The conformal quantile: of `n` outcomes the ⌈(n + 1)·q⌉th smallest, the last one where there is none.
    fn quantile(sorted: &[f64], q: f64) -> f64 {
        let rank = ((sorted.len() + 1) as f64 * q - 1e-9).ceil() as usize;
        sorted[rank.clamp(1, sorted.len()) - 1]
    }

    #[test]
    fn constants_are_those_of_the_table() {
        let close = |a: f64, b: f64| (a - b).abs() <= 0.005 * b.abs().max(1.0);
        let check = |group: &Outcomes, ratios: &[f64]| {
            assert_eq!(group.count, ratios.len(), "{group:?}: run corpus/calibrate");
            let tail = (1.0 - LEVEL) / 2.0;
            let mirrored: Vec<f64> = ratios.iter().rev().map(|ratio| -ratio).collect();
            let low = -quantile(&mirrored, 1.0 - tail);
            let half = ratios.len() / 2;
            let middle = match ratios.len() % 2 {
                0 => f64::midpoint(ratios[half - 1], ratios[half]),
                _ => ratios[half],
            };
            let high = quantile(ratios, 1.0 - tail);
            for (constant, ratio) in [(group.low, low), (group.middle, middle), (group.high, high)]
            {
                assert!(
                    close(constant, ratio),
                    "{group:?}: {ratio}; run corpus/calibrate"
                );
            }
        };
        for group in GROUPS {
            check(&group, &ratios(&|cause| group.causes.contains(&cause)));
        }
        check(&OTHERS, &ratios(&|_| true));
    }

    #[test]
    fn groups_name_causes_of_the_catalogue_once() {
        let mut named: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.causes)
            .copied()
            .collect();
        let all = named.len();
        assert!(
            named
                .iter()
                .all(|name| Cause::ALL.iter().any(|cause| cause.id() == *name))
        );
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), all);
    }

    #[test]
    fn bound_of_the_model_above_the_outcomes_is_the_end() {
        let modelled = |high| Estimate {
            value: 30.0,
            low: 20.0,
            high,
        };
        let end = |high| calibrated(Cause::Quadratic, modelled(high), 1000.0).high;
        assert!((end(900.0) - 900.0).abs() < 1e-9);
        assert!((end(40.0) - end(60.0)).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn interval_holds_the_estimate_and_starts_at_a_gain(value in 1.001..100.0f64, seconds in 0.0..100.0f64) {
            for cause in Cause::ALL {
                let found = calibrated(*cause, Estimate::exact(value), seconds);
                prop_assert!(1.0 <= found.low && found.low <= found.value && found.value <= found.high);
                prop_assert!(found.high <= max_speedup(seconds));
            }
        }
    }
}
