//! Facts about calls.

use serde::{Deserialize, Serialize};

use crate::{Estimate, EvidenceSource};

/// A fact about calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CallFact {
    /// A small function and its calls.
    SmallCallee {
        /// The function.
        function: String,
        /// Other functions of the same file in the finding.
        others: usize,
        /// Calls.
        calls: u64,
        /// Instructions executed for each call.
        instructions: f64,
        /// The function that calls it most.
        caller: Option<String>,
        /// Whether it is called through the procedure linkage table.
        plt: bool,
    },
    /// The arguments of a function follow from one byte.
    OfOneByte {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
    },
    /// Caller and callee are in different translation units.
    SeparateUnits {
        /// Source file of the callee's unit, where it is known.
        callee: Option<String>,
        /// Source file of the caller's unit, where it is known.
        caller: Option<String>,
    },
    /// Caller and callee are in one module, which exports the callee.
    Interposable {
        /// File name of the module.
        module: String,
    },
    /// The callee is in another shared object.
    OtherModule,
    /// Time in the calls and in what they call.
    Time {
        /// What was called, where one function is meant.
        function: Option<String>,
        /// Share of all time.
        share: f64,
        /// Cycles for each call.
        cycles: f64,
    },
    /// What a call costs on this host, and what is left of the callee when it is inlined.
    InlinedCost {
        /// How it is called.
        kind: CallKind,
        /// Cycles of call and return.
        call_cycles: f64,
        /// Cycles of the callee's instructions when inlined.
        inlined_cycles: Estimate,
    },
    /// The most frequent target of an indirect call.
    DominantTarget {
        /// The target.
        function: String,
        /// Share of the call's executions that go there.
        share: f64,
        /// Executions of the call.
        calls: u64,
        /// Instructions executed for each call.
        instructions: f64,
    },
    /// A routine of the C library calls back a comparator.
    Comparator {
        /// The library's routine.
        routine: String,
        /// The comparator.
        function: String,
        /// Calls.
        calls: u64,
        /// Instructions executed for each call.
        instructions: f64,
    },
    /// A function called in a loop with the same argument.
    InvariantCall {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
        /// Calls for each entry of the loop.
        per_entry: f64,
    },
    /// Calls of a function of the C library that copies or fills, mostly of a few bytes.
    ShortLengths {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
        /// Bytes of the short ones, on average.
        bytes: f64,
        /// What is short, bytes.
        limit: u64,
        /// Share of the calls that are short.
        short: Estimate,
    },
    /// Calls that hand on memory in consecutive pieces.
    Pieces {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
        /// Mean bytes of a piece.
        bytes: f64,
        /// Share of the calls that continue the one before.
        continued: Estimate,
        /// Whether they put their piece behind the one before; else they take it from there.
        #[serde(default)]
        appended: bool,
    },
    /// The loop changes nothing that the argument is made of.
    InvariantArgument,
    /// Calls that look up thread-local data.
    ThreadLocalLookups {
        /// The function.
        function: String,
        /// Calls.
        calls: u64,
    },
    /// What a thread-local variable costs instead.
    ThreadLocalLoad,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKind {
    /// Directly.
    Direct,
    /// Through the procedure linkage table.
    Plt,
    /// Through a pointer.
    Indirect,
}

impl CallFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::Time { .. } => EvidenceSource::Measured,
            Self::InlinedCost { .. } | Self::ThreadLocalLoad => EvidenceSource::Model,
            Self::Pieces { .. } | Self::ShortLengths { .. } => EvidenceSource::Observed,
            _ => EvidenceSource::Counted,
        }
    }
}
