//! The result of a search.

use genba_model::{
    BisectionOutcome, BisectionTest, Comparison, Culprit, Estimate, RankedEffect, Skipped, Variant,
    VerdictName,
};

/// The result of a search with everything it measured.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// How the search ended.
    pub outcome: BisectionOutcome,
    /// The culprits, the largest effect first.
    pub culprits: Vec<Culprit>,
    /// See [`genba_model::Bisection::confidence`].
    pub confidence: Option<f64>,
    /// First and last remaining candidate, if the culprit is not certain.
    pub range: Option<(String, String)>,
    /// Whether repeated runs agreed within 1 % of the difference searched for.
    pub noise_is_nil: bool,
    /// The measured candidates in order.
    pub tests: Vec<BisectionTest>,
    /// Set elements or regions, the largest effect first.
    pub parts: Vec<RankedEffect>,
    /// Candidates that could not be measured.
    pub skipped: Vec<Skipped>,
    /// All variants that were run.
    pub variants: Vec<Variant>,
    /// The verifying comparisons.
    pub comparisons: Vec<Comparison>,
    /// Number of measured runs.
    pub runs: u32,
    /// Notes for the report, a sentence each.
    pub notes: Vec<String>,
}

/// Verdict on two candidates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerifiedEffect {
    /// Verdict in the primary metric.
    pub verdict: VerdictName,
    /// Second ÷ first.
    pub ratio: Option<Estimate>,
    /// Number of pairs of runs.
    pub pairs: u32,
}

impl VerifiedEffect {
    /// Whether the verdict is faster or slower.
    #[must_use]
    pub fn differs(&self) -> bool {
        matches!(self.verdict, VerdictName::Faster | VerdictName::Slower)
    }

    /// Whether they differ in the same direction as `other`.
    #[must_use]
    pub fn differs_as(&self, other: &Self) -> bool {
        self.differs() && self.verdict == other.verdict
    }
}
