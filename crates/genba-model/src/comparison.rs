//! Variants measured against one another: the document of `genba bench`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Estimate, Hazard, HostFingerprint};

/// Whether less or more of a metric is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Times, memory.
    #[default]
    LessIsBetter,
    /// Rates.
    MoreIsBetter,
}

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictName {
    /// The variant is better than the baseline.
    Faster,
    /// It is worse.
    Slower,
    /// The difference is no larger than δ.
    Same,
    /// The runs do not tell.
    Undecided,
}

/// One metric of one variant over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantMetric {
    /// Median with its distribution-free interval.
    pub median: Estimate,
    /// Mean of the middle half of the runs.
    pub midmean: Option<Estimate>,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation; `None` for a single run.
    pub stddev: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// `seconds`, `bytes`, `count`, or the target's own unit.
    pub unit: String,
    /// Which way is better.
    #[serde(default)]
    pub direction: Direction,
    /// The value of every run in order; `null` where a run did not yield it.
    pub values: Vec<Option<f64>>,
}

/// One way of running the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name.
    pub name: String,
    /// Command as it was run.
    pub command: String,
    /// Parameters that made it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Measured runs.
    pub runs: u32,
    /// Exit codes of the runs; `null` where a signal ended one.
    pub exit_codes: Vec<Option<i32>>,
    /// By metric's name: `wall`, `user`, `system`, `cpu`, `max_rss`, … and the target's own.
    pub metrics: BTreeMap<String, VariantMetric>,
    /// Why it was taken out of the comparison, if it was.
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
    /// Metric.
    pub metric: String,
    /// Variant ÷ baseline. The interval holds at `1 − alpha` however often it was looked at.
    pub ratio: Estimate,
    /// What it came to.
    pub verdict: VerdictName,
    /// Differences up to this share count as none.
    pub delta: f64,
    /// Rate of false alarms allowed.
    pub alpha: f64,
    /// Pairs of adjacent runs behind it.
    pub pairs: u32,
    /// About how many more pairs would decide, if undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_pairs: Option<u32>,
    /// Whether it holds after correcting for the number of comparisons, and by which method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Correction>,
    /// The other test's word: the five-look Wilcoxon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_check: Option<bool>,
}

impl Comparison {
    /// Whether the variant was judged worse and the estimate lies beyond the threshold, a share
    /// (0.01 is 1 %): what a gate refuses.
    ///
    /// Not the nearer end of the interval: a measurement stops as soon as the interval leaves
    /// "no difference", so that end would hardly ever lie beyond a threshold.
    #[must_use]
    pub fn is_worse_by(&self, threshold: f64) -> bool {
        self.verdict == VerdictName::Slower && (self.ratio.value - 1.0).abs() >= threshold
    }
}

/// Correction for several comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// `e-BH` or `Holm`.
    pub method: String,
    /// Whether the difference still stands.
    pub holds: bool,
}

/// Cost per iteration, a baseline's cost taken off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationCost {
    /// Variant.
    pub variant: String,
    /// Metric.
    pub metric: String,
    /// Unit of one iteration's cost.
    pub unit: String,
    /// Iterations in a run.
    pub iterations: f64,
    /// Variant whose cost was taken off.
    pub subtracted: Option<String>,
    /// Cost of one iteration.
    pub cost: Estimate,
}

/// All that a comparison measured and found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonReport {
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
    /// Metric that decided when to stop.
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
    /// Costs per iteration, where asked for.
    #[serde(default)]
    pub iterations: Vec<IterationCost>,
    /// Variants that the data can tell apart, best first; those in one group it cannot.
    #[serde(default)]
    pub ranks: Vec<Vec<String>>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
