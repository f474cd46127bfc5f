//! Variants of building and running a program, compared: the document of `genba try`.

use serde::{Deserialize, Serialize};

use crate::{Comparison, Estimate, HostFingerprint, ProfileDiff, Variant};

/// What a variant changes.
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
    /// Only the addresses of functions: shows the effect of code layout alone.
    Layout,
}

/// Outcome of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriedOutcome {
    /// Faster by more than δ and by more than the layout effect.
    Gain,
    /// Faster, but within δ or within the layout effect.
    Slight,
    /// Slower.
    Slower,
    /// Equivalent within ± δ.
    Same,
    /// Undecided within the budget.
    Undecided,
    /// The build produced an identical program.
    Identical,
    /// It did not build, crashed, timed out or printed different output.
    Failed,
    /// This machine lacks something that it needs, or it does not apply to this program.
    Unavailable,
    /// Not measured within the budget.
    NotTried,
}

/// A variant that was tried or planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Name, as in `variants` and `comparisons`.
    pub name: String,
    /// What it changes.
    pub kind: ChangeKind,
    /// How to do the same by hand.
    pub change: String,
    /// Drawback of the change, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Outcome.
    pub outcome: TriedOutcome,
    /// Variant ÷ baseline in the primary metric, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
    /// Number of pairs of runs.
    #[serde(default)]
    pub pairs: u32,
    /// Whether the difference is within the layout effect.
    #[serde(default)]
    pub within_layout: bool,
    /// Build time, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_seconds: Option<f64>,
    /// Why it failed, is unavailable or was not measured further, with the end of the build log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Effect of code layout alone: the range over builds that differ only in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutEffect {
    /// Number of builds compared with the baseline.
    pub builds: u32,
    /// Smallest ratio build ÷ baseline.
    pub low: f64,
    /// Largest ratio build ÷ baseline.
    pub high: f64,
}

impl LayoutEffect {
    /// Whether a ratio is within the layout effect, in either direction.
    #[must_use]
    pub fn covers(&self, ratio: f64) -> bool {
        let span = self.low.ln().abs().max(self.high.ln().abs());
        ratio.ln().abs() <= span
    }
}

/// The recommended change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Keep {
    /// Name of the fastest variant.
    pub variant: String,
    /// Variant ÷ baseline in the primary metric.
    pub ratio: Estimate,
    /// What to change in the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Shell command that runs the project's own build with compiler wrappers that apply it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<String>,
    /// The command line to run.
    pub command: String,
    /// Drawbacks, a sentence each.
    #[serde(default)]
    pub cautions: Vec<String>,
}

/// Result of `genba try`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialReport {
    /// Id of the case.
    pub case: Option<String>,
    /// Version of genba that made it.
    pub genba: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// The host that it was measured on.
    pub host: HostFingerprint,
    /// The command line of the workload.
    pub command: String,
    /// The primary metric.
    pub metric: String,
    /// Equivalence margin: differences smaller than this share are treated as equal.
    pub delta: f64,
    /// Significance level α over all variants together.
    pub alpha: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// Time taken, builds included, seconds.
    pub elapsed_seconds: f64,
    /// Time allowed, seconds.
    pub budget_seconds: Option<f64>,
    /// The measured variants, the baseline first.
    pub variants: Vec<Variant>,
    /// Each variant against the baseline, the primary metric first.
    pub comparisons: Vec<Comparison>,
    /// Every variant that was tried or planned, the best first.
    pub tried: Vec<Tried>,
    /// Effect of code layout alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutEffect>,
    /// The recommended change; `null` if no variant is faster.
    pub keep: Option<Keep>,
    /// Differential profiles of the fastest and the slowest variant.
    #[serde(default)]
    pub differences: Vec<ProfileDiff>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_effect_covers_ratios_in_both_directions() {
        let layout = LayoutEffect {
            builds: 2,
            low: 0.995,
            high: 1.02,
        };
        assert!(layout.covers(0.985) && layout.covers(1.019) && layout.covers(1.0));
        assert!(!layout.covers(0.97) && !layout.covers(1.03));
    }
}
