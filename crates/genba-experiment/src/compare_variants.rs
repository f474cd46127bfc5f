//! Comparison of every variant with the baseline in every metric, with correction for multiple
//! comparisons; ranks. Pure.

use genba_model::{Comparison, Correction, Direction, VerdictName};

use crate::measurement::{End, Measurement, Origin};
use crate::paired_effect::{Effect, Evidence, Pairs, Question, corrected, differs};
use crate::plan::DEFAULT_MIN_BLOCKS;
use crate::{Plan, Stop};

/// Comparisons with notes about them.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub comparisons: Vec<Comparison>,
    pub notes: Vec<String>,
}

/// Number of pairs of runs beyond which no ranks are computed, because it would take too long.
const MAX_RANKED_PAIRS: usize = 4_000_000;

fn question(plan: &Plan, measurement: &Measurement, direction: Direction) -> Question {
    Question {
        alpha: plan.alpha,
        delta: plan.delta,
        direction,
        fixed: matches!(plan.stop, Stop::Blocks(_)) && measurement.end == End::Counted,
    }
}

/// Compares all variants that are not excluded with the first of them.
pub(crate) fn compare(plan: &Plan, measurement: &Measurement) -> Compared {
    let mut result = Compared::default();
    let compared = measurement.compared(plan);
    let Some((baseline, others)) = compared.split_first() else {
        return result;
    };
    for (number, series) in measurement.series.iter().enumerate() {
        let primary = series.name == plan.primary;
        let question = question(plan, measurement, series.direction);
        let mut effects: Vec<(usize, Effect)> = Vec::new();
        for variant in others {
            let pairs = Pairs::of(
                measurement.variants[*baseline].column(number),
                measurement.variants[*variant].column(number),
            );
            // Metrics that were not asked for (page faults of zero) need no note.
            let asked_for = primary || !matches!(series.origin, Origin::BuiltIn(_));
            if !asked_for && !pairs.sound() {
                continue;
            }
            if let (true, Some((at_fault, run, value))) = (asked_for, pairs.unusable) {
                let who = if at_fault { *baseline } else { *variant };
                let known = (measurement.troubles).contains_key(&(who, series.name.clone()));
                let note = unusable_note(plan, &series.name, who, run, value, &pairs);
                if !known && !result.notes.contains(&note) {
                    result.notes.push(note);
                }
            }
            match pairs.judge(&question) {
                Some(effect) => effects.push((*variant, effect)),
                None if asked_for => result.notes.push(format!(
                    "{} is not compared in {}: no block has a usable value of both",
                    plan.variants[*variant].name, series.name
                )),
                None => {}
            }
        }
        let evidence: Vec<Evidence> = effects.iter().map(|(_, effect)| effect.evidence).collect();
        let correction = if primary {
            corrected(&evidence, plan.alpha)
        } else {
            None
        };
        for (index, (variant, effect)) in effects.into_iter().enumerate() {
            if primary && let Some(level) = effect.low_level {
                let mut note = few_pairs_note(plan, variant, &effect, level);
                // Blocks that are missing of a number are not missing for want of a budget.
                let of_budget = !matches!(plan.stop, Stop::Blocks(_));
                if measurement.end == End::BudgetSpent && of_budget {
                    let each = measurement.elapsed_seconds / f64::from(measurement.blocks.max(1));
                    note.push_str(&needed_budget(each));
                }
                result.notes.push(note);
            }
            let mut comparison = Comparison {
                baseline: plan.variants[*baseline].name.clone(),
                variant: plan.variants[variant].name.clone(),
                metric: series.name.clone(),
                ratio: effect.ratio,
                verdict: effect.verdict,
                delta: plan.delta,
                alpha: plan.alpha,
                pairs: effect.pairs,
                more_pairs: effect.more_pairs,
                corrected: None,
                cross_check: effect.cross_check,
            };
            if let Some((method, holds)) = &correction
                && differs(effect.verdict)
            {
                let holds = holds.get(index).copied().unwrap_or(false);
                comparison.corrected = Some(Correction {
                    method: (*method).to_owned(),
                    holds,
                });
                if !holds {
                    comparison.verdict = VerdictName::Undecided;
                }
            }
            result.comparisons.push(comparison);
        }
    }
    // The primary metric comes first.
    result
        .comparisons
        .sort_by_key(|comparison| comparison.metric != plan.primary);
    result
}

