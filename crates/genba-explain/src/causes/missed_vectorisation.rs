//! `missed-vectorisation`: scalar arithmetic along arrays.
//!
//! **Signature.** An innermost loop with many iterations without calls and without unpredictable
//! branches; all its loads and stores advance by one element, have a fixed address or a stride of a
//! few elements; it computes on what it loads; its only loop-carried values are counters,
//! integer sums, and largest or smallest integers; its measured cycles are those of its throughput, or not far from them and its loads were observed
//! to hit; and it has no vector arithmetic.
//! Sums may be kept in memory ([`crate::patterns::memory_sums`]): then the cycles may be those of
//! store forwarding from one iteration to the next. Or they go round in registers and are stored each time.
//!
//! **Confirmation.** The compiler's own remarks (`-fopt-info-vec-missed`, `-Rpass-missed`).
//!
//! **Gain.** The cycles of an iteration divided by the elements of a vector of 16 bytes, without
//! the repeated loads.
//!
//! **Source.** gcc's and LLVM's documentation of their vectorisers and cost models (gcc 12 and
//! later at -O2: `-fvect-cost-model=very-cheap`).

use genba_code::{DataFlow, Flow, Location, STACK_POINTER, Shortcut};
use genba_model::{Cause, Confirmation, Estimate, Fix, LoopFact, ModelCase};

use crate::candidate::Candidate;
use crate::constants::counts::{EXIT_COUNT_TOLERANCE, MIN_TRIPS_TO_VECTORISE, RARE_OUTCOME};
use crate::constants::gains::{MAX_LOOP_RESIDUAL, UNROLL_FACTOR, VECTOR_RESIDUAL};
use crate::constants::model_fit::{
    MAX_CYCLES_OF_SCALAR_MODEL, MAX_CYCLES_OF_SCALAR_MODEL_WITH_HITS,
};
use crate::constants::processor::{
    ADDITION_CYCLES, MAX_ALIASING_DISTANCE_BYTES, MAX_ELEMENT_BYTES, MAX_NEAR_ELEMENTS,
    STORE_FORWARDING_CYCLES, VECTOR_BYTES,
};
use crate::constants::registers::{FLAGS, VECTORS, XMM0};
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::latency_chain::overhead;
use crate::patterns::memory_streams::{bounded, loads_hit, opened};
use crate::patterns::memory_sums::{MemorySum, memory_sum, stored_sum};
use crate::patterns::value_steps::{Step, address_step, value_step};
use genba_loop_model::Change;

/// Finds hot loops of scalar arithmetic on consecutive elements that run at their throughput.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let mut uses: Option<(usize, Uses)> = None;
    let mut found = Vec::new();
    for one in hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP) {
        if !one.input.own
            || one.has_opaque()
            || !one.is_long(MIN_TRIPS_TO_VECTORISE)
            || !is_straight(&one)
        {
            continue;
        }
        if uses.as_ref().is_none_or(|known| known.0 != one.function) {
            uses = Some((one.function, Uses::of(one.input)));
        }
        let Some((_, uses)) = &uses else { continue };
        if let Some(work) = work(&one, uses) {
            found.extend(candidate(input, &one, &work));
        }
    }
    found
}

/// What a loop does to its elements.
struct Work {
    /// What the finding names.
    site: Vec<usize>,
    /// Bytes of an element in memory: the widest.
    bytes: u16,
    /// Loads whose address stays: what the compiler reads again because a store may change it.
    reloads: Vec<usize>,
    /// Sums that the loop keeps in memory, for the same reason.
    kept: Vec<MemorySum>,
    /// Stores of sums that it keeps in registers, likewise, with the additions.
    stored: Vec<(usize, usize)>,
}

/// Whether all branches go one way.
fn is_straight(one: &HotLoop<'_>) -> bool {
    let function = one.input;
    one.members.iter().all(|&at| {
        if !matches!(function.code[at].flow, Flow::CondJump(_)) {
            return true;
        }
        let all = function.counts[at] as f64;
        let Some(taken) = function.taken.get(at).copied().flatten() else {
            return all == 0.0;
        };
        let rate = taken as f64 / all.max(1.0);
        let leaves = one.trips.map_or(0.0, |trips| 1.0 / trips.max(1.0));
        all == 0.0
            || !(RARE_OUTCOME.max(leaves * EXIT_COUNT_TOLERANCE)
                ..=1.0 - RARE_OUTCOME.max(leaves * EXIT_COUNT_TOLERANCE))
                .contains(&rate)
    })
}

