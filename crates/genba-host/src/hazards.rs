//! What on this host spoils measurements: judged from facts, pure.

use genba_model::Hazard;

use crate::Window;

/// Facts that hazards are judged from. `None` and empty mean unknown, and unknown raises no
/// hazard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HazardSample {
    /// CPUs that the process may run on; 0 if unknown.
    pub cpus: u32,
    /// Frequency governors of the allowed CPUs, without repetition.
    pub governors: Vec<String>,
    /// Whether the CPU may clock beyond its base frequency.
    pub boost: Option<bool>,
    /// Allowed CPUs that share a core with another online CPU.
    pub smt_cpus: u32,
    /// Load average over one minute and runnable tasks now, this one among them.
    pub load: Option<(f64, u32)>,
    /// Swap in use, bytes.
    pub swap_used_bytes: u64,
    /// CPU time that the control group may use, in CPUs, if limited.
    pub quota_cpus: Option<f64>,
    /// What a watch saw.
    pub window: Option<Window>,
}

/// Steal above this share of the wanted CPU time is named.
const STEAL_SHARE: f64 = 0.005;
/// Others keeping more than this part of a CPU busy is named.
const OTHERS_CPUS: f64 = 0.1;
/// Swap in use below this is nobody's business.
const SWAP_BYTES: u64 = 16 << 20;

