//! `genba try`: variants of building and running a program, compared with the baseline.
//!
//! A [`VariantChange`] makes a variant; [`run_presets`](fn@run_presets) and genba-build have presets
//! for running and building. A [`VariantBuilder`] builds the variants in copies of the sources.
//! [`run`] races them against the baseline: rounds of interleaved blocks whose pairs are pooled for
//! each variant, so that variants with a verdict, or without a chance, use no more time.
//!
//! **Statistics.** Each variant has its own betting e-process (`genba_stats::Judge`), which may be
//! evaluated after every pair and stopped for any reason. e-BH over all of them at the end keeps
//! the false discovery rate below α for any number of variants: it holds for e-values at any
//! stopping times and under any dependence (all share the runs of the baseline). Builds that
//! differ only in layout are part of the race: a gain within the layout effect does not count.

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
