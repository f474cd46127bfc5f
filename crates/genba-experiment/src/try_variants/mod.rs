//! `genba try`: ways of building and running a program, each proven or refuted.
//!
//! A [`Change`] is one way; [`battery`] names the known ways of running, genba-build those of
//! building. A [`Workplace`] makes variants of changes (builds in copies). [`run`] races them
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

pub use baseline_run::Explain;
pub use preset_lookup::{known, list_in_words, named, no_name_twice, own_flags, own_run};
pub use preset_selection::plan_in_words;
pub use run_presets::{Facts, battery, explained, promised, suggested};
pub use try_document::{Sitting, document};
pub use try_loop::{Options, Trial, run};
pub use variant_builder::{BuildPlan, Ready, Workplace};
pub use variant_change::{Change, RunChange, RunSlot};

#[cfg(test)]
mod race_simulation;
