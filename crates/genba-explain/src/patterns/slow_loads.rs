//! Findings about loads that wait: what `pointer-chase`, `strided-access` and `cache-miss` share.

use genba_code::STACK_POINTER;
use genba_model::{
    AddressPattern, Cause, Estimate, EvidenceSource, Fix, LoadFact, LoopFact, MemoryLevel,
    ModelCase,
};

use crate::candidate::Candidate;
use crate::causes::store_forward_stall::stalled_loads;
use crate::constants::counts::{
    MIN_FETCHES_OF_LINE, MIN_MISS_RATE, MIN_MISS_RATE_STRIDES, MIN_TRIPS_FOR_ADDRESS_PATTERN,
};
use crate::constants::model_fit::{
    MIN_CHASE_OF_L1D, MIN_DOMINANT_LOAD, MIN_FAR_LOAD, MIN_FAR_LOAD_OUTSIDE_LOOPS,
    MIN_LOAD_EXCESS_PART, MIN_STRIDED_LOAD,
};
use crate::constants::processor::{CACHE_LINE_BYTES, MEMORY_CYCLES};
use crate::constants::time_shares::MIN_SHARE_OF_STALLED_LOADS_IN_LOOP;
use crate::input::analysis_input::{AnalysisInput, EventCounts};
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::load_stalls::{Pattern, Stall, misprediction_cycles, stalls};
use crate::patterns::observed_sites::ObservedSites;
use genba_loop_model::{Change, operation};

/// Kinds, as the causes divide them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chase,
    Strides,
    Scattered,
}

/// Loads that wait and belong together: of one loop, or of a function outside of loops.
pub(crate) struct Slow {
    pub function: usize,
    pub kind: Kind,
    /// Most time first.
    pub list: Vec<Stall>,
    /// The loop's iteration, where it can be modelled.
    pub iteration: Option<Iteration>,
}

/// An iteration of a loop whose loads wait, cycles.
pub(crate) struct Iteration {
    pub index: u32,
    pub measured: f64,
    /// The model if all loads hit L1d.
    pub model: f64,
    /// The same without its chain.
    pub free: f64,
    /// What neither the model nor branch mispredictions explain.
    pub excess: f64,
}

/// Whether stalled loads are found, so that counting their L1d misses would help.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    !all(input).is_empty()
}

/// All of a kind.
pub(crate) fn slow(input: &AnalysisInput, wanted: Kind) -> Vec<Slow> {
    let mut found = all(input);
    found.retain(|slow| slow.kind == wanted && misses(input, slow));
    found
}

/// Whether these loads miss L1d, where that was counted.
fn misses(input: &AnalysisInput, slow: &Slow) -> bool {
    let Some((_, seen)) = missed(input, slow) else {
        return true;
    };
    let function = &input.functions[slow.function];
    let loads: u64 = slow.list.iter().map(|one| function.counts[one.at]).sum();
    // What prefetching brings in time is not a miss.
    let least = match (slow.kind, slow.list[0].pattern) {
        // Lines that stay until the next element of their row miss once for all their elements.
        (Kind::Strides, Pattern::ColumnOfRows(bytes)) => {
            let once = bytes as f64 / CACHE_LINE_BYTES as f64;
            MIN_MISS_RATE_STRIDES.max(MIN_FETCHES_OF_LINE * once)
        }
        (Kind::Strides, _) => MIN_MISS_RATE_STRIDES,
        (Kind::Chase | Kind::Scattered, _) => MIN_MISS_RATE,
    };
    seen >= least * loads as f64
}

/// L1d misses of a loop's loads, or of a function's outside of loops.
fn missed<'a>(input: &'a AnalysisInput, slow: &Slow) -> Option<(&'a EventCounts, f64)> {
    let events = input.program.follow_up.cache_misses.as_ref()?;
    let function = &input.functions[slow.function];
    // Bursts know the instruction; counted and simulated events come up to some instructions late.
    if events.source == EvidenceSource::Observed {
        let mut loads: Vec<usize> = slow.list.iter().map(|one| one.at).collect();
        loads.sort_unstable();
        return Some((events, events.times(slow.function, &loads)));
    }
    let seen = match &slow.iteration {
        Some(iteration) => {
            events.times(slow.function, &function.loop_instructions(iteration.index))
        }
        None => {
            let near: Vec<usize> = (0..function.code.len()).collect();
            events.times(slow.function, &near)
        }
    };
    Some((events, seen))
}