/// The hazards, in the order of their usual weight.
#[must_use]
pub fn hazards(sample: &HazardSample) -> Vec<Hazard> {
    [
        steal(sample),
        busy(sample),
        one_cpu(sample),
        quota(sample),
        throttle(sample),
        governor(sample),
        turbo(sample),
        smt(sample),
        swap(sample),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn hazard(id: &str, text: String, remedy: Option<&str>) -> Option<Hazard> {
    Some(Hazard {
        id: id.to_owned(),
        text,
        remedy: remedy.map(str::to_owned),
    })
}

fn steal(sample: &HazardSample) -> Option<Hazard> {
    let share = sample.window?.steal_share;
    if share < STEAL_SHARE {
        return None;
    }
    hazard(
        "steal",
        format!(
            "the hypervisor took {:.1} % of the runnable CPU time (steal)",
            share * 100.0
        ),
        Some("measure on a dedicated machine, or compare CPU time instead of wall time"),
    )
}

fn busy(sample: &HazardSample) -> Option<Hazard> {
    if let Some(window) = &sample.window {
        let others = window.others_cpus();
        if others < OTHERS_CPUS {
            return None;
        }
        return hazard(
            "busy",
            format!(
                "other processes used {others:.1} of {:.0} CPUs during the measurement",
                window.cpus
            ),
            Some("top -o %CPU"),
        );
    }
    // Without a window, the load of the last minute is all there is to go by.
    let (load, runnable) = sample.load?;
    if load < 0.5 || sample.cpus == 0 {
        return None;
    }
    hazard(
        "busy",
        format!(
            "the load average is {load:.1} on {} CPU{}, {} task{} runnable now",
            sample.cpus,
            plural(sample.cpus),
            runnable,
            plural(runnable)
        ),
        Some("top -o %CPU"),
    )
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn one_cpu(sample: &HazardSample) -> Option<Hazard> {
    if sample.cpus != 1 {
        return None;
    }
    hazard(
        "one-cpu",
        "only one CPU is available: every other process interrupts the measured program".to_owned(),
        None,
    )
}

fn quota(sample: &HazardSample) -> Option<Hazard> {
    let quota = sample.quota_cpus?;
    if !(quota > 0.0 && (sample.cpus == 0 || quota < f64::from(sample.cpus))) {
        return None;
    }
    hazard(
        "quota",
        format!(
            "the control group is limited to {quota:.2} CPUs: a program that needs more is throttled \
             in each period"
        ),
        Some("raise cpu.max of the control group (docker run --cpus, Kubernetes limits.cpu)"),
    )
}

fn throttle(sample: &HazardSample) -> Option<Hazard> {
    let events = sample.window?.throttle_events;
    if events == 0 {
        return None;
    }
    hazard(
        "throttle",
        format!("the CPU was thermally throttled {events} times during the measurement"),
        None,
    )
}

fn governor(sample: &HazardSample) -> Option<Hazard> {
    let slow: Vec<&str> = sample
        .governors
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "performance")
        .collect();
    if slow.is_empty() {
        return None;
    }
    hazard(
        "governor",
        format!(
            "the frequency governor is {}, not performance: the clock depends on the load",
            slow.join(" and ")
        ),
        Some("sudo cpupower frequency-set -g performance"),
    )
}

fn turbo(sample: &HazardSample) -> Option<Hazard> {
    if sample.boost != Some(true) {
        return None;
    }
    hazard(
        "turbo",
        "turbo is on: the clock depends on temperature and on the load of other cores".to_owned(),
        Some(
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost (Intel: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo)",
        ),
    )
}

fn smt(sample: &HazardSample) -> Option<Hazard> {
    if sample.smt_cpus == 0 {
        return None;
    }
    hazard(
        "smt",
        format!(
            "{} of the CPUs share their core with another hardware thread",
            sample.smt_cpus
        ),
        Some("echo off | sudo tee /sys/devices/system/cpu/smt/control"),
    )
}

fn swap(sample: &HazardSample) -> Option<Hazard> {
    let pages = sample.window.map_or(0, |window| window.swapped_pages);
    if pages > 0 {
        return hazard(
            "swap",
            format!("{pages} pages were swapped in or out during the measurement"),
            Some("free memory, then: sudo swapoff -a"),
        );
    }
    if sample.swap_used_bytes < SWAP_BYTES {
        return None;
    }
    hazard(
        "swap",
        format!(
            "{} MiB of swap are in use: memory was short, and accesses may wait for the disk",
            sample.swap_used_bytes >> 20
        ),
        Some("free memory, then: sudo swapoff -a"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(sample: &HazardSample) -> Vec<String> {
        hazards(sample)
            .into_iter()
            .map(|hazard| hazard.id)
            .collect()
    }

    #[test]
    fn unknown_facts_raise_no_hazard() {
        assert_eq!(ids(&HazardSample::default()), Vec::<String>::new());
    }

    #[test]
    fn quiet_machine_has_no_hazard() {
        let sample = HazardSample {
            cpus: 8,
            governors: vec!["performance".to_owned()],
            boost: Some(false),
            load: Some((0.1, 1)),
            window: Some(Window {
                seconds: 1.0,
                cpus: 8.0,
                others_cpu_seconds: 0.02,
                ..Window::default()
            }),
            quota_cpus: Some(8.0),
            ..HazardSample::default()
        };
        assert_eq!(ids(&sample), Vec::<String>::new());
    }

    #[test]
    fn each_hazard_is_named_with_its_figure() {
        let sample = HazardSample {
            cpus: 1,
            governors: vec!["powersave".to_owned(), "performance".to_owned()],
            boost: Some(true),
            smt_cpus: 2,
            load: Some((3.0, 4)),
            swap_used_bytes: 0,
            quota_cpus: Some(0.5),
            window: Some(Window {
                seconds: 2.0,
                cpus: 2.0,
                steal_share: 0.123,
                others_cpu_seconds: 1.5,
                swapped_pages: 7,
                throttle_events: 3,
            }),
        };
        assert_eq!(
            ids(&sample),
            [
                "steal", "busy", "one-cpu", "quota", "throttle", "governor", "turbo", "smt", "swap"
            ]
        );
        let all = hazards(&sample);
        assert!(all[0].text.contains("12.3 %"));
        assert!(all[1].text.contains("0.8 of 2 CPUs"));
        assert!(all[5].text.contains("powersave"));
        assert!(all[8].text.contains("7 pages"));
    }

    #[test]
    fn measured_window_takes_precedence_over_load_average() {
        let quiet = Window {
            seconds: 1.0,
            cpus: 2.0,
            ..Window::default()
        };
        let mut sample = HazardSample {
            cpus: 2,
            load: Some((2.5, 3)),
            ..HazardSample::default()
        };
        assert_eq!(ids(&sample), ["busy"]);
        sample.window = Some(quiet);
        assert_eq!(ids(&sample), Vec::<String>::new());
    }
}
