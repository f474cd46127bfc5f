//! Which bound explains the measured cycles.
//!
//! The rules prefer silence to a wrong name: a bound is named only where its figure reaches
//! the measured one within [`REACHES`] and no other figure contradicts.

use genba_model::{Estimate, LoopBound};

use super::evidence::Evidence;
use super::throughput::Throughput;
use genba_units::format::{
    cycle_range as range, cycles as number, cycles_with_unit as cycles, short_percent as percent,
};

/// A model reaches the measurement from this share on. Tables are good for a few percent,
/// samples and clocks for as much again.
const REACHES: f64 = 0.85;

/// Below this many samples nothing is said.
const FEWEST_SAMPLES: f64 = 20.0;

/// Iterations an entry below which a loop is not in the steady state that the model is of.
const FEWEST_ROUNDS: f64 = 3.0;

/// What is known of a chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    pub cycles: Estimate,
    /// `div → div`.
    pub text: String,
    /// Of which paths: ` on the path of at least 83 % of its iterations`.
    pub way: String,
    /// Whether the chains of its paths are too different for one figure.
    pub various: bool,
    /// An instruction of it that the table does not have.
    pub unknown: Option<String>,
    /// A load that overlaps an earlier store in part.
    pub partial_forward: bool,
}

/// All that the decision rests on.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub measured: Option<Estimate>,
    pub samples: f64,
    /// Iterations an entry.
    pub trips: Option<f64>,
    /// The chain, or why there is none.
    pub chain: Result<Chain, String>,
    pub throughput: Option<Throughput>,
    pub loads: Evidence,
    pub branches: Evidence,
    pub penalty: Estimate,
    /// Whether the loop writes memory otherwise than to the stack.
    pub stores: bool,
    /// Memory levels with their latencies.
    pub levels: Vec<(&'static str, Estimate)>,
    /// Text of the instruction with most time among loads and among branches.
    pub load_text: String,
    pub branch_text: String,
}

/// Names the bound, and says why.
pub(super) fn decide(facts: &Facts) -> (LoopBound, String) {
    let Some(measured) = &facts.measured else {
        return unexplained(format!("no time was measured in it; {}", model(facts)));
    };
    if facts.samples < FEWEST_SAMPLES {
        return unexplained(format!(
            "only {} samples are in it; {}",
            number(facts.samples),
            model(facts)
        ));
    }
    if let Some(found) = contradiction(facts, measured) {
        return found;
    }
    let short = facts.trips.filter(|&trips| trips < FEWEST_ROUNDS);
    if short.is_none()
        && let Some(found) = by_model(facts, measured)
    {
        return found;
    }
    if let Some(found) = by_evidence(facts, measured) {
        return found;
    }
    if let Some(trips) = short {
        return unexplained(format!(
            "it is left after {} iterations on average, so entering and leaving it cost as much as its iterations; {}",
            number(trips),
            model(facts)
        ));
    }
    unexplained(remainder(facts, measured))
}

fn unexplained(why: String) -> (LoopBound, String) {
    (LoopBound::Unexplained, why)
}

/// A model that asks for more than was measured does not hold here.
fn contradiction(facts: &Facts, measured: &Estimate) -> Option<(LoopBound, String)> {
    let most = measured.high / REACHES;
    if let Ok(chain) = &facts.chain {
        // Iterations of different entries overlap: only those that come round wait.
        let waiting = facts.trips.map_or(1.0, |trips| 1.0 - 1.0 / trips.max(1.0));
        if chain.cycles.low * waiting > most {
            return Some(unexplained(format!(
                "the model does not hold: its longest dependency chain ({}{}) would take {}, more than the {} measured",
                chain.text,
                chain.way,
                cycles(&chain.cycles),
                range(measured)
            )));
        }
    }
    let throughput = facts.throughput.as_ref()?;
    (throughput.cycles.low > most).then(|| {
        unexplained(format!(
            "the model does not hold: its {} would take {}, more than the {} measured",
            throughput.what,
            cycles(&throughput.cycles),
            range(measured)
        ))
    })
}

