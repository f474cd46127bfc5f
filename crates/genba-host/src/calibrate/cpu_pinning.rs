//! Keeping the measuring thread on one CPU, and putting its affinity back.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// As long as it lives, the calling thread stays on one CPU.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Option<CpuSet>,
    /// The CPU.
    pub(crate) cpu: usize,
}

impl Pinned {
    /// To this CPU, or to the one that it runs on. Where the kernel refuses, the thread stays
    /// free and [`Pinned::holds`] says so.
    pub(crate) fn to(cpu: Option<usize>) -> Self {
        let cpu = cpu.unwrap_or_else(sched_getcpu);
        let before = sched_getaffinity(None).ok().filter(|_| {
            let mut one = CpuSet::new();
            if cpu < CpuSet::MAX_CPU {
                one.set(cpu);
            }
            sched_setaffinity(None, &one).is_ok()
        });
        Self { before, cpu }
    }

    /// Whether the thread is pinned.
    pub(crate) fn holds(&self) -> bool {
        self.before.is_some()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// How often this thread lost its CPU against its will so far.
pub(crate) fn involuntary_switches() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for a `rusage`; zeroed it is initialised also on failure.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nivcsw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinity_is_restored() {
        let mask = || {
            let set = sched_getaffinity(None).expect("affinity");
            (0..CpuSet::MAX_CPU)
                .filter(|&cpu| set.is_set(cpu))
                .collect::<Vec<_>>()
        };
        let before = mask();
        let pinned = Pinned::to(None);
        if pinned.holds() {
            assert_eq!(mask(), vec![pinned.cpu]);
        }
        drop(pinned);
        assert_eq!(mask(), before);
        assert!(!Pinned::to(Some(usize::MAX)).holds());
        assert_eq!(mask(), before);
    }
}
