//! The same bytes scanned again and again by a function of the C library.
//!
//! **Signature.** A function that looks for the end of a text or for a byte (`strlen`, `strchr`) is called
//! many times, reads thousands of bytes each time, and in all many times what the command's input and
//! the program's memory have together: typically the length of what grows, taken anew for each piece.
//! What it read is counted: executions of its loads, times their size.
//!
//! The line is that of the long scans with most work, as bursts saw it; through functions of the user's own
//! that only hand the call on. Other functions of the library that scan on their way (`fscanf`) work for
//! something else, too: what they scan is what direct calls leave of the counted work.

use genba_model::{CodePoint, Estimate};

use super::rescan::Scan;
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_BURSTS_FOR_EVENTS, MIN_BYTES_PER_LONG_SCAN, MIN_SEARCHES};
use crate::constants::time_shares::{MIN_SHARE_OF_QUADRATIC_LOOP, MOST_OF_IT};
use crate::input::analysis_input::{AnalysisInput, FunctionInput, UserCall};
use crate::input::runtime_services::is_scan_function;
use crate::input::user_lines::{UserLine, lines};
use crate::patterns::calls::cycles_of_all;

/// A function of the library that scans the same bytes many times.
pub(super) fn library_scan(input: &AnalysisInput, index: usize) -> Option<Candidate> {
    let function = &input.functions[index];
    let calls = function.calls.filter(|&calls| calls >= MIN_SEARCHES)?;
    if function.own
        || !is_scan_function(&function.function)
        || function.share.value < MIN_SHARE_OF_QUADRATIC_LOOP
    {
        return None;
    }
    let all = bytes_read(function)?;
    let long = long_scans(input, function, all)?;
    let scan = Scan {
        function: index,
        at: 0,
        entries: long.calls.min(calls as f64).max(1.0) as u64,
        bytes: long.bytes,
    };
    let mut one = scan.candidate(input)?;
    one.affected = (0..function.code.len()).collect();
    one.at = Some(long.line.site);
    let share = function.share.value * long.bytes / all;
    one.share = Some(share);
    one.executions = Some(scan.entries);
    let each = share * cycles_of_all(input)? / scan.entries as f64;
    one.cycles = Some(Estimate::exact(each));
    Some(one)
}

/// Bytes that a function read in all, its own stack apart.
fn bytes_read(function: &FunctionInput) -> Option<f64> {
    let counted = function.counted && function.counts.len() == function.data.len();
    counted.then(|| {
        let reads = function.data.iter().zip(&function.counts);
        reads
            .map(|(data, &count)| {
                let memory = data.memory.iter().filter(|one| one.reads && !one.stack);
                memory.map(|one| f64::from(one.bytes)).sum::<f64>() * count as f64
            })
            .sum()
    })
}

/// The user's lines that ask for long scans.
struct LongScans<'a> {
    /// The line with most of their bytes.
    line: UserLine<'a>,
    calls: f64,
    bytes: f64,
}

/// The lines whose scans are long, as far as bursts saw their work; `None` if they do not read most of `all`
/// bytes.
fn long_scans<'a>(
    input: &AnalysisInput,
    function: &'a FunctionInput,
    all: f64,
) -> Option<LongScans<'a>> {
    let observed = (input.observed.as_ref()).filter(|one| one.bursts >= MIN_BURSTS_FOR_EVENTS)?;
    let work = |user: &UserCall| {
        let at = CodePoint {
            module: observed.module(&user.module)?,
            address: user.address,
        };
        let found = (observed.call_work).binary_search_by_key(&at, |one| one.at);
        Some(observed.call_work[found.ok()?].instructions_per_call * user.calls)
    };
    // What bursts never met is short or rare. What other functions of the library that scan do besides is not
    // known apart: of the counted instructions they have what the others leave.
    let users = &function.callers_behind_wrappers;
    let (other, straight): (Vec<&UserCall>, _) = users.iter().partition(|one| one.through_library);
    let executed = function.counts.iter().map(|&one| one as f64).sum::<f64>();
    let left = executed - straight.iter().filter_map(|user| work(user)).sum::<f64>();
    let others = other.iter().filter_map(|user| work(user)).sum::<f64>();
    let scanning = |user: &&UserCall| {
        let part = match user.through_library {
            true => (left / others).clamp(0.0, 1.0),
            false => 1.0,
        };
        Some(work(user)? * part)
    };
    let of_line = |line: &UserLine<'_>| line.users.iter().filter_map(scanning).sum::<f64>();
    let lines: Vec<(UserLine<'a>, f64)> = (lines(users).into_iter())
        .map(|line| {
            let work = of_line(&line);
            (line, work)
        })
        .collect();
    let sum: f64 = lines.iter().map(|one| one.1).sum();
    let long = |one: &(UserLine<'a>, f64)| {
        all * one.1 / sum >= MIN_BYTES_PER_LONG_SCAN * one.0.calls.max(1.0)
    };
    let lines: Vec<(UserLine<'a>, f64)> = lines.into_iter().filter(long).collect();
    let calls: f64 = lines.iter().map(|one| one.0.calls).sum();
    let part = lines.iter().map(|one| one.1).sum::<f64>() / sum;
    let (line, _) = lines.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (part >= MOST_OF_IT).then_some(LongScans {
        line,
        calls,
        bytes: all * part,
    })
}