fn by_model(facts: &Facts, measured: &Estimate) -> Option<(LoopBound, String)> {
    let chain = facts
        .chain
        .as_ref()
        .ok()
        .filter(|chain| chain_reaches(facts, chain, measured));
    let throughput = facts.throughput.as_ref().filter(|t| {
        t.cycles.high >= REACHES * measured.low && t.cycles.low >= REACHES * 0.8 * measured.low
    });
    let chain_value = chain.map_or(0.0, |chain| chain.cycles.value);
    let throughput_value = throughput.map_or(0.0, |t| t.cycles.value);
    if let Some(chain) = chain
        && chain_value >= throughput_value
    {
        let beside = match throughput {
            Some(t) => format!("; its {} would take {}", t.what, range(&t.cycles)),
            None => String::new(),
        };
        return Some((
            LoopBound::Latency,
            format!(
                "each iteration waits for the previous one: {} takes {}{}{beside}",
                chain.text,
                part(&chain.cycles, measured),
                chain.way
            ),
        ));
    }
    let throughput = throughput?;
    let beside = match &facts.chain {
        Ok(chain) => format!(
            "; its longest dependency chain takes {}",
            range(&chain.cycles)
        ),
        Err(_) => String::new(),
    };
    Some((
        LoopBound::Throughput,
        format!(
            "its {} take {}{beside}",
            throughput.what,
            part(&throughput.cycles, measured)
        ),
    ))
}

/// How much of the measured cycles a figure of the model is.
fn part(figure: &Estimate, measured: &Estimate) -> String {
    if figure.low >= 0.97 * measured.value {
        return format!("all of its {}", cycles(measured));
    }
    format!("{} of its {}", range(figure), cycles(measured))
}

fn chain_reaches(facts: &Facts, chain: &Chain, measured: &Estimate) -> bool {
    // Leaving the loop may be predicted wrongly, once an entry.
    let leaving = facts
        .trips
        .map_or(0.0, |trips| facts.penalty.value / trips.max(1.0));
    let reaches =
        |figure: f64| figure >= REACHES * (measured.low - leaving) && figure >= 0.7 * measured.low;
    // A figure that is anything between little and enough explains nothing, unless it is the
    // instruction itself that varies (a division).
    if chain.unknown.is_some() {
        return false;
    }
    if chain.various {
        return reaches(chain.cycles.low);
    }
    reaches(chain.cycles.high) && chain.cycles.low >= 0.35 * measured.value
}

/// Time that stands at loads or at branches, beyond what the model has.
fn by_evidence(facts: &Facts, measured: &Estimate) -> Option<(LoopBound, String)> {
    let floor = floor(facts);
    if measured.low <= 1.3 * floor {
        return None;
    }
    let excess = measured.value - floor;
    let memory = memory_explains(facts, measured, excess);
    let at_branches =
        facts.branches.excess >= 0.5 * excess && facts.branches.potential >= 0.5 * excess;
    let branches = at_branches || left_to_branches(facts, measured, floor);
    match (memory, branches) {
        (true, false) => Some((LoopBound::Memory, memory_text(facts, measured))),
        (false, true) => Some((LoopBound::FrontEnd, branch_text(facts, measured))),
        (true, true) => Some(unexplained(format!(
            "{} of its {} are at loads and {} at branches with varying outcome",
            percent(facts.loads.share),
            cycles(measured),
            percent(facts.branches.share)
        ))),
        (false, false) => None,
    }
}

/// In short rounds the time after a wrong prediction stands anywhere behind the branch. It is
/// the branch's if wrong predictions suffice for all of it and nothing else is known to be there.
fn left_to_branches(facts: &Facts, measured: &Estimate, floor: f64) -> bool {
    let clear = facts
        .chain
        .as_ref()
        .is_ok_and(|chain| chain.unknown.is_none() && !chain.various && !chain.partial_forward);
    let branches = &facts.branches;
    clear
        && measured.low >= 2.0 * floor
        // A penalty depends on what was in flight; a table has one figure.
        && 1.2 * branches.potential >= measured.value - floor
        && branches.near >= 0.5
        && facts.loads.share < 0.3
        && (0.2..=0.8).contains(&branches.usual)
}

