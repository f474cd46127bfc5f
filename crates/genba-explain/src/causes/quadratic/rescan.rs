//! The same bytes scanned again and again from other starts.
//!
//! **Signature.** A loop, with all loops inside it, that only looks for where to stop: it reads
//! memory with small steps, stores and calls nothing, and carries nothing from iteration to iteration
//! but positions ([`crate::patterns::positions`], [`super::loaded_steps`]), what nobody reads behind the loop, and how many letters are
//! still to pass ([`super::left_to_pass`]). It is long, is entered many times, and reads in all many times
//! what the command's input and the program's memory have together, so that it reads the same bytes
//! again. It may be shorter where that is many more times, and the program does not do all its work again.
//!
//! Sums over what lies before a place count as scans where each is made from the beginning ([`super::sums_from_start`]).
//!
//! **Near misses.** Checksums and other reductions (they carry a sum), loops over matrices (so do these),
//! copies, tokens and lines (short), input that passes through a small buffer (bounded by the size of
//! the input files, or by what the program read in all, without which nothing is said), partitions of a sort (what they
//! pass is halved each time), scans that go on where the one before has ended, in a program that goes over its data
//! many times.

use genba_code::{Flow, MemoryAccess, STACK_POINTER};
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::left_to_pass::is_left_to_pass;
use super::loaded_steps::goes_on_by_loads;
use super::passed_bytes::passed_bytes;
use super::sums_from_start::summed_from_start;
use crate::candidate::Candidate;
use crate::causes::partition_loops::parts;
use crate::constants::counts::{
    MAX_BITS_PER_SCAN_STEP, MAX_BYTES_PER_SCAN_STEP, MAX_VECTORS_PER_SCAN_STEP,
    MIN_BYTES_PER_LONG_SCAN, MIN_BYTES_PER_SHORTER_SCAN, MIN_PASSES_OF_SHORTER_SCANS,
    MIN_PASSES_OVER_ALL_MEMORY, MIN_SEARCHES,
};
use crate::constants::gains::MAX_RESIDUAL_OF_ONE_SCAN;
use crate::constants::registers::{LIVE_AT_RETURN, RDX};
use crate::constants::search_limits::{MAX_BLOCKS_OF_SCAN, MAX_VALUES_FOLLOWED};
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::plain;
use crate::input::values::{Address, Origin, Value, bits};
use crate::patterns::edge_counts::edge_at_most;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::invariance::value_behind;
use crate::patterns::live_registers::live_registers;
use crate::patterns::load_stalls::sources;
use crate::patterns::memory_scans::memory_scan;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::positions::{Course, Handed, carried};

/// A scan of the same bytes from many starts: by a loop or by one of those around it.
pub(crate) fn rescan(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let levels = std::iter::successors(Some(found.clone()), around_scan);
    levels.into_iter().find_map(|level| by_level(input, &level))
}

/// The loop around, unless this one makes a sum or a hash for it.
fn around_scan<'a>(inner: &HotLoop<'a>) -> Option<HotLoop<'a>> {
    let scans = carries_positions_only(inner, |_| false);
    inner.parent().filter(|_| scans)
}

fn by_level(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let entries = found.cost.entries?;
    let blocks = function.flow.loop_blocks(found.index).len();
    if !function.own || entries < MIN_SEARCHES || blocks > MAX_BLOCKS_OF_SCAN || found.has_opaque()
    {
        return None;
    }
    if parts(input, function, found.index) {
        return None;
    }
    let (at, bytes) = scanned(found).or_else(|| summed_from_start(input, found))?;
    let scan = Scan {
        function: found.function,
        at,
        entries,
        bytes,
    };
    let mut one = scan.candidate(input)?;
    one.affected.clone_from(&found.members);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    Some(one)
}

