//! `genba try`: ways of building and running a program, each proven or refuted.
//!
//! A [`VariantChange`] is one way; [`run_presets`] names the known ways of running, genba-build those of
//! building. A [`VariantBuilder`] makes variants of changes (builds in copies). [`run`] races them
//! against the baseline: rounds of interleaved blocks, whose pairs are pooled for each variant, so
//! that one that is decided, or hopeless, stops costing time while the others go on.
//!
//! **Statistics.** Each variant has a betting e-process of its own (`genba_stats::Judge`), which
//! may be looked at after every pair and stopped for any reason; e-BH over all of them at the
//! end keeps the share of false gains below α however many ways were tried, because it holds for
//! e-values at any stopping times and under any dependence (all share the baseline's runs).
//! Variants that differ in layout only are raced along: a gain no larger than theirs is none.

mod baseline_run;
mod combined_gains;
mod corrected_verdicts;
mod pooled_runs;
mod preset_lookup;
mod preset_selection;
mod race;
mod run_presets;
mod try_document;
mod try_loop;
mod variant_builder;
mod variant_change;
mod variant_outcome;

pub use baseline_run::ExplainBaseline;
pub use preset_lookup::{
    all_presets, check_unique_names, custom_flags, custom_run, list_presets, preset_by_name,
};
pub use preset_selection::describe_plan;
pub use run_presets::{
    WorkloadFacts, describe_causes, presets_for_causes, priority_with_causes, run_presets,
};
pub use try_document::{SessionInfo, document};
pub use try_loop::{TryOptions, TryResult, run};
pub use variant_builder::{BuildPlan, VariantBuild, VariantBuilder};
pub use variant_change::{RunChange, RunSlot, VariantChange};

#[cfg(test)]
mod race_simulation;
