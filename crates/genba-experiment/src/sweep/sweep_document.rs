//! The document of a sweep. Pure.

use genba_model::{
    Comparison, Direction, Estimate, Metric, Sweep, SweepKnee, SweepParameter, SweepPoint,
    SweepScalingLaw, SweepSegment, Variant, VerdictName,
};
use genba_stats::{Curve, Knee, KneeKind, Verdict, fit_scaling_law, median_interval};

use super::setting_runs::{points, skipped_zeros};
use super::sweep_loop::{SweepPlan, SweepResult};
use crate::ReportContext;
use crate::comparison_report::summary;
use crate::direction_of;
use crate::measurement::{Origin, Series};
use crate::paired_effect::{count, verdict_name};

/// Share of δ that settings may differ by without an effect, as in `genba_stats::curve`.
const FLOOR_SHARE_OF_DELTA: f64 = 1.0 / 3.0;
/// Number of settings that a scaling law needs.
const MIN_SETTINGS_FOR_LAW: usize = 4;

/// The document of a finished sweep; `command` contains its placeholders.
#[must_use]
pub fn document(
    sweep: &SweepPlan,
    swept: &SweepResult,
    setting: ReportContext,
    command: &str,
) -> Sweep {
    let plan = &sweep.plan;
    let metric = &plan.primary;
    let series = series_of(sweep, metric);
    let curve = swept.curve.as_ref().and_then(|curve| curve.as_ref().ok());
    let mut notes = swept.notes.clone();
    if let Some(Err(error)) = &swept.curve {
        notes.push(format!("no change points and no scaling law: {error}"));
    }
    let zeros = skipped_zeros(&swept.settings, metric);
    if curve.is_some() && zeros > 0 {
        let (plural, were) = if zeros == 1 { ("", "is") } else { ("s", "are") };
        notes.push(format!(
            "{zeros} run{plural} with {metric} of zero (too short for the kernel's clock or \
             counter?) {were} skipped in the curve"
        ));
    }
    if sweep.parameters.len() == 1 && sweep.parameters[0].axis().is_none() {
        notes.push(
            "values are not numeric: compared pairwise, no change points or scaling law".to_owned(),
        );
    }
    for (variant, runs) in swept.variants.iter().zip(&swept.settings) {
        if let Some(reason) = &runs.failed {
            notes.push(format!("{} was skipped: {reason}", variant.name));
        } else if !runs.usable(metric) {
            notes.push(format!("{} did not report {metric}", variant.name));
        }
    }
    let intervals: Vec<(f64, f64)> = (curve.iter())
        .flat_map(|curve| curve.knees.iter().map(|knee| (knee.low, knee.high)))
        .collect();
    let widened = widened(swept, &intervals);
    let knees = |knees: &[Knee]| knees.iter().map(named_knee).collect::<Vec<_>>();
    Sweep {
        case: setting.case,
        genba: setting.version,
        started: setting.started,
        host: setting.host,
        command: command.to_owned(),
        hazards: setting.hazards,
        metric: metric.clone(),
        unit: series.unit.clone(),
        direction: series.direction,
        parameters: (sweep.parameters.iter())
            .map(|parameter| SweepParameter {
                name: parameter.name.clone(),
                values: parameter.definition.clone(),
                scale: parameter.scale,
                full_grid: Some(parameter.full_grid(&widened)),
            })
            .collect(),
        seed: plan.seed,
        delta: plan.delta,
        alpha: plan.alpha,
        runs: count(swept.settings.iter().map(|one| one.runs.len()).sum()),
        elapsed_seconds: swept.elapsed,
        budget_seconds: sweep.budget,
        end: swept.end.name().to_owned(),
        variants: variants(sweep, swept),
        comparisons: curve.map_or_else(Vec::new, |curve| {
            comparisons(curve, sweep, swept, series.direction)
        }),
        points: sweep_points(sweep, swept, curve),
        knees: curve.map_or_else(Vec::new, |curve| knees(&curve.knees)),
        suspected_knees: curve.map_or_else(Vec::new, |curve| knees(&curve.suspects)),
        segments: curve.map_or_else(Vec::new, |curve| {
            (curve.segments.iter())
                .map(|one| SweepSegment {
                    from: one.from,
                    to: one.to,
                    flat: one.flat,
                    within: one.within,
                })
                .collect()
        }),
        scaling_law: curve.and_then(|curve| law(curve, sweep, swept)),
        scatter: curve.map(|curve| curve.scatter),
        visible_step: curve.map(|curve| curve.visible_step),
        notes,
    }
}