fn work(one: &HotLoop<'_>, uses: &Uses) -> Option<Work> {
    let function = one.input;
    let mut work = Work {
        site: Vec::new(),
        bytes: 0,
        reloads: Vec::new(),
        kept: Vec::new(),
        stored: Vec::new(),
    };
    let (mut computes, mut loads) = (false, false);
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for at in one.usual() {
        let data = &function.data[at];
        if !is_scalar(function, at) {
            return None;
        }
        let addresses = function.values.addresses(at);
        for (access, address) in data.memory.iter().zip(addresses) {
            let address = (*address)?;
            if access.stack || access.base == Some(STACK_POINTER) {
                return None;
            }
            let Step::Constant(step) = address_step(function, one.index, &address)? else {
                return None;
            };
            if step == 0 {
                if access.writes {
                    match memory_sum(one, uses, at) {
                        Some(sum) => work.kept.push(sum),
                        None => work.stored.push((at, stored_sum(one, at)?)),
                    }
                } else {
                    work.reloads.push(at);
                }
                continue;
            }
            let near = step.unsigned_abs() <= MAX_NEAR_ELEMENTS * u64::from(access.bytes);
            if !near || access.bytes > MAX_ELEMENT_BYTES {
                return None;
            }
            work.bytes = work.bytes.max(access.bytes);
            if access.writes {
                // Unrolled loops, and every second element, are left alone.
                if step.unsigned_abs() != u64::from(access.bytes) {
                    return None;
                }
                work.site.push(at);
                written.push(address);
            }
            if access.reads {
                loads = true;
                read.push(address);
            }
        }
        computes |= is_arithmetic(function, one, at);
    }
    let stores: Vec<usize> = work.stored.iter().map(|sum| sum.0).collect();
    let carried = carried(one, uses, &stores)?;
    if work.stored.iter().any(|sum| !carried.contains(&sum.1)) {
        return None;
    }
    computes |= !carried.is_empty();
    work.site.extend(carried);
    work.site.extend(work.kept.iter().map(|sum| sum.addition));
    let beside = work.kept.iter().flat_map(|sum| &sum.beside);
    work.reloads.extend(beside.copied());
    work.reloads.sort_unstable();
    work.reloads.dedup();
    let recurs = read
        .iter()
        .any(|load| written.iter().any(|store| feeds(store, load)));
    (loads && computes && !recurs && !work.site.is_empty() && work.bytes > 0).then_some(work)
}

/// Whether what a store wrote is what a load reads some iterations later.
fn feeds(store: &Address, load: &Address) -> bool {
    let apart = store.base.offset.wrapping_sub(load.base.offset);
    store.base.number == load.base.number
        && store.index == load.index
        && apart != 0
        && apart.unsigned_abs() < MAX_ALIASING_DISTANCE_BYTES
}

/// Whether an instruction is one of a scalar loop that vectors could do.
fn is_scalar(function: &FunctionInput, at: usize) -> bool {
    let data = &function.data[at];
    if data.shortcut != Shortcut::None {
        return true;
    }
    let form = data.form.as_str();
    let name = form.split(' ').next().unwrap_or_default();
    if matches!(
        name,
        "div"
            | "idiv"
            | "mul"
            | "mulx"
            | "adc"
            | "sbb"
            | "crc32"
            | "pdep"
            | "pext"
            | "popcnt"
            | "bsf"
            | "bsr"
            | "tzcnt"
            | "lzcnt"
    ) || name.starts_with("rep")
        || form.starts_with("lock")
    {
        return false;
    }
    if !(form.contains("mm") || data.writes & VECTORS != 0) {
        return true;
    }
    let stem = name.strip_prefix('v').unwrap_or(name);
    stem.ends_with("ss")
        || stem.ends_with("sd")
        || stem.starts_with("cvt")
        || matches!(
            stem,
            "movaps"
                | "movapd"
                | "movd"
                | "movq"
                | "xorps"
                | "andps"
                | "andpd"
                | "xorpd"
                | "andnps"
                | "orps"
                | "unpcklps"
                | "unpcklpd"
        )
}

/// Whether an instruction computes with data: not counting, comparing or moving.
fn is_arithmetic(function: &FunctionInput, one: &HotLoop<'_>, at: usize) -> bool {
    let data = &function.data[at];
    let name = data.form.split(' ').next().unwrap_or_default();
    let stem = name.strip_prefix('v').unwrap_or(name);
    let float = [
        "add", "sub", "mul", "div", "sqrt", "min", "max", "fmadd", "fmsub", "fnmadd",
    ]
    .iter()
    .any(|start| {
        stem.starts_with(start) && (stem.ends_with('s') || stem.ends_with('d')) && stem.len() > 4
    });
    let integer = matches!(
        name,
        "add"
            | "sub"
            | "imul"
            | "and"
            | "or"
            | "xor"
            | "shl"
            | "shr"
            | "sar"
            | "not"
            | "neg"
            | "lea"
            | "cmovl"
            | "cmovg"
    );
    if !(float || integer) || data.shortcut != Shortcut::None {
        return false;
    }
    // Counters and addresses are not data.
    let counts = function.values.writes(at).iter().any(|&(location, value)| {
        location < XMM0 && value_step(function, one.index, value).is_some()
    });
    !counts
}