/// The same of a loop that stores its position in memory for each byte.
pub(crate) fn rescan_through_memory(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
) -> Option<Candidate> {
    let passed = memory_scan(found).filter(|_| found.input.own)?;
    let bytes = found.cost.iterations as f64;
    let scan = Scan {
        function: found.function,
        at: passed.load,
        entries: (bytes / passed.run) as u64,
        bytes,
    };
    let mut one = scan.candidate(input)?;
    one.affected = passed.usual;
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    Some(one)
}

/// Scans from one place.
pub(super) struct Scan {
    /// Index of the function in [`AnalysisInput::functions`].
    pub(super) function: usize,
    /// The instruction that reads, or calls who reads.
    pub(super) at: usize,
    /// How many scans.
    pub(super) entries: u64,
    /// Bytes that all of them pass.
    pub(super) bytes: f64,
}

impl Scan {
    /// A candidate, if scans are long and together pass many times what there is.
    pub(super) fn candidate(&self, input: &AnalysisInput) -> Option<Candidate> {
        let read = input_read(input)?;
        let files = read as f64;
        let memory = input.program.max_rss_bytes?;
        let each = self.bytes / self.entries as f64;
        // What is scanned was read from the files or made in memory.
        let passes = self.bytes / files.max(memory);
        let shorter = || {
            let whole = ObservedSites::of(input).is_none_or(|sites| sites.repeats_as_a_whole());
            each >= MIN_BYTES_PER_SHORTER_SCAN && passes >= MIN_PASSES_OF_SHORTER_SCANS && !whole
        };
        if passes < MIN_PASSES_OVER_ALL_MEMORY || each < MIN_BYTES_PER_LONG_SCAN && !shorter() {
            return None;
        }
        if self.go_on(input, each) {
            return None;
        }
        let site = vec![self.at];
        let mut one = Candidate::new(Cause::Quadratic, Some(self.function), site, Fix::ScanOnce);
        // Every byte once is left, at most as many as there is memory.
        let left = (1.0 / passes).min(MAX_RESIDUAL_OF_ONE_SCAN);
        one.residual_fraction = Estimate {
            value: left,
            low: left.min((each / self.bytes).min(1.0)),
            high: MAX_RESIDUAL_OF_ONE_SCAN,
        };
        one.confirmation = Confirmation::InputSweep;
        Some(
            one.fact(QuadraticFact::Scans {
                scans: self.entries,
                bytes: each,
            })
            .fact(QuadraticFact::ScannedAgain {
                bytes: self.bytes,
                input_bytes: read,
                memory_bytes: memory,
            }),
        )
    }

    /// Whether scans of so many bytes begin far behind where the one before began, as they were observed: the same bytes
    /// come again in another pass of the program, not in the next scan.
    fn go_on(&self, input: &AnalysisInput, each: f64) -> bool {
        let Some(sites) = ObservedSites::of(input) else {
            return false;
        };
        let entry = sites.point(self.function, 0);
        let mut calls = sites.observed.advancing_calls.iter();
        calls.any(|call| {
            let far = call.bytes_per_call * MIN_PASSES_OVER_ALL_MEMORY > each;
            far && Some(call.target) == entry
        })
    }
}

/// Bytes of the input: of the files that the command line names, or what reading calls returned at most.
/// `None` where it may have come otherwise: what is mapped is in the program's memory, but sockets have calls of
/// their own.
pub(super) fn input_read(input: &AnalysisInput) -> Option<u64> {
    let receives = |name: &str| {
        matches!(
            plain(name),
            "recv" | "recvfrom" | "recvmsg" | "recvmmsg" | "splice"
        )
    };
    let program = &input.program;
    let all_read = || {
        let known = program.instructions.is_some();
        let received = (program.called.iter()).any(|one| receives(&one.function));
        program.read_bytes.filter(|_| known && !received)
    };
    program.input_bytes.or_else(all_read)
}

