//! A metric over a parameter: the document of `genba sweep`.

use serde::{Deserialize, Serialize};

use crate::{Comparison, Direction, Estimate, Hazard, HostFingerprint, Variant};

/// A value of a parameter: a number, or a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl std::fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Scale of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterScale {
    /// Logarithmic, by doublings.
    Log2,
    /// Linear.
    Linear,
    /// Words without an order.
    Words,
}

/// A parameter that was varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepParameter {
    /// Name, `{name}` in the command.
    pub name: String,
    /// Its definition as given on the command line.
    pub values: String,
    /// Its scale.
    pub scale: ParameterScale,
    /// Number of settings of a full grid with the resolution of the answer, for comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_grid: Option<u64>,
}

/// A setting that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Name of the (first) parameter.
    pub parameter: String,
    /// Its value.
    pub value: ParameterValue,
    /// Value of the second parameter, if there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<ParameterValue>,
    /// Typical value of the primary metric.
    pub metric: Estimate,
    /// Number of runs.
    pub runs: u32,
    /// Whether it was added after the initial grid, to refine a change point.
    #[serde(alias = "placed")]
    pub refined: bool,
}

/// Kind of a change point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeKind {
    /// One level before it, another after it.
    Step,
    /// One slope before it, another after it.
    Hinge,
}

/// A change point (knee) of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepKnee {
    /// For a step the last value at the level before it; for a hinge the lower end of the
    /// interval.
    pub low: f64,
    /// For a step the first value at the level after it; for a hinge the upper end of the
    /// interval.
    pub high: f64,
    /// Step or hinge.
    pub kind: KneeKind,
    /// For a step: level after ÷ level before. For a hinge: growth per doubling (on a linear
    /// scale: per unit) after ÷ before.
    pub effect: Estimate,
    /// Probability that a change point exists and lies within the interval.
    pub confidence: f64,
    /// p-value against every curve without a change point, by a parametric bootstrap.
    pub p_value: f64,
    /// For a step: whether its likely positions overlap. If not, some settings within the
    /// interval may lie on either side of it.
    #[serde(default = "settled")]
    pub settled: bool,
}

/// Documents written before the field existed.
fn settled() -> bool {
    true
}

/// A segment of the curve between change points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepSegment {
    /// First setting of the segment.
    pub from: f64,
    /// Last setting of the segment.
    pub to: f64,
    /// Whether it is a plateau: a constant fits as well as any other model.
    pub flat: bool,
    /// Largest deviation of a setting from the middle of the segment, as a share.
    pub within: f64,
}

/// Scaling law (complexity fit) of the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepScalingLaw {
    /// `constant`, `log`, `linear`, `n log n`, `quadratic`, `power`, or `unknown`.
    pub law: String,
    /// Exponent p of a + b·x^p, if the data determine it.
    pub exponent: Option<Estimate>,
    /// Laws that fit about as well as the best one, the best first.
    pub candidates: Vec<String>,
    /// Root mean square deviation of the settings from the best law, as a share.
    pub residual: f64,
    /// First setting of the fitted segment, the one after the last change point.
    pub from: f64,
    /// Last setting of the fitted segment.
    pub to: f64,
    /// Settings of that segment with the value of the best law.
    pub fitted: Vec<(f64, f64)>,
}

/// Result of `genba sweep`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Id of the case.
    pub case: Option<String>,
    /// Version of genba that made it.
    pub genba: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// The command line with its placeholders.
    pub command: String,
    /// Conditions of the host that disturb measurements.
    pub hazards: Vec<Hazard>,
    /// The primary metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether less or more is better.
    pub direction: Direction,
    /// One parameter or two.
    pub parameters: Vec<SweepParameter>,
    /// Seed of everything random.
    pub seed: u64,
    /// Equivalence margin: differences smaller than this share are treated as equal.
    pub delta: f64,
    /// Significance level α of a change point.
    pub alpha: f64,
    /// Number of measured runs.
    pub runs: u32,
    /// Time taken, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds.
    pub budget_seconds: f64,
    /// Why it ended: `answered`, `budget`, `interrupted`.
    pub end: String,
    /// The settings with all their metrics, in the order of the parameter.
    pub variants: Vec<Variant>,
    /// Every other setting against the first; the intervals hold simultaneously.
    pub comparisons: Vec<Comparison>,
    /// The measured curve.
    pub points: Vec<SweepPoint>,
    /// Change points (knees) from left to right.
    pub knees: Vec<SweepKnee>,
    /// Change points that are suspected but not significant.
    #[serde(default, alias = "suspects")]
    pub suspected_knees: Vec<SweepKnee>,
    /// The segments between the change points; the flat ones are plateaus.
    #[serde(default, alias = "stretches")]
    pub segments: Vec<SweepSegment>,
    /// Scaling law; `null` for fewer than four settings, non-numeric values or two parameters.
    #[serde(alias = "growth")]
    pub scaling_law: Option<SweepScalingLaw>,
    /// Standard deviation of a single run, as a share.
    pub scatter: Option<f64>,
    /// About the smallest step in the middle of the range that would have been detected, as a share.
    pub visible_step: Option<f64>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
