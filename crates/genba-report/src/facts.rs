//! Sentences that the terminal and the page share. They may hold hostile names: callers make
//! them harmless.

use std::collections::BTreeMap;

use genba_model::{
    Annotation, Concentration, CounterState, ExitKind, HostFingerprint, Investigation, Metric,
    MetricSummary, NoiseFloor, Profile, RunSummary, Stat,
};

use crate::number;

/// `AMD EPYC 9B45 (Zen 5), 2 CPUs, VM (kvm)`.
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
        number::plural(u64::from(host.cpus), "CPU")
    )
}

/// What was observed with.
pub(crate) fn observed(all: &Investigation) -> String {
    let sampled = all.profile.as_ref().map(|p| p.event.name.as_str());
    let mut text = match (all.host.hardware_counters, sampled) {
        (true, Some(event)) => format!("hardware counters, {event} samples"),
        (true, None) => "hardware counters".to_owned(),
        (false, Some(event)) => format!("no hardware counters here: {event} samples"),
        (false, None) => "no hardware counters here".to_owned(),
    };
    if let Some(counted) = all.profile.as_ref().and_then(|p| p.counted.as_ref()) {
        text.push_str(", exact counts");
        if let Some(source) = crate::counting::clock_source(counted) {
            text.push_str(&format!(", {source}"));
        }
    }
    text
}

/// `cpu-clock, 12,345 samples in 2.47 s, user and kernel`.
pub(crate) fn sampling(profile: &Profile) -> String {
    let event = &profile.event;
    let mut text = format!(
        "{} in {}, {}{}",
        number::plural(profile.samples, "sample"),
        number::seconds(profile.duration_seconds),
        event.name,
        if event.frequency_hz > 0 {
            format!(" at {} Hz", number::grouped(event.frequency_hz as f64))
        } else {
            String::new()
        }
    );
    text.push_str(if event.kernel {
        ", user and kernel"
    } else {
        ", user code only"
    });
    text.push_str(&losses(profile));
    text
}

/// Samples that are missing; empty where none are.
pub(crate) fn losses(profile: &Profile) -> String {
    let mut text = String::new();
    if profile.lost > 0 {
        let all = (profile.samples + profile.lost).max(1) as f64;
        text.push_str(&format!(
            ", {} lost ({})",
            number::grouped(profile.lost as f64),
            number::share(profile.lost as f64 / all)
        ));
    }
    if profile.throttled > 0 {
        text.push_str(&format!(
            ", throttled {}",
            number::plural(profile.throttled, "time")
        ));
    }
    text
}

/// `80 % of the time: 2 functions, 14 source lines, 0.02 % of the code`.
pub(crate) fn concentration(c: &Concentration) -> String {
    let mut text = format!(
        "{} of the time: {}",
        number::share(c.share),
        number::plural(u64::from(c.functions), "function")
    );
    if let Some(lines) = c.lines {
        text.push_str(", ");
        text.push_str(&number::plural(u64::from(lines), "source line"));
    }
    if let Some(share) = c.code_share {
        text.push_str(&format!(", {} of the code", number::share(share)));
    }
    text
}

/// The smallest differences that would have been seen.
pub(crate) fn noise_floor(floors: &[NoiseFloor]) -> Option<String> {
    let list: Vec<String> = floors
        .iter()
        .filter(|f| f.share.is_finite() && f.share > 0.0)
        .map(|f| format!("{} ({})", number::share(f.share), metric_label(f.metric)))
        .collect();
    (!list.is_empty()).then(|| {
        format!(
            "differences under {} would not be visible in this time",
            list.join(", ")
        )
    })
}

/// Runs that failed, if any did.
pub(crate) fn failures(runs: &RunSummary) -> Option<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs.runs.iter().filter(|r| !r.exit.success()) {
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
            number::plural(runs.runs.len() as u64, "run"),
            list.join(", ")
        )
    })
}

/// Runs far from the rest.
pub(crate) fn outliers(runs: &RunSummary) -> Option<String> {
    match runs.outliers.len() {
        0 => None,
        1 => Some(format!(
            "1 run of {} lies far from the rest: kept, shown",
            runs.runs.len()
        )),
        n => Some(format!(
            "{n} runs of {} lie far from the rest: kept, shown",
            runs.runs.len()
        )),
    }
}

