//! An ablation in sentences and cells, the same for the terminal and the page.

use genba_model::{Ablation, AblationCost, AblationSum, Comparison, Estimate, VerdictName};

use crate::number;
use crate::wording::{metrics, verdicts};

/// Metrics of the columns: the one that decides first, then wall, user, system.
pub(crate) fn metrics(ablation: &Ablation) -> Vec<&str> {
    let mut list = vec![ablation.report.metric.as_str()];
    for metric in ["wall", "user", "system"] {
        let known = (ablation.baseline.iter().chain(&ablation.residual))
            .chain(ablation.components.iter().flat_map(|part| &part.costs))
            .any(|cost| cost.metric == metric);
        if known && !list.contains(&metric) {
            list.push(metric);
        }
    }
    list
}

/// `43.1 ns ±0.4 ns`: the interval is not symmetric, and a cost may be nothing, so that half the
/// width stands beside it in the same unit.
pub(crate) fn cost(costs: &[AblationCost], metric: &str) -> String {
    match costs.iter().find(|cost| cost.metric == metric) {
        None => String::new(),
        Some(found) => amount(&found.cost, &found.unit),
    }
}

/// An amount with half the width of its interval.
pub(crate) fn amount(e: &Estimate, unit: &str) -> String {
    let half = (e.high - e.low).abs() / 2.0;
    let sign = if e.value < 0.0 { "−" } else { "" };
    let bare = |value: f64| Estimate {
        value: value.abs(),
        low: value.abs() - half,
        high: value.abs() + half,
    };
    // Told from zero or not, both numbers have the unit of the larger.
    if unit == "seconds" {
        let (scale, name) = number::time_unit(e.value.abs().max(half));
        let places = number::decimals(half * scale, 3);
        let text = |value: f64| number::grouped_decimals(value * scale, places.min(4));
        return format!("{sign}{} {name} ±{}", text(e.value.abs()), text(half));
    }
    format!(
        "{sign}{} ±{}",
        metrics::amount(&bare(e.value), unit),
        metrics::amount(&Estimate::exact(half), unit)
    )
}

/// `28 %` of the whole.
pub(crate) fn share(costs: &[AblationCost], metric: &str) -> String {
    let found = costs.iter().find(|cost| cost.metric == metric);
    match found.and_then(|cost| cost.share) {
        Some(share) if share.value.is_finite() => verdicts::signed(share.value)
            .trim_start_matches('+')
            .to_owned(),
        _ => String::new(),
    }
}

/// The comparison of the whole with a variant in the metric that decides.
pub(crate) fn comparison<'a>(ablation: &'a Ablation, variant: &str) -> Option<&'a Comparison> {
    verdicts::find(&ablation.report, variant, &ablation.report.metric)
}

/// A sentence for each part: what it costs, or that there is no difference.
pub(crate) fn sentences(ablation: &Ablation) -> Vec<String> {
    let metric = &ablation.report.metric;
    let each = match ablation.per_iteration {
        Some(_) => "an iteration",
        None => "a run",
    };
    let mut list = Vec::new();
    for part in &ablation.components {
        let excluded = (ablation.report.variants.iter())
            .find(|variant| variant.name == part.variant)
            .and_then(|variant| variant.excluded.as_deref());
        if excluded.is_some() || part.costs.is_empty() {
            list.push(format!(
                "{}: not known, the variant without it could not be measured",
                part.name
            ));
            continue;
        }
        let Some(found) = part.costs.iter().find(|cost| cost.metric == *metric) else {
            continue;
        };
        let share = share(&part.costs, metric);
        let of_whole = if share.is_empty() {
            String::new()
        } else {
            format!(", {share} of the whole")
        };
        let verdict = comparison(ablation, &part.variant).map(|one| one.verdict);
        let sentence = match verdict {
            Some(VerdictName::Same) => format!(
                "{}: no difference larger than {} in {}",
                part.name,
                verdicts::points(comparison(ablation, &part.variant).map_or(0.01, |c| c.delta)),
                metrics::phrase(metric)
            ),
            Some(VerdictName::Faster) => format!(
                "{} costs {} {each}{of_whole}",
                part.name,
                amount(&found.cost, &found.unit)
            ),
            Some(VerdictName::Slower) => format!(
                "{} saves {} {each}: without it, it is slower",
                part.name,
                amount(&negated(&found.cost), &found.unit)
            ),
            _ => format!(
                "{}: not decided, {} {each}",
                part.name,
                amount(&found.cost, &found.unit)
            ),
        };
        list.push(format!("{sentence}{}", otherwise(&part.costs, metric)));
    }
    for sum in ablation.sums.iter().filter(|sum| sum.metric == *metric) {
        list.push(adding_up(sum));
    }
    list
}

/// What goes the other way in another metric: an improvement of one is none of the other.
fn otherwise(costs: &[AblationCost], metric: &str) -> String {
    let Some(deciding) = costs.iter().find(|cost| cost.metric == metric) else {
        return String::new();
    };
    let opposite = |cost: &&AblationCost| {
        if deciding.cost.value > 0.0 {
            cost.cost.high < 0.0
        } else {
            cost.cost.low > 0.0
        }
    };
    let told = deciding.cost.low > 0.0 || deciding.cost.high < 0.0;
    let others: Vec<String> = (costs.iter())
        .filter(|cost| told && cost.metric != metric && cost.unit == deciding.unit)
        .filter(opposite)
        .map(|cost| {
            format!(
                "{} {}",
                metrics::phrase(&cost.metric),
                amount(&cost.cost, &cost.unit)
            )
        })
        .collect();
    match others.is_empty() {
        true => String::new(),
        false => format!("; but {}", others.join(", ")),
    }
}

fn negated(e: &Estimate) -> Estimate {
    Estimate {
        value: -e.value,
        low: -e.high,
        high: -e.low,
    }
}

fn adding_up(sum: &AblationSum) -> String {
    let together = amount(&sum.together, &sum.unit);
    let parts = amount(&sum.components, &sum.unit);
    if sum.adds_up {
        format!(
            "the parts add up: {parts} one by one, {together} together (difference {})",
            amount(&sum.interaction, &sum.unit)
        )
    } else if sum.interaction.value < 0.0 {
        format!(
            "the parts overlap: {parts} one by one, but only {together} together; {} is counted \
             twice",
            amount(&negated(&sum.interaction), &sum.unit)
        )
    } else {
        format!(
            "the parts do not add up: {parts} one by one, but {together} together, {} more",
            amount(&sum.interaction, &sum.unit)
        )
    }
}

/// What the figures are of: `per iteration of 20 M, the loop taken off`.
pub(crate) fn basis(ablation: &Ablation) -> String {
    let mut text = match ablation.per_iteration {
        Some(iterations) => format!("per iteration of {}", number::count(iterations as f64)),
        None => "per run".to_owned(),
    };
    if ablation.baseline_loop.is_some() {
        text.push_str(", the loop taken off");
    }
    text
}
