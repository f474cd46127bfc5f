//! Findings: causes of lost time, the document of `genba explain`.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Event, Fix, NoiseFloor, Proven, SourceLine, TimePlace, Waits};

/// How the figures of a piece of evidence were obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// Time or events of native runs.
    Measured,
    /// Exact execution counts, or the code itself.
    Counted,
    /// Bursts of execution that were watched instruction by instruction, spread over the run.
    Observed,
    /// A simulated cache or branch predictor.
    Simulated,
    /// A model of the loop with the costs of the host table.
    Model,
}

/// A piece of evidence for a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// A sentence with figures.
    pub text: String,
    /// Source of the figures.
    pub source: EvidenceSource,
}

/// The place in the code that a finding is about.
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
    /// Addresses of its instructions in the module.
    pub addresses: Vec<u64>,
    /// The call that the code was inlined for, where it is inlined.
    #[serde(default)]
    pub called_from: Option<Box<FindingSite>>,
    /// Where the site is the user's call that leads to code of a library: that code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Box<FindingSite>>,
}

impl FindingSite {
    /// The code that the finding is about: the library's, where the site is the user's call that leads there.
    #[must_use]
    pub fn code(&self) -> &Self {
        self.inside.as_deref().unwrap_or(self)
    }
}

/// A cause of lost time, with its evidence and what a fix would gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the cause in the catalogue.
    pub cause: String,
    /// The place in the code.
    pub site: FindingSite,
    /// Share of all samples at the site.
    pub share: Estimate,
    /// Counted: executions of the site.
    pub executions: Option<u64>,
    /// Measured ÷ counted: time per execution, seconds.
    pub cost_seconds: Option<Estimate>,
    /// The same in core cycles.
    pub cost_cycles: Option<Estimate>,
    /// Estimated speedup of the whole program by a fix (old ÷ new time), with the interval that outcomes of such
    /// estimates make of it.
    pub predicted_speedup: Estimate,
    /// The same as model and shares of time give it, before it is calibrated on outcomes; absent in cases of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled_speedup: Option<Estimate>,
    /// Evidence for the cause.
    pub evidence: Vec<Evidence>,
    /// The fix, in one or two sentences.
    pub fix: String,
    /// The same as data, for `genba fix`; absent in cases of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Fix>,
    /// Code before and after the fix, if a few lines show it.
    #[serde(default)]
    pub example: Option<Example>,
    /// How to confirm it: a command, or what to change.
    pub confirm: String,
    /// What the fix gained in the running program, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<Proven>,
    /// Lines of source at the site, where the files were found; the call's after them, where the
    /// site is called from the user's code.
    #[serde(default)]
    pub source: Vec<SourceLine>,
}

/// The idiom that a fix is about, before and after it: an example, not the code at hand, whose lines are
/// the source of the finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Code before.
    pub before: String,
    /// Code after.
    pub after: String,
}

/// Result of `genba explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Id of the case; `null` for a recording alone.
    #[serde(default)]
    pub case: Option<String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The sampled event.
    pub event: Event,
    /// Findings, most profitable first.
    pub findings: Vec<Finding>,
    /// The three places with most time, whether a finding is about them or not; where these have less
    /// than half of it, up to three functions with what they call as well.
    #[serde(default)]
    pub places: Vec<TimePlace>,
    /// What the wall clock waited for, with causes and gains of wall time, where the command waits or
    /// has several threads or processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Size of the files that the command line names, bytes; `None` where it names none.
    #[serde(default)]
    pub input_bytes: Option<u64>,
    /// Findings with a smaller gain than this share are dropped.
    #[serde(alias = "least_gain")]
    pub min_gain: f64,
    /// Noise floor of the runs; empty for a recording alone. No finding is dropped for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_floor: Vec<NoiseFloor>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