/// The most frequent load that goes through memory with small steps, and the bytes that these pass in
/// all, if the loop does nothing but look for where to stop.
fn scanned(found: &HotLoop<'_>) -> Option<(usize, f64)> {
    let function = found.input;
    let executed = |at: &usize| found.times(*at) > 0.0;
    let members = || found.members.iter().copied().filter(executed);
    let stops = |at: usize| {
        matches!(
            function.code[at].flow,
            Flow::CondJump(_) | Flow::IndirectJump
        )
    };
    if stores_for_others(found)
        || !members().any(stops)
        || !carries_positions_only(found, |_| false)
    {
        return None;
    }
    let body = function.flow.loop_blocks(found.index);
    let mut most: Option<(usize, f64)> = None;
    for at in members() {
        let accesses = function.data[at].memory.iter();
        for (access, address) in accesses.zip(function.values.addresses(at)) {
            let Some(address) = address.filter(|_| access.reads && !is_in_frame(access)) else {
                continue;
            };
            let of_base = || {
                let handed = Handed::of(function, body, address.base);
                match handed.course(bytes_per_step(access)) {
                    _ if address.index.is_some() => None,
                    Course::Advances(bytes) => Some(bytes),
                    // A byte at least.
                    _ => goes_on_by_loads(found, &handed).then(|| function.counts[at] as f64),
                }
            };
            let Some(bytes) =
                of_base().or_else(|| passed_bytes(function, at, &address, bytes_per_step(access)))
            else {
                continue;
            };
            let counts = |at: usize| function.counts[at];
            if most.is_none_or(|(before, _)| counts(at) > counts(before)) {
                most = Some((at, bytes));
            }
        }
    }
    most
}

/// Bytes by which a scan may advance: an element, or some vectors.
fn bytes_per_step(access: &MemoryAccess) -> u64 {
    let bytes = u64::from(access.bytes);
    match bytes >= MAX_BYTES_PER_SCAN_STEP {
        true => MAX_VECTORS_PER_SCAN_STEP * bytes,
        false => MAX_BYTES_PER_SCAN_STEP,
    }
}

/// Whether what iterations hand on are positions, values that are kept or made anew, or what else goes through the
/// data; not sums, counters or hashes, which depend on themselves.
pub(super) fn carries_positions_only(
    found: &HotLoop<'_>,
    is_position: impl Fn(Value) -> bool,
) -> bool {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    carried(function, body).into_values().all(|value| {
        if !is_used(found, value.number) || is_position(value) {
            return true;
        }
        let handed = Handed::of(function, body, value);
        match handed.course(MAX_BITS_PER_SCAN_STEP) {
            Course::Advances(_) => true,
            _ if strides(found, &handed)
                || is_left_to_pass(found, &handed)
                || goes_on_by_loads(found, &handed)
                || follows_position(found, &handed) =>
            {
                true
            }
            // What is kept of the data (a largest element, say) is a result.
            Course::Kept => handed.made.is_empty() || !leaves(found, &handed),
            Course::New => {
                let made_of = sources(function, found.index, &handed.made);
                let itself = made_of.iter().any(|one| one.number == value.number);
                made_of.len() < MAX_VALUES_FOLLOWED && !itself || !leaves(found, &handed)
            }
            Course::Other => !leaves(found, &handed),
        }
    })
}

/// Whether a value goes on by as much as a position does: its distance from where it began.
fn follows_position(found: &HotLoop<'_>, handed: &Handed) -> bool {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    let positions: Vec<Handed> = (carried(function, body).into_values())
        .map(|value| Handed::of(function, body, value))
        .collect();
    let is_moved = |step: &Value| {
        let Origin::Instruction(at) = function.values.origin(*step) else {
            return false;
        };
        let reads: Vec<Value> = (function.values.reads(at as usize).iter())
            .filter(|one| function.data[at as usize].data_reads >> one.0 & 1 == 1)
            .map(|one| one.1)
            .collect();
        let [one, other] = reads[..] else {
            return false;
        };
        let is_of = |value: Value, of: &Handed| of.joins.contains(&value.number);
        let both = |of: &Handed| is_of(one, of) && is_of(other, of) && one != other;
        function.code[at as usize].mnemonic == "sub" && positions.iter().any(both)
    };
    let follows = |made: &Value| {
        let operands = handed.operands(function, *made);
        operands.is_some_and(|(at, own, steps)| {
            let adds = function.code[at].mnemonic == "add" && own.len() == 1;
            adds && steps.len() == 1 && steps.iter().all(is_moved)
        })
    };
    !handed.made.is_empty() && handed.made.iter().all(follows)
}

