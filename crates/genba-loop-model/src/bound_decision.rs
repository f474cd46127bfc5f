//! Which bound explains the measured cycles.
//!
//! The rules prefer silence to a wrong name: a bound is named only where its figure reaches
//! the measured one within [`MIN_MODEL_OF_MEASURED`] and no other figure contradicts.

use genba_model::{
    BranchOutcome, Estimate, InstructionPlace, LoopChain, LoopModelFigures, LoopThroughput,
    LoopVerdict, NoLoopChain,
};

use super::evidence::Evidence;
use crate::constants::{
    MAX_FAILED_FORWARDING_CYCLES, MAX_TIME_AT_LOADS, MIN_BRANCH_EXCESS,
    MIN_CHAIN_BESIDE_MISPREDICTION, MIN_CHAIN_LOW, MIN_EXCESS, MIN_EXCESS_OF_SHORT_LOOP,
    MIN_FAR_MEMORY_CYCLES, MIN_LOAD_EXCESS, MIN_MODEL_LOW_OF_HIGH, MIN_MODEL_OF_MEASURED,
    MIN_REPORTED_BRANCH_TIME, MIN_SAMPLES, MIN_TIME_AT_LOADS, MIN_TIME_NEAR_BRANCHES, MIN_TRIPS,
    PENALTY_SPREAD, UNDECIDED_RANGE,
};

/// What is known of a chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    pub figure: LoopChain,
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
    pub chain: Result<Chain, NoLoopChain>,
    pub throughput: Option<LoopThroughput>,
    pub loads: Evidence,
    pub branches: Evidence,
    pub penalty: Estimate,
    /// Whether the loop writes memory otherwise than to the stack.
    pub stores: bool,
    /// Memory levels with their latencies.
    pub levels: Vec<(&'static str, Estimate)>,
    /// The instruction with most time among loads and among branches.
    pub load: InstructionPlace,
    pub branch: InstructionPlace,
}

/// Names the bound, with the figures that it rests on.
pub(super) fn decide(facts: &Facts) -> LoopVerdict {
    let Some(measured) = &facts.measured else {
        return LoopVerdict::NotMeasured {
            model: model(facts),
        };
    };
    if facts.samples < MIN_SAMPLES {
        return LoopVerdict::FewSamples {
            samples: facts.samples,
            model: model(facts),
        };
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
    match short {
        Some(trips) => LoopVerdict::FewIterations {
            trips,
            model: model(facts),
        },
        None => unexplained(facts, measured),
    }
}

/// A model that asks for more than was measured does not hold here.
fn contradiction(facts: &Facts, measured: &Estimate) -> Option<LoopVerdict> {
    let most = measured.high / MIN_MODEL_OF_MEASURED;
    if let Ok(chain) = &facts.chain {
        // Iterations of different entries overlap: only those that iterate wait.
        let waiting = facts.trips.map_or(1.0, |trips| 1.0 - 1.0 / trips.max(1.0));
        if chain.figure.cycles.low * waiting > most {
            return Some(LoopVerdict::ChainAboveMeasured {
                chain: chain.figure.clone(),
                measured: *measured,
            });
        }
    }
    let throughput = facts.throughput.as_ref()?;
    (throughput.cycles.low > most).then(|| LoopVerdict::ThroughputAboveMeasured {
        throughput: throughput.clone(),
        measured: *measured,
    })
}

fn by_model(facts: &Facts, measured: &Estimate) -> Option<LoopVerdict> {
    let chain = facts
        .chain
        .as_ref()
        .ok()
        .filter(|chain| chain_reaches(facts, chain, measured));
    let throughput = facts.throughput.as_ref().filter(|t| {
        t.cycles.high >= MIN_MODEL_OF_MEASURED * measured.low
            && t.cycles.low >= MIN_MODEL_OF_MEASURED * MIN_MODEL_LOW_OF_HIGH * measured.low
    });
    let chain_value = chain.map_or(0.0, |chain| chain.figure.cycles.value);
    let throughput_value = throughput.map_or(0.0, |t| t.cycles.value);
    if let Some(chain) = chain
        && chain_value >= throughput_value
    {
        return Some(LoopVerdict::Latency {
            chain: chain.figure.clone(),
            measured: *measured,
            throughput: throughput.cloned(),
        });
    }
    Some(LoopVerdict::Throughput {
        throughput: throughput?.clone(),
        measured: *measured,
        chain_cycles: facts.chain.as_ref().ok().map(|chain| chain.figure.cycles),
    })
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
        return reaches(chain.figure.cycles.low);
    }
    let cycles = &chain.figure.cycles;
    reaches(cycles.high) && cycles.low >= MIN_CHAIN_LOW * measured.value
}

/// Time that stands at loads or at branches, beyond what the model has.
fn by_evidence(facts: &Facts, measured: &Estimate) -> Option<LoopVerdict> {
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
        (true, false) => Some(waits_for_memory(facts, measured)),
        (false, true) => Some(mispredicts(facts, measured)),
        (true, true) => Some(LoopVerdict::LoadsAndBranches {
            measured: *measured,
            loads: facts.loads.share,
            branches: facts.branches.share,
        }),
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
    let chain = facts
        .chain
        .as_ref()
        .map_or(0.0, |chain| chain.figure.cycles.high);
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

fn waits_for_memory(facts: &Facts, measured: &Estimate) -> LoopVerdict {
    let loads = &facts.loads;
    LoopVerdict::Memory {
        measured: *measured,
        load: facts.load.clone(),
        share: loads.most.map_or(0.0, |(_, share)| share),
        cycles_each: loads.each,
        l1d_hit_cycles: loads.usual,
        levels: facts
            .levels
            .iter()
            .map(|(name, latency)| ((*name).to_owned(), latency.value))
            .collect(),
    }
}

fn mispredicts(facts: &Facts, measured: &Estimate) -> LoopVerdict {
    let branches = &facts.branches;
    let branch = BranchOutcome {
        instruction: facts.branch.clone(),
        taken: branches.usual,
        penalty_cycles: facts.penalty.value,
    };
    let excess = measured.value - floor(facts);
    if branches.excess < MIN_BRANCH_EXCESS * excess {
        let wrong = excess / (facts.penalty.value * branches.times).max(f64::MIN_POSITIVE);
        return LoopVerdict::MispredictionsSuffice {
            measured: *measured,
            branch,
            mispredicted: wrong.min(branches.usual.min(1.0 - branches.usual)),
            unexplained: excess,
        };
    }
    LoopVerdict::Branch {
        measured: *measured,
        branch,
        share: branches.most.map_or(0.0, |(_, share)| share),
    }
}

/// What the model gives, as far as it does.
fn model(facts: &Facts) -> LoopModelFigures {
    LoopModelFigures {
        chain: match &facts.chain {
            Ok(chain) => Ok(chain.figure.clone()),
            Err(reason) => Err(reason.clone()),
        },
        throughput: facts.throughput.clone(),
    }
}

fn unexplained(facts: &Facts, measured: &Estimate) -> LoopVerdict {
    let chain = facts.chain.as_ref().ok();
    let share_from = |share: f64, least: f64| (share >= least).then_some(share);
    LoopVerdict::Unexplained {
        measured: *measured,
        model: model(facts),
        unknown_form: chain.and_then(|chain| chain.unknown.clone()),
        paths_differ: chain.is_some_and(|chain| chain.various),
        forwarding_fails: chain.is_some_and(|chain| chain.partial_forward),
        at_loads: share_from(facts.loads.share, MAX_TIME_AT_LOADS),
        at_branches: share_from(facts.branches.share, MIN_REPORTED_BRANCH_TIME),
    }
}
