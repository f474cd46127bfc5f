//! Comparison with the runs of a stored case: not interleaved, and only on the same host. Pure.

use genba_model::{
    Comparison, ComparisonReport, HostFingerprint, Variant, VariantMetric, VerdictName,
};
use genba_stats::{IntervalRule, Verdict, median_interval};

use crate::ExperimentError;
use crate::paired_effect::{count, verdict_name};

/// Adds the variants of an earlier report as baselines: each variant is compared with the earlier
/// one of its name, else with the last one of its command, else with the earlier baseline.
///
/// The runs are not paired. The interval of the ratio combines the intervals of both medians, each
/// at level 1 − α/2, so that it holds at 1 − α or more (Bonferroni) for those two periods. Changes
/// of the host between them are part of the ratio.
///
/// # Errors
/// The earlier report is from another host, or has no variant with runs.
pub fn compare_with_case(
    mut now: ComparisonReport,
    earlier: &ComparisonReport,
    case: &str,
) -> Result<ComparisonReport, ExperimentError> {
    check_same_host(&now.host, earlier, case)?;
    let usable = |variant: &&Variant| {
        variant.excluded.is_none() && variant.runs > 0 && !is_of_another_case(&variant.name)
    };
    let Some(first) = earlier.variants.iter().find(usable) else {
        return Err(ExperimentError::Plan {
            what: format!("case {case} has no variant with runs to compare with"),
        });
    };
    let (delta, alpha) = (
        now.comparisons.first().map_or(0.01, |one| one.delta),
        now.comparisons.first().map_or(0.05, |one| one.alpha),
    );
    let mut added: Vec<Variant> = Vec::new();
    let mut comparisons = Vec::new();
    for variant in now.variants.iter().filter(usable) {
        let mut known = earlier.variants.iter().filter(usable);
        // A gate has measured one command twice: what it judged stands behind its base.
        let of_command = known.clone().rfind(|old| old.command == variant.command);
        let old = known
            .find(|old| old.name == variant.name)
            .or(of_command)
            .unwrap_or(first);
        let name = format!("{}{OF_CASE}{case})", old.name);
        for (metric, new) in &variant.metrics {
            let Some(old) = old.metrics.get(metric) else {
                continue;
            };
            let Some(mut one) = unpaired(old, new, delta, alpha) else {
                continue;
            };
            one.baseline.clone_from(&name);
            one.variant.clone_from(&variant.name);
            one.metric.clone_from(metric);
            comparisons.push(one);
        }
        if added.iter().all(|known| known.name != name) {
            added.push(Variant {
                name,
                ..old.clone()
            });
        }
    }
    comparisons.sort_by_key(|one| one.metric != now.metric);
    now.notes.push(format!(
        "the runs of case {case} ({}) are not interleaved with these: any change of the machine \
         since then looks like an effect of the variant",
        earlier.started
    ));
    if now.variants.len() == 1 {
        // With a single variant the earlier one becomes the baseline.
        added.append(&mut now.variants);
        now.variants = added;
    } else {
        now.variants.extend(added);
    }
    now.comparisons.extend(comparisons);
    Ok(now)
}

/// What the name of a variant that was measured in another case has behind its own name.
const OF_CASE: &str = " (case ";

/// Whether a report has a variant from another case, which it was compared with: its runs are older.
fn is_of_another_case(name: &str) -> bool {
    name.ends_with(')') && name.contains(OF_CASE)
}

/// Refuses an earlier report of another host.
///
/// # Errors
/// The report is from another host; the message names both.
pub fn check_same_host(
    here: &HostFingerprint,
    earlier: &ComparisonReport,
    case: &str,
) -> Result<(), ExperimentError> {
    if here.id == earlier.host.id {
        return Ok(());
    }
    let describe = |host: &HostFingerprint| {
        format!(
            "{} ({}, {} CPUs, kernel {})",
            host.id, host.cpu, host.cpus, host.kernel
        )
    };
    Err(ExperimentError::OtherHost {
        case: case.to_owned(),
        there: describe(&earlier.host),
        here: describe(here),
    })
}

fn unpaired(
    old: &VariantMetric,
    new: &VariantMetric,
    delta: f64,
    alpha: f64,
) -> Option<Comparison> {
    let of = |metric: &VariantMetric| {
        let values: Vec<f64> = metric.values.iter().copied().flatten().collect();
        // Zeros and negative values have no ratio.
        if values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        median_interval(&values, 1.0 - alpha / 2.0).ok()
    };
    let (left, right) = (of(old)?, of(new)?);
    let ratio = genba_model::Estimate {
        value: right.estimate.value / left.estimate.value,
        low: right.estimate.low / left.estimate.high,
        high: right.estimate.high / left.estimate.low,
    };
    if !(ratio.low.is_finite() && ratio.high.is_finite() && ratio.value.is_finite()) {
        return None;
    }
    let regular = [&left, &right]
        .iter()
        .all(|interval| interval.rule == IntervalRule::Regular);
    Some(Comparison {
        baseline: String::new(),
        variant: String::new(),
        metric: String::new(),
        ratio,
        verdict: if regular {
            verdict_name(Verdict::of_ratio(&ratio, delta), new.direction)
        } else {
            VerdictName::Undecided
        },
        delta,
        alpha,
        pairs: count(left.count.min(right.count)),
        more_pairs: None,
        corrected: None,
        cross_check: None,
    })
}