/// Whether a value goes on by what is the same in every iteration: from row to row.
fn strides(found: &HotLoop<'_>, handed: &Handed) -> bool {
    let function = found.input;
    let is_position = |value: &Value| handed.joins.contains(&value.number);
    let fixed = |value: Value| (function.values).is_invariant(value, &function.flow, found.index);
    let goes_on = |made: &Value| {
        let Origin::Instruction(at) = function.values.origin(*made) else {
            return false;
        };
        let at = at as usize;
        let data = &function.data[at];
        let operands: Vec<Value> = (function.values.reads(at).iter())
            .filter(|one| data.data_reads & (1 << one.0) != 0)
            .map(|one| one.1)
            .collect();
        let [one, other] = operands[..] else {
            return false;
        };
        let adds = matches!(function.code[at].mnemonic, "add" | "sub") && !data.loads();
        adds && (is_position(&one) && fixed(other) || is_position(&other) && fixed(one))
    };
    !handed.made.is_empty() && handed.made.iter().all(goes_on)
}

/// Whether a loop stores anything but its own variables, which it does not read again.
fn stores_for_others(found: &HotLoop<'_>) -> bool {
    let executed = found.members.iter().filter(|&&at| found.times(at) > 0.0);
    let mut accesses = executed.flat_map(|&at| &found.input.data[at].memory);
    accesses.any(|access| access.writes && !is_in_frame(access)) || keeps_in_frame(found)
}

/// Whether a loop stores in its frame what it reads again: a sum for which no register was left.
pub(super) fn keeps_in_frame(found: &HotLoop<'_>) -> bool {
    let function = found.input;
    let executed = found.members.iter().filter(|&&at| found.times(at) > 0.0);
    let accesses: Vec<(&MemoryAccess, Option<Address>)> = executed
        .flat_map(|&at| {
            let addresses = function.values.addresses(at).iter().copied();
            function.data[at].memory.iter().zip(addresses)
        })
        .collect();
    let read_again = |address: Option<Address>| {
        let reads = accesses.iter().filter(|one| one.0.reads);
        address.is_none() || reads.into_iter().any(|one| one.1 == address)
    };
    let writes = accesses.iter().filter(|one| one.0.writes);
    writes
        .into_iter()
        .any(|&(access, address)| is_in_frame(access) && read_again(address))
}

pub(super) fn is_in_frame(access: &MemoryAccess) -> bool {
    access.stack || access.base == Some(STACK_POINTER)
}

/// Whether a value that iterations hand on may be read behind the loop: what is not decides at most where the
/// loop ends.
fn leaves(found: &HotLoop<'_>, handed: &Handed) -> bool {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    let is_of_it = |value: Value| {
        handed.joins.contains(&value.number)
            || handed.made.iter().any(|one| one.number == value.number)
    };
    // Results of two registers are rare, and a counter that ends the loop is nothing then.
    let live = live_registers(function, None, LIVE_AT_RETURN & !(1 << RDX));
    let written = (found.members.iter()).fold(0, |all, &at| all | function.data[at].writes);
    let blocks = function.flow.blocks();
    body.iter().any(|&from| {
        let next = blocks[from as usize].successors.iter();
        let ends = next.filter(|&&to| !body.contains(&to) && edge_at_most(function, from, to) > 0);
        ends.into_iter().any(|&to| {
            let read = bits(live[to as usize] & written);
            read.into_iter()
                .any(|location| value_behind(function, from, location).is_none_or(is_of_it))
        })
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
