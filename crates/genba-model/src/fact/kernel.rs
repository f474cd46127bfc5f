//! Facts about page faults and system calls.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about time in the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum KernelFact {
    /// Page faults of one run.
    PageFaults {
        /// Faults.
        faults: u64,
        /// Bytes of their pages.
        bytes: f64,
        /// Peak resident set, bytes.
        peak_bytes: f64,
    },
    /// Time in the kernel's memory management.
    MemoryManagement {
        /// Share of all time.
        share: f64,
        /// Part of it for page faults and clearing.
        faults: f64,
    },
    /// The program maps files or memory itself.
    Mappings {
        /// Calls of `mmap` by its own code.
        calls: u64,
    },
    /// Page faults taken at the finding's line.
    FaultsHere {
        /// Share of all page faults.
        share: f64,
    },
    /// What an operation of the kernel takes on this host.
    HostCost {
        /// The operation.
        operation: HostOperation,
        /// Time of one operation, seconds.
        seconds: f64,
    },
    /// System calls of one run.
    SystemCalls {
        /// All system calls.
        calls: u64,
        /// The one that the finding's line makes most.
        name: String,
        /// Share of all system calls made at that line.
        here: f64,
    },
    /// Time in system calls.
    SystemCallTime {
        /// Share of all time.
        share: f64,
        /// Mean time of one, seconds.
        seconds: f64,
    },
    /// Part of the system calls' time that copies data.
    SystemCallCopies {
        /// Share of the system calls' time.
        share: f64,
    },
    /// How much each of a line's system calls transfers, and what of its time is for these bytes.
    SystemCallBytes {
        /// Bytes of nearly all of them.
        bytes: u64,
        /// Part of a call's time that larger calls do not spare.
        stays: f64,
    },
    /// Files that are named again and again though they stay as they are.
    SameFiles {
        /// Whether they are opened to be read, else asked about.
        opened: bool,
        /// Calls of one run.
        calls: u64,
        /// Different files.
        different: u64,
        /// The file that most calls name, and their number.
        most: Option<(String, u64)>,
        /// Share of all time of what is done for each, at most.
        share: f64,
    },
}

/// An operation of the kernel in the host table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostOperation {
    /// A page fault without I/O.
    PageFault,
    /// A system call that does nothing.
    EmptySystemCall,
}

impl KernelFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::SystemCalls { .. } | Self::SameFiles { .. } => EvidenceSource::Counted,
            Self::HostCost { .. } | Self::SystemCallBytes { .. } => EvidenceSource::Model,
            _ => EvidenceSource::Measured,
        }
    }
}
