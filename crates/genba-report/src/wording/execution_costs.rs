//! What an execution costs, how often a jump was taken: cells and remarks that the terminal and
//! the page share.

use genba_model::{AnnotatedInstruction, Annotation, Estimate};

use crate::number;

/// Time per execution: `5.8 ns`.
fn time(i: &AnnotatedInstruction) -> Option<String> {
    i.cost_seconds.map(|e| match e.value * 1e9 {
        ns if ns < 0.05 => "~   ".to_owned(),
        ns if ns < 9.95 => format!("{ns:.1} ns"),
        _ => number::time(&e),
    })
}

/// Cycles per execution, or time where they are not known.
pub(crate) fn shortest(i: &AnnotatedInstruction) -> String {
    cycles(i).or_else(|| time(i)).unwrap_or_default()
}

/// Cost per execution: `5.8 ns  20.2 cyc`; `~` for what is too small to be told from nothing.
pub(crate) fn each(i: &AnnotatedInstruction) -> String {
    // Right-aligned each for itself, so that the units stand under one another.
    match (time(i), cycles(i)) {
        (Some(time), Some(cycles)) => format!("{time:>9}{cycles:>11}"),
        (time, cycles) => time.or(cycles).unwrap_or_default(),
    }
}

/// Cycles per execution: `20.2 cyc`.
fn cycles(i: &AnnotatedInstruction) -> Option<String> {
    i.cost_cycles.map(|e| match e.value {
        c if c < 0.05 => "~    ".to_owned(),
        c if c < 999.5 => format!("{c:.1} cyc"),
        c => format!("{} cyc", number::count(c)),
    })
}

/// What the instruction costs on this host, cycles: `7–18`, `4`.
pub(crate) fn here(i: &AnnotatedInstruction) -> String {
    i.host_latency_cycles.map_or_else(String::new, |e| {
        if (e.high - e.low).abs() < 0.5 {
            number::plain(&e, 2)
        } else {
            format!("{:.0}–{:.0}", e.low, e.high)
        }
    })
}

/// Cycles under a head that says so: `120`, `20.2`.
pub(crate) fn bare_cycles(e: &Estimate) -> String {
    match e.value {
        c if c < 99_999.5 => number::plain(e, 3),
        c => number::count(c),
    }
}

/// The same with its unit: `20.2 cyc`.
pub(crate) fn in_cycles(e: &Estimate) -> String {
    format!("{} cyc", bare_cycles(e))
}

/// Executions or calls, where they were counted.
pub(crate) fn calls(count: Option<u64>) -> String {
    count.map_or_else(String::new, |n| number::count(n as f64))
}

/// Half the interval of the cost per execution, `±3 %`; nothing beside a cost of `~`.
pub(crate) fn spread(i: &AnnotatedInstruction) -> String {
    match (i.cost_seconds, i.cost_cycles) {
        (Some(e), _) if e.value >= 0.05e-9 => number::plus_minus(&e),
        (None, Some(e)) if e.value >= 0.05 => number::plus_minus(&e),
        _ => String::new(),
    }
}

/// The whole intervals: `5.77 ns (5.65 to 5.89), 20.2 cycles (19.8 to 20.6)`.
pub(crate) fn intervals(seconds: Option<&Estimate>, cycles: Option<&Estimate>) -> String {
    let mut parts = Vec::new();
    if let Some(e) = seconds {
        parts.push(format!(
            "{} ({} to {})",
            number::seconds(e.value),
            number::seconds(e.low),
            number::seconds(e.high)
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

/// Three digits.
fn significant(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => number::count(value),
        v if v >= 99.95 => number::grouped(value),
        v if v >= 9.995 => number::grouped_decimals(value, 1),
        _ => number::grouped_decimals(value, 2),
    }
}

/// Of a conditional jump: `taken 92.3 %, 12.9 times round`; nothing for one that was never
/// executed or not counted.
pub(crate) fn taken(a: &Annotation, index: usize) -> Option<String> {
    let mut text = taken_briefly(a, index)?;
    if a.instructions[index].taken != Some(0)
        && let Some(rounds) = rounds(a, index)
    {
        text.push_str(&format!(
            ", {} times round",
            crate::wording::counts::ratio(rounds)
        ));
    }
    Some(text)
}

/// The same without the rounds of the loop that it closes: `taken 92.3 %`.
pub(crate) fn taken_briefly(a: &Annotation, index: usize) -> Option<String> {
    let i = a.instructions.get(index)?;
    let (count, taken) = (i.count.filter(|&count| count > 0)?, i.taken?);
    let stayed = count.saturating_sub(taken);
    let part = taken as f64 / count as f64;
    Some(match (taken, stayed) {
        (0, _) => "never taken".to_owned(),
        (_, 0) => "always taken".to_owned(),
        // Nearly all is not all, hardly ever is not never.
        _ if part >= 0.9995 => format!("taken but for {}", number::times(stayed)),
        _ if part < 0.0005 => format!("taken {} only", number::times(taken)),
        _ => format!("taken {}", number::share(part)),
    })
}

/// Rounds of the loop that the jump at `index` closes, each time that it is entered.
fn rounds(a: &Annotation, index: usize) -> Option<f64> {
    let closing = a
        .jumps
        .iter()
        .find(|jump| jump.back && jump.from as usize == index)?;
    let head = a.instructions.get(closing.to as usize)?.address;
    let cost = a.loops.iter().find(|one| one.head == head)?.cost.as_ref()?;
    trip_count(cost)
}

/// Rounds of a loop each time that it is entered.
pub(crate) fn trip_count(cost: &genba_model::LoopCost) -> Option<f64> {
    let entries = cost.entries.filter(|&entries| entries > 0)?;
    Some(cost.iterations as f64 / entries as f64)
}