/// Instructions that keep the rest of a vector register.
const KEEP: [&str; 12] = [
    "cvtsi2sd",
    "cvtsi2ss",
    "cvtss2sd",
    "cvtsd2ss",
    "sqrtsd",
    "sqrtss",
    "rcpss",
    "rsqrtss",
    "roundsd",
    "roundss",
    "cvtsi2sdq",
    "cvtsi2ssq",
];

/// Whether an instruction leaves the upper half of its target as it was, and needs nothing else
/// of it.
fn keeps_upper_half(data: &DataFlow) -> bool {
    let name = data.form.split(' ').next().unwrap_or_default();
    let keeps = KEEP.contains(&name.strip_prefix('v').unwrap_or(name))
        && data.writes.count_ones() == 1
        && data.data_reads & data.writes != 0;
    // `sqrtsd xmm0, xmm0` needs what it keeps.
    let own = data.data_reads == data.writes && data.memory.is_empty();
    keeps && !own
}

/// Additions and conditional moves that make the integer sums, and the largest or smallest integers, that the loop carries;
/// `None` if it carries anything else but counters. These stores may put the sums elsewhere as well.
fn carried(one: &HotLoop<'_>, uses: &Uses, stores: &[usize]) -> Option<Vec<usize>> {
    let function = one.input;
    let head = function.flow.loops()[one.index as usize].head;
    let mut found = Vec::new();
    for at in one.usual() {
        for &(location, value) in function.values.reads(at) {
            let carried = function.values.origin(value) == Origin::Join(head) && location < FLAGS;
            if !carried || value_step(function, one.index, value).is_some() || found.contains(&at) {
                continue;
            }
            // The upper half that a conversion leaves as it was is not part of what is computed.
            if keeps_upper_half(&function.data[at]) && function.data[at].writes >> location & 1 == 1
            {
                continue;
            }
            if let Some(keeps) = keeps_extreme(one, uses, (location, value)) {
                if !found.contains(&keeps) {
                    found.push(keeps);
                }
                continue;
            }
            let data = &function.data[at];
            let name = data.form.split(' ').next().unwrap_or_default();
            let adds = matches!(name, "add" | "sub" | "or" | "and" | "xor");
            let into = adds && data.writes & (1 << location) != 0 && !data.stores();
            let inside =
                |&reader: &usize| one.members.contains(&reader) && !stores.contains(&reader);
            let all: Vec<usize> = uses.readers(value).into_iter().filter(inside).collect();
            // What it makes goes into the next iteration and nowhere else.
            let made = function.values.written(at, location)?;
            let comes_round = function.values.met(value).contains(&made);
            let next: Vec<usize> = uses.readers(made).into_iter().filter(inside).collect();
            if !into || !comes_round || all != [at] || next.iter().any(|&other| other != at) {
                return None;
            }
            found.push(at);
        }
    }
    Some(found)
}

/// The conditional move that keeps the larger or the smaller one of a carried value and another one, with which it was just
/// compared; `None` if the loop does anything else with the carried value.
fn keeps_extreme(
    one: &HotLoop<'_>,
    uses: &Uses,
    (location, value): (Location, Value),
) -> Option<usize> {
    let function = one.input;
    let inside = |made: Value| -> Vec<usize> {
        let mut readers = uses.readers(made);
        readers.retain(|reader| one.members.contains(reader));
        readers
    };
    let readers = inside(value);
    let named = |start: &str| {
        let mut all = readers.iter().copied();
        all.find(|&at| function.code[at].mnemonic.starts_with(start))
    };
    let (compares, keeps) = (named("cmp")?, named("cmov")?);
    let other = |at: usize| -> Option<Value> {
        let mut all = (function.values.reads(at).iter())
            .filter(|one| one.0 < FLAGS && one.1 != value)
            .map(|one| one.1);
        all.next().filter(|_| all.next().is_none())
    };
    let by_it = (function.values.reads(keeps).iter())
        .filter(|one| one.0 >= FLAGS)
        .all(|one| function.values.origin(one.1) == Origin::Instruction(compares as u32));
    let made = function.values.written(keeps, location)?;
    let only = |all: &[usize]| all.iter().all(|at| [compares, keeps].contains(at));
    let fits = by_it
        && other(compares)? == other(keeps)?
        && function.values.met(value).contains(&made)
        && only(&readers)
        && only(&inside(made));
    fits.then_some(keeps)
}

