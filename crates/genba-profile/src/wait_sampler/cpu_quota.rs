//! What else bounds the CPU time of a process: its control group's quota, other programs, the CPUs that
//! it may use.

use std::path::PathBuf;

use rustix::process::Pid;
use rustix::thread::sched_getaffinity;

/// The CPU accounts of the control groups of a process (cgroup v2).
#[derive(Debug)]
pub struct CpuQuota {
    /// `cpu.stat` of its group and those around it.
    files: Vec<PathBuf>,
    before: u64,
}

impl CpuQuota {
    /// Begins to watch the groups of a process.
    pub fn of(pid: i32) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mut files = Vec::new();
        let mut group = text
            .lines()
            .find_map(|line| line.strip_prefix("0::/"))
            .map(|path| PathBuf::from("/sys/fs/cgroup").join(path));
        while let Some(path) = group {
            let file = path.join("cpu.stat");
            if file.is_file() {
                files.push(file);
            }
            group = path
                .parent()
                .filter(|parent| parent.starts_with("/sys/fs/cgroup"))
                .map(PathBuf::from);
        }
        let mut quota = Self { files, before: 0 };
        quota.before = quota.total();
        quota
    }

    /// Time for which threads of these groups were stopped since, ns; of nested groups the largest.
    pub fn throttled(&self) -> u64 {
        self.total().saturating_sub(self.before)
    }

    fn total(&self) -> u64 {
        let of = |file: &PathBuf| {
            throttled_usec(&std::fs::read_to_string(file).unwrap_or_default()).unwrap_or(0)
        };
        self.files.iter().map(of).max().unwrap_or(0) * 1_000
    }
}

fn throttled_usec(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("throttled_usec ")?.trim().parse().ok())
}

/// CPU time of all programs since the machine started, ns (`/proc/stat`, proc(5)); 0 if unknown.
pub fn machine_busy() -> u64 {
    busy(&std::fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or(0)
}

fn busy(text: &str) -> Option<u64> {
    /// USER_HZ of every architecture that genba runs on.
    const TICK_NS: u64 = 10_000_000;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    // user nice system idle iowait irq softirq steal; guests are in user.
    let all: u64 = ticks.iter().take(8).sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    (all - idle).checked_mul(TICK_NS)
}

/// CPUs on which a process may run (sched_getaffinity(2)); 1 if unknown.
pub fn allowed_cpus(pid: i32) -> u32 {
    sched_getaffinity(Pid::from_raw(pid)).map_or(1, |set| set.count().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read() {
        assert_eq!(
            throttled_usec("usage_usec 5\nthrottled_usec 42\n"),
            Some(42)
        );
        assert_eq!(throttled_usec("usage_usec 5\n"), None);
        assert_eq!(busy("cpu  5 1 2 90 7 0 1 1 3 0\n"), Some(100_000_000));
        assert_eq!(busy("cpu  5 x\n"), None);
        assert!(allowed_cpus(std::process::id() as i32) >= 1);
    }
}
