//! Change points (knees) of a curve: parameters, result, and the analysis.

use genba_model::Estimate;

use super::knee_search::Search;
use super::segments::segments;
use super::setting_levels::Levels;
use super::{Axis, CurvePoint, segmentation};
use crate::{StatsError, input_checks};

/// Parameters of the analysis of a curve.
#[derive(Clone, Copy, Debug)]
pub struct CurveQuestion {
    /// Scale of the parameter.
    pub axis: Axis,
    /// Equivalence margin (0.01). A third of it is assumed as scatter between settings that repeated
    /// runs do not show.
    pub delta: f64,
    /// Significance level α (0.05).
    pub alpha: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Number of bootstrap samples (199).
    pub resamples: u32,
}

/// Kind of a change point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KneeKind {
    /// One level before it, another after it.
    Step,
    /// One slope before it, another after it.
    Hinge,
}

/// A change point (knee) of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Of a step: the last value with the level before it. Of a hinge: lower end of
    /// the interval of its place.
    pub low: f64,
    /// The first value with the level after it; the upper end.
    pub high: f64,
    /// Best single place.
    pub at: f64,
    /// Its kind.
    pub kind: KneeKind,
    /// Of a step: level after it ÷ level before it. Of a hinge: growth per doubling (on a linear
    /// axis per unit) after it ÷ growth before it. 95 %.
    pub effect: Estimate,
    /// Probability that a change point exists and lies in the interval.
    pub confidence: f64,
    /// p-value against all curves without a change point.
    pub p_value: f64,
    /// Of a step: whether its likely positions are adjacent. If not, some settings between them belong
    /// to neither side for certain.
    pub settled: bool,
}

/// A setting with its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettingLevel {
    /// The parameter.
    pub x: f64,
    /// The metric, 95 %.
    pub level: Estimate,
    /// Runs behind it.
    pub runs: u32,
}

/// A segment of the curve between change points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// First setting.
    pub from: f64,
    /// Last setting.
    pub to: f64,
    /// Whether it is a plateau: a constant fits as well as any other model.
    pub flat: bool,
    /// Largest distance of a level from their middle, as a share.
    pub within: f64,
}

/// The analysed curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// All settings in the order of the parameter.
    pub settings: Vec<SettingLevel>,
    /// The change points from left to right.
    pub knees: Vec<Knee>,
    /// Suspected change points that are not significant.
    pub suspects: Vec<Knee>,
    /// The segments between the change points.
    pub segments: Vec<Segment>,
    /// Typical standard deviation of a single run, as a share.
    pub scatter: f64,
    /// About the smallest step in the middle that would have been detected, as a share.
    pub visible_step: f64,
}

/// 97.5 % of the normal distribution.
pub(super) const NORMAL: f64 = 1.96;
/// Share of δ by which settings may differ without being different.
const FLOOR: f64 = 1.0 / 3.0;
/// Height of a step that is detected with a power of 80 %, standard errors.
const SEEN: f64 = 4.0;

/// Determines levels, change points and segments.
///
/// # Errors
/// No settings, settings most of which have a single run, values that are not above zero, on a doubling axis
/// parameters that are not; more settings than 200; δ or α out of range.
pub fn curve(points: &[CurvePoint], question: &CurveQuestion) -> Result<Curve, StatsError> {
    input_checks::open_unit("alpha", question.alpha)?;
    if !(question.delta >= 0.0 && question.delta < 1.0) {
        return Err(StatsError::Parameter {
            name: "delta",
            value: question.delta,
            range: "at or above 0 and below 1",
        });
    }
    if points.is_empty() {
        return Err(StatsError::TooFew { needed: 1, got: 0 });
    }
    if points.len() > segmentation::MOST {
        return Err(StatsError::Parameter {
            name: "number of settings",
            value: points.len() as f64,
            range: "at most 200",
        });
    }
    let levels = Levels::of(points, question.axis, question.delta * FLOOR)?;
    levels.enough()?;
    let (found, suspects) = Search {
        levels: &levels,
        question,
    }
    .run();
    let settings = (levels.all.iter().zip(levels.counts()).enumerate())
        .map(|(index, (level, count))| SettingLevel {
            x: level.x,
            level: ratio(level.z, NORMAL * levels.own_error(index)),
            runs: u32::try_from(*count).unwrap_or(u32::MAX),
        })
        .collect();
    let errors: Vec<f64> = levels.all.iter().map(|level| level.se).collect();
    let typical = crate::median(&errors)?;
    Ok(Curve {
        settings,
        segments: segments(&levels.all, &found, question.delta),
        knees: found.iter().map(|found| found.knee).collect(),
        suspects: suspects.iter().map(|found| found.knee).collect(),
        scatter: levels.scatter(),
        visible_step: (SEEN * typical * 2.0 / (levels.all.len() as f64).sqrt()).exp_m1(),
    })
}

/// A level on the logarithmic scale, as a value.
pub(super) fn ratio(z: f64, half: f64) -> Estimate {
    Estimate {
        value: z.exp(),
        low: (z - half).exp(),
        high: (z + half).exp(),
    }
}
