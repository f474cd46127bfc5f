//! Facts: what a detector observed, as plain data with units. Their wording is `genba-report`'s.
//!
//! Shares are 0…1 of the whole program's time unless a field says otherwise; cycles are core
//! cycles for each execution; seconds and bytes are those of one run. An `instruction` is its
//! disassembly (`div rcx`), a `form` its operand form in the host table (`div r64`).

mod build;
mod calls;
mod conversions;
mod divisions;
mod kernel;
mod loads;
mod loop_verdict;
mod loops;
mod memory;
mod observed;
mod paths;
mod quadratic;
mod threads;

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

pub use build::BuildFact;
pub use calls::{CallFact, CallKind};
pub use conversions::{ConversionFact, ConversionKind};
pub use divisions::DivisionFact;
pub use kernel::{HostOperation, KernelFact};
pub use loads::{AddressPattern, LoadFact, MemoryLevel};
pub use loop_verdict::{
    BranchOutcome, ChainPaths, InstructionPlace, LoopChain, LoopModelFigures, LoopThroughput,
    LoopVerdict, NoLoopChain, OpaqueReason, ThroughputLimit,
};
pub use loops::{ByteOperation, LoopFact, ModelCase};
pub use memory::MemoryFact;
pub use observed::ObservedFact;
pub use paths::PathFact;
pub use quadratic::QuadraticFact;
pub use threads::ThreadFact;

/// One observation that supports a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Fact {
    /// About a loop and its instructions.
    Loop(LoopFact),
    /// About loads that wait.
    Load(LoadFact),
    /// About integer divisions.
    Division(DivisionFact),
    /// About calls.
    Call(CallFact),
    /// About conversions by library routines.
    Conversion(ConversionFact),
    /// About how the code was built.
    Build(BuildFact),
    /// About allocations and copies.
    Memory(MemoryFact),
    /// About page faults and system calls.
    Kernel(KernelFact),
    /// About threads, locks and atomics.
    Thread(ThreadFact),
    /// About the order of tests, and usual and rare paths.
    Path(PathFact),
    /// About work that grows faster than the input.
    Quadratic(QuadraticFact),
    /// About values, addresses and outcomes that bursts recorded.
    Observed(ObservedFact),
}

impl Fact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::Loop(fact) => fact.source(),
            Self::Load(fact) => fact.source(),
            Self::Division(fact) => fact.source(),
            Self::Call(fact) => fact.source(),
            Self::Conversion(fact) => fact.source(),
            Self::Build(fact) => fact.source(),
            Self::Memory(fact) => fact.source(),
            Self::Kernel(fact) => fact.source(),
            Self::Thread(fact) => fact.source(),
            Self::Path(fact) => fact.source(),
            Self::Quadratic(fact) => fact.source(),
            Self::Observed(fact) => fact.source(),
        }
    }
}

macro_rules! from {
    ($($part:ident => $variant:ident,)*) => {$(
        impl From<$part> for Fact {
            fn from(fact: $part) -> Self {
                Self::$variant(fact)
            }
        }
    )*};
}

from! {
    LoopFact => Loop,
    LoadFact => Load,
    DivisionFact => Division,
    CallFact => Call,
    ConversionFact => Conversion,
    BuildFact => Build,
    MemoryFact => Memory,
    KernelFact => Kernel,
    ThreadFact => Thread,
    PathFact => Path,
    QuadraticFact => Quadratic,
    ObservedFact => Observed,
}
