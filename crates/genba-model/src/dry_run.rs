//! What an experiment would run: the document of `--dry-run --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A variant that would be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedVariant {
    /// Name of the variant.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// Environment variables that it changes.
    pub environment: BTreeMap<String, String>,
}

/// Result of `--dry-run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentDryRun {
    /// Variants, the baseline first; empty for a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<PlannedVariant>,
    /// Settings of a sweep's first grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<u64>,
    /// Number of runs, where it is known beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Upper limit of the time, seconds; absent for a fixed number of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
}