fn all(input: &AnalysisInput) -> Vec<Slow> {
    let loops = hot_loops(input, MIN_SHARE_OF_STALLED_LOADS_IN_LOOP);
    let mut found = Vec::new();
    let sites = ObservedSites::of(input);
    for (number, function) in input.functions.iter().enumerate() {
        if function.share.value < MIN_SHARE_OF_STALLED_LOADS_IN_LOOP || !function.can_be_changed() {
            continue;
        }
        let mut groups: Vec<(Option<u32>, Vec<Stall>)> = Vec::new();
        let all = stalls(input, function);
        let forwarding = stalled_loads(input, sites.as_ref(), number, &all);
        for one in all {
            let memory = &function.data[one.at].memory;
            if memory
                .iter()
                .any(|access| access.base == Some(STACK_POINTER))
            {
                continue;
            }
            if forwarding.contains(&one.at) && one.each < MEMORY_CYCLES {
                continue;
            }
            match groups.iter_mut().find(|group| group.0 == one.around) {
                Some(group) => group.1.push(one),
                None => groups.push((one.around, vec![one])),
            }
        }
        for (around, list) in groups {
            let around = around.and_then(|index| {
                let mut all = loops.iter();
                all.find(|one| one.function == number && one.index == index)
            });
            let slow = match around.and_then(|one| Some((one, iteration(input, one)?))) {
                Some((one, iteration)) => in_loop(one, iteration, list),
                None => outside(number, list),
            };
            found.extend(slow.filter(|slow| {
                let share: f64 = slow.list.iter().map(|one| one.share).sum();
                share >= MIN_SHARE_OF_STALLED_LOADS_IN_LOOP
            }));
        }
    }
    found
}

/// A loop's iteration against its model.
fn iteration(input: &AnalysisInput, one: &HotLoop<'_>) -> Option<Iteration> {
    let costs = &input.program.costs;
    let model = (one.input).loop_model(costs, one.index, &Change::default())?;
    model.chain?;
    let measured = one.cycles.value;
    let free = model.throughput?.value;
    let model = model.cycles()?.value;
    Some(Iteration {
        index: one.index,
        measured,
        model,
        free,
        excess: measured - model - misprediction_cycles(input, one),
    })
}

/// The loads that explain why an iteration takes more than its model.
fn in_loop(one: &HotLoop<'_>, iteration: Iteration, mut list: Vec<Stall>) -> Option<Slow> {
    if iteration.excess < MIN_LOAD_EXCESS_PART * iteration.measured || iteration.excess < 1.0 {
        return None;
    }
    let short = !one.is_long(MIN_TRIPS_FOR_ADDRESS_PATTERN);
    list.retain(|load| {
        let time = load.share / one.share;
        match load.pattern {
            Pattern::Chase => load.each >= MIN_CHASE_OF_L1D * load.usual,
            // Prefetching hides what such loads wait, not that each takes a line.
            Pattern::Strides(_) | Pattern::ColumnOfRows(_) if !short => {
                load.each >= MIN_STRIDED_LOAD.0 && time >= MIN_STRIDED_LOAD.1
            }
            Pattern::Strides(_) | Pattern::ColumnOfRows(_) | Pattern::Scattered => {
                let most = load.each >= MIN_DOMINANT_LOAD.0
                    && time >= MIN_DOMINANT_LOAD.1
                    && iteration.excess >= MIN_DOMINANT_LOAD.2 * iteration.measured;
                most || load.each >= MIN_FAR_LOAD.0 && time >= MIN_FAR_LOAD.1
            }
            Pattern::Streams | Pattern::Fixed => false,
        }
    });
    let kind = match list.first()?.pattern {
        Pattern::Chase if !short => Kind::Chase,
        Pattern::Strides(_) | Pattern::ColumnOfRows(_) if !short => Kind::Strides,
        _ => Kind::Scattered,
    };
    Some(Slow {
        function: one.function,
        kind,
        list,
        iteration: Some(iteration),
    })
}

