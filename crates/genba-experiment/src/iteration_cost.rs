//! Cost of one iteration, the empty loop's taken off, with intervals carried through. Pure.

use genba_model::{Comparison, IterationCost, Metric, VerdictName};
use genba_stats::{Verdict, cost_per_iteration, subtracted_ratio};

use crate::Plan;
use crate::measurement::{End, Measurement, Series};
use crate::paired_effect::{count, named};

/// Costs, ratios of costs, and what is to be said about them.
#[derive(Debug, Default)]
pub(crate) struct Iterations {
    pub costs: Vec<IterationCost>,
    /// Of variants with something taken off: the ratio of what is left, in the metric
    /// `NAME_per_iteration`.
    pub comparisons: Vec<Comparison>,
    pub notes: Vec<String>,
}

const LEVEL: f64 = 0.95;

/// Times, and the metric that was asked for: of page faults nobody wants the cost of one.
fn wanted(plan: &Plan, series: &Series) -> bool {
    let times = [Metric::Wall, Metric::User, Metric::Cpu];
    series.name == plan.primary || times.iter().any(|time| time.name() == series.name)
}

/// Computes them for the variants that say how many iterations they make or whose empty loop is
/// known. `compared` are the comparisons of whole runs.
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
        let mut left: Vec<Left<'_>> = Vec::new();
        for variant in measurement.compared(plan) {
            let of = &plan.variants[variant];
            if of.iterations.is_none() && of.subtract.is_none() {
                continue;
            }
            match take_off(plan, measurement, variant, number) {
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

/// Runs of a variant beside those of its empty loop in the same blocks.
struct Left<'a> {
    variant: usize,
    runs: Vec<f64>,
    empty: Option<Vec<f64>>,
    subtract: Option<&'a str>,
}

fn take_off<'a>(
    plan: &'a Plan,
    measurement: &Measurement,
    variant: usize,
    series: usize,
) -> Result<Left<'a>, Option<String>> {
    let of = &plan.variants[variant];
    let runs = measurement.variants[variant].column(series);
    let Some(name) = of.subtract.as_deref() else {
        let runs = measurement.variants[variant].finite(series);
        return Ok(Left {
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
            "nothing can be taken off {}: {name} {reason}",
            of.name
        )));
    }
    let empty = measurement.variants[other].column(series);
    let (runs, empty): (Vec<f64>, Vec<f64>) = (runs.iter().zip(empty))
        .filter(|(run, empty)| run.is_finite() && empty.is_finite())
        .unzip();
    if runs.is_empty() {
        return Err(Some(format!(
            "nothing can be taken off {}: it and {name} have no block in common",
            of.name
        )));
    }
    Ok(Left {
        variant,
        runs,
        empty: Some(empty),
        subtract: Some(name),
    })
}

/// The ratio of what is left of two variants from which the same was taken off.
fn ratio(
    plan: &Plan,
    measurement: &Measurement,
    series: &Series,
    baseline: &Left<'_>,
    other: &Left<'_>,
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
    let verdict = named(Verdict::of_ratio(&ratio, plan.delta), series.direction);
    // The moment to stop was chosen by looking at whole runs. With the same taken off both, the
    // rests differ exactly if the whole runs do, so that their verdict is the safe one.
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
