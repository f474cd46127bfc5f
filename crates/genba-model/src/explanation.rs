//! Why the time goes where it goes: findings.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Event, NoiseFloor, SourceLine};

/// How a piece of evidence was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// Time or events of real runs.
    Measured,
    /// Exact executions, or what the code itself says.
    Counted,
    /// A simulated cache or branch predictor.
    Simulated,
    /// What instructions cost here, put together.
    Model,
}

/// A short fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// In words with figures.
    pub text: String,
    /// Where it comes from.
    pub source: EvidenceSource,
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingSite {
    /// Demangled name of the function; the innermost inlined one where the code was inlined.
    pub function: String,
    /// Path of the module.
    pub module: String,
    /// Source file, where there is line information.
    pub file: Option<String>,
    /// First line.
    pub line: Option<u32>,
    /// Last line.
    pub end_line: Option<u32>,
    /// Addresses of the instructions that it is about, in the module.
    pub addresses: Vec<u64>,
    /// Where the user's own code calls it, for code that the user cannot change.
    #[serde(default)]
    pub called_from: Option<Box<FindingSite>>,
}

/// A cause of lost time, with its evidence and what a fix would gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Identifier of the catalogue of causes.
    pub cause: String,
    /// Where.
    pub site: FindingSite,
    /// Share of all time that the site takes.
    pub share: Estimate,
    /// Counted: executions of the site.
    pub executions: Option<u64>,
    /// Measured ÷ counted: seconds for each of them.
    pub cost_seconds: Option<Estimate>,
    /// The same in cycles.
    pub cost_cycles: Option<Estimate>,
    /// Old ÷ new time of the whole program, if it were mended: likely value, least and most.
    pub predicted_speedup: Estimate,
    /// Why this is believed.
    pub evidence: Vec<Evidence>,
    /// What to do, one or two sentences.
    pub fix: String,
    /// The idiom before and after, where a few lines show it.
    #[serde(default)]
    pub example: Option<Example>,
    /// How to find out whether it is so: a command, or what to do.
    pub confirm: String,
    /// Lines of source at the site, where the files were found; the call's after them, where the
    /// site is called from the user's code.
    #[serde(default)]
    pub source: Vec<SourceLine>,
}

/// The idiom before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// As it is now.
    pub before: String,
    /// As it could be.
    pub after: String,
}

/// The document of `genba explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Program and arguments.
    pub command: Vec<String>,
    /// What was sampled.
    pub event: Event,
    /// Findings, most profitable first.
    pub findings: Vec<Finding>,
    /// Gains below this are not told: the smallest difference that could be seen, as a share.
    #[serde(alias = "least_gain")]
    pub min_gain: f64,
    /// Noise floor of the runs, from which the minimum gain follows; empty for a recording alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_floor: Vec<NoiseFloor>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
