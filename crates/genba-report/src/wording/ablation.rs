//! Sentences and cells of an ablation: what each component costs, whether the costs add up.

use genba_model::{Ablation, AblationCost, AblationSum, Comparison, Estimate, VerdictName};
use genba_units::format;

use crate::wording::{metrics, verdicts};

/// Returns the metrics shown as columns: the deciding one first, then wall, user and system.
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

/// Returns a cost as `43.1 ns ±0.4`. A cost may be zero, so the half width of its interval is given
/// in the same unit and not as a share.
pub(crate) fn cost(costs: &[AblationCost], metric: &str) -> String {
    match costs.iter().find(|cost| cost.metric == metric) {
        None => String::new(),
        Some(found) => amount(&found.cost, &found.unit),
    }
}

/// Returns an amount with the half width of its interval.
pub(crate) fn amount(e: &Estimate, unit: &str) -> String {
    let half = (e.high - e.low).abs() / 2.0;
    let sign = if e.value < 0.0 { "−" } else { "" };
    let bare = |value: f64| Estimate {
        value: value.abs(),
        low: value.abs() - half,
        high: value.abs() + half,
    };
    // Both numbers have the unit of the larger one, also where the interval contains zero.
    if unit == "seconds" && e.value == 0.0 && half == 0.0 {
        // A clock of ticks, which no run reached.
        return "0 s".to_owned();
    }
    if unit == "seconds" {
        let (scale, name) = format::time_unit(e.value.abs().max(half));
        let places = format::decimals(half * scale, 3);
        let text = |value: f64| format::grouped_decimals(value * scale, places.min(4));
        return format!("{sign}{} {name} ±{}", text(e.value.abs()), text(half));
    }
    format!(
        "{sign}{} ±{}",
        metrics::amount(&bare(e.value), unit),
        metrics::amount(&Estimate::exact(half), unit)
    )
}

/// Returns a cost as a share of the baseline: `28 %`.
pub(crate) fn share(costs: &[AblationCost], metric: &str) -> String {
    let found = costs.iter().find(|cost| cost.metric == metric);
    match found.and_then(|cost| cost.share) {
        Some(share) if share.value.is_finite() => verdicts::signed(share.value)
            .trim_start_matches('+')
            .to_owned(),
        _ => String::new(),
    }
}

/// Returns the comparison of a variant with the baseline in the deciding metric.
pub(crate) fn comparison<'a>(ablation: &'a Ablation, variant: &str) -> Option<&'a Comparison> {
    verdicts::find(&ablation.report, variant, &ablation.report.metric)
}

/// Returns a sentence for each component: its cost, or that both variants are equivalent.
pub(crate) fn sentences(ablation: &Ablation) -> Vec<String> {
    let metric = &ablation.report.metric;
    let each = match ablation.per_iteration {
        Some(_) => "per iteration",
        None => "per run",
    };
    let mut list = Vec::new();
    for part in &ablation.components {
        let excluded = (ablation.report.variants.iter())
            .find(|variant| variant.name == part.variant)
            .and_then(|variant| variant.excluded.as_deref());
        if excluded.is_some() || part.costs.is_empty() {
            list.push(format!(
                "{}: unknown, the variant without it could not be measured",
                part.name
            ));
            continue;
        }
        let Some(found) = part.costs.iter().find(|cost| cost.metric == *metric) else {
            continue;
        };
        let share = share(&part.costs, metric);
        let of_baseline = if share.is_empty() {
            String::new()
        } else {
            format!(", {share} of the baseline")
        };
        let verdict = comparison(ablation, &part.variant).map(|one| one.verdict);
        let sentence = match verdict {
            Some(VerdictName::Same) => format!(
                "{}: equivalent within ±{} in {}",
                part.name,
                verdicts::points(comparison(ablation, &part.variant).map_or(0.01, |c| c.delta)),
                metrics::phrase(metric)
            ),
            Some(VerdictName::Faster) => format!(
                "{} costs {} {each}{of_baseline}",
                part.name,
                amount(&found.cost, &found.unit)
            ),
            Some(VerdictName::Slower) => format!(
                "{} saves {} {each}: the variant without it is slower",
                part.name,
                amount(&negated(&found.cost), &found.unit)
            ),
            _ => format!(
                "{}: undecided, {} {each}",
                part.name,
                amount(&found.cost, &found.unit)
            ),
        };
        list.push(format!(
            "{sentence}{}",
            opposite_effects(&part.costs, metric)
        ));
    }
    for sum in ablation.sums.iter().filter(|sum| sum.metric == *metric) {
        list.push(sum_sentence(sum));
    }
    list
}

/// Returns the metrics of the same unit in which the effect has the opposite sign.
fn opposite_effects(costs: &[AblationCost], metric: &str) -> String {
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
    let significant = deciding.cost.low > 0.0 || deciding.cost.high < 0.0;
    let others: Vec<String> = (costs.iter())
        .filter(|cost| significant && cost.metric != metric && cost.unit == deciding.unit)
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

fn sum_sentence(sum: &AblationSum) -> String {
    let together = amount(&sum.together, &sum.unit);
    let parts = amount(&sum.components, &sum.unit);
    if sum.adds_up {
        format!(
            "the components add up: {parts} separately, {together} together; pair by pair, the difference is \
             between {} and {}",
            signed(sum.interaction.low, &sum.unit),
            signed(sum.interaction.high, &sum.unit)
        )
    } else if sum.interaction.value < 0.0 {
        format!(
            "the components overlap: {parts} separately, but only {together} together; {} is \
             counted twice",
            amount(&negated(&sum.interaction), &sum.unit)
        )
    } else {
        format!(
            "the components do not add up: {parts} separately, but {together} together, {} more",
            amount(&sum.interaction, &sum.unit)
        )
    }
}

/// Returns one end of an interval with its sign: `−0.6 ms`. The middle of paired differences need not be the difference of
/// the two sums that are shown beside it, so a sum that adds up has the ends alone.
fn signed(value: f64, unit: &str) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    let size = Estimate::exact(value.abs());
    match unit {
        "seconds" => format!("{sign}{}", format::seconds(size.value)),
        unit => format!("{sign}{}", metrics::amount(&size, unit)),
    }
}

/// Returns what the figures refer to: `per iteration (20.0 M), loop overhead subtracted`.
pub(crate) fn basis(ablation: &Ablation) -> String {
    let mut text = match ablation.per_iteration {
        Some(iterations) => format!("per iteration ({})", format::count(iterations as f64)),
        None => "per run".to_owned(),
    };
    if ablation.baseline_loop.is_some() {
        text.push_str(", loop overhead subtracted");
    }
    text
}