/// How a run ended, in words.
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
        ExitKind::TimedOut => "time-out".to_owned(),
        ExitKind::Cancelled => "cancelled".to_owned(),
    }
}

/// A metric's name for people.
pub(crate) fn metric_label(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "wall",
        Metric::User => "user",
        Metric::System => "sys",
        Metric::Cpu => "user + sys",
        Metric::TargetCpu => "of the target",
        Metric::BesideCpu => "of others",
        Metric::MaxRss => "peak memory",
        Metric::MinorFaults => "minor faults",
        Metric::MajorFaults => "major faults",
        Metric::VoluntarySwitches => "voluntary switches",
        Metric::InvoluntarySwitches => "involuntary switches",
    }
}

pub(crate) fn summary(runs: &RunSummary, metric: Metric) -> Option<&MetricSummary> {
    runs.metrics.iter().find(|m| m.metric == metric)
}

/// The wall times of all runs.
pub(crate) fn walls(runs: &RunSummary) -> Vec<f64> {
    runs.runs.iter().map(|r| r.wall_seconds).collect()
}

/// The derived ratios that say most: `1.24 insn per cycle`, `1.2 % of all branches`.
pub(crate) fn highlights(stat: &Stat) -> Vec<String> {
    let mut found = Vec::new();
    for event in ["instructions", "cycles", "branch-misses", "LLC-load-misses"] {
        let counter = stat
            .counters
            .iter()
            .find(|c| base_event(&c.event) == event && c.state == CounterState::Counted);
        if let Some(note) = counter.and_then(|c| c.note.as_ref()) {
            let text = note_text(note.value, &note.text);
            found.push(if event == "branch-misses" {
                format!("{text} missed")
            } else {
                text
            });
        }
    }
    found
}

/// An event without its modifiers and its PMU: `cpu_core/cycles/u` and `cycles:u` are `cycles`.
fn base_event(event: &str) -> &str {
    let event = event.split(':').next().unwrap_or(event);
    let mut parts = event.split('/');
    match (parts.next(), parts.next()) {
        (_, Some(inner)) if !inner.is_empty() => inner,
        _ => event,
    }
}

/// A derived ratio: shares (texts that start with "of") in percent, the rest as a number.
pub(crate) fn note_text(value: f64, text: &str) -> String {
    if text.starts_with("of ") || text.starts_with('%') || text.ends_with("cycles idle") {
        let text = text.trim_start_matches('%').trim_start();
        return format!("{} {text}", number::share(value));
    }
    let digits = match value.abs() {
        v if v >= 1000.0 => return format!("{} {text}", number::count(value)),
        v if v >= 100.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    format!("{} {text}", number::grouped_decimals(value, digits))
}

/// Events that could not be counted, by the reason, each named once.
pub(crate) fn missing(stat: &Stat) -> Vec<(&'static str, Vec<&str>)> {
    [
        (CounterState::NotSupported, "not supported here"),
        (CounterState::Forbidden, "refused to this user"),
        (
            CounterState::NotCounted,
            "never on the hardware in this time",
        ),
    ]
    .into_iter()
    .filter_map(|(state, reason)| {
        let events: Vec<&str> = stat
            .counters
            .iter()
            .filter(|c| c.state == state)
            .map(|c| c.event.as_str())
            .collect();
        (!events.is_empty()).then_some((reason, events))
    })
    .collect()
}

/// `64.5 % of the time, 12,345 samples of cpu-clock, called 33.0 M times`.
pub(crate) fn annotation_head(a: &Annotation) -> String {
    let calls = match a.calls {
        Some(calls) => format!(", called {}", number::times(calls)),
        None => String::new(),
    };
    format!(
        "{} of the time, {} of {}{calls}{}",
        number::percent(&a.share),
        number::plural(a.samples, "sample"),
        a.event.name,
        if a.raw {
            ", raw: samples stand where the machine put them, an instruction late"
        } else {
            ""
        }
    )
}

/// `bignum.c:4551`, or nothing.
pub(crate) fn source(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", crate::text::file_name(file)),
        (Some(file), None) => crate::text::file_name(file).to_owned(),
        _ => String::new(),
    }
}
