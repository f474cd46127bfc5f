//! `short-trip-vector-loop`: a loop was vectorised, or unrolled into vectors, for trips that are too
//! short for it.
//!
//! **Signature.** A loop with vector loads or stores that is entered often and makes one iteration
//! or none each time, so that the trips run through its checks, its set-up and the scalar
//! remainder; all of it, by source line, executes more instructions for each trip than a plain
//! loop over the same elements would. Searches by vectors and vectors that are kept in the frame are none. Or calls of the library's vectorised functions for a few bytes
//! ([`super::short_library_copies`]).
//!
//! **Confirmation.** The loop without vectors (`#pragma GCC novector`, `#pragma clang loop
//! vectorize(disable)`).
//!
//! **Gain.** The plain loop's instructions to those that are executed now, of the measured time.
//!
//! **Source.** zstd 812e8f2a16ff (copies of a few bytes); A. Bik, "The Software Vectorization
//! Handbook", 2004, chapter 6 (trip counts for which vectors pay).

use genba_code::{MemoryAccess, STACK_POINTER};
use genba_model::{Cause, Estimate, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::causes::short_library_copies::short_library_copies;
use crate::constants::counts::{MAX_VECTOR_ITERATIONS_OF_TRIP, MIN_CALLS_IN_HOT_CODE};
use crate::constants::gains::{
    INSTRUCTIONS_TO_COUNT_ITERATIONS, MAX_PLAIN_LOOP_RESIDUAL, MAX_RESIDUAL, PLAIN_LOOP_LOW,
    PLAIN_LOOP_START_INSTRUCTIONS,
};
use crate::constants::processor::{MAX_ELEMENT_BYTES, VECTOR_BYTES};
use crate::constants::registers::{FLAGS, XMM0};
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput, Place};
use crate::patterns::calls::cycles_of_all;

/// Finds vectorised loops of one iteration or none for each trip.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let own = input.functions.iter().enumerate().filter(|one| one.1.own);
    let all = cycles_of_all(input);
    let loops = own.flat_map(|(index, function)| {
        let mut found: Vec<Candidate> = Vec::new();
        for one in vector_loops(function) {
            let Some(trip) = trips(function, one) else {
                continue;
            };
            if let Some(candidate) = candidate(index, function, &trip, all)
                && !found.iter().any(|before| before.site == candidate.site)
            {
                found.push(candidate);
            }
        }
        found
    });
    loops.chain(short_library_copies(input)).collect()
}

/// The code of one source loop: vector loops, remainder, checks, set-up.
struct Trips {
    members: Vec<usize>,
    /// Times that it is entered.
    entries: u64,
    /// Iterations of its vector loops.
    vector_iterations: u64,
    /// Elements for each entry.
    elements: f64,
    /// Bytes of an element.
    bytes: u16,
    /// Executed instructions for each entry.
    instructions: f64,
    /// Those of a plain loop.
    plain: f64,
}

/// Whether an access is to a place of the frame, where registers are kept across a call or make room for others.
fn is_kept(access: &MemoryAccess) -> bool {
    access.stack || access.base == Some(STACK_POINTER) && access.index.is_none()
}

/// Whether an instruction moves a vector from or to memory that is an array's.
fn vector_bytes(function: &FunctionInput, at: usize) -> Option<u16> {
    let data = &function.data[at];
    let access = data.memory.iter().find(|access| !is_kept(access))?;
    (f64::from(access.bytes) >= VECTOR_BYTES).then_some(access.bytes)
}

fn is_counted(function: &FunctionInput) -> bool {
    function.counted
        && function.counts.len() == function.code.len()
        && function.loops.len() == function.flow.loops().len()
}

