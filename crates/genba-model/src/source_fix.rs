//! A source patch for a finding, tried: the document of `genba fix`.

use serde::{Deserialize, Serialize};

use crate::{Estimate, FindingSite};

/// What came of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixVerdict {
    /// Faster by more than δ and by more than the layout effect; the output is the same.
    Gain,
    /// Not faster by more than δ and the layout effect.
    NoGain,
    /// Undecided within the budget.
    Undecided,
    /// The patched sources do not compile.
    DoesNotCompile,
    /// The patched program prints something else, fails or exceeds its time-out.
    OutputDiffers,
    /// The project's own tests fail with the patch.
    CheckFailed,
    /// No mechanical rewrite applies.
    NoRewrite,
    /// It was not tried.
    NotTried,
}

/// A rewrite of the sources, with what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedRewrite {
    /// What it does, in the imperative.
    pub title: String,
    /// What it assumes without being able to check it, a clause each.
    #[serde(default)]
    pub assumes: Vec<String>,
    /// The change as a unified diff.
    pub diff: String,
    /// Whether it compiles; `null` if that was not tried.
    pub compiles: Option<bool>,
    /// Whether the project's own tests pass; `null` without `--check`.
    #[serde(default)]
    pub check_passed: Option<bool>,
    /// Whether the output is the baseline's; `null` if it was not run, or the baseline's varies.
    pub output_identical: Option<bool>,
    /// Old ÷ new time of the whole program, if measured.
    pub speedup: Option<Estimate>,
    /// Pairs of runs.
    #[serde(default)]
    pub pairs: u32,
    /// What came of it.
    pub verdict: FixVerdict,
    /// Why, where the verdict does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Result of `genba fix`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFix {
    /// Id of the case.
    pub case: String,
    /// Number of the finding in the case, from 1.
    pub finding: u32,
    /// Its cause.
    pub cause: String,
    /// Its place.
    pub site: FindingSite,
    /// What the finding predicts: old ÷ new time of the whole program.
    pub predicted_speedup: Estimate,
    /// The command line of the workload.
    pub command: String,
    /// The build command, if the program was built.
    pub build: Option<String>,
    /// The compared metric.
    pub metric: String,
    /// The patch with the verdict in its header; only one that compiles, keeps the output and gains.
    pub patch: Option<String>,
    /// File that it was written to.
    pub patch_file: Option<String>,
    /// Whether the change could be applied to a copy of the sources.
    pub applied: bool,
    /// Whether it was applied to the user's sources (`--apply`).
    pub applied_to_sources: bool,
    /// Whether the changed sources compile.
    pub compiles: Option<bool>,
    /// Whether the output is the baseline's.
    pub output_identical: Option<bool>,
    /// Old ÷ new time of the whole program, measured.
    pub speedup: Option<Estimate>,
    /// Pairs of runs.
    pub pairs: u32,
    /// What came of it: of the best rewrite.
    pub verdict: FixVerdict,
    /// Why there is no patch.
    pub reason: Option<String>,
    /// Every rewrite that was tried, the best first.
    #[serde(default)]
    pub tried: Vec<TriedRewrite>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl SourceFix {
    /// Takes the verdict, and what belongs to it, from the best rewrite that was tried.
    pub fn take_verdict_of_best(&mut self) {
        let Some(best) = self.tried.first() else {
            return;
        };
        self.verdict = best.verdict;
        self.reason.clone_from(&best.reason);
        self.compiles = best.compiles;
        self.output_identical = best.output_identical;
        self.speedup = best.speedup;
        self.pairs = best.pairs;
    }
}
