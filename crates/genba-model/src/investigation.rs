//! All that one investigation found.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    Annotation, Estimate, Finding, Hazard, HostFingerprint, Metric, ObservedPlace, Profile,
    RunRecord, ScriptProfile, Stat, TimePlace, Unit, Waits,
};

/// A command that is measured, and how it is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Program and arguments, or the one string given to the shell.
    pub command: Vec<String>,
    /// Shell that interprets the command, if any.
    pub shell: Option<String>,
    /// Working directory.
    pub directory: String,
    /// Name given by the user.
    pub name: Option<String>,
}

impl Workload {
    /// A program with its arguments in a directory, without a shell or a name.
    #[must_use]
    pub fn in_directory(command: Vec<String>, directory: &Path) -> Self {
        Self {
            command,
            shell: None,
            directory: directory.display().to_string(),
            name: None,
        }
    }
}

/// Running processes that were watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttachedProcesses {
    /// Their ids, as the user gave them; processes that they had started were watched as well.
    pub pids: Vec<i32>,
    /// Time for which they were watched, seconds.
    pub seconds: f64,
}

/// How concentrated the time is: 80 % of it is in so many functions, lines and bytes of code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concentration {
    /// Share of the time that the other fields are about (0.8).
    pub share: f64,
    /// Number of functions that take this share.
    pub functions: u32,
    /// Number of source lines; `None` without line information for most samples.
    pub lines: Option<u32>,
    /// Bytes of the instructions that take it, as a share of all code in the sampled modules.
    pub code_share: Option<f64>,
}

/// A metric over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// The metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: Unit,
    /// Median over the runs with its distribution-free interval.
    pub median: Estimate,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// The measured runs and their summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Every run that ended, in order; none is discarded.
    pub runs: Vec<RunRecord>,
    /// One row per metric.
    pub metrics: Vec<MetricSummary>,
    /// Indices of outliers in `runs`; they are retained in all statistics.
    pub outliers: Vec<u32>,
}

/// The smallest difference of a metric that these runs can show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// The metric.
    pub metric: Metric,
    /// Smallest visible difference, a share of the value: 0.009 is 0.9 %.
    pub share: f64,
}

/// Result of `genba investigate`: runs, counters, samples, annotations and findings of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Investigation {
    /// Id of the case.
    pub case: String,
    /// Version of genba that made it.
    pub genba: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// The command that was measured.
    pub workload: Workload,
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// Conditions of the host that disturb measurements.
    pub hazards: Vec<Hazard>,
    /// The processes that were attached to; `None` where a command was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedProcesses>,
    /// Runs without a profiler attached.
    pub runs: RunSummary,
    /// Smallest visible differences.
    pub noise_floor: Vec<NoiseFloor>,
    /// Event counters, where the machine has them.
    pub stat: Option<Stat>,
    /// The profile, where samples could be taken.
    pub profile: Option<Profile>,
    /// Functions of Python or Ruby, where the command runs a supported interpreter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptProfile>,
    /// Annotations of the functions with the most time.
    pub annotations: Vec<Annotation>,
    /// What bursts showed of the source lines with most time, where there were bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedPlace>,
    /// What the wall clock waited for, where the command waits or has several threads or processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Causes with their predicted gains, most profitable first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The three places with most time, whether a finding is about them or not; where these have less
    /// than half of it, up to three functions with what they call as well.
    #[serde(default)]
    pub places: Vec<TimePlace>,
    /// Size of the files that the command line names, bytes; `None` where it names none.
    #[serde(default)]
    pub input_bytes: Option<u64>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
