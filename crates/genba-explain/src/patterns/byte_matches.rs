//! Loops that only ask of each byte whether it is one of a few, without a branch on the answer.
//!
//! Compilers make conditional moves and flags of `if (c == '\n') { lines++; column = 0; }`: every byte
//! then goes through the chain of what is counted and remembered, though nearly none changes it. The
//! few bytes that do can be found by wide comparisons.

use genba_code::{DataFlow, Flow};

use crate::constants::counts::MAX_BYTES_PER_SCAN_STEP;
use crate::constants::registers::{FLAGS, XMM0};
use crate::constants::search_limits::MAX_BYTES_LOOKED_FOR;
use crate::input::analysis_input::FunctionInput;
use crate::input::value_uses::Uses;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::invariance::is_same_each_iteration;
use crate::patterns::value_steps::{Step, address_step};

/// A loop that looks for bytes without branches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByteMatches {
    /// The comparisons.
    pub comparisons: Vec<usize>,
    /// Bytes looked at in an iteration.
    pub bytes: usize,
    /// Whether nothing is remembered of the bytes that are found but their number.
    pub counts_only: bool,
}

/// What bytes are compared with.
#[derive(PartialEq)]
enum Needle<'a> {
    /// A constant, as it is printed.
    Constant(&'a str),
    /// A value that stays, by its number.
    Kept(u32),
}

/// Whether a loop's only use of memory is to compare bytes with constants or with what stays, and whether
/// what it makes of the outcome are conditional moves, flags and counts.
pub(crate) fn byte_matches(found: &HotLoop<'_>) -> Option<ByteMatches> {
    let function = found.input;
    if found.has_opaque() || found.usual().count() != found.members.len() {
        return None;
    }
    let uses = Uses::of(function);
    let mut wanted: Vec<Needle<'_>> = Vec::new();
    let (mut comparisons, mut bytes) = (Vec::new(), 0);
    for &at in &found.members {
        let data = &function.data[at];
        if data.memory.is_empty() {
            continue;
        }
        bytes += 1;
        let compared = match streams_byte(found, at, data) {
            true if function.code[at].mnemonic == "cmp" => vec![at],
            true => compared_only(found, &uses, at)?,
            false => return None,
        };
        for comparison in compared {
            let needle = needle(found, comparison, at)?;
            if !wanted.contains(&needle) {
                wanted.push(needle);
            }
            if !selects(found, &uses, comparison) {
                return None;
            }
            comparisons.push(comparison);
        }
    }
    let moves = found
        .members
        .iter()
        .any(|&at| function.code[at].mnemonic.starts_with("cmov"));
    (!comparisons.is_empty() && wanted.len() <= MAX_BYTES_LOOKED_FOR).then_some(ByteMatches {
        comparisons,
        bytes,
        counts_only: !moves,
    })
}

/// Whether an instruction reads one byte of a stream.
fn streams_byte(found: &HotLoop<'_>, at: usize, data: &DataFlow) -> bool {
    let function = found.input;
    let [access] = &data.memory[..] else {
        return false;
    };
    let address = function.values.addresses(at).first().copied().flatten();
    let step = address.and_then(|address| address_step(function, found.index, &address));
    let small = matches!(
        step,
        Some(Step::Constant(step)) if (1..=MAX_BYTES_PER_SCAN_STEP).contains(&step.unsigned_abs())
    );
    access.reads && !access.writes && !access.stack && access.bytes == 1 && small
}

/// The comparisons that are all the use of a loaded byte.
fn compared_only(found: &HotLoop<'_>, uses: &Uses, at: usize) -> Option<Vec<usize>> {
    let function = found.input;
    let written = function.values.writes(at).iter().find(|one| one.0 < XMM0)?;
    let readers = uses.readers(written.1);
    let inside = readers.iter().all(|one| found.members.contains(one));
    let compare = readers
        .iter()
        .all(|&one| function.code[one].mnemonic == "cmp");
    (!readers.is_empty() && inside && compare).then_some(readers)
}

/// What an instruction compares the byte with that was loaded at `load`.
fn needle<'a>(found: &HotLoop<'a>, at: usize, load: usize) -> Option<Needle<'a>> {
    let function = found.input;
    if let Some(constant) = immediate(&function.code[at].text) {
        return Some(Needle::Constant(constant));
    }
    let loaded = function.values.writes(load).iter();
    let loaded: Vec<u32> = (loaded.filter(|_| at != load))
        .map(|one| one.1.number)
        .collect();
    let in_address = function.data[at].address_reads;
    let mut others = (function.values.reads(at).iter())
        .filter(|one| one.0 < FLAGS && in_address >> one.0 & 1 == 0)
        .filter(|one| !loaded.contains(&one.1.number));
    let (other, rest) = (others.next()?.1, others.next());
    (rest.is_none() && is_same_each_iteration(function, found.index, other))
        .then_some(Needle::Kept(other.number))
}

/// The constant that an instruction compares with: its last operand.
fn immediate(text: &str) -> Option<&str> {
    let last = text.rsplit(',').next()?.trim();
    last.starts_with(|first: char| first.is_ascii_digit())
        .then_some(last)
}

/// Whether the outcome of a comparison is for equality, and goes into values only, not into branches.
fn selects(found: &HotLoop<'_>, uses: &Uses, comparison: usize) -> bool {
    let function = found.input;
    let flags = function
        .values
        .writes(comparison)
        .iter()
        .filter(|one| one.0 >= FLAGS);
    let mut readers: Vec<usize> = flags.flat_map(|one| uses.readers(one.1)).collect();
    readers.sort_unstable();
    readers.dedup();
    !readers.is_empty() && readers.iter().all(|&one| is_selection(function, one))
}

fn is_selection(function: &FunctionInput, at: usize) -> bool {
    let code = &function.code[at];
    let equality = matches!(code.mnemonic, "sete" | "setne" | "cmove" | "cmovne");
    equality && code.flow == Flow::Next
}
