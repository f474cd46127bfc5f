//! What each part of a workload costs: the document of `genba ablate`.

use serde::{Deserialize, Serialize};

use crate::{ComparisonReport, Estimate};

/// A cost in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationCost {
    /// Metric.
    pub metric: String,
    /// Its unit, of one iteration if iterations are known.
    pub unit: String,
    /// The cost of one iteration, or of one run; 95 %.
    pub cost: Estimate,
    /// As a share of the whole, the loop taken off; `None` where the whole is not told from zero.
    pub share: Option<Estimate>,
}

/// A part that was switched off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationPart {
    /// Name.
    pub name: String,
    /// Name of the variant without it.
    pub variant: String,
    /// What was done to switch it off.
    pub how: String,
    /// Whole minus the variant without it, metric by metric; empty if the variant failed.
    pub costs: Vec<AblationCost>,
}

/// Whether the costs of the parts add up to what all of them cost together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationSum {
    /// Metric.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Sum of the parts, each switched off alone.
    pub parts: Estimate,
    /// Whole minus the variant without any of them.
    pub together: Estimate,
    /// Together minus the sum: above 0 the parts help one another to cost less alone (each hides
    /// the other), below 0 they share a cost that switching off either saves.
    pub interaction: Estimate,
    /// Whether the interval of the interaction lies on both sides of 0.
    pub adds_up: bool,
}

/// All that an ablation measured and found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// Variants and comparisons: the whole is the baseline.
    #[serde(flatten)]
    pub report: ComparisonReport,
    /// Iterations of one run, if they are known.
    pub per_iteration: Option<u64>,
    /// Name of the variant that is the loop alone, whose cost was taken off.
    pub baseline_loop: Option<String>,
    /// Cost of the whole, the loop taken off.
    pub whole: Vec<AblationCost>,
    /// The parts in the order of the command line.
    pub parts: Vec<AblationPart>,
    /// Name of the variant without any part, if there is one.
    pub all_off: Option<String>,
    /// Whether the parts add up, metric by metric.
    pub sums: Vec<AblationSum>,
    /// What is left with all parts off (the loop taken off), or, without such a variant, the
    /// whole less the sum of the parts.
    pub residue: Vec<AblationCost>,
}
