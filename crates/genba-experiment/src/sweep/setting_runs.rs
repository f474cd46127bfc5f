//! What was measured at each setting. Pure.

use std::collections::BTreeMap;

use genba_stats::CurvePoint;

use crate::comparer::SingleRun;

/// One setting with its runs.
#[derive(Clone, Debug)]
pub struct SettingRuns {
    /// Value of each parameter.
    pub values: BTreeMap<String, String>,
    /// The (first) parameter as a number.
    pub x: Option<f64>,
    /// Whether it was placed after the first look.
    pub placed: bool,
    /// Block and metrics of each run.
    pub runs: Vec<(u32, BTreeMap<String, f64>)>,
    /// Why it is measured no more.
    pub failed: Option<String>,
}

impl SettingRuns {
    /// A setting not yet measured.
    pub fn new(values: BTreeMap<String, String>, x: Option<f64>, placed: bool) -> Self {
        Self {
            values,
            x,
            placed,
            runs: Vec::new(),
            failed: None,
        }
    }

    /// Takes a run in.
    pub fn take(&mut self, block: u32, probe: SingleRun) {
        match probe.failed {
            Some(reason) => {
                self.failed.get_or_insert(reason);
            }
            None => self.runs.push((block, probe.values)),
        }
    }

    /// Values of a metric with their blocks.
    pub fn of(&self, metric: &str) -> Vec<(u32, f64)> {
        (self.runs.iter())
            .filter_map(|(block, values)| Some((*block, *values.get(metric)?)))
            .collect()
    }

    /// Whether it takes part.
    pub fn usable(&self, metric: &str) -> bool {
        self.failed.is_none() && !self.of(metric).is_empty()
    }
}

/// Runs of a setting without a value above zero that are left out at most, as a share: more mean
/// that the metric is too coarse for such runs.
const ZEROS: f64 = 0.25;

/// A run that the kernel's clock saw nothing of has no logarithm.
fn zeros(runs: &[(u32, f64)]) -> usize {
    runs.iter().filter(|run| run.1 == 0.0).count()
}

/// How many runs of all settings are left out of the curve for their value of zero.
pub fn left_out(settings: &[SettingRuns], metric: &str) -> usize {
    settings.iter().map(|one| zeros(&one.of(metric))).sum()
}

/// The curve's points: usable settings with a number, without the few runs whose value is zero.
pub fn points(settings: &[SettingRuns], metric: &str) -> Vec<CurvePoint> {
    (settings.iter())
        .filter(|setting| setting.usable(metric))
        .filter_map(|setting| {
            let mut runs = setting.of(metric);
            if (zeros(&runs) as f64) <= ZEROS * runs.len() as f64 {
                runs.retain(|run| run.1 != 0.0);
            }
            Some(CurvePoint {
                x: setting.x?,
                runs,
            })
        })
        .collect()
}
