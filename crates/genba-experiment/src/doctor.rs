//! What this machine can see: a command against itself. Pure but for the runs.

use genba_model::{ComparisonReport, Hazard, HostFingerprint, VerdictName};
use genba_run::CommandSpec;
use genba_stats::{MAD_TO_SIGMA, MIN_PAIRS, log_ratios, median, visible_effect};
use serde::Serialize;

use crate::{Plan, Stop, VariantPlan};

/// The plan: the same command twice, for the whole time.
#[must_use]
pub fn plan(spec: &CommandSpec, command: &str, seconds: f64) -> Plan {
    let variants = ["A", "A again"]
        .map(|name| VariantPlan::new(name, command, spec.clone()))
        .into();
    let mut plan = Plan::new(variants);
    plan.stop = Stop::Time { seconds };
    plan.warmup = 1;
    plan
}

/// What one metric shows here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Visible {
    /// Metric.
    pub metric: String,
    /// The smallest difference (a share) that a comparison of so much time would show in about
    /// four cases of five; `None` where too few pairs fit into the time.
    pub visible: Option<f64>,
    /// Scatter of a pair's ratio, a share (robust standard deviation of its logarithm).
    pub scatter: f64,
    /// Pairs measured.
    pub pairs: u32,
    /// What the judge says of the command against itself; anything but `same` and `undecided`
    /// is a false alarm.
    pub verdict: VerdictName,
}

/// All that the doctor found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The host.
    pub host: HostFingerprint,
    /// The command that was run.
    pub command: String,
    /// Time of the check, seconds.
    pub seconds: f64,
    /// Typical wall time of a run, seconds.
    pub run_seconds: f64,
    /// What can be seen, a metric each.
    pub metrics: Vec<Visible>,
    /// What spoils measurements here.
    pub hazards: Vec<Hazard>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// Metrics whose scatter is told.
const TOLD: [&str; 4] = ["wall", "user", "cpu", "instructions"];

/// Reads the report of [`plan`].
#[must_use]
pub fn diagnose(report: &ComparisonReport) -> Diagnosis {
    let value_of = |variant: usize, metric: &str| -> Vec<Option<f64>> {
        let variant = report.variants.get(variant);
        let metric = variant.and_then(|variant| variant.metrics.get(metric));
        metric
            .map(|metric| metric.values.clone())
            .unwrap_or_default()
    };
    let mut metrics = Vec::new();
    for metric in TOLD {
        let (left, right): (Vec<f64>, Vec<f64>) = (value_of(0, metric).into_iter())
            .zip(value_of(1, metric))
            .filter_map(|(left, right)| Some((left?, right?)))
            .filter(|(left, right)| *left > 0.0 && *right > 0.0)
            .unzip();
        let Ok(logs) = log_ratios(&left, &right) else {
            continue;
        };
        let sizes: Vec<f64> = logs.iter().map(|log| log.abs()).collect();
        // Both halves are the same command: the centre of the logarithms is known to be 0.
        let Ok(middle) = median(&sizes) else { continue };
        let scatter = MAD_TO_SIGMA * middle;
        let comparison = (report.comparisons.iter()).find(|one| one.metric == metric);
        metrics.push(Visible {
            metric: metric.to_owned(),
            visible: (logs.len() >= MIN_PAIRS)
                .then(|| visible_effect(scatter, logs.len()).ok())
                .flatten(),
            scatter,
            pairs: crate::paired_effect::count(logs.len()),
            verdict: comparison.map_or(VerdictName::Undecided, |one| one.verdict),
        });
    }
    let first = report.variants.first();
    Diagnosis {
        host: report.host.clone(),
        command: first.map(|one| one.command.clone()).unwrap_or_default(),
        seconds: report.elapsed_seconds,
        run_seconds: first
            .and_then(|one| one.metrics.get("wall"))
            .map_or(0.0, |wall| wall.median.value),
        metrics,
        hazards: report.hazards.clone(),
        notes: report.notes.clone(),
    }
}
