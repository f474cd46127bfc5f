//! Facts about integer divisions.

use serde::{Deserialize, Serialize};

use crate::{Estimate, EvidenceSource};

/// A fact about integer divisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DivisionFact {
    /// Time at the divisions of the finding.
    Time {
        /// Share of all time.
        share: f64,
        /// Cycles for each execution.
        cycles: Option<f64>,
        /// Form of the division.
        form: String,
        /// Latency of that form on this host.
        host_cycles: Option<Estimate>,
    },
    /// Two divisions have the same operands.
    SameOperands {
        /// Form of the division.
        form: String,
        /// Executions of each.
        executions: u64,
    },
    /// An operand is loaded again between the two.
    OperandReloaded,
    /// The quotient is compared, the remainder is not used.
    OnlyCompared {
        /// Form of the division.
        form: String,
        /// How often the division was executed.
        executions: u64,
        /// Least share of them in which the branch on it goes the same way.
        one_way: f64,
    },
    /// A multiplication by the same divisor.
    SameMultiplier {
        /// The multiplication.
        instruction: String,
    },
    /// The divisor does not change in the loop.
    InvariantDivisor {
        /// The division.
        instruction: String,
        /// How often the division was executed.
        executions: u64,
        /// Entries of the loop.
        entries: u64,
    },
    /// No two divisions of the loop have the same operands.
    AllNeeded {
        /// Executions of all.
        executions: u64,
        /// Share of the loop's time at them.
        share: f64,
        /// The instruction that gives quotient and remainder, where both are used.
        both_results: Option<String>,
    },
    /// A counter wraps around: the dividend is the previous remainder plus one.
    WrappedCounter {
        /// The instruction that makes the remainder.
        instruction: String,
        /// How often.
        executions: u64,
    },
    /// The loop multiplies with a reciprocal instead of dividing.
    Reciprocal {
        /// The multiplication with the reciprocal.
        multiplication: String,
        /// The multiplication that the remainder is computed with.
        remainder: String,
        /// How often the multiplication was executed.
        executions: u64,
    },
    /// A number of many words is divided by a small constant, once for each digit.
    WordByWord {
        /// The constant.
        divisor: u64,
        /// Bits of a word.
        word_bits: u32,
        /// Digits whose power of the constant fits into a word.
        digits: u32,
    },
    /// A number of one word is divided by a small constant, once for each digit.
    DigitByDigit {
        /// The constant.
        base: u64,
        /// Digits of a number on average.
        digits: f64,
    },
    /// Who calls the function of the divisions.
    CalledFrom {
        /// The caller.
        caller: String,
        /// Calls from there.
        calls: u64,
    },
}

impl DivisionFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::Time { .. } => EvidenceSource::Measured,
            _ => EvidenceSource::Counted,
        }
    }
}
