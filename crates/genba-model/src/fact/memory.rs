//! Facts about allocations and copies of memory.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about allocations and copies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MemoryFact {
    /// Time in the allocator.
    AllocatorTime {
        /// Share of all time.
        share: f64,
    },
    /// Time in functions of containers that allocate, and in their copies.
    ContainerTime {
        /// Share of all time.
        share: f64,
    },
    /// Allocations and frees.
    Allocations {
        /// Allocations.
        allocations: u64,
        /// Frees.
        frees: u64,
        /// Share of the allocations made at the finding's line, or for it.
        here: f64,
    },
    /// The narrowest range of sizes that most allocations are of.
    AllocationSizes {
        /// Share of the allocations in the range.
        share: f64,
        /// All allocations.
        allocations: u64,
        /// Smallest size of the range, bytes.
        low: u64,
        /// Largest size of the range, bytes.
        high: u64,
        /// Bytes allocated in all.
        bytes: u64,
    },
    /// Peak resident set.
    PeakMemory {
        /// Its size, bytes.
        bytes: f64,
    },
    /// Another line that allocates.
    OtherLine {
        /// Share of the allocations.
        share: f64,
        /// Source file.
        file: Option<String>,
        /// Source line.
        line: Option<u32>,
        /// The function.
        function: String,
    },
    /// Time in a copy function.
    CopyTime {
        /// Share of all time.
        share: f64,
        /// The function.
        function: String,
    },
    /// Copies of memory.
    Copies {
        /// Number of copies.
        copies: u64,
        /// Share made at the finding's line: of their time, or of their number.
        here: f64,
        /// Whether that share is of their time.
        of_time: bool,
    },
    /// Copies of a size from which memory bandwidth decides.
    LargeCopies {
        /// Large copies.
        large: u64,
        /// All copies.
        copies: u64,
        /// Smallest size of a large one, bytes.
        from_bytes: u64,
        /// Bytes copied in all.
        bytes: u64,
    },
    /// What one copy takes.
    CopyCost {
        /// Mean time of a copy, seconds.
        seconds: f64,
        /// Rate of copies in memory on this host, bytes a second, where the sizes are inferred
        /// from it.
        host_bytes_per_second: Option<f64>,
    },
    /// Calls of `realloc` against the number of buffers.
    ReallocCalls {
        /// Calls.
        calls: u64,
        /// Buffers.
        buffers: u64,
    },
    /// Blocks that `realloc` makes larger by little at a time.
    ReallocSteps {
        /// Calls of `realloc`.
        calls: u64,
        /// Bytes by which a call makes its block larger, on average.
        grown_bytes: f64,
        /// Bytes of the block then, on average.
        bytes: f64,
    },
    /// Allocations by `reserve`, and moves of the old contents.
    ReserveMoves {
        /// Allocations.
        allocations: u64,
        /// Moves.
        moves: u64,
    },
    /// New memory, a copy of the old and a free of the old in one function.
    CopyAndFree {
        /// Mean time of a copy, seconds.
        copy_seconds: f64,
        /// How many times.
        times: u64,
    },
    /// Resizes of a table: a new one is allocated, filled from the old one, and stored in its place.
    TableResizes {
        /// How many times.
        times: u64,
        /// Mean number of elements that one resize visits.
        moves: f64,
        /// How often the table could have been resized: inserted items, at most.
        items: u64,
        /// Share of all time.
        share: f64,
    },
    /// What `realloc` copied.
    ReallocMoves {
        /// Calls that returned another address.
        moves: u64,
        /// Bytes copied.
        bytes: u64,
        /// Bytes by which blocks grew.
        grown_bytes: u64,
    },
    /// Time in copies and in the allocator.
    CopyAndAllocatorTime {
        /// Share of all time in the copies.
        copies: f64,
        /// Share of all time in the allocator.
        allocator: f64,
    },
    /// Mean time of one growth of a buffer.
    GrowthCost {
        /// Time of one growth, seconds.
        seconds: f64,
    },
}

impl MemoryFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::AllocatorTime { .. }
            | Self::ContainerTime { .. }
            | Self::PeakMemory { .. }
            | Self::CopyTime { .. }
            | Self::CopyAndAllocatorTime { .. }
            | Self::GrowthCost { .. } => EvidenceSource::Measured,
            Self::CopyCost { .. } => EvidenceSource::Model,
            _ => EvidenceSource::Counted,
        }
    }
}
