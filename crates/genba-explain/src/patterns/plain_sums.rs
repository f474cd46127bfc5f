//! Loops that add up what they load, and do nothing else with it: no product, no comparison with what they are handed.
//! A part of such a sum can be kept, or be subtracted again.

use genba_code::Flow;

use crate::constants::counts::RARE_WAY;
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_EXPRESSION_DEPTH;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};
use crate::patterns::loop_inputs::{address_numbers, meets_what_is_handed};

/// Whether an instruction is an addition, a move, a conversion or a test.
pub(crate) fn is_addition(function: &FunctionInput, at: usize) -> bool {
    const NAMES: [&str; 10] = [
        "add", "sub", "inc", "dec", "lea", "cmp", "test", "nop", "pxor", "cdqe",
    ];
    const BEGINNINGS: [&str; 10] = [
        "mov", "j", "cvt", "pmov", "padd", "addp", "adds", "punpck", "pcmpgt", "psad",
    ];
    let code = &function.code[at];
    let name = code.mnemonic.trim_start_matches('v');
    let plain = NAMES.contains(&name) || BEGINNINGS.iter().any(|one| name.starts_with(one));
    plain && !matches!(code.flow, Flow::Call(_) | Flow::IndirectCall)
}

/// The instruction of a loop that most often adds what the loop loads to a sum, or counts what it loads, if the loop
/// makes nothing else of it and takes nothing that it is handed together with it.
pub(crate) fn plain_sum(function: &FunctionInput, index: u32, members: &[usize]) -> Option<usize> {
    let addresses = address_numbers(function, members);
    let adds = |at: &usize| {
        let (name, data) = (function.code[*at].mnemonic, &function.data[*at]);
        let name = name.trim_start_matches('v');
        let sums = ["add", "padd", "sub", "psub"];
        let results = function.values.writes(*at).iter();
        let mut results = results.filter(|one| one.0 < FLAGS);
        let mut operands = operands(function, *at);
        sums.iter().any(|one| name.starts_with(one))
            && data.sum.is_none()
            && (data.loads()
                || operands
                    .any(|one| is_made_of_load(function, members, one, MAX_EXPRESSION_DEPTH)))
            && results.all(|one| !addresses.contains(&one.1.number))
    };
    let executed = || {
        let members = members.iter().copied();
        members.filter(|&at| function.counts[at] > 0)
    };
    let sum = (executed().filter(adds)).max_by_key(|&at| function.counts[at])?;
    // Addresses of rows, and what adds the parts of a vector together at the end, are made seldom.
    let seldom = |at: usize| function.counts[at] as f64 <= RARE_WAY * function.counts[sum] as f64;
    let plain = |at: usize| {
        is_addition(function, at)
            || is_count_of_matches(function, at)
            || seldom(at) && function.data[at].opaque.is_none()
    };
    (executed().all(plain) && !meets_what_is_handed(function, index, members)).then_some(sum)
}

/// Whether an instruction makes a mask or a flag of a comparison with a constant, or adds it up.
fn is_count_of_matches(function: &FunctionInput, at: usize) -> bool {
    let name = function.code[at].mnemonic.trim_start_matches('v');
    let of_vectors = ["psub", "pcmp", "pand", "pshuf", "xorp"];
    of_vectors.iter().any(|one| name.starts_with(one))
        || matches!(name, "xor" | "sete" | "setne" | "and")
}

fn operands(function: &FunctionInput, at: usize) -> impl Iterator<Item = Value> + '_ {
    let read = function.data[at].data_reads;
    let reads = function.values.reads(at).iter();
    let reads = reads.filter(move |one| one.0 < FLAGS && read >> one.0 & 1 == 1);
    reads.map(|one| one.1)
}

/// Whether a value is loaded by one of these instructions, or made from what is.
pub(crate) fn is_made_of_load(
    function: &FunctionInput,
    members: &[usize],
    value: Value,
    depth: u32,
) -> bool {
    let (Some(depth), Origin::Instruction(at)) =
        (depth.checked_sub(1), function.values.origin(value))
    else {
        return false;
    };
    let at = at as usize;
    members.binary_search(&at).is_ok()
        && (function.data[at].loads()
            || operands(function, at).any(|one| is_made_of_load(function, members, one, depth)))
}
