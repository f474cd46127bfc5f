//! Cost of each component of a workload: the document of `genba ablate`.

use serde::{Deserialize, Serialize};

use crate::{ComparisonReport, Estimate};

/// A cost in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationCost {
    /// Name of the metric.
    pub metric: String,
    /// Unit of the cost; per iteration if the number of iterations is known.
    pub unit: String,
    /// Cost per iteration, or per run.
    pub cost: Estimate,
    /// Share of the baseline after subtracting the loop; `null` if the baseline does not differ
    /// from zero.
    pub share: Option<Estimate>,
}

/// A component that was switched off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationComponent {
    /// Name of the component.
    pub name: String,
    /// Name of the variant without it.
    pub variant: String,
    /// How it was switched off: assignments, another command or a patch.
    #[serde(alias = "how")]
    pub disabled_by: String,
    /// Baseline minus the variant without it, by metric; empty if the variant failed.
    pub costs: Vec<AblationCost>,
}

/// Whether the costs of the components add up to the cost of all of them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblationSum {
    /// Name of the metric.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Sum of the costs of the components, each switched off alone.
    #[serde(alias = "parts")]
    pub components: Estimate,
    /// Baseline minus the variant without any of them.
    pub together: Estimate,
    /// Together minus the sum. Above 0: each component hides part of the cost of the others.
    /// Below 0: they share a cost that switching off either of them saves.
    pub interaction: Estimate,
    /// Whether the interval of the interaction contains 0.
    pub adds_up: bool,
}

/// Result of `genba ablate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// Variants and comparisons.
    #[serde(flatten)]
    pub report: ComparisonReport,
    /// Iterations of one run, if known.
    pub per_iteration: Option<u64>,
    /// Name of the variant that runs the empty loop, whose cost was subtracted.
    pub baseline_loop: Option<String>,
    /// Cost of the baseline after subtracting the loop.
    #[serde(alias = "whole")]
    pub baseline: Vec<AblationCost>,
    /// The components in the order of the command line.
    #[serde(alias = "parts")]
    pub components: Vec<AblationComponent>,
    /// Name of the variant with all components off, if there is one.
    pub all_off: Option<String>,
    /// Whether the components add up, by metric.
    pub sums: Vec<AblationSum>,
    /// Cost with all components off after subtracting the loop; without such a variant the
    /// baseline minus the sum of the components.
    #[serde(alias = "residue")]
    pub residual: Vec<AblationCost>,
}
