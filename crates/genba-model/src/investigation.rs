//! All that one investigation found.

use serde::{Deserialize, Serialize};

use crate::{
    Annotation, Estimate, Finding, Hazard, HostFingerprint, Metric, Profile, RunRecord,
    ScriptProfile, Stat, Unit,
};

/// What is measured: a command and how it is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Program and arguments, or the one string given to the shell.
    pub command: Vec<String>,
    /// Shell that interprets the command, if any.
    pub shell: Option<String>,
    /// Working directory.
    pub directory: String,
    /// Name that people gave it.
    pub name: Option<String>,
}

/// "80 % of the time is in N functions, M source lines, x % of the code."
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concentration {
    /// The share that the figures below are about (0.8).
    pub share: f64,
    /// Functions that together carry it.
    pub functions: u32,
    /// Source lines, where there is line information for most of the samples.
    pub lines: Option<u32>,
    /// Bytes of the instructions that carry it, as a share of all code in the modules sampled.
    pub code_share: Option<f64>,
}

/// A metric over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// Which.
    pub metric: Metric,
    /// Unit of the numbers.
    pub unit: Unit,
    /// Median over the runs with its distribution-free interval.
    pub median: Estimate,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// Runs and what they say together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Every run that ended, in order; nothing is thrown away.
    pub runs: Vec<RunRecord>,
    /// One row a metric.
    pub metrics: Vec<MetricSummary>,
    /// Indices of runs that lie far from the rest (kept, shown).
    pub outliers: Vec<u32>,
}

/// The smallest difference that these runs could show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Of which metric.
    pub metric: Metric,
    /// As a share: 0.009 is 0.9 %.
    pub share: f64,
}

/// An investigation: what the case holds and the page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Investigation {
    /// Identifier of the case.
    pub case: String,
    /// Version of genba that made it.
    pub genba: String,
    /// Start, RFC 3339.
    pub started: String,
    /// The workload.
    pub workload: Workload,
    /// The host.
    pub host: HostFingerprint,
    /// What spoils measurements here.
    pub hazards: Vec<Hazard>,
    /// Runs without any observer attached.
    pub runs: RunSummary,
    /// What would not have been visible.
    pub noise_floor: Vec<NoiseFloor>,
    /// Counters, where the machine has them.
    pub stat: Option<Stat>,
    /// Samples, resolved.
    pub profile: Option<Profile>,
    /// Functions of Python or Ruby, where the command runs an interpreter whose frames can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptProfile>,
    /// The functions that carry the time, annotated.
    pub annotations: Vec<Annotation>,
    /// Why the time goes there, most profitable first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
