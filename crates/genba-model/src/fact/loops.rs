//! Facts about a loop and its instructions.

use serde::{Deserialize, Serialize};

use crate::{Estimate, EvidenceSource, LoopVerdict};

/// A fact about a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoopFact {
    /// What the loop costs.
    Time {
        /// Share of all time in the loop, where the finding rests on it.
        share: Option<f64>,
        /// Iterations.
        iterations: u64,
        /// Cycles for each iteration.
        cycles: f64,
        /// Iterations for each entry of the loop.
        trip_count: Option<f64>,
    },
    /// Measured cycles of an iteration against the model of another case.
    Model {
        /// Measured cycles for each iteration.
        cycles: f64,
        /// Cycles by the model.
        modelled: Estimate,
        /// What the model is of.
        case: ModelCase,
    },
    /// Numbers that the loop takes from memory bit by bit.
    BitsOneByOne {
        /// Numbers.
        numbers: u64,
        /// Bits of a number on average.
        bits: f64,
    },
    /// Bits of numbers in registers that the loop counts one by one.
    BitsCounted {
        /// Numbers.
        numbers: u64,
        /// Bits that are looked at of a number on average.
        bits: f64,
    },
    /// Bits of a quotient that the loop finds one by one.
    QuotientBits {
        /// Divisions.
        divisions: u64,
        /// Bits of each on average.
        bits: f64,
    },
    /// Searches by halves in a table that does not change, each step of which waits for the one before.
    HalvingSteps {
        /// Searches.
        searches: u64,
        /// Steps of each at least.
        steps: u32,
    },
    /// Which bound explains the loop's cycles.
    Verdict(LoopVerdict),
    /// The loop-carried dependency chain that bounds the loop.
    Chain {
        /// Mnemonics along the chain; moves from memory are `load`.
        instructions: Vec<String>,
        /// Latency of the chain for each iteration.
        cycles: f64,
        /// Cycles for each iteration if all instructions were independent.
        throughput_cycles: f64,
    },
    /// Share of the loop's own time at the first instructions on either side of the branches at the
    /// site.
    TimeAfterBranches {
        /// Share of the loop's time.
        share: f64,
    },
    /// Scalar arithmetic on consecutive elements.
    ScalarElements {
        /// Bytes of an element.
        bytes: u16,
    },
    /// Loads whose address does not change.
    RepeatedLoads {
        /// Such loads in one iteration.
        loads: usize,
    },
    /// Sums that are loaded, added to and stored in each iteration.
    SumsInMemory {
        /// Such sums.
        sums: usize,
        /// Cycles from one addition to the next: store forwarding and the addition.
        cycles: f64,
    },
    /// Sums in registers that are stored in each iteration, too.
    StoredSums {
        /// Such sums.
        sums: usize,
    },
    /// Long arrays copied element by element again and again, of which hardly anything can have changed since.
    CopiesForChanges {
        /// Copies.
        copies: u64,
        /// Mean number of elements that one copies.
        elements: f64,
        /// Bytes copied in all.
        copied_bytes: f64,
        /// Bytes that all other instructions store and that reading calls return.
        stored_bytes: f64,
    },
    /// Bytes handled one at a time.
    ByteRuns {
        /// What is done with them.
        operation: ByteOperation,
        /// Bytes in all.
        bytes: u64,
        /// Mean length of a run, bytes.
        mean_run: f64,
    },
    /// Bytes appended one at a time to a buffer whose pointer and length are in memory.
    AppendedBytes {
        /// Bytes in all.
        bytes: u64,
        /// Mean length of a run, bytes.
        mean_run: Option<f64>,
        /// Loads per iteration of what does not change but for the length.
        reloads: usize,
    },
    /// Bytes tested one at a time at a position that is in memory.
    BytesThroughMemory {
        /// Bytes in all.
        bytes: u64,
        /// Mean length of a run of bytes that are only passed.
        mean_run: f64,
        /// Loads per iteration of what does not change but for the position.
        reloads: usize,
    },
    /// Bytes tested one at a time, whose outcomes go through conditional moves.
    ByteTests {
        /// Bytes in all.
        bytes: u64,
        /// Mean length of what is looked through, bytes.
        mean_run: f64,
    },
    /// Positions of a text at which a word is looked for one after the other, with a table of how far to skip.
    SkipsInText {
        /// Positions in all.
        positions: u64,
        /// Mean number of positions in a search.
        mean_run: f64,
    },
    /// Time in a loop over bytes.
    ByteTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each byte.
        cycles: f64,
    },
    /// What wide instructions take for the same bytes.
    WideByteCost {
        /// What is done with them.
        operation: ByteOperation,
    },
    /// How often a branch is taken.
    BranchOutcomes {
        /// Source line of the branch.
        line: Option<u32>,
        /// Share of its executions in which it is taken.
        taken: f64,
        /// How often the branch was executed.
        executions: u64,
    },
    /// Trips of a vectorised loop.
    ShortTrips {
        /// Times that it is entered.
        entries: u64,
        /// Elements for each entry.
        elements: f64,
        /// Bytes of an element.
        element_bytes: u16,
        /// Iterations of the vector loop for each entry.
        vector_iterations: f64,
    },
    /// Instructions for each entry of a vectorised loop.
    TripInstructions {
        /// Executed, with checks, set-up and remainder.
        instructions: f64,
        /// Those of a plain loop over the same elements.
        plain: f64,
    },
    /// Branch mispredictions of the loop.
    Mispredictions {
        /// For each iteration.
        per_iteration: f64,
        /// For each iteration if the more frequent outcome of each branch were always predicted.
        majority: f64,
        /// Cycles that one costs on this host.
        penalty_cycles: f64,
        /// Counted by the processor (measured), by a simulator, or inferred by the model from the
        /// cycles that nothing else explains.
        source: EvidenceSource,
    },
}

/// What a model of an iteration is of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ModelCase {
    /// The loop with the fix in place.
    Fixed,
    /// The loop in vectors of so many elements.
    Vectors {
        /// Elements of a vector.
        elements: f64,
    },
    /// All loads hit L1d.
    LoadsHitL1d,
    /// Its longest chain or its instructions, whichever takes longer.
    Bound,
    /// Its instructions if all were independent.
    Throughput,
}

/// What is done with bytes one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ByteOperation {
    /// Copied.
    Copy,
    /// Compared or searched.
    Compare,
    /// Tested for those that stop a scan.
    Test,
    /// Looked up in a table that says which of them stop a scan.
    Classify,
}

impl LoopFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::Time { .. } | Self::TimeAfterBranches { .. } | Self::ByteTime { .. } => {
                EvidenceSource::Measured
            }
            Self::ScalarElements { .. }
            | Self::RepeatedLoads { .. }
            | Self::StoredSums { .. }
            | Self::CopiesForChanges { .. }
            | Self::ByteRuns { .. }
            | Self::AppendedBytes { .. }
            | Self::BytesThroughMemory { .. }
            | Self::ByteTests { .. }
            | Self::SkipsInText { .. }
            | Self::ShortTrips { .. }
            | Self::BitsOneByOne { .. }
            | Self::BitsCounted { .. }
            | Self::QuotientBits { .. }
            | Self::HalvingSteps { .. }
            | Self::BranchOutcomes { .. } => EvidenceSource::Counted,
            Self::Model { .. }
            | Self::Verdict(_)
            | Self::Chain { .. }
            | Self::TripInstructions { .. }
            | Self::SumsInMemory { .. }
            | Self::WideByteCost { .. } => EvidenceSource::Model,
            Self::Mispredictions { source, .. } => *source,
        }
    }
}
