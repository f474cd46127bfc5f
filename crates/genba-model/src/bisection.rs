//! The culprit of a difference: the document of `genba bisect`.

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
    /// The elements of a set.
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
    /// The ends do not differ: equivalent within ± δ.
    NoDifference,
    /// The budget was spent first, or the candidate found could not be verified.
    Undecided,
    /// The user interrupted it.
    Interrupted,
}

/// The candidate that causes the difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// A value, a commit, a set element or a region.
    pub name: String,
    /// The set elements, where several act only together; otherwise the name alone.
    #[serde(alias = "items")]
    pub elements: Vec<String>,
    /// The last value or commit before it that is not affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Primary metric with it ÷ without it; the interval holds at 1 − α at any stopping time.
    pub ratio: Option<Estimate>,
    /// Whether the verifying comparison reached a verdict.
    pub verified: bool,
    /// A commit's subject, or the lines of a region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A candidate that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BisectionTest {
    /// A value, a commit, the set elements switched on, or the regions switched off.
    pub what: String,
    /// Stage of the search: `search`, `screen`, `verify …`.
    pub purpose: String,
    /// Values of the primary metric in the order of measurement.
    pub values: Vec<f64>,
    /// Reason if it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A set element or source region with its effect on the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedEffect {
    /// Name of the element or region.
    pub name: String,
    /// `element`, `group`, `function`, `block`, `include`, …
    pub kind: String,
    /// Nesting depth of a region, from 0.
    #[serde(default)]
    pub depth: u32,
    /// First line of a region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Last line of a region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Change of the metric that it causes, in the metric's unit.
    pub effect: Estimate,
    /// The effect as a share of the baseline.
    pub share: Estimate,
    /// Whether a comparison of its own reached a verdict.
    pub verified: bool,
}

/// A candidate that could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// A value, a commit, a subset or a region.
    pub what: String,
    /// Reason.
    pub reason: String,
}

/// Result of `genba bisect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bisection {
    /// Id of the case.
    pub case: Option<String>,
    /// Version of genba that made it.
    pub genba: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// Conditions of the host that disturb measurements.
    pub hazards: Vec<Hazard>,
    /// What was searched.
    pub of: BisectionKind,
    /// The command line with its placeholder.
    pub command: String,
    /// The primary metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Seed of the random order of runs.
    pub seed: u64,
    /// Number of measured runs.
    pub runs: u32,
    /// Time taken, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds.
    pub budget_seconds: Option<f64>,
    /// How the search ended.
    pub outcome: BisectionOutcome,
    /// The verified culprit with the largest effect.
    pub culprit: Option<Culprit>,
    /// All culprits, verified or suspected, the largest effect first.
    pub culprits: Vec<Culprit>,
    /// For an ordered list the posterior probability of the culprit; for set elements and regions
    /// 1 − α of the verifying comparisons.
    pub confidence: Option<f64>,
    /// First and last remaining candidate, if the culprit is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(String, String)>,
    /// Number of candidates.
    pub candidates: u64,
    /// Whether repeated runs agreed within 1 % of the difference searched for (exact counts).
    #[serde(alias = "noise_is_nil")]
    pub deterministic: bool,
    /// What was measured, in order.
    pub tests: Vec<BisectionTest>,
    /// Set elements or regions by their effect, the largest first.
    #[serde(alias = "parts")]
    pub ranking: Vec<RankedEffect>,
    /// Candidates that could not be measured.
    pub skipped: Vec<Skipped>,
    /// Every variant that was run, the baseline first.
    pub variants: Vec<Variant>,
    /// The verifying comparisons.
    pub comparisons: Vec<Comparison>,
    /// Notes on the result, a sentence each.
    pub notes: Vec<String>,
}
