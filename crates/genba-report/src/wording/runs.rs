//! Sentences on repeated runs and on the host: failures, outliers, the noise floor.

use std::collections::BTreeMap;

use genba_model::{
    AttachedProcesses, ExitKind, Hazard, HostFingerprint, Metric, MetricSummary, NoiseFloor,
    RunSummary,
};
use genba_units::format;

/// Returns the host: `AMD EPYC 9B45 (Zen 5), 2 CPUs, VM (kvm)`.
pub(crate) fn host(host: &HostFingerprint) -> String {
    let mut cpu = host
        .cpu
        .replace("(R)", "")
        .replace("(TM)", "")
        .replace("(tm)", "");
    for tail in [" @", " Processor", " CPU"] {
        if let Some(at) = cpu.find(tail) {
            cpu.truncate(at);
        }
    }
    let micro = if host.microarchitecture.is_empty() {
        String::new()
    } else {
        format!(" ({})", host.microarchitecture)
    };
    let place = match host.virtualisation.as_deref() {
        None | Some("") => String::new(),
        Some(kind) => format!(", VM ({kind})"),
    };
    format!(
        "{}{micro}, {}{place}",
        cpu.trim(),
        format::plural(u64::from(host.cpus), "CPU")
    )
}

/// Returns what was watched: `process 1234, watched for 9 s`.
pub(crate) fn attached(attached: &AttachedProcesses) -> String {
    let pids: Vec<String> = attached.pids.iter().map(ToString::to_string).collect();
    let time = format::rough_duration(attached.seconds);
    match pids.as_slice() {
        [] => format!("watched for {time}"),
        [pid] => format!("process {pid}, watched for {time}"),
        _ => format!("processes {}, watched for {time}", pids.join(", ")),
    }
}

/// Returns the noise floor: the smallest differences that the runs could show.
pub(crate) fn noise_floor(floors: &[NoiseFloor]) -> Option<String> {
    let list: Vec<String> = floors
        .iter()
        .filter(|f| f.share.is_finite() && f.share > 0.0)
        .map(|f| format!("{} ({})", format::share(f.share), metric_label(f.metric)))
        .collect();
    (!list.is_empty()).then(|| format!("noise floor of this run: {}", list.join(", ")))
}

/// Returns how many runs failed and how; `None` where all succeeded.
pub(crate) fn failures(runs: &RunSummary) -> Option<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    // A run that genba itself cut short has not failed; a note says so.
    let failed = |exit: ExitKind| !exit.success() && exit != ExitKind::TimedOut;
    for run in runs.runs.iter().filter(|run| failed(run.exit)) {
        *kinds.entry(exit(run.exit)).or_default() += 1;
    }
    let failed: usize = kinds.values().sum();
    let list: Vec<String> = kinds
        .into_iter()
        .map(|(kind, n)| {
            if n == 1 {
                kind
            } else {
                format!("{kind} ({n} times)")
            }
        })
        .collect();
    (failed > 0).then(|| {
        format!(
            "{failed} of {} failed: {}",
            format::plural(runs.runs.len() as u64, "run"),
            list.join(", ")
        )
    })
}

/// Returns how many runs are outliers; `None` where there are none.
pub(crate) fn outliers(runs: &RunSummary) -> Option<String> {
    match runs.outliers.len() {
        0 => None,
        1 => Some(format!(
            "1 of {} runs is an outlier: retained and shown",
            runs.runs.len()
        )),
        n => Some(format!(
            "{n} of {} runs are outliers: retained and shown",
            runs.runs.len()
        )),
    }
}

/// Returns a hazard with its remedy.
pub(crate) fn hazard(hazard: &Hazard) -> String {
    match &hazard.remedy {
        Some(remedy) => format!("{} ({remedy})", hazard.text),
        None => hazard.text.clone(),
    }
}

/// Returns how a run ended.
pub(crate) fn exit(exit: ExitKind) -> String {
    match exit {
        ExitKind::Code(code) => format!("exit code {code}"),
        ExitKind::Signal { signal, core } => {
            let name = match signal {
                1 => "SIGHUP".to_owned(),
                2 => "SIGINT".to_owned(),
                4 => "SIGILL".to_owned(),
                6 => "SIGABRT".to_owned(),
                7 => "SIGBUS".to_owned(),
                8 => "SIGFPE".to_owned(),
                9 => "SIGKILL".to_owned(),
                11 => "SIGSEGV".to_owned(),
                13 => "SIGPIPE".to_owned(),
                15 => "SIGTERM".to_owned(),
                other => format!("signal {other}"),
            };
            format!("{name}{}", if core { " (core dumped)" } else { "" })
        }
        ExitKind::TimedOut => "timeout".to_owned(),
        ExitKind::Cancelled => "cancelled".to_owned(),
    }
}

/// Returns the display name of a metric.
pub(crate) fn metric_label(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "wall",
        Metric::User => "user",
        Metric::System => "sys",
        Metric::Cpu => "user + sys",
        Metric::TargetCpu => "target CPU",
        Metric::ChildrenCpu => "children CPU",
        Metric::MaxRss => "peak memory",
        Metric::MinorFaults => "minor faults",
        Metric::MajorFaults => "major faults",
        Metric::VoluntarySwitches => "voluntary switches",
        Metric::InvoluntarySwitches => "involuntary switches",
    }
}

/// Returns the summary of a metric over all runs.
pub(crate) fn summary(runs: &RunSummary, metric: Metric) -> Option<&MetricSummary> {
    runs.metrics.iter().find(|m| m.metric == metric)
}

/// Returns the wall times of all runs, seconds.
pub(crate) fn walls(runs: &RunSummary) -> Vec<f64> {
    runs.runs.iter().map(|r| r.wall_seconds).collect()
}
