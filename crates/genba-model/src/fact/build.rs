//! Facts about how code was built.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about a build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BuildFact {
    /// Time in functions compiled without optimisation.
    UnoptimisedTime {
        /// Share of all time.
        share: f64,
        /// Number of functions.
        functions: usize,
    },
    /// Instructions executed for each call of these functions.
    InstructionsPerCall {
        /// Instructions.
        instructions: f64,
    },
    /// Most executed instructions access the stack frame.
    StackAccesses,
    /// The compiler's record of its options (`DW_AT_producer`).
    Producer {
        /// The record, or its beginning.
        text: String,
    },
    /// The compiler laid a line down several times (unrolled, split), and each copy has the cause.
    CopiesOfLine {
        /// Number of copies.
        copies: usize,
        /// Share of all time that they take together.
        share: f64,
    },
    /// Time in code without symbols.
    NoSymbols {
        /// Share of all time.
        share: f64,
        /// Path of the module.
        module: String,
    },
}

impl BuildFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::UnoptimisedTime { .. } | Self::CopiesOfLine { .. } | Self::NoSymbols { .. } => {
                EvidenceSource::Measured
            }
            _ => EvidenceSource::Counted,
        }
    }
}
