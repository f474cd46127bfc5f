//! The comparison report of a measurement. Pure.

use genba_model::{
    ComparisonReport, Direction, Estimate, ExitKind, Hazard, HostFingerprint, Variant,
    VariantMetric,
};
use genba_stats::{median_interval, midmean};

use crate::measurement::{End, Measurement};
use crate::{Plan, Stop, compare_variants, iteration_cost, run_hazards};

/// Case, version, time and host of a measurement.
#[derive(Clone, Debug)]
pub struct ReportContext {
    /// Identifier of the case, if it is stored.
    pub case: Option<String>,
    /// Version of genba.
    pub version: String,
    /// Start, RFC 3339.
    pub started: String,
    /// The host.
    pub host: HostFingerprint,
    /// Hazards of the host.
    pub hazards: Vec<Hazard>,
}

/// The current time, RFC 3339 in UTC, with three decimals: such times sort as text.
#[must_use]
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

const LEVEL: f64 = 0.95;

/// Note on an interrupted measurement.
pub(crate) const INTERRUPTED_NOTE: &str = "interrupted: the runs measured so far are shown";

/// The comparison report of a measurement. No number in it is NaN or infinite.
#[must_use]
pub fn report(plan: &Plan, measurement: &Measurement, setting: ReportContext) -> ComparisonReport {
    let compared = compare_variants::compare(plan, measurement);
    let iterations = iteration_cost::iterations(plan, measurement, &compared.comparisons);
    let mut all_hazards = setting.hazards;
    all_hazards.extend(run_hazards::of_runs(plan, measurement));
    let mut notes = measurement.trouble_notes(plan);
    notes.extend(compared.notes);
    notes.extend(iterations.notes);
    notes.extend(measurement.notes.iter().cloned());
    if measurement.end == End::Interrupted {
        notes.push(INTERRUPTED_NOTE.to_owned());
    }
    let mut comparisons = compared.comparisons;
    comparisons.extend(iterations.comparisons);
    ComparisonReport {
        case: setting.case,
        genba: setting.version,
        started: setting.started,
        host: setting.host,
        hazards: all_hazards,
        metric: plan.primary.clone(),
        seed: plan.seed,
        blocks: measurement.blocks,
        elapsed_seconds: measurement.elapsed_seconds,
        budget_seconds: match plan.stop {
            Stop::Blocks(_) => None,
            Stop::Budget { seconds, .. } | Stop::Time { seconds } => Some(seconds),
        },
        variants: variants(plan, measurement),
        comparisons,
        iterations: iterations.costs,
        ranks: compare_variants::ranks(plan, measurement),
        notes,
    }
}

/// The variants, the baseline first.
pub(crate) fn variants(plan: &Plan, measurement: &Measurement) -> Vec<Variant> {
    let baseline = measurement.compared(plan).first().copied().unwrap_or(0);
    let mut order: Vec<usize> = (0..plan.variants.len()).collect();
    order.sort_by_key(|index| *index != baseline);
    order
        .into_iter()
        .map(|index| {
            let (of, data) = (&plan.variants[index], &measurement.variants[index]);
            let metrics = (measurement.series.iter().enumerate())
                .filter_map(|(number, series)| {
                    let metric = summary(&series.unit, series.direction, data.column(number))?;
                    Some((series.name.clone(), metric))
                })
                .collect();
            Variant {
                name: of.name.clone(),
                command: of.command.clone(),
                parameters: of.parameters.clone(),
                runs: u32::try_from(data.exits.len()).unwrap_or(u32::MAX),
                exit_codes: (data.exits.iter())
                    .map(|exit| match exit {
                        ExitKind::Code(code) => Some(*code),
                        _ => None,
                    })
                    .collect(),
                metrics,
                excluded: data.excluded.clone(),
            }
        })
        .collect()
}

/// Summary of a metric over the runs; `None` if no run reported it.
pub(crate) fn summary(unit: &str, direction: Direction, column: &[f64]) -> Option<VariantMetric> {
    let finite: Vec<f64> = (column.iter().copied())
        .filter(|value| value.is_finite())
        .collect();
    let median = median_interval(&finite, LEVEL).ok()?.estimate;
    let count = finite.len() as f64;
    // Divided before summing, so that large values do not overflow.
    let mean: f64 = finite.iter().map(|value| value / count).sum();
    let squares: f64 = (finite.iter())
        .map(|value| (value - mean).powi(2) / (count - 1.0))
        .sum();
    let deviation = squares.sqrt();
    Some(VariantMetric {
        median,
        midmean: (finite.len() >= 4)
            .then(|| midmean(&finite, LEVEL).ok())
            .flatten()
            .map(|interval| interval.estimate)
            .filter(is_finite),
        mean,
        stddev: (finite.len() > 1 && deviation.is_finite()).then_some(deviation),
        min: finite.iter().copied().fold(f64::INFINITY, f64::min),
        max: finite.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        unit: unit.to_owned(),
        direction,
        values: (column.iter())
            .map(|value| value.is_finite().then_some(*value))
            .collect(),
    })
}

fn is_finite(estimate: &Estimate) -> bool {
    estimate.value.is_finite() && estimate.low.is_finite() && estimate.high.is_finite()
}