fn unusable_note(
    plan: &Plan,
    metric: &str,
    variant: usize,
    run: usize,
    value: f64,
    pairs: &Pairs,
) -> String {
    let name = &plan.variants[variant].name;
    let what = if value.is_nan() {
        "has no value".to_owned()
    } else {
        format!("is {}", short(value))
    };
    let why = if value == 0.0 {
        " (too small for the kernel's clock or counter?)"
    } else {
        ""
    };
    let consequence = if pairs.sound() {
        let (plural, count) = if pairs.zeros == 1 {
            ("", "counts")
        } else {
            ("s", "count")
        };
        format!(
            "{} pair{plural} with a zero {count} by the sign only",
            pairs.zeros
        )
    } else {
        format!("a ratio needs positive values, so {metric} stays undecided")
    };
    format!(
        "metric {metric} of {name} {what} in run {}{why}: {consequence}",
        run + 1
    )
}

/// A value of unknown unit with four digits: `-1.233e-10`, `0.25`, `1800`.
fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{value:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.3e}")
}

fn few_pairs_note(plan: &Plan, variant: usize, effect: &Effect, level: f64) -> String {
    let name = &plan.variants[variant].name;
    let plural = if effect.pairs == 1 { "" } else { "s" };
    if level > 0.0 {
        format!(
            "{} pair{plural} of runs are too few for an interval at {:.0} %: for {name} the range of \
             the ratios is shown ({:.0} %)",
            effect.pairs,
            (1.0 - plan.alpha) * 100.0,
            level * 100.0
        )
    } else {
        format!(
            "{} pair{plural} of runs give no interval at {:.0} %: for {name} the range of the ratios \
             or the single ratio is shown",
            effect.pairs,
            (1.0 - plan.alpha) * 100.0
        )
    }
}

/// What a verdict takes where the budget was too small for one, with pairs of so many seconds.
fn needed_budget(seconds_per_pair: f64) -> String {
    let needed = f64::from(DEFAULT_MIN_BLOCKS) * seconds_per_pair;
    format!(
        "; {DEFAULT_MIN_BLOCKS} pairs, the fewest for a verdict, take about {}: give a larger --budget",
        genba_units::format::rough_duration(needed)
    )
}

/// Groups of variants, the best first: every member of a group differs from every member of the
/// next, after correction over all pairs of variants.
pub(crate) fn ranks(plan: &Plan, measurement: &Measurement) -> Vec<Vec<String>> {
    let compared = measurement.compared(plan);
    let Some(series) = measurement.find(&plan.primary) else {
        return Vec::new();
    };
    let each = measurement.blocks as usize;
    let tests = compared.len() * compared.len().saturating_sub(1) / 2;
    if tests == 0 || tests.saturating_mul(each) > MAX_RANKED_PAIRS {
        return Vec::new();
    }
    let direction = measurement.series[series].direction;
    let mut order: Vec<(usize, f64)> = Vec::new();
    for variant in &compared {
        let values = measurement.variants[*variant].finite(series);
        let Ok(median) = genba_stats::median(&values) else {
            return Vec::new();
        };
        order.push((*variant, median));
    }
    order.sort_by(|left, right| match direction {
        Direction::LessIsBetter => left.1.total_cmp(&right.1),
        Direction::MoreIsBetter => right.1.total_cmp(&left.1),
    });
    let question = question(plan, measurement, direction);
    let mut tests: Vec<(usize, usize)> = Vec::new();
    let mut evidence = Vec::new();
    let mut better = Vec::new();
    for left in 0..order.len() {
        for right in left + 1..order.len() {
            let pairs = Pairs::of(
                measurement.variants[order[left].0].column(series),
                measurement.variants[order[right].0].column(series),
            );
            let Some(effect) = pairs.judge(&question) else {
                return Vec::new();
            };
            tests.push((left, right));
            evidence.push(effect.evidence);
            // The later variant must be significantly worse.
            better.push(effect.verdict == VerdictName::Slower);
        }
    }
    let holds = corrected(&evidence, plan.alpha).map(|(_, holds)| holds);
    let apart: Vec<(usize, usize)> = (0..tests.len())
        .filter(|index| better[*index] && holds.as_ref().is_none_or(|holds| holds[*index]))
        .map(|index| tests[index])
        .collect();
    let mut groups: Vec<Vec<String>> = Vec::new();
    for place in 0..order.len() {
        let line = (0..place).all(|left| {
            (place..order.len()).all(|right| apart.binary_search(&(left, right)).is_ok())
        });
        let name = plan.variants[order[place].0].name.clone();
        match groups.last_mut() {
            Some(group) if !line => group.push(name),
            _ => groups.push(vec![name]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_budget_says_what_a_verdict_takes() {
        assert_eq!(
            needed_budget(5.2),
            "; 6 pairs, the fewest for a verdict, take about 32 s: give a larger --budget"
        );
    }

    #[test]
    fn values_in_notes_have_few_digits() {
        let shown = [-0.000_000_000_123_312_666_7, 0.0, 0.25, 1800.0, -3e9].map(short);
        assert_eq!(shown, ["-1.233e-10", "0", "0.25", "1800", "-3.000e9"]);
    }
}
