//! The CPUs that this process may run on.

use rustix::thread::{CpuSet, sched_getaffinity};

/// Numbers of the CPUs that this process may run on, ascending; empty if the kernel would not
/// tell (more than 1,024 CPUs).
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// How many there are, at least 1.
pub(crate) fn allowed_cpu_count() -> u32 {
    let known = allowed_cpus().len();
    let count = if known > 0 {
        known
    } else {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}
