//! Cost per execution and branch behaviour: cells and remarks of annotated instructions.

use genba_model::{AnnotatedInstruction, Annotation, Estimate};
use genba_units::format;

use super::counts;

/// Returns the time per execution: `5.8 ns`.
fn time(i: &AnnotatedInstruction) -> Option<String> {
    i.cost_seconds.map(|e| match e.value * 1e9 {
        ns if ns < 0.05 || !is_told(&e) => "~   ".to_owned(),
        ns if ns < 9.95 => format!("{ns:.1} ns"),
        _ => format::time(&e),
    })
}

/// Returns cycles per execution, or time where cycles are unknown.
pub(crate) fn shortest(i: &AnnotatedInstruction) -> String {
    cycles(i).or_else(|| time(i)).unwrap_or_default()
}

/// Returns time and cycles per execution: `5.8 ns  20.2 cyc`; `~` where they cannot be
/// distinguished from zero.
pub(crate) fn each(i: &AnnotatedInstruction) -> String {
    // Each is right-aligned separately, so that units of all rows are aligned.
    match (time(i), cycles(i)) {
        (Some(time), Some(cycles)) => format!("{time:>9}{cycles:>11}"),
        (time, cycles) => time.or(cycles).unwrap_or_default(),
    }
}

/// Whether a cost is known to ±100 % at least: a sample or two of a rare instruction tell nothing.
fn is_told(e: &Estimate) -> bool {
    e.high - e.low <= 2.0 * e.value
}

/// Returns cycles per execution: `20.2 cyc`.
fn cycles(i: &AnnotatedInstruction) -> Option<String> {
    i.cost_cycles.map(|e| match e.value {
        c if c < 0.05 || !is_told(&e) => "~    ".to_owned(),
        c if c < 999.5 => format!("{c:.1} cyc"),
        c => format!("{} cyc", format::count(c)),
    })
}

/// Returns the latency of the instruction in the host table, cycles: `7–18`, `4`.
pub(crate) fn host_latency(i: &AnnotatedInstruction) -> String {
    i.host_latency_cycles.map_or_else(String::new, |e| {
        if (e.high - e.low).abs() < 0.5 {
            format::plain(&e, 2)
        } else {
            format!("{:.0}–{:.0}", e.low, e.high)
        }
    })
}

/// Returns cycles without their unit, for a column that names it: `120`, `20.2`.
pub(crate) fn bare_cycles(e: &Estimate) -> String {
    match e.value {
        c if c < 99_999.5 => format::plain(e, 3),
        c => format::count(c),
    }
}

/// Returns cycles with their unit: `20.2 cyc`.
pub(crate) fn in_cycles(e: &Estimate) -> String {
    format!("{} cyc", bare_cycles(e))
}

/// Returns a count of executions or calls; empty where they were not counted.
pub(crate) fn count(count: Option<u64>) -> String {
    count.map_or_else(String::new, |n| format::count(n as f64))
}

/// Returns the half width of the interval of the cost per execution, `±3 %`; empty beside a cost of
/// `~`.
pub(crate) fn spread(i: &AnnotatedInstruction) -> String {
    match (i.cost_seconds, i.cost_cycles) {
        (Some(e), _) if e.value >= 0.05e-9 && is_told(&e) => format::plus_minus(&e),
        (None, Some(e)) if e.value >= 0.05 && is_told(&e) => format::plus_minus(&e),
        _ => String::new(),
    }
}

/// Returns costs with both ends of their intervals: `5.77 ns (5.65 to 5.89), 20.2 cycles (19.8 to
/// 20.6)`.
pub(crate) fn intervals(seconds: Option<&Estimate>, cycles: Option<&Estimate>) -> String {
    let mut parts = Vec::new();
    if let Some(e) = seconds {
        parts.push(format!(
            "{} ({} to {})",
            format::seconds(e.value),
            format::seconds(e.low),
            format::seconds(e.high)
        ));
    }
    if let Some(e) = cycles {
        parts.push(format!(
            "{} cycles ({} to {})",
            significant(e.value),
            significant(e.low),
            significant(e.high)
        ));
    }
    parts.join(", ")
}

/// Returns a number with three significant digits.
fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => format::count(value),
        v if v >= 99.95 => format::grouped(value),
        v if v >= 9.995 => format::grouped_decimals(value, 1),
        _ => format::grouped_decimals(value, 2),
    }
}

/// Returns the behaviour of a conditional jump: `taken 92.3 %, 12.9 iterations per entry`; `None`
/// for one that was never executed or not counted.
pub(crate) fn taken(a: &Annotation, index: usize) -> Option<String> {
    let mut text = taken_briefly(a, index)?;
    if a.instructions[index].taken != Some(0)
        && let Some(trips) = closed_loop_trips(a, index)
    {
        text.push_str(&format!(", {} iterations per entry", counts::ratio(trips)));
    }
    Some(text)
}

/// Returns the share of executions that were taken, without the trip count: `taken 92.3 %`.
pub(crate) fn taken_briefly(a: &Annotation, index: usize) -> Option<String> {
    let i = a.instructions.get(index)?;
    let (count, taken) = (i.count.filter(|&count| count > 0)?, i.taken?);
    let not_taken = count.saturating_sub(taken);
    let part = taken as f64 / count as f64;
    Some(match (taken, not_taken) {
        (0, _) => "never taken".to_owned(),
        (_, 0) => "always taken".to_owned(),
        // Rounding must not turn "nearly always" into "always".
        _ if part >= 0.9995 => format!("taken all but {}", format::times(not_taken)),
        _ if part < 0.0005 => format!("taken only {}", format::times(taken)),
        _ => format!("taken {}", format::share(part)),
    })
}

/// Returns iterations per entry of the loop that the jump at `index` closes.
fn closed_loop_trips(a: &Annotation, index: usize) -> Option<f64> {
    let closing = a
        .jumps
        .iter()
        .find(|jump| jump.back && jump.from as usize == index)?;
    let head = a.instructions.get(closing.to as usize)?.address;
    let cost = a.loops.iter().find(|one| one.head == head)?.cost.as_ref()?;
    trip_count(cost)
}

/// Returns iterations of a loop per entry.
pub(crate) fn trip_count(cost: &genba_model::LoopCost) -> Option<f64> {
    let entries = cost.entries.filter(|&entries| entries > 0)?;
    Some(cost.iterations as f64 / entries as f64)
}
