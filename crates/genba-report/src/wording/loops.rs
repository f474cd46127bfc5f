//! Sentences on loops that the terminal and the page share.

use genba_model::{Annotation, LoopBound, LoopCost, LoopInfo};

use crate::number;
use crate::wording::{counts, execution_costs};

/// What is said of one loop.
pub(crate) struct LoopText {
    /// Where it is and what it takes.
    pub(crate) head: String,
    /// Its rounds and what holds it up, where executions were counted.
    pub(crate) more: Vec<String>,
}

/// Instructions of a chain named at most.
const LONGEST_CHAIN: usize = 8;

/// The loops that matter, outermost first.
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
        number::share(one.share),
        number::plural(size as u64, "instruction"),
        if one.irreducible {
            ", entered in the middle as well"
        } else {
            ""
        }
    )
}

fn more(a: &Annotation, cost: &LoopCost) -> Vec<String> {
    let mut list = Vec::new();
    let mut rounds = number::plural_short(cost.iterations, "round");
    if let (Some(entries), Some(each)) = (cost.entries, execution_costs::trip_count(cost)) {
        rounds.push_str(&format!(
            ", entered {}: {} rounds each time",
            number::times(entries),
            counts::ratio(each)
        ));
    }
    list.push(rounds);
    let mut parts = Vec::new();
    if let Some(e) = &cost.cycles {
        let spread = number::plus_minus(e);
        let gap = if spread.is_empty() { "" } else { " " };
        parts.push(format!(
            "{} cycles a round{gap}{spread} (measured)",
            number::plain(e, 3)
        ));
    }
    if let Some(e) = &cost.chain_cycles {
        parts.push(format!(
            "longest chain {}{}",
            number::plain(e, 3),
            chain(a, cost)
        ));
    }
    if let Some(e) = &cost.throughput_cycles {
        parts.push(format!("throughput {}", number::plain(e, 3)));
    }
    if !parts.is_empty() {
        list.push(format!("{}: {}", parts.join(", "), bound(cost.bound)));
    }
    if !cost.why.trim().is_empty() {
        list.push(cost.why.clone());
    }
    list
}

/// ` (div → mov → div)`.
fn chain(a: &Annotation, cost: &LoopCost) -> String {
    let mut words: Vec<&str> = cost
        .chain
        .iter()
        .filter_map(|&i| a.instructions.get(i as usize))
        .filter_map(|i| i.text.split_whitespace().next())
        .take(LONGEST_CHAIN + 1)
        .collect();
    if words.is_empty() {
        return String::new();
    }
    if words.len() > LONGEST_CHAIN {
        words[LONGEST_CHAIN] = "…";
    }
    format!(" ({})", words.join(" → "))
}

/// What holds a loop up, in a word.
fn bound(bound: LoopBound) -> &'static str {
    match bound {
        LoopBound::Latency => "latency-bound",
        LoopBound::Throughput => "throughput-bound",
        LoopBound::Memory => "memory-bound",
        LoopBound::FrontEnd => "front-end-bound",
        LoopBound::Unexplained => "unexplained",
    }
}
