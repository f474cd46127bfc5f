//! Part of `fp-latency-chain` and `integer-latency-chain`: a number that each iteration loads, computes on and stores again.
//!
//! **Signature.** In an innermost loop an instruction adds to, multiplies or compares what the same iteration loads from
//! an address that stays, as the code says or bursts saw, and the result is stored there. The measured cycles are
//! those of the way through memory: a store, the load of the next iteration that waits for it, and the operation.
//! Compilers leave it in memory where another store, or a load through another pointer, might mean the same place.
//!
//! **Near misses.** Places in the frame (no register was left); tables of counts, whose addresses change; loops that are
//! faster than the way through memory, which some processors rename; loops that take longer for other reasons.
//!
//! **Gain.** The chain with the number in a register; several of them, and vectors, bound it from below.
//!
//! **Source.** A. Fog, "Optimizing software in C++", section 8.3 ("Pointer aliasing"); Intel, "64 and IA-32
//! Architectures Optimization Reference Manual", "Store-to-load forwarding".

use genba_loop_model::Change;
use genba_model::{Cause, Estimate, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::constants::counts::MIN_TRIPS_TO_SPLIT_CHAIN;
use crate::constants::gains::{CHAIN_IN_MEMORY_LOW, MAX_CHAIN_RESIDUAL};
use crate::constants::model_fit::{
    MAX_CHAIN_IN_MEMORY_OF_CYCLES, MIN_CHAIN_IN_MEMORY_OF_CYCLES, MIN_CHAIN_OF_THROUGHPUT,
};
use crate::constants::observations::MIN_SAME_ADDRESS;
use crate::constants::processor::{
    ADDITION_CYCLES, FLOAT_OPERATION_CYCLES, STORE_FORWARDING_CYCLES,
};
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::Origin;
use crate::patterns::appends::is_fixed;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::observed_sites::ObservedSites;

/// Loops that wait for a number in memory; of floating-point numbers, or of integers.
pub(crate) fn chains_in_memory(input: &AnalysisInput, float: bool) -> Vec<Candidate> {
    if input.program.part_counted {
        return Vec::new();
    }
    let loops = hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP).into_iter();
    let own = loops
        .filter(|one| one.input.own && one.is_long(MIN_TRIPS_TO_SPLIT_CHAIN) && !one.has_opaque());
    own.filter_map(|one| candidate(input, &one, float))
        .collect()
}

fn candidate(input: &AnalysisInput, one: &HotLoop<'_>, float: bool) -> Option<Candidate> {
    let operation_cycles = match float {
        true => FLOAT_OPERATION_CYCLES,
        false => ADDITION_CYCLES,
    };
    let chain = STORE_FORWARDING_CYCLES + operation_cycles;
    let now = one.cycles.value;
    let explains = chain >= MIN_CHAIN_IN_MEMORY_OF_CYCLES * now
        && chain <= MAX_CHAIN_IN_MEMORY_OF_CYCLES * now;
    if !explains {
        return None;
    }
    let (operation, store) = (one.usual()).find_map(|at| kept_in_memory(input, one, at, float))?;
    let in_register = Change {
        gone: vec![store],
        ..Change::default()
    };
    let model = (one.input).loop_model(&input.program.costs, one.index, &in_register)?;
    let bound = model.cycles()?.value;
    if chain < MIN_CHAIN_OF_THROUGHPUT * bound {
        return None;
    }
    let after = bound.max(operation_cycles);
    let value = after / now;
    let cause = match float {
        true => Cause::FpLatencyChain,
        false => Cause::IntegerLatencyChain,
    };
    let fix = Fix::DropDeadStores { buffer: false };
    let mut found = Candidate::new(cause, Some(one.function), vec![operation, store], fix);
    found.affected.clone_from(&one.members);
    found.residual_fraction = Estimate {
        value,
        low: value * CHAIN_IN_MEMORY_LOW,
        high: ((1.0 + value) / 2.0).max(MAX_CHAIN_RESIDUAL),
    };
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    let mnemonic = |at: usize| one.input.code[at].mnemonic.to_owned();
    let mut instructions = vec![mnemonic(store)];
    if operation != store {
        instructions.push(mnemonic(operation));
    }
    Some(found.fact(one.time()).fact(LoopFact::Chain {
        instructions,
        cycles: chain,
        throughput_cycles: after,
    }))
}

/// The operation whose result an instruction stores where the operand came from, and the store.
fn kept_in_memory(
    input: &AnalysisInput,
    one: &HotLoop<'_>,
    store: usize,
    float: bool,
) -> Option<(usize, usize)> {
    let function = one.input;
    let accesses = |at: usize| {
        let memory = function.data[at].memory.iter();
        memory.zip(function.values.addresses(at))
    };
    let (written, place) = accesses(store).find(|(access, _)| access.writes && !access.stack)?;
    let place = (*place)?;
    let loads_it =
        |at: usize| accesses(at).any(|(access, address)| access.reads && *address == Some(place));
    let (operation, load) = if written.reads {
        (store, store)
    } else {
        let data = |location: u8| function.data[store].data_reads & (1 << location) != 0;
        let mut stored = function
            .values
            .reads(store)
            .iter()
            .filter(|one| data(one.0));
        let Origin::Instruction(operation) = function.values.origin(stored.next()?.1) else {
            return None;
        };
        let operation = operation as usize;
        (operation, load_of(function, operation, &loads_it)?)
    };
    let stays = is_fixed(one, &place) || is_seen_to_stay(input, one, load);
    (computes(function, operation, float) && stays).then_some((operation, store))
}

/// The instruction that loads an operand: the operation itself, or a move before it.
fn load_of(
    function: &FunctionInput,
    operation: usize,
    loads_it: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    if loads_it(operation) {
        return Some(operation);
    }
    let operands = function.values.reads(operation).iter();
    let mut makers = operands.filter_map(|one| match function.values.origin(one.1) {
        Origin::Instruction(at) => Some(at as usize),
        _ => None,
    });
    makers.find(|&at| function.code[at].mnemonic.contains("mov") && loads_it(at))
}

/// Whether bursts saw that a load's address hardly ever changes.
fn is_seen_to_stay(input: &AnalysisInput, one: &HotLoop<'_>, load: usize) -> bool {
    let seen = ObservedSites::of(input).and_then(|sites| sites.stride(one.function, load));
    seen.is_some_and(|stride| stride.bytes == 0 && stride.share >= MIN_SAME_ADDRESS)
}

/// Whether an instruction computes with floating-point numbers, or with integers.
fn computes(function: &FunctionInput, at: usize, float: bool) -> bool {
    let name = function.code[at].mnemonic;
    let stem = name.strip_prefix('v').unwrap_or(name);
    let scalar = stem.ends_with("sd") || stem.ends_with("ss");
    let of_floats = ["add", "sub", "mul", "min", "max"]
        .iter()
        .any(|start| scalar && stem.starts_with(start));
    match float {
        true => of_floats,
        false => matches!(name, "add" | "sub" | "or" | "and" | "xor" | "inc" | "dec"),
    }
}
