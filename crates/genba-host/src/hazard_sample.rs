//! Gathering the facts about hazards: the thin edge.

use genba_model::Hazard;

use crate::hazards::{HazardSample, hazards};
use crate::procfs::{parse_load_average, parse_meminfo_bytes};
use crate::{Window, affinity, small_files};

const CPU: &str = "/sys/devices/system/cpu";

/// The facts now, with what a watch saw, if there was one.
#[must_use]
pub fn sample(window: Option<Window>) -> HazardSample {
    let allowed = affinity::allowed_cpus();
    let mut governors: Vec<String> = allowed
        .iter()
        .filter_map(|cpu| small_files::line(format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    let smt_cpus = allowed
        .iter()
        .filter(|cpu| {
            small_files::line(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"))
                .is_some_and(|list| list.contains([',', '-']))
        })
        .count();
    HazardSample {
        cpus: affinity::allowed_cpu_count(),
        governors,
        boost: boost(),
        smt_cpus: u32::try_from(smt_cpus).unwrap_or(u32::MAX),
        load: small_files::text("/proc/loadavg").and_then(|text| parse_load_average(&text)),
        swap_used_bytes: small_files::text("/proc/meminfo")
            .and_then(|text| {
                let total = parse_meminfo_bytes(&text, "SwapTotal")?;
                Some(total.saturating_sub(parse_meminfo_bytes(&text, "SwapFree")?))
            })
            .unwrap_or(0),
        quota_cpus: quota(),
        window,
    }
}

/// The hazards here and now: [`sample`] judged by [`hazards()`].
#[must_use]
pub fn current_hazards(window: Option<Window>) -> Vec<Hazard> {
    hazards(&sample(window))
}

/// Whether boost is on, where a driver says so.
fn boost() -> Option<bool> {
    if let Some(off) = small_files::number(format!("{CPU}/intel_pstate/no_turbo")) {
        return Some(off == 0);
    }
    small_files::number(format!("{CPU}/cpufreq/boost")).map(|on| on != 0)
}

/// The CPU limit of this process's control group, in CPUs: version 2 (`cpu.max`) as seen inside
/// a container's own namespace and by path, then version 1.
fn quota() -> Option<f64> {
    let own = small_files::text("/proc/self/cgroup")
        .and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("0::").map(str::to_owned))
        })
        .filter(|path| !path.split('/').any(|part| part == ".."))
        .unwrap_or_default();
    ["", own.as_str()]
        .iter()
        .find_map(|path| {
            parse_cpu_max(&small_files::text(format!("/sys/fs/cgroup{path}/cpu.max"))?)
        })
        .or_else(|| {
            let quota = small_files::line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")?;
            let period = small_files::line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")?;
            parse_cpu_max(&format!("{quota} {period}"))
        })
}

/// `cpu.max`: quota and period in microseconds; `max` and -1 are not a limit.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = words.next()?.parse().ok()?;
    (period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_parsed() {
        assert_eq!(parse_cpu_max("50000 100000\n"), Some(0.5));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("-1 100000"), None);
        assert_eq!(parse_cpu_max("1 0"), None);
        assert_eq!(parse_cpu_max(""), None);
    }

    #[test]
    fn samples_this_machine() {
        let sample = sample(None);
        assert!(sample.cpus >= 1);
        eprintln!("{sample:?}\n{:#?}", current_hazards(None));
    }
}
