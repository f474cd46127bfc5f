//! The runs of each setting of a sweep. Pure.

use std::collections::BTreeMap;

use genba_stats::CurvePoint;

use crate::comparer::SingleRun;

/// A setting with its runs.
#[derive(Clone, Debug)]
pub struct SettingRuns {
    /// Values of the parameters, by name.
    pub values: BTreeMap<String, String>,
    /// The value of the first parameter, if numeric.
    pub x: Option<f64>,
    /// Whether it was added after the initial grid.
    pub refined: bool,
    /// Block and metrics of each run.
    pub runs: Vec<(u32, BTreeMap<String, f64>)>,
    /// Why it is not measured any more.
    pub failed: Option<String>,
}

impl SettingRuns {
    /// A setting not yet measured.
    pub fn new(values: BTreeMap<String, String>, x: Option<f64>, refined: bool) -> Self {
        Self {
            values,
            x,
            refined,
            runs: Vec::new(),
            failed: None,
        }
    }

    /// Adds a run.
    pub fn add(&mut self, block: u32, run: SingleRun) {
        match run.failed {
            Some(reason) => {
                self.failed.get_or_insert(reason);
            }
            None => self.runs.push((block, run.values)),
        }
    }

    /// Values of a metric with their blocks.
    pub fn of(&self, metric: &str) -> Vec<(u32, f64)> {
        (self.runs.iter())
            .filter_map(|(block, values)| Some((*block, *values.get(metric)?)))
            .collect()
    }

    /// Whether it has values of the metric and did not fail.
    pub fn usable(&self, metric: &str) -> bool {
        self.failed.is_none() && !self.of(metric).is_empty()
    }
}

/// Share of runs with a value of zero that are skipped at most; with more the metric is too coarse
/// for such runs.
const MAX_SKIPPED_ZERO_SHARE: f64 = 0.25;

/// Number of runs with a value of zero, which has no logarithm.
fn zeros(runs: &[(u32, f64)]) -> usize {
    runs.iter().filter(|run| run.1 == 0.0).count()
}

/// Number of runs of all settings that are skipped for their value of zero.
pub fn skipped_zeros(settings: &[SettingRuns], metric: &str) -> usize {
    settings.iter().map(|one| zeros(&one.of(metric))).sum()
}

/// The points of the curve: usable numeric settings, without the few runs whose value is zero.
pub fn points(settings: &[SettingRuns], metric: &str) -> Vec<CurvePoint> {
    (settings.iter())
        .filter(|setting| setting.usable(metric))
        .filter_map(|setting| {
            let mut runs = setting.of(metric);
            if (zeros(&runs) as f64) <= MAX_SKIPPED_ZERO_SHARE * runs.len() as f64 {
                runs.retain(|run| run.1 != 0.0);
            }
            Some(CurvePoint {
                x: setting.x?,
                runs,
            })
        })
        .collect()
}
