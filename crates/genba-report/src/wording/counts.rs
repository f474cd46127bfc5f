//! Sentences on execution counts: which engine counted, how reliable and complete the counts are.

use genba_model::{Counted, Counts, Per};
use genba_units::format;

use crate::safe_text;

/// Returns name and version of an engine: `callgrind 3.19.0`.
pub(crate) fn engine(name: &str, version: &str) -> String {
    if version.is_empty() {
        name.to_owned()
    } else {
        format!("{name} {version}")
    }
}

/// Returns the slowdown of the command under the engine: ` (22× slower)`.
pub(crate) fn slower(slowdown: Option<f64>) -> String {
    match slowdown.filter(|s| s.is_finite() && *s > 0.0) {
        None => String::new(),
        Some(s) if s >= 1.05 => format!(" ({}× slower)", factor(s)),
        Some(_) => " (not slower)".to_owned(),
    }
}

/// Returns a factor with two significant digits: `1.3`, `22`.
fn factor(value: f64) -> String {
    if value < 9.95 {
        format::grouped_decimals(value, 1)
    } else {
        format::grouped(value)
    }
}

/// Returns the headline: `4,213,558,120 instructions in 3 processes, counted by callgrind 3.19.0
/// (22× slower)`.
pub(crate) fn head(counts: &Counts) -> String {
    let processes = match counts.processes {
        0 | 1 => String::new(),
        n => format!(" in {n} processes"),
    };
    format!(
        "{}{processes}, counted by {}{}",
        format::plural(counts.instructions, "instruction"),
        engine(&counts.engine, &counts.engine_version),
        slower(counts.slowdown),
    )
}

/// Returns what a unit is: `unit: one call of cmp (1,000,000 calls)`.
pub(crate) fn unit(per: &Per) -> String {
    let units = format::grouped(per.units);
    match &per.function {
        Some(name) => format!("unit: one call of {name} ({units} calls)"),
        None => format!("counts are divided by {units} units, as requested"),
    }
}

/// Returns the warning for counts of a run that ended early.
pub(crate) fn cut_short(why: &str) -> String {
    format!("incomplete counts: {why}; they cover the run until then")
}

/// Returns how the counted command ended; `None` where it succeeded.
pub(crate) fn ended(exit: i32) -> Option<String> {
    use genba_model::ExitKind;
    let kind = match exit {
        0 => return None,
        // As a shell gives it.
        signal @ 129..=192 => ExitKind::Signal {
            signal: signal - 128,
            core: false,
        },
        code => ExitKind::Code(code),
    };
    Some(format!(
        "the counted command ended with {}",
        crate::wording::runs::exit(kind)
    ))
}

/// Returns a ratio of counts: `43.0`, `0.0120`, `1,204`.
pub(crate) fn ratio(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "?".to_owned(),
        0.0 => "0".to_owned(),
        v if v >= 99_999.5 => format::count(value),
        v if v >= 999.5 => format::grouped(value),
        v if v >= 9.995 => format::grouped_decimals(value, 1),
        v if v >= 0.0995 => format::grouped_decimals(value, 2),
        v if v >= 0.000_95 => format::grouped_decimals(value, 4),
        // Rare, but not zero.
        _ => "<0.001".to_owned(),
    }
}

/// Returns the source of counts joined with times: `counted by callgrind 3.19.0 (22× slower),
/// cycles from the host table at 3.92 GHz, times averaged over 11 runs`.
pub(crate) fn source(counted: &Counted) -> String {
    let mut line = format!(
        "counted by {}{}",
        engine(&counted.engine.name, &counted.engine.version),
        slower(counted.slowdown),
    );
    if let Some(source) = clock_source(counted) {
        line.push_str(&format!(", {source}"));
    }
    if let Some(hz) = &counted.clock_hz {
        line.push_str(&format!(" at {} GHz", format::plain(&hz.scaled(1e-9), 3)));
    }
    if counted.runs > 1.5 {
        line.push_str(&format!(
            ", times averaged over {} runs",
            format::grouped(counted.runs)
        ));
    }
    line
}

/// Returns how seconds became cycles: `cycles from the host table`.
pub(crate) fn clock_source(counted: &Counted) -> Option<String> {
    counted.clock_hz?;
    Some(match counted.clock_source.as_str() {
        "" => "cycles".to_owned(),
        "cycles" => "sampled cycles".to_owned(),
        "counters" => "cycles from hardware counters".to_owned(),
        "host table" => "cycles from the host table".to_owned(),
        other => format!("cycles from {other}"),
    })
}

/// Returns warnings about counts joined with times: a scale factor, an early end.
pub(crate) fn warnings(counted: &Counted) -> Vec<String> {
    let mut list = Vec::new();
    let of_part = counted.cut_short.is_some() && counted.scale > 1.0;
    if of_part {
        list.push(format!(
            "counts are of the first part of the run, multiplied by {} as if the rest were like it; costs per execution are estimates",
            ratio(counted.scale)
        ));
        return list;
    }
    if counted.scale != 1.0 {
        list.push(format!(
            "counts are of a smaller run, multiplied by {}: {}",
            ratio(counted.scale),
            safe_text::command(&counted.command)
        ));
    }
    list.extend(counted.cut_short.as_deref().map(|why| {
        format!(
            "{}, so costs per execution are overestimated",
            cut_short(why)
        )
    }));
    list
}
