//! Ways of building and running a program, tried: the document of `genba try`.

use serde::{Deserialize, Serialize};

use crate::{Comparison, Estimate, HostFingerprint, ProfileDiff, Variant};

/// What a way changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// How the program is built.
    Build,
    /// How it is run: environment, libraries, options.
    Run,
    /// A patch or another revision.
    Source,
    /// Several of these at once.
    Combination,
    /// Nothing but where functions lie: shows what layout alone does.
    Layout,
}

/// What became of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriedOutcome {
    /// Faster by more than δ and by more than layout alone can do.
    Gain,
    /// Faster, but no more than δ, or no more than layout alone does.
    Slight,
    /// Slower.
    Slower,
    /// No difference larger than δ.
    Same,
    /// The runs do not tell.
    Undecided,
    /// The build gave the very same program.
    Identical,
    /// It did not build, crashed, hung, or printed something else.
    Failed,
    /// This machine lacks what it needs, or it does not fit this program.
    Unavailable,
    /// There was no time for it.
    NotTried,
}

/// One way that was to be tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Name, as in `variants` and `comparisons`.
    pub name: String,
    /// What it changes.
    pub kind: ChangeKind,
    /// How to do the same by hand, in words.
    pub change: String,
    /// What one gives up with it, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// What became of it.
    pub outcome: TriedOutcome,
    /// Variant ÷ baseline in the primary metric, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
    /// Pairs of runs behind it.
    #[serde(default)]
    pub pairs: u32,
    /// Whether the difference is no larger than what layout alone does.
    #[serde(default)]
    pub within_layout: bool,
    /// Time that its build took, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_seconds: Option<f64>,
    /// Why it failed, is unavailable, or was not measured further; the end of its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What builds that differ only in layout show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutEffect {
    /// Builds that were compared with the baseline.
    pub builds: u32,
    /// Smallest and largest of their ratios to it.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

impl LayoutEffect {
    /// Whether a ratio is within what layout alone does, in either direction.
    #[must_use]
    pub fn covers(&self, ratio: f64) -> bool {
        let span = self.low.ln().abs().max(self.high.ln().abs());
        ratio.ln().abs() <= span
    }
}

/// What to keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Keep {
    /// Name of the winner.
    pub variant: String,
    /// Winner ÷ baseline.
    pub ratio: Estimate,
    /// What to change in the build, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The project's own build with compilers that do so, one line for the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<String>,
    /// The command line.
    pub command: String,
    /// What one gives up, a sentence each.
    #[serde(default)]
    pub cautions: Vec<String>,
}

/// All that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialReport {
    /// Identifier of the case.
    pub case: Option<String>,
    /// Version of genba.
    pub genba: String,
    /// Start, RFC 3339.
    pub started: String,
    /// The host.
    pub host: HostFingerprint,
    /// The command.
    pub command: String,
    /// Metric that decides.
    pub metric: String,
    /// Differences up to this share count as none.
    pub delta: f64,
    /// Rate of false alarms allowed over all ways together.
    pub alpha: f64,
    /// Seed of all that is random.
    pub seed: u64,
    /// Time taken, builds included, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds.
    pub budget_seconds: Option<f64>,
    /// What was measured, the baseline first.
    pub variants: Vec<Variant>,
    /// Each against the baseline, the primary metric first.
    pub comparisons: Vec<Comparison>,
    /// Every way that was to be tried, best first.
    pub tried: Vec<Tried>,
    /// What layout alone does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutEffect>,
    /// What to keep; `None` where nothing helps.
    pub keep: Option<Keep>,
    /// Where the winner's gain (and a loser's loss) is.
    #[serde(default)]
    pub differences: Vec<ProfileDiff>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_covers_both_directions() {
        let layout = LayoutEffect {
            builds: 2,
            low: 0.995,
            high: 1.02,
        };
        assert!(layout.covers(0.985) && layout.covers(1.019) && layout.covers(1.0));
        assert!(!layout.covers(0.97) && !layout.covers(1.03));
    }
}
