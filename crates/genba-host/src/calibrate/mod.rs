//! Measuring what instructions cost on this host.
//!
//! **Method.** Kernels are assembled at run time. Latency is the time of a chain in which every
//! instance needs the one before it, reciprocal throughput that of independent streams (the
//! method of A. Fog, *Instruction tables*, and of A. Abel and J. Reineke, *uops.info*, ASPLOS
//! 2019). Cycles need no counter: beside every repetition runs a chain of dependent additions,
//! one cycle each, so a clock that drifts by tens of percent changes nothing. Low quantiles of
//! several rounds, apart in time, must agree; entries for which they do not are repeated while
//! there is time, and then marked.
//!
//! **Not here.** Ports, µops and anything that needs performance counters; instructions that
//! compilers hardly emit.

#[cfg(target_arch = "x86_64")]
mod batch_timing;
#[cfg(target_arch = "x86_64")]
mod cache_sizes;
#[cfg(target_arch = "x86_64")]
mod cpu_pinning;
#[cfg(target_arch = "x86_64")]
mod executable_memory;
#[cfg(target_arch = "x86_64")]
mod measurement_rounds;
#[cfg(target_arch = "x86_64")]
mod pointer_chase;
#[cfg(target_arch = "x86_64")]
mod repetition_statistics;
#[cfg(target_arch = "x86_64")]
mod table_entries;
#[cfg(target_arch = "x86_64")]
mod timed_work;
#[cfg(target_arch = "x86_64")]
mod working_sets;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::ops::ControlFlow;
use std::time::Duration;

use genba_model::{HostFingerprint, HostTable};

/// Options of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrateOptions {
    /// Approximate maximum time; disturbed entries are repeated until then.
    pub budget: Duration,
    /// The CPU to measure on; the one that the thread runs on if `None`.
    pub cpu: Option<usize>,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        Self {
            budget: Duration::from_millis(1500),
            cpu: None,
        }
    }
}

/// Progress of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrateProgress {
    /// Kernels measured at least once.
    pub measured: usize,
    /// Number of kernels.
    pub kernels: usize,
    /// Time left, at most.
    pub left: Duration,
}

/// Called some hundred times; breaking ends the measurement.
pub type CalibrateWatch<'a> = &'a mut dyn FnMut(CalibrateProgress) -> ControlFlow<()>;

/// Why no table could be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// Kernels are written for x86-64 only.
    #[error("the instruction table of a host can be measured on x86-64 only, this is {0}")]
    Architecture(&'static str),
    /// No memory for code or data.
    #[error("cannot measure instructions here: {0}")]
    Memory(String),
    /// The CPU asked for.
    #[error(
        "cannot measure on CPU {cpu}: it does not exist or is not available; list the available CPUs with: taskset -pc $$"
    )]
    Cpu {
        /// Its number.
        cpu: usize,
    },
    /// The caller interrupted it.
    #[error("measuring the host's instructions was interrupted; nothing was stored")]
    Interrupted,
}

/// Measures the table of this host on the calling thread, which is pinned to one CPU meanwhile.
///
/// `host` is the fingerprint to put on it ([`fingerprint`](crate::fingerprint())).
///
/// # Errors
///
/// No executable memory (hardened systems), another architecture, or broken off by `watch`.
/// Instructions that this CPU does not have, and caches whose size is unknown, only leave
/// entries out.
pub fn calibrate(
    host: HostFingerprint,
    options: &CalibrateOptions,
    watch: CalibrateWatch<'_>,
) -> Result<HostTable, CalibrateError> {
    #[cfg(target_arch = "x86_64")]
    return measurement_rounds::calibrate(host, options, watch);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (host, options, watch);
        Err(CalibrateError::Architecture(std::env::consts::ARCH))
    }
}
