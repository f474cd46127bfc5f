//! Smallest difference that this machine can show: a command is compared with itself. Pure.

use genba_model::{ComparisonReport, Doctor, DoctorMetric, VerdictName};
use genba_run::CommandSpec;
use genba_stats::{MAD_TO_SIGMA, MIN_PAIRS, log_ratios, median, visible_effect};

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

/// Metrics that are reported.
const REPORTED_METRICS: [&str; 4] = ["wall", "user", "cpu", "instructions"];

/// What the report of [`plan`] says about this machine.
#[must_use]
pub fn diagnose(report: &ComparisonReport) -> Doctor {
    let value_of = |variant: usize, metric: &str| -> Vec<Option<f64>> {
        let variant = report.variants.get(variant);
        let metric = variant.and_then(|variant| variant.metrics.get(metric));
        metric
            .map(|metric| metric.values.clone())
            .unwrap_or_default()
    };
    let mut metrics = Vec::new();
    for metric in REPORTED_METRICS {
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
        metrics.push(DoctorMetric {
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
    Doctor {
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
