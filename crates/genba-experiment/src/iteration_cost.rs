//! Cost of one iteration after subtracting the empty loop, with intervals. Pure.

use genba_model::{Comparison, IterationCost, Metric, VerdictName};
use genba_stats::{Verdict, cost_per_iteration, subtracted_ratio};

use crate::Plan;
use crate::measurement::{End, Measurement, Series};
use crate::paired_effect::{count, verdict_name};

/// Costs per iteration, their ratios, and notes about them.
#[derive(Debug, Default)]
pub(crate) struct Iterations {
    pub costs: Vec<IterationCost>,
    /// Ratios of the costs after subtraction, in the metric `NAME_per_iteration`.
    pub comparisons: Vec<Comparison>,
    pub notes: Vec<String>,
}

const LEVEL: f64 = 0.95;

/// Costs are computed of times and of the primary metric.
fn wanted(plan: &Plan, series: &Series) -> bool {
    let times = [Metric::Wall, Metric::User, Metric::Cpu];
    series.name == plan.primary || times.iter().any(|time| time.name() == series.name)
}

/// Computes the costs of the variants with a known number of iterations or a known empty loop.
/// `compared` are the comparisons of whole runs.
pub(crate) fn iterations(
    plan: &Plan,
    measurement: &Measurement,
    compared: &[Comparison],
) -> Iterations {
    let mut result = Iterations::default();
    for (number, series) in measurement.series.iter().enumerate() {
        if !wanted(plan, series) {
            continue;
        }
        let mut left: Vec<RunsAndOverhead<'_>> = Vec::new();
        for variant in measurement.compared(plan) {
            let of = &plan.variants[variant];
            if of.iterations.is_none() && of.subtract.is_none() {
                continue;
            }
            match runs_and_overhead(plan, measurement, variant, number) {
                Ok(one) => {
                    let iterations = of.iterations.unwrap_or(1);
                    let empty = one.empty.as_deref().unwrap_or_default();
                    match cost_per_iteration(&one.runs, empty, iterations, LEVEL) {
                        Ok(cost) => result.costs.push(IterationCost {
                            variant: of.name.clone(),
                            metric: series.name.clone(),
                            unit: series.unit.clone(),
                            iterations: iterations as f64,
                            subtracted: of.subtract.clone(),
                            cost: cost.estimate,
                        }),
                        Err(error) => result.notes.push(format!(
                            "no cost per iteration of {} in {}: {error}",
                            of.name, series.name
                        )),
                    }
                    left.push(one);
                }
                Err(Some(note)) if series.name == plan.primary => result.notes.push(note),
                Err(_) => {}
            }
        }
        if let Some((baseline, others)) = left.split_first() {
            for other in others {
                if let Err(note) = ratio(plan, measurement, series, baseline, other, compared)
                    .map(|comparison| result.comparisons.extend(comparison))
                    && series.name == plan.primary
                {
                    result.notes.push(note);
                }
            }
        }
    }
    result
}

/// Runs of a variant with those of its empty loop in the same blocks.
struct RunsAndOverhead<'a> {
    variant: usize,
    runs: Vec<f64>,
    empty: Option<Vec<f64>>,
    subtract: Option<&'a str>,
}

fn runs_and_overhead<'a>(
    plan: &'a Plan,
    measurement: &Measurement,
    variant: usize,
    series: usize,
) -> Result<RunsAndOverhead<'a>, Option<String>> {
    let of = &plan.variants[variant];
    let runs = measurement.variants[variant].column(series);
    let Some(name) = of.subtract.as_deref() else {
        let runs = measurement.variants[variant].finite(series);
        return Ok(RunsAndOverhead {
            variant,
            runs,
            empty: None,
            subtract: None,
        });
    };
    let other = (plan.variants.iter())
        .position(|variant| variant.name == name)
        .ok_or(None)?;
    if let Some(reason) = &measurement.variants[other].excluded {
        return Err(Some(format!(
            "nothing is subtracted from {}: {name} {reason}",
            of.name
        )));
    }
    let empty = measurement.variants[other].column(series);
    let (runs, empty): (Vec<f64>, Vec<f64>) = (runs.iter().zip(empty))
        .filter(|(run, empty)| run.is_finite() && empty.is_finite())
        .unzip();
    if runs.is_empty() {
        return Err(Some(format!(
            "nothing is subtracted from {}: it has no block in common with {name}",
            of.name
        )));
    }
    Ok(RunsAndOverhead {
        variant,
        runs,
        empty: Some(empty),
        subtract: Some(name),
    })
}

/// The ratio of two variants after subtracting the same overhead.
fn ratio(
    plan: &Plan,
    measurement: &Measurement,
    series: &Series,
    baseline: &RunsAndOverhead<'_>,
    other: &RunsAndOverhead<'_>,
    compared: &[Comparison],
) -> Result<Option<Comparison>, String> {
    let (Some(empty), true) = (&baseline.empty, baseline.subtract == other.subtract) else {
        return Ok(None);
    };
    let pairs = baseline.runs.len().min(other.runs.len());
    let cut = |values: &[f64]| values.get(..pairs).unwrap_or_default().to_vec();
    let names = (
        &plan.variants[baseline.variant].name,
        &plan.variants[other.variant].name,
    );
    let found = subtracted_ratio(
        &cut(&baseline.runs),
        &cut(&other.runs),
        &cut(empty),
        1.0 - plan.alpha,
    )
    .map_err(|error| format!("{} per iteration of {}: {error}", series.name, names.1))?;
    let iterations = |variant: usize| plan.variants[variant].iterations.unwrap_or(1) as f64;
    let scale = iterations(baseline.variant) / iterations(other.variant);
    let ratio = found.estimate.scaled(scale);
    let verdict = verdict_name(Verdict::of_ratio(&ratio, plan.delta), series.direction);
    // The stopping time was chosen by the verdict on whole runs. With the same overhead subtracted
    // from both, the costs differ exactly if the whole runs do, so that verdict is the valid one.
    let whole = compared
        .iter()
        .find(|comparison| comparison.metric == series.name && comparison.variant == *names.1);
    let trusted = measurement.end == End::Counted
        || verdict == VerdictName::Same
        || (scale == 1.0 && whole.is_some_and(|whole| whole.verdict == verdict));
    Ok(Some(Comparison {
        baseline: names.0.clone(),
        variant: names.1.clone(),
        metric: format!("{}_per_iteration", series.name),
        ratio,
        verdict: if trusted {
            verdict
        } else {
            VerdictName::Undecided
        },
        delta: plan.delta,
        alpha: plan.alpha,
        pairs: count(pairs),
        more_pairs: None,
        corrected: None,
        cross_check: None,
    }))
}