fn floor(facts: &Facts) -> f64 {
    let chain = facts.chain.as_ref().map_or(0.0, |chain| chain.cycles.high);
    let throughput = facts.throughput.as_ref().map_or(0.0, |t| t.cycles.high);
    chain.max(throughput)
}

fn memory_explains(facts: &Facts, measured: &Estimate, excess: f64) -> bool {
    let loads = &facts.loads;
    if loads.share < 0.5 || loads.excess < 0.6 * excess {
        return false;
    }
    // A load that waits for a narrower store looks the same up to some 25 cycles.
    let stalled = match &facts.chain {
        Ok(chain) => chain.partial_forward || facts.stores,
        Err(_) => true,
    };
    if stalled && loads.each < 25.0 {
        return false;
    }
    // Without a chain to compare with, only what no chain makes: waits for far memory.
    facts.chain.is_ok() || loads.each >= 25.0 && loads.share * measured.value >= 20.0
}

fn memory_text(facts: &Facts, measured: &Estimate) -> String {
    let loads = &facts.loads;
    let share = loads.most.map_or(0.0, |(_, share)| share);
    let mut text = format!(
        "{} of its {} are at {}: {} per execution, {} if it hits L1d",
        percent(share),
        cycles(measured),
        facts.load_text,
        number(loads.each),
        number(loads.usual)
    );
    let near: Vec<String> = facts
        .levels
        .iter()
        .map(|(name, latency)| format!("{name} {}", number(latency.value)))
        .collect();
    if !near.is_empty() {
        text.push_str(&format!(" ({})", near.join(", ")));
    }
    text
}

fn branch_text(facts: &Facts, measured: &Estimate) -> String {
    let branches = &facts.branches;
    let both = format!("{} is taken {}", facts.branch_text, percent(branches.usual));
    let each = number(facts.penalty.value);
    let excess = measured.value - floor(facts);
    if branches.excess < 0.5 * excess {
        let wrong = excess / (facts.penalty.value * branches.times).max(f64::MIN_POSITIVE);
        return format!(
            "{both}: mispredictions in {} of its executions, about {each} cycles each, would explain {} of its {}, and nothing else does",
            percent(wrong.min(branches.usual.min(1.0 - branches.usual))),
            number(excess),
            cycles(measured)
        );
    }
    let share = branches.most.map_or(0.0, |(_, share)| share);
    format!(
        "{both}, and {} of its {} are at it; a misprediction costs about {each}",
        percent(share),
        cycles(measured),
    )
}

/// What the model says, as far as it does.
fn model(facts: &Facts) -> String {
    let chain = match &facts.chain {
        Ok(chain) if chain.text.is_empty() => {
            "in the model no iteration depends on the previous one".to_owned()
        }
        Ok(chain) => format!(
            "in the model its longest dependency chain takes {} ({}{})",
            cycles(&chain.cycles),
            chain.text,
            chain.way
        ),
        Err(reason) => reason.clone(),
    };
    match &facts.throughput {
        Some(t) => format!("{chain}, and its {} take {}", t.what, range(&t.cycles)),
        None => chain,
    }
}

fn remainder(facts: &Facts, measured: &Estimate) -> String {
    let mut text = format!(
        "{} per iteration are unexplained: {}",
        cycles(measured),
        model(facts)
    );
    if let Ok(chain) = &facts.chain {
        if let Some(form) = &chain.unknown {
            text.push_str(&format!("; the host table has no `{form}`"));
        }
        if chain.various {
            text.push_str("; its paths have different dependency chains");
        }
        if chain.partial_forward {
            text.push_str(
                "; a load overlaps a part of an earlier store, so store forwarding fails",
            );
        }
    }
    if facts.loads.share >= 0.3 {
        text.push_str(&format!(
            "; {} of the time is at loads",
            percent(facts.loads.share)
        ));
    }
    if facts.branches.share >= 0.2 {
        text.push_str(&format!(
            "; {} is at branches with varying outcome",
            percent(facts.branches.share)
        ));
    }
    text
}
