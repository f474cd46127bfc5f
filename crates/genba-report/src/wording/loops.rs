//! Sentences of a loop: its share, iterations, cycles per iteration and what bounds it.

use genba_model::{Annotation, LoopBound, LoopCost, LoopInfo};
use genba_units::format;

use crate::wording::{counts, execution_costs};

/// The sentences of one loop.
pub(crate) struct LoopText {
    /// Place and share of the time.
    pub(crate) head: String,
    /// Iterations and what bounds it, where executions were counted.
    pub(crate) more: Vec<String>,
}

/// Maximum number of instructions of a dependency chain that are named.
const MAX_CHAIN_INSTRUCTIONS: usize = 8;

/// Returns the sentences of the hottest loops, outermost first.
pub(crate) fn loops(a: &Annotation) -> Vec<LoopText> {
    let mut order: Vec<usize> = (0..a.loops.len())
        .filter(|&i| a.loops[i].share >= 0.05)
        .collect();
    order.sort_by(|&x, &y| {
        let (x, y) = (&a.loops[x], &a.loops[y]);
        x.depth
            .cmp(&y.depth)
            .then_with(|| y.share.total_cmp(&x.share))
    });
    order.truncate(8);
    order
        .into_iter()
        .map(|i| LoopText {
            head: head(a, &a.loops[i]),
            more: match &a.loops[i].cost {
                Some(cost) => more(a, cost),
                None => Vec::new(),
            },
        })
        .collect()
}

fn head(a: &Annotation, one: &LoopInfo) -> String {
    let inside = |at: u64| (one.head..=one.last).contains(&at);
    let lines: Vec<u32> = a
        .instructions
        .iter()
        .filter(|x| inside(x.address) && x.inlined.is_none())
        .filter_map(|x| x.line)
        .collect();
    let place = match (lines.iter().min(), lines.iter().max()) {
        (Some(a), Some(b)) if a == b => format!("line {a}"),
        (Some(a), Some(b)) => format!("lines {a} to {b}"),
        _ => format!("{:x} to {:x}", one.head, one.last),
    };
    let size = a.instructions.iter().filter(|x| inside(x.address)).count();
    format!(
        "loop {place}{}: {} of the function, {}{}",
        if one.depth > 1 {
            format!(" (nesting {})", one.depth)
        } else {
            String::new()
        },
        format::share(one.share),
        format::plural(size as u64, "instruction"),
        if one.irreducible {
            ", irreducible (more than one entry)"
        } else {
            ""
        }
    )
}

fn more(a: &Annotation, cost: &LoopCost) -> Vec<String> {
    let mut list = Vec::new();
    let mut iterations = format::plural_short(cost.iterations, "iteration");
    if let (Some(entries), Some(each)) = (cost.entries, execution_costs::trip_count(cost)) {
        iterations.push_str(&format!(
            ", entered {}, {} iterations per entry",
            format::times(entries),
            counts::ratio(each)
        ));
    }
    list.push(iterations);
    let mut parts = Vec::new();
    if let Some(e) = &cost.cycles {
        let spread = format::plus_minus(e);
        let gap = if spread.is_empty() { "" } else { " " };
        parts.push(format!(
            "{} cycles per iteration{gap}{spread} (measured)",
            format::plain(e, 3)
        ));
    }
    if let Some(e) = &cost.chain_cycles {
        parts.push(format!(
            "longest dependency chain {}{}",
            format::plain(e, 3),
            chain(a, cost)
        ));
    }
    if let Some(e) = &cost.throughput_cycles {
        parts.push(format!("throughput {}", format::plain(e, 3)));
    }
    if !parts.is_empty() {
        list.push(format!("{}: {}", parts.join(", "), bound(cost.bound)));
    }
    if !cost.why.trim().is_empty() {
        list.push(cost.why.clone());
    }
    list
}

/// Returns the mnemonics of the chain: ` (div → mov → div)`.
fn chain(a: &Annotation, cost: &LoopCost) -> String {
    let mut words: Vec<&str> = cost
        .chain
        .iter()
        .filter_map(|&i| a.instructions.get(i as usize))
        .filter_map(|i| i.text.split_whitespace().next())
        .take(MAX_CHAIN_INSTRUCTIONS + 1)
        .collect();
    if words.is_empty() {
        return String::new();
    }
    if words.len() > MAX_CHAIN_INSTRUCTIONS {
        words[MAX_CHAIN_INSTRUCTIONS] = "…";
    }
    format!(" ({})", words.join(" → "))
}

/// Returns what bounds a loop.
pub(super) fn bound(bound: LoopBound) -> &'static str {
    match bound {
        LoopBound::Latency => "latency-bound",
        LoopBound::Throughput => "throughput-bound",
        LoopBound::Memory => "memory-bound",
        LoopBound::FrontEnd => "front-end-bound",
        LoopBound::Unexplained => "unexplained",
    }
}