/// Loads that wait far longer than anything but memory explains.
fn outside(function: usize, mut list: Vec<Stall>) -> Option<Slow> {
    list.retain(|load| {
        let far =
            load.each >= MIN_FAR_LOAD_OUTSIDE_LOOPS.0 * load.usual + MIN_FAR_LOAD_OUTSIDE_LOOPS.1;
        far && !matches!(load.pattern, Pattern::Streams | Pattern::Fixed)
    });
    let kind = match list.first()?.pattern {
        Pattern::Chase => Kind::Chase,
        Pattern::Strides(_) | Pattern::ColumnOfRows(_) => Kind::Strides,
        _ => Kind::Scattered,
    };
    Some(Slow {
        function,
        kind,
        list,
        iteration: None,
    })
}

impl Slow {
    /// What makes the address of the hottest of these loads.
    pub(crate) fn address(&self, input: &AnalysisInput, pattern: AddressPattern) -> LoadFact {
        let memory = &input.functions[self.function].data[self.list[0].at].memory;
        let read = memory.iter().find(|access| access.reads);
        LoadFact::Address {
            pattern,
            bytes: read.map_or(0, |access| access.bytes),
        }
    }
}

/// The candidate of any of the three causes: `goes` is the share of the waiting that the fix
/// likely removes; `whole` if it removes the chain as well.
pub(crate) fn candidate(
    input: &AnalysisInput,
    cause: Cause,
    fix: Fix,
    slow: &Slow,
    goes: Estimate,
    whole: bool,
) -> Candidate {
    let function = &input.functions[slow.function];
    let first = &slow.list[0];
    let mut site = vec![first.at];
    site.extend(slow.list[1..].iter().map(|one| one.at));
    let mut found = Candidate::new(cause, Some(slow.function), site, fix);
    let mut modelled = None;
    let residual_fraction = match &slow.iteration {
        Some(iteration) => {
            found.affected = function.loop_instructions(iteration.index);
            modelled = Some(LoopFact::Model {
                cycles: iteration.measured,
                modelled: Estimate::exact(iteration.model),
                case: ModelCase::LoadsHitL1d,
            });
            let waiting = iteration.excess / iteration.measured;
            let least = if whole {
                iteration.free
            } else {
                iteration.model
            };
            Estimate {
                value: 1.0 - waiting * goes.value,
                low: (least / iteration.measured).min(1.0 - waiting * goes.high),
                high: 1.0 - waiting * goes.low,
            }
        }
        None => {
            let times = |one: &Stall| function.counts[one.at] as f64;
            let sum = |of: &dyn Fn(&Stall) -> f64| -> f64 {
                slow.list.iter().map(|one| of(one) * times(one)).sum()
            };
            found.affected = slow.list.iter().flat_map(|one| one.group.clone()).collect();
            found.affected.sort_unstable();
            found.affected.dedup();
            let waited = sum(&|one| one.each).max(1.0);
            let waiting = (1.0 - sum(&|one| one.usual) / waited).clamp(0.0, 1.0);
            Estimate {
                value: 1.0 - waiting * goes.value,
                low: 1.0 - waiting * goes.high,
                high: 1.0 - waiting * goes.low,
            }
        }
    };
    found.residual_fraction = residual_fraction;
    found.executions = Some(function.counts[first.at]);
    found.cycles = Some(Estimate::exact(first.each));
    let costs = &input.program.costs;
    let levels = operation::LEVELS.iter().filter_map(|(name, forms)| {
        Some(MemoryLevel {
            name: (*name).to_owned(),
            cycles: costs.latency(forms[0])?.value,
        })
    });
    let misses = missed(input, slow).map(|(events, times)| {
        let loads: u64 = slow.list.iter().map(|one| function.counts[one.at]).sum();
        LoadFact::L1dMisses {
            share: (times / loads.max(1) as f64).min(1.0),
            source: events.source,
        }
    });
    found
        .fact(LoadFact::Wait {
            instruction: function.code[first.at].text.clone(),
            share: first.share,
            cycles: first.each,
            executions: function.counts[first.at],
            l1d_cycles: first.usual,
            levels: levels.collect(),
        })
        .facts(misses)
        .facts(modelled)
}
