//! Documents of a case from which its explanation can be computed again: what was known beside
//! samples and counts, and how counts and samples belong together.

use genba_attribution::{Clock, JoinOptions, Joined};
use genba_explain::RunFacts;
use genba_explain::input::analysis_input::FollowUpRuns;
use genba_model::{Estimate, HostTable, RawCounts};
use serde::{Deserialize, Serialize};

/// Kind of the case's document.
pub const EXPLANATION_INPUTS: &str = "facts";

/// What is known beside samples and counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExplanationInputs {
    /// Of the repeated runs.
    pub runs: RunFacts,
    /// What runs of their own said.
    #[serde(alias = "tried")]
    pub follow_up: FollowUpRuns,
    /// Gains below this are not told.
    #[serde(alias = "least_gain")]
    pub min_gain: f64,
}

/// How counts and samples of a case belong together; kept in the case beside the counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// Runs that the samples are of.
    pub runs: f64,
    /// CPU time of one run, seconds, where it is known.
    pub native_cpu_seconds: Option<f64>,
    /// What the counts are multiplied with.
    pub scale: f64,
    /// The core clock, cycles a second, and where it comes from.
    pub clock: Option<(Estimate, String)>,
    /// What instructions cost on that host.
    pub host: Option<HostTable>,
}

impl Join {
    /// Joins the counts.
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

/// Kind of the case's document that says how counts and samples belong together.
pub const JOIN: &str = "join";
