//! Which bound explains the measured cycles.
//!
//! The rules prefer silence to a wrong name: a bound is named only where its figure reaches
//! the measured one within [`MIN_MODEL_OF_MEASURED`] and no other figure contradicts.

use genba_model::{Estimate, LoopBound};

use super::evidence::Evidence;
use super::throughput::Throughput;
use crate::constants::{
    ALL_OF_MEASURED, MAX_FAILED_FORWARDING_CYCLES, MAX_TIME_AT_LOADS, MIN_BRANCH_EXCESS,
    MIN_CHAIN_BESIDE_MISPREDICTION, MIN_CHAIN_LOW, MIN_EXCESS, MIN_EXCESS_OF_SHORT_LOOP,
    MIN_FAR_MEMORY_CYCLES, MIN_LOAD_EXCESS, MIN_MODEL_LOW_OF_HIGH, MIN_MODEL_OF_MEASURED,
    MIN_REPORTED_BRANCH_TIME, MIN_SAMPLES, MIN_TIME_AT_LOADS, MIN_TIME_NEAR_BRANCHES, MIN_TRIPS,
    PENALTY_SPREAD, UNDECIDED_RANGE,
};
use genba_units::format::{
    cycle_range as range, cycles as number, cycles_with_unit as cycles, short_percent as percent,
};

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
    if facts.samples < MIN_SAMPLES {
        return unexplained(format!(
            "only {} samples are in it; {}",
            number(facts.samples),
            model(facts)
        ));
    }
    if let Some(found) = contradiction(facts, measured) {
        return found;
    }
    let short = facts.trips.filter(|&trips| trips < MIN_TRIPS);
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
    let most = measured.high / MIN_MODEL_OF_MEASURED;
    if let Ok(chain) = &facts.chain {
        // Iterations of different entries overlap: only those that iterate wait.
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
        t.cycles.high >= MIN_MODEL_OF_MEASURED * measured.low
            && t.cycles.low >= MIN_MODEL_OF_MEASURED * MIN_MODEL_LOW_OF_HIGH * measured.low
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
    if figure.low >= ALL_OF_MEASURED * measured.value {
        return format!("all of its {}", cycles(measured));
    }
    format!("{} of its {}", range(figure), cycles(measured))
}

fn chain_reaches(facts: &Facts, chain: &Chain, measured: &Estimate) -> bool {
    // Leaving the loop may be predicted wrongly, once an entry.
    let leaving = facts
        .trips
        .map_or(0.0, |trips| facts.penalty.value / trips.max(1.0));
    let reaches = |figure: f64| {
        figure >= MIN_MODEL_OF_MEASURED * (measured.low - leaving)
            && figure >= MIN_CHAIN_BESIDE_MISPREDICTION * measured.low
    };
    // A figure that is anything between little and enough explains nothing, unless it is the
    // instruction itself that varies (a division).
    if chain.unknown.is_some() {
        return false;
    }
    if chain.various {
        return reaches(chain.cycles.low);
    }
    reaches(chain.cycles.high) && chain.cycles.low >= MIN_CHAIN_LOW * measured.value
}

/// Time that stands at loads or at branches, beyond what the model has.
fn by_evidence(facts: &Facts, measured: &Estimate) -> Option<(LoopBound, String)> {
    let floor = floor(facts);
    if measured.low <= MIN_EXCESS * floor {
        return None;
    }
    let excess = measured.value - floor;
    let memory = memory_explains(facts, measured, excess);
    let at_branches = facts.branches.excess >= MIN_BRANCH_EXCESS * excess
        && facts.branches.potential >= MIN_BRANCH_EXCESS * excess;
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

/// In short iterations samples of a misprediction stand anywhere behind the branch. The time is
/// the branch's if mispredictions suffice for all of it and nothing else is known to be there.
fn left_to_branches(facts: &Facts, measured: &Estimate, floor: f64) -> bool {
    let clear = facts
        .chain
        .as_ref()
        .is_ok_and(|chain| chain.unknown.is_none() && !chain.various && !chain.partial_forward);
    let branches = &facts.branches;
    clear
        && measured.low >= MIN_EXCESS_OF_SHORT_LOOP * floor
        // A penalty depends on what was in flight; a table has one figure.
        && PENALTY_SPREAD * branches.potential >= measured.value - floor
        && branches.near >= MIN_TIME_NEAR_BRANCHES
        && facts.loads.share < MAX_TIME_AT_LOADS
        && UNDECIDED_RANGE.contains(&branches.usual)
}

fn floor(facts: &Facts) -> f64 {
    let chain = facts.chain.as_ref().map_or(0.0, |chain| chain.cycles.high);
    let throughput = facts.throughput.as_ref().map_or(0.0, |t| t.cycles.high);
    chain.max(throughput)
}

fn memory_explains(facts: &Facts, measured: &Estimate, excess: f64) -> bool {
    let loads = &facts.loads;
    if loads.share < MIN_TIME_AT_LOADS || loads.excess < MIN_LOAD_EXCESS * excess {
        return false;
    }
    // A load that waits for a narrower store looks the same up to some 25 cycles.
    let stalled = match &facts.chain {
        Ok(chain) => chain.partial_forward || facts.stores,
        Err(_) => true,
    };
    if stalled && loads.each < MAX_FAILED_FORWARDING_CYCLES {
        return false;
    }
    // Without a chain to compare with, only what no chain makes: waits for far memory.
    facts.chain.is_ok()
        || loads.each >= MAX_FAILED_FORWARDING_CYCLES
            && loads.share * measured.value >= MIN_FAR_MEMORY_CYCLES
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
    if branches.excess < MIN_BRANCH_EXCESS * excess {
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
    if facts.loads.share >= MAX_TIME_AT_LOADS {
        text.push_str(&format!(
            "; {} of the time is at loads",
            percent(facts.loads.share)
        ));
    }
    if facts.branches.share >= MIN_REPORTED_BRANCH_TIME {
        text.push_str(&format!(
            "; {} is at branches with varying outcome",
            percent(facts.branches.share)
        ));
    }
    text
}
