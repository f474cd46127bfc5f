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

/// How a parameter is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterScale {
    /// By doublings.
    Log2,
    /// By differences.
    Linear,
    /// Words without an order.
    Words,
}

/// A parameter that was varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepParameter {
    /// Name, `{name}` in the command.
    pub name: String,
    /// Its definition as it was given.
    pub values: String,
    /// Its layout.
    pub scale: ParameterScale,
    /// Settings of a full grid as fine as the answer, for comparison; `None` if it is the list.
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
    /// The metric that decides, its typical value.
    pub metric: Estimate,
    /// Runs behind it.
    pub runs: u32,
    /// Whether it was placed after the first look, where the curve changes.
    pub placed: bool,
}

/// Of what kind a knee is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeName {
    /// One level before it, another after it.
    Step,
    /// One slope before it, another after it.
    Hinge,
}

/// A place where the curve changes its ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepKnee {
    /// Of a step: the last value with the level before it; of a hinge the interval's lower end.
    pub low: f64,
    /// Of a step: the first value with the level after it; of a hinge the interval's upper end.
    pub high: f64,
    /// Kind.
    pub kind: KneeName,
    /// Of a step: level after ÷ level before. Of a hinge: growth per doubling (on a linear scale:
    /// per unit) after it ÷ the same before it.
    pub effect: Estimate,
    /// Probability that a knee is there and within the interval.
    pub confidence: f64,
    /// How often a curve without a knee would look so bent.
    pub p_value: f64,
    /// Of a step: whether its likely places overlap. If not, there are settings within the
    /// interval of which it is not known at which side they lie.
    #[serde(default = "settled")]
    pub settled: bool,
}

/// Documents written before the field was.
fn settled() -> bool {
    true
}

/// A part of the curve between knees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepStretch {
    /// First setting.
    pub from: f64,
    /// Last setting.
    pub to: f64,
    /// Whether a constant describes it as well as anything.
    pub flat: bool,
    /// Largest distance of a setting from the middle, as a share.
    pub within: f64,
}

/// The law of growth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepGrowth {
    /// `constant`, `log`, `linear`, `n log n`, `quadratic`, `power`, or `unknown`.
    pub law: String,
    /// Exponent p of a + b·x^p, where the data tell it.
    pub exponent: Option<Estimate>,
    /// Laws that fit about as well as the best, the best first.
    pub candidates: Vec<String>,
    /// Typical distance of the settings from the best law, as a share.
    pub residual: f64,
    /// First setting of the part that it describes: the part after the last knee.
    pub from: f64,
    /// Last setting of it.
    pub to: f64,
    /// Settings of that part and the best law's value there.
    pub fitted: Vec<(f64, f64)>,
}

/// All that a sweep measured and found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Identifier of the case.
    pub case: Option<String>,
    /// Version of genba.
    pub genba: String,
    /// Start, RFC 3339.
    pub started: String,
    /// The host.
    pub host: HostFingerprint,
    /// The command with its placeholders.
    pub command: String,
    /// What spoils measurements here.
    pub hazards: Vec<Hazard>,
    /// The metric that decides.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// One parameter or two.
    pub parameters: Vec<SweepParameter>,
    /// Seed.
    pub seed: u64,
    /// Differences up to this share are of no interest.
    pub delta: f64,
    /// Rate of false knees allowed.
    pub alpha: f64,
    /// Runs altogether.
    pub runs: u32,
    /// Time taken, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds.
    pub budget_seconds: f64,
    /// Why it ended: `answered`, `budget`, `interrupted`.
    pub end: String,
    /// The settings with all their metrics, in the order of the parameter.
    pub variants: Vec<Variant>,
    /// Every other setting against the first; the intervals hold for all of them together.
    pub comparisons: Vec<Comparison>,
    /// The curve.
    pub points: Vec<SweepPoint>,
    /// Its knees, from left to right.
    pub knees: Vec<SweepKnee>,
    /// Knees that may be there, or not.
    #[serde(default)]
    pub suspects: Vec<SweepKnee>,
    /// The parts between the knees.
    #[serde(default)]
    pub stretches: Vec<SweepStretch>,
    /// How it grows; `None` for fewer than four settings, words, or two parameters.
    pub growth: Option<SweepGrowth>,
    /// Standard deviation of a single run, as a share.
    pub scatter: Option<f64>,
    /// About the smallest step in the middle that would have been seen, as a share.
    pub visible_step: Option<f64>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
