//! Sentences on counts that the terminal and the page share. They may hold hostile names:
//! callers make them harmless.

use genba_model::{Counted, Counts, Per};

use crate::{number, safe_text};

/// `callgrind 3.19.0`.
pub(crate) fn engine(name: &str, version: &str) -> String {
    if version.is_empty() {
        name.to_owned()
    } else {
        format!("{name} {version}")
    }
}

/// ` (22× slower)`: how much longer the command takes under the engine.
pub(crate) fn slower(slowdown: Option<f64>) -> String {
    match slowdown.filter(|s| s.is_finite() && *s > 0.0) {
        None => String::new(),
        Some(s) if s >= 1.05 => format!(" ({}× slower)", factor(s)),
        Some(_) => " (no slower)".to_owned(),
    }
}

/// A factor for reading: `1.3`, `22`.
fn factor(value: f64) -> String {
    if value < 9.95 {
        number::grouped_decimals(value, 1)
    } else {
        number::grouped(value)
    }
}

/// `4,213,558,120 instructions in 3 processes, counted by callgrind 3.19.0 (22× slower)`.
pub(crate) fn head(counts: &Counts) -> String {
    let processes = match counts.processes {
        0 | 1 => String::new(),
        n => format!(" in {n} processes"),
    };
    format!(
        "{}{processes}, counted by {}{}",
        number::plural(counts.instructions, "instruction"),
        engine(&counts.engine, &counts.engine_version),
        slower(counts.slowdown),
    )
}

/// `unit: a call of cmp, 1,000,000 of them`.
pub(crate) fn unit(per: &Per) -> String {
    let units = number::grouped(per.units);
    match &per.function {
        Some(name) => format!("a unit is a call of {name}: {units} of them"),
        None => format!("divided by {units} units, as asked for"),
    }
}

/// What must be said of counts that end early.
pub(crate) fn cut_short(why: &str) -> String {
    format!("cut short: {why}; the counts are those until then")
}

/// How the counted command ended, where it did not end well.
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
        "the command that was counted ended with {}",
        crate::wording::runs::exit(kind)
    ))
}

/// A ratio of counts: `43.0`, `0.0120`, `1,204`.
pub(crate) fn ratio(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "?".to_owned(),
        0.0 => "0".to_owned(),
        v if v >= 99_999.5 => number::count(value),
        v if v >= 999.5 => number::grouped(value),
        v if v >= 9.995 => number::grouped_decimals(value, 1),
        v if v >= 0.0995 => number::grouped_decimals(value, 2),
        v if v >= 0.000_95 => number::grouped_decimals(value, 4),
        // A rare thing is not nothing.
        _ => "<0.001".to_owned(),
    }
}

/// Where counts beside times come from: `counted by callgrind 3.19.0 (22× slower), cycles by
/// the host table at 3.92 GHz, times of 11 runs on average`.
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
        line.push_str(&format!(" at {} GHz", number::plain(&hz.scaled(1e-9), 3)));
    }
    if counted.runs > 1.5 {
        line.push_str(&format!(
            ", times of {} runs on average",
            number::grouped(counted.runs)
        ));
    }
    line
}

/// `cycles by the host table`.
pub(crate) fn clock_source(counted: &Counted) -> Option<String> {
    counted.clock_hz?;
    Some(match counted.clock_source.as_str() {
        "" => "cycles".to_owned(),
        "cycles" => "cycles as sampled".to_owned(),
        "counters" => "cycles by hardware counters".to_owned(),
        "host table" => "cycles by the host table".to_owned(),
        other => format!("cycles by {other}"),
    })
}

/// What the reader must know of counts beside times: the scale, an early end.
pub(crate) fn warnings(counted: &Counted) -> Vec<String> {
    let mut list = Vec::new();
    if counted.scale != 1.0 {
        list.push(format!(
            "counts × {} of a smaller run: {}",
            ratio(counted.scale),
            safe_text::command(&counted.command)
        ));
    }
    list.extend(counted.cut_short.as_deref().map(|why| {
        format!(
            "{}, so that costs per execution are too large",
            cut_short(why)
        )
    }));
    list
}