/// The settings of the initial grid around each interval, which a full grid would refine.
fn widened(swept: &SweepResult, intervals: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let first: Vec<f64> = (swept.settings.iter())
        .filter(|one| !one.refined)
        .filter_map(|one| one.x)
        .collect();
    (intervals.iter())
        .map(|(low, high)| {
            let below = first.iter().copied().filter(|x| x <= low);
            let above = first.iter().copied().filter(|x| x >= high);
            (
                below
                    .fold(f64::NEG_INFINITY, f64::max)
                    .max(f64::MIN_POSITIVE),
                above.fold(f64::INFINITY, f64::min).min(high * 2.0),
            )
        })
        .collect()
}

fn series_of(sweep: &SweepPlan, name: &str) -> Series {
    let plan = &sweep.plan;
    let built_in = Metric::ALL.iter().find(|metric| metric.name() == name);
    let own = plan.metrics.iter().find(|metric| metric.name == name);
    let (unit, direction) = match (built_in, own) {
        (Some(metric), _) => (
            crate::measurement::unit_name(*metric).to_owned(),
            Direction::LessIsBetter,
        ),
        (None, Some(metric)) => (metric.unit.clone(), metric.direction()),
        (None, None) if plan.counters.iter().any(|counter| counter == name) => {
            ("count".to_owned(), Direction::LessIsBetter)
        }
        (None, None) => (String::new(), direction_of("")),
    };
    Series {
        name: name.to_owned(),
        unit,
        direction,
        origin: Origin::Channel,
    }
}

fn variants(sweep: &SweepPlan, swept: &SweepResult) -> Vec<Variant> {
    (swept.variants.iter().zip(&swept.settings))
        .map(|(variant, setting)| {
            let mut names: Vec<&String> = (setting.runs.iter())
                .flat_map(|(_, values)| values.keys())
                .collect();
            names.sort();
            names.dedup();
            let metrics = (names.into_iter())
                .filter_map(|name| {
                    let column: Vec<f64> = (setting.runs.iter())
                        .map(|(_, values)| values.get(name).copied().unwrap_or(f64::NAN))
                        .collect();
                    let series = series_of(sweep, name);
                    let metric = summary(&series.unit, series.direction, &column)?;
                    Some((name.clone(), metric))
                })
                .collect();
            Variant {
                name: variant.name.clone(),
                command: variant.command.clone(),
                parameters: setting.values.clone(),
                runs: count(setting.runs.len()),
                exit_codes: vec![Some(0); setting.runs.len()],
                metrics,
                excluded: setting.failed.clone(),
            }
        })
        .collect()
}

fn sweep_points(sweep: &SweepPlan, swept: &SweepResult, curve: Option<&Curve>) -> Vec<SweepPoint> {
    let metric = &sweep.plan.primary;
    let first = &sweep.parameters[0];
    (swept.settings.iter())
        .filter(|setting| setting.usable(metric))
        .filter_map(|setting| {
            let of_curve = curve.and_then(|curve| {
                let same = |one: &&genba_stats::SettingLevel| Some(one.x) == setting.x;
                curve.settings.iter().find(same).map(|one| one.level)
            });
            let values: Vec<f64> = setting.of(metric).into_iter().map(|run| run.1).collect();
            let level = match of_curve {
                Some(level) => level,
                None => median_interval(&values, 0.95).ok()?.estimate,
            };
            let value = |name: &str| setting.values.get(name).map_or("", String::as_str);
            Some(SweepPoint {
                parameter: first.name.clone(),
                value: first.value(value(&first.name)),
                second: (sweep.parameters.get(1)).map(|second| second.value(value(&second.name))),
                metric: level,
                runs: count(values.len()),
                refined: setting.refined,
            })
        })
        .collect()
}

