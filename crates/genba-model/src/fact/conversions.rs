//! Facts about conversions between text, numbers, times and names by library routines.

use serde::{Deserialize, Serialize};

use crate::{Estimate, EvidenceSource};

/// What a library routine converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConversionKind {
    /// By a format, not known further.
    Format,
    /// Floating-point numbers to text.
    FormatFloat,
    /// Integers to text.
    FormatInteger,
    /// Floating-point numbers that are whole to text, by code for any of them.
    FormatWhole,
    /// Single characters to text.
    FormatCharacter,
    /// Texts put together, by a format that says no more than where each goes.
    FormatText,
    /// Text to floating-point numbers.
    ParseFloat,
    /// Text to integers.
    ParseInteger,
    /// Text by a format to values.
    Scan,
    /// Seconds to date and time of the time zone, or back.
    LocalTime,
    /// Date and time to text, or back.
    TimeText,
    /// Numbers of users and groups to names, or back.
    Account,
    /// Regular expressions to what a search runs.
    CompilePattern,
    /// Text against regular expressions, by C++'s standard library.
    MatchPattern,
    /// Values to text or back through streams, or through the library's general formatting.
    Stream,
    /// Text from one character set to another.
    Encoding,
    /// Network addresses to text, or back.
    AddressText,
    /// A failure to an exception of C++ that a caller catches.
    Exception,
    /// A pointer to an object to one to a class derived of its, by `dynamic_cast`.
    TypeTest,
    /// A key to a number by a hash that resists chosen collisions (SipHash).
    KeyHash,
}

/// A fact about a conversion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConversionFact {
    /// Calls of the routine from the site.
    Calls {
        /// The routine.
        routine: String,
        /// Its format, where it is a constant.
        format: Option<String>,
        /// Calls.
        calls: u64,
        /// Places of one function from which they come.
        places: u32,
    },
    /// The function takes floating-point numbers and writes whole ones.
    WholeNumbers {
        /// Calls that do.
        calls: u64,
    },
    /// What a direct conversion of the same takes.
    DirectCost {
        /// What is converted.
        kind: ConversionKind,
        /// Core cycles for each call.
        cycles: Estimate,
    },
}

impl ConversionFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::Calls { .. } => EvidenceSource::Counted,
            Self::WholeNumbers { .. } => EvidenceSource::Observed,
            Self::DirectCost { .. } => EvidenceSource::Model,
        }
    }
}
