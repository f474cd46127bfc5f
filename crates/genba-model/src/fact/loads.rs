//! Facts about loads that wait.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadFact {
    /// Time at a load and at the instructions that use its result at once.
    Wait {
        /// The load.
        instruction: String,
        /// Share of all time.
        share: f64,
        /// Cycles for each execution.
        cycles: f64,
        /// How often the load was executed.
        executions: u64,
        /// Cycles if the load hits L1d.
        l1d_cycles: f64,
        /// Latencies of this host's memory levels, nearest first.
        levels: Vec<MemoryLevel>,
    },
    /// Share of the loads that miss L1d.
    L1dMisses {
        /// Share of the loads.
        share: f64,
        /// Who says so: the processor, bursts, or a simulator.
        source: EvidenceSource,
    },
    /// What the load's address is made of.
    Address {
        /// The pattern.
        pattern: AddressPattern,
        /// Bytes that the load reads.
        bytes: u16,
    },
    /// A load reads bytes of which a store just before wrote a part.
    PartialOverlap {
        /// The load.
        load: String,
        /// The store.
        store: String,
    },
}

/// A memory level with its latency on this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryLevel {
    /// `L2`, `L3`, `memory`.
    pub name: String,
    /// Latency, cycles.
    pub cycles: f64,
}

/// What a load's address is made of, from iteration to iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressPattern {
    /// Computed, without a list or a constant stride.
    Computed,
    /// Loaded in the previous iteration.
    PreviousLoad,
    /// A constant stride.
    Stride {
        /// Bytes from iteration to iteration.
        bytes: u64,
    },
    /// A stride that is fixed before the loop, of unknown length.
    InvariantStride,
    /// One element of each of many rows that pointers name; the loop around advances to the next element.
    ColumnOfRows {
        /// Bytes from element to element.
        bytes: u64,
    },
}

impl LoadFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::Wait { .. } => EvidenceSource::Measured,
            Self::L1dMisses { source, .. } => *source,
            Self::Address { .. } | Self::PartialOverlap { .. } => EvidenceSource::Counted,
        }
    }
}
