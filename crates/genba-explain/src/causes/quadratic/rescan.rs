//! The same bytes scanned again and again from other starts.
//!
//! **Signature.** A loop that only looks for where to stop: it reads memory with small
//! steps, stores and calls nothing, and carries nothing from iteration to iteration but positions.
//! It is long, is entered many times, and reads in all many times what the command's input and the
//! program's memory have together, so that it reads the same bytes again.
//!
//! **Near misses.** Checksums and reductions (they carry a sum), loops over matrices (so do these),
//! copies, tokens and lines (short), input that passes through a small buffer (bounded by the size of
//! the input files, without which nothing is said).

use genba_code::{BlockId, Flow};
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_BYTES_PER_SCAN_STEP, MIN_BYTES_PER_LONG_SCAN, MIN_PASSES_OVER_ALL_MEMORY, MIN_SEARCHES,
};
use crate::constants::gains::MAX_RESIDUAL_OF_ONE_SCAN;
use crate::constants::search_limits::MAX_STEP_DEPTH;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::load_stalls::sources;

/// A scan of the same bytes from many starts.
pub(crate) fn rescan(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (trips, entries) = (found.trips?, found.cost.entries?);
    let files = input.program.input_bytes? as f64;
    let memory = input.program.max_rss_bytes?;
    if !function.own || entries < MIN_SEARCHES || found.has_opaque() {
        return None;
    }
    let (at, step) = scanned(found)?;
    let each = trips * step as f64;
    let all = found.cost.iterations as f64 * step as f64;
    // What is scanned was read from the files or made in memory.
    let distinct = files.max(memory);
    let passes = all / distinct;
    if each < MIN_BYTES_PER_LONG_SCAN || passes < MIN_PASSES_OVER_ALL_MEMORY {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![at],
        Fix::ScanOnce,
    );
    one.affected = found.members.clone();
    // Every byte once is left, at most as many as there is memory.
    let left = (1.0 / passes).min(MAX_RESIDUAL_OF_ONE_SCAN);
    one.residual_fraction = Estimate {
        value: left,
        low: left.min((each / all).min(1.0)),
        high: MAX_RESIDUAL_OF_ONE_SCAN,
    };
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::Scans {
            scans: entries,
            bytes: each,
        })
        .fact(QuadraticFact::ScannedAgain {
            bytes: all,
            input_bytes: input.program.input_bytes?,
            memory_bytes: memory,
        }),
    )
}

/// A load of nearly every iteration that goes through memory with small steps, and the least step,
/// if the loop does nothing but look for where to stop.
fn scanned(found: &HotLoop<'_>) -> Option<(usize, u64)> {
    let function = found.input;
    let executed = |at: &usize| found.times(*at) > 0.0;
    let members = || found.members.iter().copied().filter(executed);
    let stops = |at: usize| {
        matches!(
            function.code[at].flow,
            Flow::CondJump(_) | Flow::IndirectJump
        )
    };
    if members().any(|at| function.data[at].memory.iter().any(|access| access.writes))
        || !members().any(stops)
        || !carries_positions_only(found)
    {
        return None;
    }
    found.usual().find_map(|at| {
        let addresses = function.values.addresses(at).iter();
        let reads = function.data[at].memory.iter().zip(addresses);
        reads
            .filter(|(access, _)| access.reads)
            .find_map(|(_, address)| {
                let address = (*address)?;
                if address.index.is_some() {
                    return None;
                }
                let (one, other) = position_step(found, address.base)?;
                let (one, other) = (one.unsigned_abs(), other.unsigned_abs());
                let (least, most) = (one.min(other), one.max(other));
                (least > 0 && most <= MAX_BYTES_PER_SCAN_STEP).then_some((at, least))
            })
    })
}

