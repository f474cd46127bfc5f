//! Documents of a case from which its explanation is computed again: what is known beside samples
//! and counts, and how counts and samples belong together.

use genba_attribution::{Clock, JoinOptions, Joined};
use genba_explain::RunFacts;
use genba_explain::input::analysis_input::FollowUpRuns;
use genba_model::{Estimate, HostTable, RawCounts};
use serde::{Deserialize, Serialize};

/// Kind of the document with [`ExplanationInputs`].
pub const EXPLANATION_INPUTS: &str = "facts";

/// What an explanation needs beside samples and counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExplanationInputs {
    /// Times, faults and memory of the repeated runs.
    pub runs: RunFacts,
    /// Results of follow-up runs.
    #[serde(alias = "tried")]
    pub follow_up: FollowUpRuns,
}

/// How counts and samples of a case belong together; stored in the case beside the counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// Number of runs that were sampled.
    pub runs: f64,
    /// CPU time of one run, seconds, where it is known.
    pub native_cpu_seconds: Option<f64>,
    /// Factor for the counts.
    pub scale: f64,
    /// The core clock, Hz, and its source.
    pub clock: Option<(Estimate, String)>,
    /// The host table.
    pub host: Option<HostTable>,
}

impl Join {
    /// Returns the counts joined with the samples.
    #[must_use]
    pub fn with(self, raw: &RawCounts) -> Joined {
        let options = JoinOptions {
            runs: self.runs,
            native_cpu_seconds: self.native_cpu_seconds,
            scale: self.scale,
            clock: self.clock.map(|(hz, source)| Clock { hz, source }),
            host: self.host,
        };
        Joined::new(raw, options)
    }
}

/// Kind of the document with [`Join`].
pub const JOIN: &str = "join";
