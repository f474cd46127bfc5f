//! What a search hands back.

use genba_model::{
    BisectionOutcome, BisectionTest, Comparison, Culprit, Estimate, RankedEffect, Skipped, Variant,
    VerdictName,
};

/// What was found, tried and measured.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// How it ended.
    pub outcome: BisectionOutcome,
    /// The culprits, the greatest first.
    pub culprits: Vec<Culprit>,
    /// See [`genba_model::Bisection::confidence`].
    pub confidence: Option<f64>,
    /// First and last candidate left.
    pub range: Option<(String, String)>,
    /// Whether repeated runs gave the same values.
    pub noise_is_nil: bool,
    /// What was tried.
    pub tests: Vec<BisectionTest>,
    /// Items or regions, the greatest effect first.
    pub parts: Vec<RankedEffect>,
    /// What could not be measured.
    pub skipped: Vec<Skipped>,
    /// What was run.
    pub variants: Vec<Variant>,
    /// The comparisons that verify.
    pub comparisons: Vec<Comparison>,
    /// Measured runs.
    pub runs: u32,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// What a comparison of two candidates came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerifiedEffect {
    /// The verdict.
    pub verdict: VerdictName,
    /// Second ÷ first.
    pub ratio: Option<Estimate>,
    /// Pairs of runs.
    pub pairs: u32,
}

impl VerifiedEffect {
    /// Whether they differ.
    #[must_use]
    pub fn differs(&self) -> bool {
        matches!(self.verdict, VerdictName::Faster | VerdictName::Slower)
    }

    /// Whether they differ to the same side as these.
    #[must_use]
    pub fn differs_as(&self, other: &Self) -> bool {
        self.differs() && self.verdict == other.verdict
    }
}