fn candidate(input: &AnalysisInput, one: &HotLoop<'_>, work: &Work) -> Option<Candidate> {
    let function = one.input;
    let now = function.loop_model(&input.program.costs, one.index, &Change::default())?;
    let iteration = now.cycles()?.value;
    // What is stored in memory comes back from there, and is added to.
    let round_trip = STORE_FORWARDING_CYCLES + ADDITION_CYCLES;
    let waits = match work.kept.is_empty() {
        true => iteration,
        false => iteration.max(round_trip),
    };
    // Held up by something else: vectors would not help.
    let held_up = one.cycles.value > MAX_CYCLES_OF_SCALAR_MODEL * waits;
    if held_up
        && (one.cycles.value > MAX_CYCLES_OF_SCALAR_MODEL_WITH_HITS * waits
            || !loads_hit(input, one))
    {
        return None;
    }
    let lanes = VECTOR_BYTES / f64::from(work.bytes.clamp(2, MAX_ELEMENT_BYTES));
    // An addition in memory is one in a register: next to nothing.
    let additions = work.kept.iter().map(|sum| sum.addition);
    let in_memory = additions.filter(|&at| function.data[at].stores());
    let change = Change {
        gone: (work.reloads.iter().copied())
            .chain(in_memory)
            .chain(work.stored.iter().map(|sum| sum.0))
            .collect(),
        lanes,
        ..Change::default()
    };
    let gain = function.loop_after(&input.program.costs, one.index, &change)?;
    // Counting is done once a vector, and unrolling may spare more of it.
    let most = Change {
        fewer: overhead(one)
            .into_iter()
            .map(|at| (at, UNROLL_FACTOR))
            .collect(),
        lanes: VECTOR_BYTES / f64::from(work.bytes),
        ..change.clone()
    };
    let best = function.loop_after(&input.program.costs, one.index, &most)?;
    let gcc = function
        .producer
        .as_deref()
        .is_some_and(|p| p.starts_with("GNU "));
    let o2 = function
        .producer
        .as_deref()
        .and_then(|p| p.split_whitespace().rfind(|word| word.starts_with("-O")))
        .is_some_and(|level| matches!(level, "-O1" | "-O2" | "-Os" | "-O"));
    let fix = Fix::Vectorise {
        raise_level: gcc && o2,
        hoist_loads: !(work.reloads.is_empty() && work.kept.is_empty() && work.stored.is_empty()),
    };
    let mut found = Candidate::new(
        Cause::MissedVectorisation,
        Some(one.function),
        work.site.clone(),
        fix,
    );
    found.affected = one.members.clone();
    let value = (VECTOR_RESIDUAL.0 * gain.residual_fraction.value).min(MAX_LOOP_RESIDUAL);
    found.residual_fraction = Estimate {
        value,
        low: best.residual_fraction.low.min(value),
        high: (VECTOR_RESIDUAL.1 * value).min(1.0),
    };
    if !work.kept.is_empty() {
        // The excess is the round trip, which goes: in a register at least, with vectors at best.
        let scalar = Change {
            gone: change.gone,
            ..Change::default()
        };
        let scalar = function.loop_model(&input.program.costs, one.index, &scalar)?;
        let value = (scalar.cycles()?.value / one.cycles.value).min(MAX_LOOP_RESIDUAL);
        found.residual_fraction = Estimate {
            value,
            low: best.residual_fraction.low.min(value),
            high: (VECTOR_RESIDUAL.1 * value).min(1.0),
        };
    }
    if held_up {
        // What the model does not know may be a part of each element's time, or stay.
        let gone = now.cycles()?.value - gain.after.cycles()?.value;
        let stays = 1.0 - gone / one.cycles.value;
        found.residual_fraction = opened(found.residual_fraction, stays);
    }
    found.residual_fraction = bounded(input, one, found.residual_fraction);
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found.confirmation = Confirmation::VectorisationRemarks;
    found = found
        .fact(LoopFact::Time {
            share: None,
            iterations: one.cost.iterations,
            cycles: one.cycles.value,
            trip_count: None,
        })
        .fact(LoopFact::ScalarElements { bytes: work.bytes });
    if !work.reloads.is_empty() {
        found = found.fact(LoopFact::RepeatedLoads {
            loads: work.reloads.len(),
        });
    }
    if !work.kept.is_empty() {
        found = found.fact(LoopFact::SumsInMemory {
            sums: work.kept.len(),
            cycles: round_trip,
        });
    }
    if !work.stored.is_empty() {
        found = found.fact(LoopFact::StoredSums {
            sums: work.stored.len(),
        });
    }
    Some(found.fact(LoopFact::Model {
        cycles: gain.measured.value,
        modelled: gain.iteration,
        case: ModelCase::Vectors { elements: lanes },
    }))
}
