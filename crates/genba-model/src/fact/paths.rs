//! Facts about which paths through a function are usual, and about the order of tests.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PathFact {
    /// Tests of one value, or of two, one after the other.
    TestChain {
        /// How many there are.
        tests: usize,
        /// Whether they compare strings by calls.
        strings: bool,
        /// Values that they look at.
        #[serde(default = "one")]
        values: usize,
        /// Executions of the first.
        executions: u64,
        /// Part of the executions that leave by the most frequent outcome.
        common: f64,
        /// Tests that are executed for that outcome.
        after: usize,
    },
    /// Tests executed each time.
    MeanTests {
        /// Now.
        mean: f64,
        /// With the most frequent outcomes tested for first.
        best: f64,
    },
    /// Time in the tests behind the first.
    TestTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each test.
        cycles: f64,
    },
    /// A search of a few elements that are the same each time, for what is hardly ever among them.
    RareFind {
        /// Searches.
        searches: u64,
        /// Elements compared in each.
        elements: f64,
        /// Part of the searches that find something.
        found: f64,
    },
    /// Comparisons of texts or memory by calls that mostly find a difference.
    UnequalComparisons {
        /// The library's function.
        function: String,
        /// Its calls.
        calls: u64,
        /// Part of them that find a difference.
        unequal: f64,
    },
    /// Time in code that decides something and has no other effect by its usual outcome.
    DecisionTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each decision.
        cycles: f64,
    },
    /// Paths of a function that few of its calls take.
    RarePath {
        /// The function.
        function: String,
        /// Its calls.
        calls: u64,
        /// Part of them that leave the usual path.
        rare: f64,
    },
    /// Instructions of a call by the usual path.
    FrameInstructions {
        /// All instructions of such a call.
        instructions: f64,
        /// Those that save and restore registers and move the stack pointer.
        saving: f64,
    },
    /// Time in the function itself.
    FunctionTime {
        /// Share of all time.
        share: f64,
    },
}

/// Values that the tests of earlier cases look at.
fn one() -> usize {
    1
}

impl PathFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::TestTime { .. } | Self::DecisionTime { .. } | Self::FunctionTime { .. } => {
                EvidenceSource::Measured
            }
            _ => EvidenceSource::Counted,
        }
    }
}
