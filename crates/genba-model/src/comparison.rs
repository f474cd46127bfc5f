//! Variants compared with a baseline: the document of `genba bench` and `genba gate`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Estimate, Hazard, HostFingerprint};

/// Whether less or more of a metric is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less is better: times, memory.
    #[default]
    LessIsBetter,
    /// More is better: rates.
    MoreIsBetter,
}

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictName {
    /// The variant is better than the baseline in this metric.
    Faster,
    /// The variant is worse.
    Slower,
    /// Equivalent within ±δ.
    Same,
    /// The runs do not decide.
    Undecided,
}

/// One metric of one variant over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantMetric {
    /// Median with its distribution-free interval.
    pub median: Estimate,
    /// Interquartile mean: mean of the middle half of the runs.
    pub midmean: Option<Estimate>,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation; `None` for a single run.
    pub stddev: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// `seconds`, `bytes`, `count`, or the target's own unit.
    pub unit: String,
    /// Whether less or more is better.
    #[serde(default)]
    pub direction: Direction,
    /// The value of every run in order; `null` if a run did not yield it.
    pub values: Vec<Option<f64>>,
}

/// Name of the metric that a count engine yields: user instructions of the target and its child
/// processes.
pub const EXACT_INSTRUCTIONS: &str = "exact-instructions";

/// A variant: one way of running the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name of the variant.
    pub name: String,
    /// Command line.
    pub command: String,
    /// Values of the parameters that replaced placeholders, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Number of measured runs.
    pub runs: u32,
    /// Exit codes of the runs; `null` where a signal ended one.
    pub exit_codes: Vec<Option<i32>>,
    /// Metrics by name: `wall`, `user`, `system`, `cpu`, `max_rss`, …, and the target's own.
    pub metrics: BTreeMap<String, VariantMetric>,
    /// Why it was excluded from the comparison, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
}

/// One variant against the baseline in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// Variant ÷ baseline. The interval holds at 1 − α at any stopping time.
    pub ratio: Estimate,
    /// The verdict.
    pub verdict: VerdictName,
    /// Equivalence margin δ: differences smaller than this share are treated as equal.
    pub delta: f64,
    /// Significance level α: the rate of false verdicts allowed.
    pub alpha: f64,
    /// Number of pairs of adjacent runs.
    pub pairs: u32,
    /// Estimated number of further pairs for a verdict, if undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_pairs: Option<u32>,
    /// Result of the correction for multiple comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Correction>,
    /// Whether a second test, a group-sequential Wilcoxon test with five looks, agrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_check: Option<bool>,
}

impl Comparison {
    /// Whether the variant was judged worse and the estimate lies beyond the threshold, a share
    /// (0.01 is 1 %): what a gate refuses, also where the interval reaches over the threshold and
    /// time or runs are spent.
    #[must_use]
    pub fn is_worse_by(&self, threshold: f64) -> bool {
        self.verdict == VerdictName::Slower && (self.ratio.value - 1.0).abs() >= threshold
    }

    /// Whether the whole interval of a variant that is worse lies beyond the threshold.
    #[must_use]
    pub fn is_shown_worse_by(&self, threshold: f64) -> bool {
        self.is_worse_by(threshold) && self.losses().is_some_and(|(least, _)| least >= threshold)
    }

    /// Whether the interval of a variant that is worse reaches beyond the threshold.
    #[must_use]
    pub fn may_be_worse_by(&self, threshold: f64) -> bool {
        self.losses().is_some_and(|(_, most)| most >= threshold)
    }

    /// The least and the greatest loss that the interval of a worse variant has, shares.
    fn losses(&self) -> Option<(f64, f64)> {
        let Estimate { value, low, high } = self.ratio;
        (self.verdict == VerdictName::Slower).then_some(match value >= 1.0 {
            true => (low - 1.0, high - 1.0),
            false => (1.0 - high, 1.0 - low),
        })
    }
}

/// Correction for multiple comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// `e-BH` or `Holm`.
    pub method: String,
    /// Whether the difference remains significant.
    pub holds: bool,
}

/// Cost per iteration, after subtracting the cost of an empty loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationCost {
    /// Name of the variant.
    pub variant: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the cost.
    pub unit: String,
    /// Iterations per run.
    pub iterations: f64,
    /// Name of the variant whose cost was subtracted.
    pub subtracted: Option<String>,
    /// Cost of one iteration.
    pub cost: Estimate,
}

/// Result of `genba bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonReport {
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
    /// The primary metric, which decides when to stop.
    pub metric: String,
    /// Seed of the random order.
    pub seed: u64,
    /// Blocks in which every variant ran once.
    pub blocks: u32,
    /// Time taken, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds; `None` for a fixed number of runs.
    pub budget_seconds: Option<f64>,
    /// The variants, the baseline first.
    pub variants: Vec<Variant>,
    /// Every other variant against the baseline, in every metric.
    pub comparisons: Vec<Comparison>,
    /// Costs per iteration, if requested.
    #[serde(default)]
    pub iterations: Vec<IterationCost>,
    /// Names of the variants in groups, best first; variants of one group do not differ significantly.
    #[serde(default)]
    pub ranks: Vec<Vec<String>>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