fn named_knee(knee: &Knee) -> SweepKnee {
    SweepKnee {
        low: tidy(knee.low),
        high: tidy(knee.high),
        kind: match knee.kind {
            KneeKind::Step => genba_model::KneeKind::Step,
            KneeKind::Hinge => genba_model::KneeKind::Hinge,
        },
        effect: knee.effect,
        confidence: knee.confidence,
        p_value: knee.p_value,
        settled: knee.settled,
    }
}

/// Rounds to four significant digits.
fn tidy(value: f64) -> f64 {
    if value == 0.0 || value.fract() == 0.0 {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let factor = 10f64.powi(digits.clamp(-18, 12));
    (value * factor).round() / factor
}

/// Compares every setting with the first. With k settings each interval has level 1 − α/(k − 1)
/// (Bonferroni), so that all hold simultaneously.
fn comparisons(
    curve: &Curve,
    sweep: &SweepPlan,
    swept: &SweepResult,
    direction: Direction,
) -> Vec<Comparison> {
    let Some((first, others)) = curve.settings.split_first() else {
        return Vec::new();
    };
    let name = |x: f64| {
        let same = swept.settings.iter().position(|one| one.x == Some(x));
        same.map_or_else(String::new, |index| swept.variants[index].name.clone())
    };
    let error = |level: &Estimate| (level.high / level.low).ln() / 2.0 / 1.96;
    let widen =
        genba_stats::normal_quantile(1.0 - sweep.plan.alpha / 2.0 / others.len().max(1) as f64);
    (others.iter())
        .map(|other| {
            let middle = (other.level.value / first.level.value).ln();
            let half = widen * error(&first.level).hypot(error(&other.level));
            let ratio = Estimate {
                value: middle.exp(),
                low: (middle - half).exp(),
                high: (middle + half).exp(),
            };
            // Fewer than three runs do not determine the scatter.
            let verdict = match first.runs.min(other.runs) {
                0..3 => VerdictName::Undecided,
                _ => verdict_name(Verdict::of_ratio(&ratio, sweep.plan.delta), direction),
            };
            Comparison {
                baseline: name(first.x),
                variant: name(other.x),
                metric: sweep.plan.primary.clone(),
                ratio,
                verdict,
                delta: sweep.plan.delta,
                alpha: sweep.plan.alpha,
                pairs: first.runs.min(other.runs),
                more_pairs: None,
                corrected: None,
                cross_check: None,
            }
        })
        .collect()
}

/// The scaling law of the segment after the last change point.
fn law(curve: &Curve, sweep: &SweepPlan, swept: &SweepResult) -> Option<SweepScalingLaw> {
    let axis = sweep.parameters[0].axis()?;
    let last = curve.segments.last()?;
    let mut part = points(&swept.settings, &sweep.plan.primary);
    part.retain(|point| point.x >= last.from);
    part.sort_by(|a, b| a.x.total_cmp(&b.x));
    if part.len() < MIN_SETTINGS_FOR_LAW {
        return None;
    }
    let found = fit_scaling_law(&part, axis, sweep.plan.delta * FLOOR_SHARE_OF_DELTA).ok()?;
    Some(SweepScalingLaw {
        law: found.law.name().to_owned(),
        exponent: found.exponent,
        candidates: (found.candidates.iter())
            .map(|law| law.name().to_owned())
            .collect(),
        residual: found.residual,
        from: last.from,
        to: last.to,
        fitted: (part.iter().map(|point| point.x))
            .zip(found.fitted.iter().copied())
            .collect(),
    })
}
