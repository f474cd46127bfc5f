//! Facts: what a detector observed, as plain data with units. Their wording is `genba-report`'s.
//!
//! Shares are 0…1 of the whole program's time unless a field says otherwise; cycles are core
//! cycles for each execution; seconds and bytes are those of one run. An `instruction` is its
//! disassembly (`div rcx`), a `form` its operand form in the host table (`div r64`).

mod build;
mod calls;
mod divisions;
mod kernel;
mod loads;
mod loops;
mod memory;
mod quadratic;
mod threads;

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

pub use build::BuildFact;
pub use calls::{CallFact, CallKind};
pub use divisions::DivisionFact;
pub use kernel::{HostOperation, KernelFact};
pub use loads::{AddressPattern, LoadFact, MemoryLevel};
pub use loops::{ByteOperation, LoopFact, LoopPlace, ModelCase};
pub use memory::MemoryFact;
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
    /// About how the code was built.
    Build(BuildFact),
    /// About allocations and copies.
    Memory(MemoryFact),
    /// About page faults and system calls.
    Kernel(KernelFact),
    /// About threads, locks and atomics.
    Thread(ThreadFact),
    /// About work that grows faster than the input.
    Quadratic(QuadraticFact),
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
            Self::Build(fact) => fact.source(),
            Self::Memory(fact) => fact.source(),
            Self::Kernel(fact) => fact.source(),
            Self::Thread(fact) => fact.source(),
            Self::Quadratic(fact) => fact.source(),
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
    BuildFact => Build,
    MemoryFact => Memory,
    KernelFact => Kernel,
    ThreadFact => Thread,
    QuadraticFact => Quadratic,
}
