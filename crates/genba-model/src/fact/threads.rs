//! Facts about threads, locks and atomics.

use serde::{Deserialize, Serialize};

use crate::EvidenceSource;

/// A fact about threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ThreadFact {
    /// All samples are of one thread.
    SingleThread,
    /// Instructions with a lock prefix.
    LockedOperations {
        /// Form of the hottest.
        form: String,
        /// Executions of all.
        executions: u64,
    },
    /// Time at locked instructions.
    LockedTime {
        /// Share of all time.
        share: f64,
        /// Cycles for each execution.
        cycles: f64,
    },
    /// What a locked instruction costs on this host without contention.
    LockedCost {
        /// Its form.
        form: String,
        /// Cycles.
        cycles: f64,
    },
    /// An uncontended lock that a loop takes in every iteration.
    UncontendedLock {
        /// How often it is taken.
        times: u64,
        /// Iterations for each entry of the loop.
        iterations: f64,
        /// Share of all time in taking and releasing it.
        share: f64,
        /// Cycles of both, once.
        cycles: f64,
    },
    /// Time in locks.
    LockTime {
        /// Share of all time.
        share: f64,
        /// Share of all time in the kernel's futexes.
        futex_share: f64,
        /// Threads that work.
        threads: u32,
    },
    /// Time of the kernel's scheduler that is attributed to threads which wait for each other.
    SchedulerTime {
        /// Share of all time in the scheduler.
        share: f64,
        /// Calls that wait for another thread ÷ calls that may block, 0…1.
        thread_waits: f64,
    },
    /// How often locks were taken.
    LockAcquisitions {
        /// Times.
        times: u64,
    },
    /// Time to take a lock and to release it.
    LockCost {
        /// Time of taking and releasing it once, seconds.
        seconds: f64,
    },
    /// The same work bound to one CPU.
    OneCpu {
        /// CPU time of the usual run ÷ CPU time on one CPU.
        ratio: f64,
    },
    /// Threads write to different addresses of one cache line.
    SharedCacheLine {
        /// Threads.
        threads: u32,
        /// Bytes between the addresses.
        distance_bytes: u64,
        /// Samples that saw it.
        samples: u32,
    },
    /// Bytes of different threads in one cache line that at least one of them writes.
    ObservedSharedLine {
        /// Threads.
        threads: u32,
        /// Threads that write.
        writers: u32,
        /// Bytes between the nearest bytes of two threads.
        distance_bytes: u64,
        /// Lines like this one.
        lines: usize,
        /// Accesses in bursts.
        accesses: u64,
        /// Bursts that touched them.
        bursts: u32,
    },
    /// A store whose address does not change in its loop.
    FixedStore {
        /// How often the store was executed.
        executions: u64,
    },
}

impl ThreadFact {
    /// How it was come by.
    #[must_use]
    pub fn source(&self) -> EvidenceSource {
        match self {
            Self::LockedOperations { .. }
            | Self::LockAcquisitions { .. }
            | Self::FixedStore { .. } => EvidenceSource::Counted,
            Self::ObservedSharedLine { .. } => EvidenceSource::Observed,
            Self::LockedCost { .. } | Self::SchedulerTime { .. } => EvidenceSource::Model,
            _ => EvidenceSource::Measured,
        }
    }
}