/// Whether an instruction tells of a whole vector which elements compare equal: loops that end by what they compare
/// are searches written for vectors (tables that are probed by groups), no work of a compiler.
fn tells_of_elements(function: &FunctionInput, at: usize) -> bool {
    let name = function.code[at].mnemonic;
    let name = name.strip_prefix('v').unwrap_or(name);
    let to_number = name.starts_with("kmov") && function.data[at].writes & ((1 << XMM0) - 1) != 0;
    to_number
        || ["pmovmsk", "movmsk", "ptest", "testp", "kortest", "ktest"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Innermost loops that load or store vectors, for whatever these hold.
fn vector_loops(function: &FunctionInput) -> Vec<u32> {
    if !is_counted(function) {
        return Vec::new();
    }
    let loops = 0..function.flow.loops().len() as u32;
    loops
        .filter(|&index| {
            let members = function.loop_instructions(index);
            function.is_innermost(index)
                && (members.iter()).any(|&at| vector_bytes(function, at).is_some())
                && !(members.iter()).any(|&at| tells_of_elements(function, at))
        })
        .collect()
}

/// Whether two places are the same line of the same inlined function.
fn same_line(a: &Place, b: &Place) -> bool {
    a.line.is_some() && a.line == b.line && a.file == b.file && a.function == b.function
}

fn trips(function: &FunctionInput, vector: u32) -> Option<Trips> {
    let parent = function.flow.loops()[vector as usize].parent;
    let body = function.loop_instructions(vector);
    let of_loop = |at: usize| {
        let place = &function.places[at];
        body.iter()
            .any(|&own| same_line(&function.places[own], place))
    };
    let around = |at: usize| function.loops_around(at).any(|index| Some(index) == parent);
    let members: Vec<usize> = (0..function.code.len())
        .filter(|&at| (parent.is_none() || around(at)) && of_loop(at))
        .collect();
    let outside = |at: usize| function.flow.loop_of_instruction(at) == parent;
    let entries = members
        .iter()
        .filter(|&&at| outside(at))
        .map(|&at| function.counts[at])
        .max()?;
    // A loop that never goes round makes one iteration for each entry.
    let iterations = |index: u32| {
        let members = function.loop_instructions(index);
        members.first().map_or(0, |&head| function.counts[head])
    };
    let mut loops: Vec<u32> = members
        .iter()
        .filter_map(|&at| function.flow.loop_of_instruction(at))
        .filter(|&index| function.flow.loops()[index as usize].parent == parent)
        .filter(|&index| Some(index) != parent)
        .collect();
    loops.sort_unstable();
    loops.dedup();
    let is_vector = |index: u32| {
        let members = function.loop_instructions(index);
        members
            .iter()
            .any(|&at| vector_bytes(function, at).is_some())
    };
    let (vectors, plain): (Vec<u32>, Vec<u32>) = loops.into_iter().partition(|&l| is_vector(l));
    let vector_iterations = vectors.iter().map(|&index| iterations(index)).sum();
    // An element is what the remainder loads, or stores where it loads nothing.
    let scalars = |loads: bool| {
        members.iter().copied().filter(move |&at| {
            let data = &function.data[at];
            let mut memory = data.memory.iter();
            memory.any(|m| {
                !is_kept(m) && m.bytes > 0 && m.bytes <= MAX_ELEMENT_BYTES && (m.reads == loads)
            })
        })
    };
    let loads = body
        .iter()
        .any(|&at| vector_bytes(function, at).is_some() && function.data[at].loads());
    let bytes = scalars(loads)
        .filter(|&at| function.counts[at] > 0)
        .flat_map(|at| function.data[at].memory.iter().map(|m| m.bytes))
        .min()?;
    let moved = |at: &usize| {
        let data = &function.data[*at];
        let memory = data
            .memory
            .iter()
            .filter(|m| !is_kept(m) && m.reads == loads);
        memory.map(|m| f64::from(m.bytes)).sum::<f64>()
    };
    let streams = streams(function, &body, loads).max(1) as f64;
    let all: f64 = members
        .iter()
        .map(|at| moved(at) * function.counts[*at] as f64)
        .sum();
    let elements = all / (f64::from(bytes) * streams * entries.max(1) as f64);
    let executed = |list: &[usize]| {
        list.iter()
            .map(|&at| function.counts[at] as f64)
            .sum::<f64>()
    };
    let each = plain
        .iter()
        .filter(|&&index| iterations(index) > 0)
        .map(|&index| executed(&function.loop_instructions(index)) / iterations(index) as f64)
        .fold(f64::INFINITY, f64::min);
    // Without a remainder loop: one vector's worth of the body does what a plain iteration does.
    let moves: f64 = body.iter().map(moved).sum();
    let each = match each.is_finite() {
        true => each,
        false => {
            let of_vectors = body.len() as f64 / (moves / (VECTOR_BYTES * streams)).max(1.0);
            let elements = (elements * entries as f64).max(1.0);
            let scalar = work_on_elements(function, &members) / elements;
            match scalar > 0.0 {
                true => of_vectors.min(scalar + INSTRUCTIONS_TO_COUNT_ITERATIONS),
                false => of_vectors,
            }
        }
    };
    Some(Trips {
        entries,
        vector_iterations,
        elements,
        bytes,
        instructions: executed(&members) / entries.max(1) as f64,
        plain: elements * each + PLAIN_LOOP_START_INSTRUCTIONS,
        members,
    })
}

/// Executions of scalar instructions that load or store elements, or compute with what was loaded: what is
/// left of an unrolled remainder without the arithmetic of its addresses and its tests.
fn work_on_elements(function: &FunctionInput, members: &[usize]) -> f64 {
    let registers = (1u128 << FLAGS) - 1;
    let (mut loaded, mut executions) = (0u128, 0u64);
    for &at in members.iter().filter(|&&at| function.counts[at] > 0) {
        let data = &function.data[at];
        let element = |m: &MemoryAccess| !is_kept(m) && m.bytes > 0 && m.bytes <= MAX_ELEMENT_BYTES;
        let moves = data.memory.iter().any(element);
        let written = data.writes & registers;
        if moves || data.data_reads & loaded != 0 && written != 0 {
            executions += function.counts[at];
            loaded |= written;
        } else {
            loaded &= !written;
        }
    }
    executions as f64
}

/// Arrays that a loop reads (or writes): by the base of their addresses.
fn streams(function: &FunctionInput, body: &[usize], loads: bool) -> usize {
    let mut bases: Vec<u32> = body
        .iter()
        .filter(|&&at| vector_bytes(function, at).is_some() && function.data[at].loads() == loads)
        .flat_map(|&at| function.values.addresses(at).iter().flatten())
        .map(|address| address.base.number)
        .collect();
    bases.sort_unstable();
    bases.dedup();
    bases.len()
}

fn candidate(
    index: usize,
    function: &FunctionInput,
    trips: &Trips,
    all: Option<f64>,
) -> Option<Candidate> {
    let each = trips.vector_iterations as f64 / trips.entries.max(1) as f64;
    let share = function.heat_of(trips.members.iter().copied());
    let residual = trips.plain / trips.instructions.max(1.0);
    if trips.entries < MIN_CALLS_IN_HOT_CODE
        || each > MAX_VECTOR_ITERATIONS_OF_TRIP
        || share < MIN_SHARE_OF_CHAIN_LOOP
        || trips.elements <= 0.0
        || residual > MAX_PLAIN_LOOP_RESIDUAL
    {
        return None;
    }
    let mut one = Candidate::new(
        Cause::ShortTripVectorLoop,
        Some(index),
        trips.members.clone(),
        Fix::PlainShortLoop,
    );
    one.residual_fraction = Estimate {
        value: residual,
        low: PLAIN_LOOP_LOW * residual,
        // What the processor did at the same time may have cost nothing.
        high: (0.5 * (1.0 + residual)).min(MAX_RESIDUAL),
    };
    one.executions = Some(trips.entries);
    one.cycles = all.map(|all| Estimate::exact(share * all / trips.entries as f64));
    Some(
        one.fact(LoopFact::ShortTrips {
            entries: trips.entries,
            elements: trips.elements,
            element_bytes: trips.bytes,
            vector_iterations: each,
        })
        .fact(LoopFact::TripInstructions {
            instructions: trips.instructions,
            plain: trips.plain,
        }),
    )
}