/// Whether what iterations hand on are positions, which advance by constants, or values made anew
/// in each of them; not sums, hashes or links, which depend on themselves.
fn carries_positions_only(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    function.values.joins().all(|(number, _)| {
        let value = Value { number, offset: 0 };
        if function.values.origin(value) != Origin::Join(head) || !is_used(found, number) {
            return true;
        }
        if head_step(found, value).is_some() {
            return true;
        }
        let handed_on: Vec<Value> = handed_on(found, value).collect();
        let made_of = sources(function, found.index, &handed_on);
        !made_of.iter().any(|one| one.number == number)
    })
}

/// Whether an executed instruction of the loop reads a value.
fn is_used(found: &HotLoop<'_>, number: u32) -> bool {
    let executed = found.members.iter().filter(|&&at| found.times(at) > 0.0);
    executed.into_iter().any(|&at| {
        let reads = found.input.values.reads(at).iter();
        reads.into_iter().any(|(_, value)| value.number == number)
    })
}

/// What the executed ways through the loop hand on to the next iteration for a value of its head.
fn handed_on<'a>(found: &'a HotLoop<'_>, value: Value) -> impl Iterator<Item = Value> + 'a {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    let body = function.flow.loop_blocks(found.index);
    let before = &function.flow.blocks()[head as usize].predecessors;
    let met = before.iter().zip(function.values.met(value));
    met.filter(move |(block, _)| body.contains(block) && is_executed(function, **block))
        .map(|(_, value)| *value)
}

fn is_executed(function: &FunctionInput, block: BlockId) -> bool {
    let last = function.flow.blocks()[block as usize].instructions.end as usize;
    last > 0
        && function
            .counts
            .get(last - 1)
            .is_some_and(|&count| count > 0)
}

/// Least and most of what differs by the way through the loop.
type Range = (i64, i64);

fn joined(all: Option<Range>, one: Range) -> Range {
    all.map_or(one, |all| (all.0.min(one.0), all.1.max(one.1)))
}

/// What a position of the loop's head gains per iteration on the executed ways: always forward,
/// always back, or nothing. What only some iterations move counts something.
fn head_step(found: &HotLoop<'_>, value: Value) -> Option<Range> {
    let mut all: Option<Range> = None;
    for handed in handed_on(found, value) {
        let one = distance(found, handed, value.number, MAX_STEP_DEPTH)?;
        all = Some(joined(all, one));
    }
    all.filter(|&(least, most)| least == most || least > 0 || most < 0)
}

/// What an address gains per iteration, if it is one of the head's values plus a constant.
fn position_step(found: &HotLoop<'_>, base: Value) -> Option<Range> {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    let mut heads = function.values.joins().filter_map(|(number, _)| {
        let value = Value { number, offset: 0 };
        (function.values.origin(value) == Origin::Join(head)).then_some(value)
    });
    let of = heads.find(|value| distance(found, base, value.number, MAX_STEP_DEPTH).is_some())?;
    head_step(found, of)
}

/// By how much a value is more than the head's value of that number, on the executed ways.
fn distance(found: &HotLoop<'_>, value: Value, head: u32, depth: u32) -> Option<Range> {
    if value.number == head {
        return Some((value.offset, value.offset));
    }
    let depth = depth.checked_sub(1)?;
    let function = found.input;
    let Origin::Join(block) = function.values.origin(value) else {
        return None;
    };
    let body = function.flow.loop_blocks(found.index);
    if !body.contains(&block) || block == function.flow.loops()[found.index as usize].head {
        return None;
    }
    let mut all: Option<Range> = None;
    let before = &function.flow.blocks()[block as usize].predecessors;
    for (&from, &met) in before.iter().zip(function.values.met(value)) {
        // Ways into the loop that do not pass its head are not followed.
        if !is_executed(function, from) || !body.contains(&from) {
            continue;
        }
        let one = distance(found, met, head, depth)?;
        let moved = |by: i64| by.checked_add(value.offset);
        all = Some(joined(all, (moved(one.0)?, moved(one.1)?)));
    }
    all
}
