//! Proofs: a fix applied to the running code, and what it gained.

use serde::{Deserialize, Serialize};

use crate::{Estimate, FindingSite};

/// What the changed program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofKind {
    /// The same as the unchanged one.
    Equivalent,
    /// Something else: a piece of work was left out. No fix gains more.
    UpperBound,
}

/// The change that was made to the running code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeChange {
    /// The second of two divisions takes its results from the first, if operands are the same.
    OneDivision,
    /// A division is a shift and a mask, if the divisor is the power of two that it was before.
    PowerOfTwoDivisor,
    /// A division is a comparison and a subtraction, if the quotient is 0 or 1.
    CompareAndSubtract,
    /// A division is a multiplication by the reciprocal, if the divisor is the one before.
    Reciprocal,
    /// Locked instructions have no lock prefix, while there is one thread.
    PlainOperations,
    /// Stores are skipped.
    StoreSkipped,
    /// What a load will need is prefetched.
    Prefetch,
    /// Loads take what they read from a log of it, so that none waits for memory or an address.
    LoadsHit,
    /// Branches go by a pattern that is always predicted, each way as often as in the program.
    BranchesPredicted,
    /// Branches that go one way, and what only they compare, are left out.
    ChecksLeftOut,
    /// Instructions or calls are left out, their results taken from a log of them.
    WorkLeftOut,
    /// A 64-bit division is one of 32 bits, where both operands are below 2³².
    NarrowDivision,
}

/// What a fix gained, measured in the running program: both codes in one process, by turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proven {
    /// What the changed program computes.
    pub kind: ProofKind,
    /// The change.
    pub change: CodeChange,
    /// Speedup of the site (old ÷ new time); `None` if its share of the time does not allow one.
    pub site_speedup: Option<Estimate>,
    /// Speedup of the program's CPU time (old ÷ new).
    pub program_speedup: Estimate,
    /// Number of pairs of neighbouring windows, one of each code.
    pub pairs: u64,
    /// Whether output and exit status were those of a native run; `None` if not compared.
    pub output_identical: Option<bool>,
    /// Two copies of the unchanged code, compared in the same way: second ÷ first time.
    pub self_check: Estimate,
    /// Of an upper bound whose values come from a log: the largest part of the time that remained which reading the
    /// log may have taken, 0 to 1. Where it is large, more can be gained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_share: Option<f64>,
    /// CPU time of the program with translated, unchanged code ÷ native: median, least and greatest of the
    /// runs; `None` if no run ended. Above 1.1 the speedup says less of the native program.
    pub translated_cost: Option<Estimate>,
}

/// Part of the time that remained from which on reading the log makes a bound of something less. Chosen.
const MAX_LOG_SHARE: f64 = 0.2;

impl Proven {
    /// Whether reading the log took so much of the time that a fix may gain more than what was measured.
    #[must_use]
    pub fn log_is_costly(&self) -> bool {
        self.log_share.is_some_and(|share| share > MAX_LOG_SHARE)
    }

    /// Whether it is an upper bound that no fix of the finding surpasses. Not where reading a log took much of the time, and
    /// not of tests that were left out: code for which their outcome is known is spared what leads to them as well.
    #[must_use]
    pub fn limits_fixes(&self) -> bool {
        self.kind == ProofKind::UpperBound
            && self.change != CodeChange::ChecksLeftOut
            && !self.log_is_costly()
    }
}

/// Result of `genba prove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Id of the case.
    pub case: String,
    /// Number of the finding, from 1.
    pub finding: u32,
    /// Id of the cause.
    pub cause: String,
    /// The place in the code.
    pub site: FindingSite,
    /// The predicted speedup of the program.
    pub predicted_speedup: Estimate,
    /// What was measured; `None` if nothing could be claimed.
    pub proven: Option<Proven>,
    /// Why there is no claim.
    pub reason: Option<String>,
    /// Notes, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
