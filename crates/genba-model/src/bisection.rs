//! What is responsible: the document of `genba bisect`.

use serde::{Deserialize, Serialize};

use crate::{Comparison, Estimate, Hazard, HostFingerprint, Variant};

/// What was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BisectionKind {
    /// An ordered list of values of a parameter.
    Range,
    /// The commits between two.
    Git,
    /// The items of a set.
    Set,
    /// The regions of a source file.
    Source,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BisectionOutcome {
    /// The culprit was found and verified.
    Found,
    /// There is nothing to look for: no difference larger than δ.
    NoDifference,
    /// The time did not suffice, or what was found could not be verified.
    Undecided,
    /// The person stopped it.
    Interrupted,
}

/// Who is responsible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// In a word: a value, a commit, an item, a region.
    pub name: String,
    /// The items, where several act only together; else the name alone.
    pub items: Vec<String>,
    /// What stood before it: the last value or commit that is not affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// With it ÷ without it, in the metric that decides, at 1 − α however often it was looked at.
    pub ratio: Option<Estimate>,
    /// Whether the comparison that verifies it was decided.
    pub verified: bool,
    /// More about it (a commit's subject, a region's lines).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectionTest {
    /// What: a value, a commit, the items switched on, the regions switched off.
    pub what: String,
    /// What it was for.
    pub purpose: String,
    /// Values of the metric that decides, in order of measuring.
    pub values: Vec<f64>,
    /// Why it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// An item or region with what it does to the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectionPart {
    /// Name.
    pub name: String,
    /// `item`, `function`, `block`, `include`, …
    pub kind: String,
    /// Depth in the hierarchy, from 0.
    #[serde(default)]
    pub depth: u32,
    /// First line, of a region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// What it adds to the metric, in the metric's unit, 95 %.
    pub effect: Estimate,
    /// The same as a share of the whole.
    pub share: Estimate,
    /// Whether a comparison of its own decided it.
    pub verified: bool,
}

/// What could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// A value, a commit, a subset, a region.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// All that a bisection measured and found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bisection {
    /// Identifier of the case.
    pub case: Option<String>,
    /// Version of genba.
    pub genba: String,
    /// Start, RFC 3339.
    pub started: String,
    /// The host.
    pub host: HostFingerprint,
    /// What spoils measurements here.
    pub hazards: Vec<Hazard>,
    /// What was searched.
    pub of: BisectionKind,
    /// The command with its placeholder.
    pub command: String,
    /// Metric that decides.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Seed of the random order.
    pub seed: u64,
    /// Measured runs.
    pub runs: u32,
    /// Time taken, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds.
    pub budget_seconds: Option<f64>,
    /// How it ended.
    pub outcome: BisectionOutcome,
    /// The greatest culprit that was verified.
    pub culprit: Option<Culprit>,
    /// All culprits and suspects, the greatest first.
    pub culprits: Vec<Culprit>,
    /// Of a place in a list: its posterior probability. Of items and regions: 1 − the rate of
    /// false alarms allowed to the comparisons that verify them.
    pub confidence: Option<f64>,
    /// First and last candidate that are left, where the place is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(String, String)>,
    /// Candidates in all.
    pub candidates: u64,
    /// Whether repeated runs agreed to a hundredth of the difference searched for.
    pub noise_is_nil: bool,
    /// What was tried, in order.
    pub tests: Vec<BisectionTest>,
    /// Items or regions by what they do, the greatest effect first.
    pub parts: Vec<BisectionPart>,
    /// What could not be measured.
    pub skipped: Vec<Skipped>,
    /// Everything that was run, the baseline first.
    pub variants: Vec<Variant>,
    /// The comparisons that verify.
    pub comparisons: Vec<Comparison>,
    /// What the reader must know, a sentence each.
    pub notes: Vec<String>,
}
