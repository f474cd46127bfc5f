//! The same bytes scanned from many starts by calls of a search, and near misses.

use genba_model::{Fact, QuadraticFact};
use genba_observe::{AdvancingCall, ArgumentValue, ValueShare};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{call, function, has_fact, program};

const SCANS: u64 = 12_000;
const FINDS: u64 = 6_000;

/// What the loop does with a find beside going on behind it.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Nothing,
    Counts,
    Stores,
    /// Hands the answer to the next call, which looks at the next piece in any case.
    Sums,
    /// The same, where the register of the argument has it already.
    SumsInPlace,
    /// The same, kept in the frame from call to call.
    SumsInFrame,
    /// Nothing; what it looks for is its third argument.
    Word,
    /// Counts down to the one of a number.
    ToNumber,
}

/// `while ((p = search(p, end))) { if (*++p == '>') break; }`
fn scanner(finds: u64, beside: Beside) -> FunctionInput {
    let all = SCANS * finds;
    let mut one = function(
        "scan",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            match beside {
                Beside::Word => a.mov(r12, rdx)?,
                _ => a.xor(r13d, r13d)?,
            }
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            match beside {
                Beside::SumsInPlace => a.nop()?,
                Beside::SumsInFrame => a.mov(esi, dword_ptr(rsp + 16))?,
                _ => a.mov(rsi, r12)?,
            }
            a.call(callee)?;
            match beside {
                Beside::Sums | Beside::SumsInPlace | Beside::SumsInFrame => a.add(rbx, 4)?,
                _ => a.lea(rbx, qword_ptr(rax + 1))?,
            }
            match beside {
                Beside::Nothing | Beside::Word => a.nop()?,
                Beside::Counts => a.inc(r13)?,
                Beside::Stores => a.mov(qword_ptr(r14), rbx)?,
                Beside::Sums => a.mov(r12, rax)?,
                Beside::SumsInPlace => a.mov(esi, eax)?,
                Beside::SumsInFrame => a.mov(dword_ptr(rsp + 16), eax)?,
                Beside::ToNumber => a.nop()?,
            }
            match beside {
                Beside::ToNumber => a.sub(r13d, 1)?,
                _ => a.cmp(byte_ptr(rbx), 62)?,
            }
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, all, all, SCANS],
        &[0.0, 0.05, 0.05, 0.1, 0.05, 0.05, 0.1, 0.05, 0.0],
        &[(7, all - SCANS)],
    );
    one.call_sites.push(call(3, "search", all, 20.0));
    "/bin/other".clone_into(&mut one.call_sites[0].targets[0].module);
    one
}

/// A search, or a parser, which stores.
fn callee(stores: bool) -> FunctionInput {
    let all = SCANS * FINDS;
    let mut one = function(
        "search",
        |a| {
            match stores {
                false => a.vmovdqu(ymm0, ymmword_ptr(rdi))?,
                true => a.mov(byte_ptr(rsi), al)?,
            }
            a.ret()
        },
        &[all, all],
        &[0.4, 0.1],
        &[],
    );
    "/bin/other".clone_into(&mut one.module);
    one.calls = Some(all);
    one
}

/// What is found of such a loop with these bytes from find to find, in a program of 3 MB.
fn found(scanner: FunctionInput, stores: bool, bytes_per_call: f64, share: f64) -> Vec<Candidate> {
    quadratic::detect(&scanning(scanner, stores, bytes_per_call, share))
}

fn scanning(
    scanner: FunctionInput,
    stores: bool,
    bytes_per_call: f64,
    share: f64,
) -> AnalysisInput {
    let mut input = program(vec![scanner, callee(stores)]);
    input.program.input_bytes = Some(48_000);
    input.program.max_rss_bytes = Some(3e6);
    let mut all = observations();
    all.modules.push("/bin/other".to_owned());
    all.advancing_calls.push(AdvancingCall {
        at: point(&input, 0, 3),
        target: genba_model::CodePoint {
            module: 2,
            address: 0x1000,
        },
        argument: 0,
        seen: seen(share),
        bytes_per_call,
    });
    input.observed = Some(all);
    input
}

#[test]
fn calls_that_search_more_than_there_is_are_quadratic() {
    let found = found(scanner(FINDS, Beside::Nothing), false, 4.0, 0.99);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [3]);
    assert!(found[0].share.is_some_and(|share| share > 0.9));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::Scans { scans: SCANS, bytes }) if (20_000.0..25_000.0).contains(bytes)
    )));
}

#[test]
fn lines_counts_and_parsers_are_not_scanned_again() {
    let one = |finds, beside| found(scanner(finds, beside), false, 4.0, 0.99);
    assert!(one(10, Beside::Nothing).is_empty(), "a line");
    assert!(one(FINDS, Beside::Counts).is_empty(), "finds are counted");
    assert!(one(FINDS, Beside::Stores).is_empty(), "finds are kept");
    for sums in [Beside::Sums, Beside::SumsInPlace, Beside::SumsInFrame] {
        assert!(one(FINDS, sums).is_empty(), "answers are summed up");
    }
    let parser = found(scanner(FINDS, Beside::Nothing), true, 4.0, 0.99);
    assert!(parser.is_empty(), "the callee stores");
}

#[test]
fn walk_to_the_piece_of_a_number_is_a_scan() {
    let found = found(scanner(FINDS, Beside::ToNumber), false, 4.0, 0.99);
    assert_eq!(found.len(), 1);
}

/// The pieces are taken apart for the frame of the loop, or stored elsewhere.
fn taken_apart(into_frame: bool) -> usize {
    let all = SCANS * FINDS;
    let walker = function(
        "element",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            a.mov(r13, rsp)?;
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            a.mov(rsi, if into_frame { r13 } else { r14 })?;
            a.call(callee)?;
            a.mov(eax, dword_ptr(rsp))?;
            a.add(rbx, rax)?;
            a.sub(ebp, 1)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, all, all, SCANS],
        &[0.0, 0.05, 0.05, 0.1, 0.05, 0.05, 0.1, 0.05, 0.0],
        &[(7, all - SCANS)],
    );
    let mut walker = walker;
    walker.call_sites.push(call(3, "search", all, 20.0));
    "/bin/other".clone_into(&mut walker.call_sites[0].targets[0].module);
    found(walker, true, 4.0, 0.99).len()
}

#[test]
fn pieces_may_be_taken_apart_for_the_frame() {
    assert_eq!(taken_apart(true), 1);
    assert_eq!(taken_apart(false), 0);
}

#[test]
fn calls_at_places_without_order_are_not_a_scan() {
    let found = found(scanner(FINDS, Beside::Nothing), false, 4.0, 0.6);
    assert!(found.is_empty());
}

#[test]
fn scans_for_another_word_each_time_are_not_one_scan() {
    let mut input = scanning(scanner(FINDS, Beside::Word), false, 4.0, 0.99);
    assert_eq!(quadratic::detect(&input).len(), 1, "its end, perhaps");
    let compare = "__memcmp_avx2_movbe".to_owned();
    input.functions[1].function.clone_from(&compare);
    input.functions[0].call_sites[0].targets[0].function = compare;
    assert!(quadratic::detect(&input).is_empty());
    let entry = point(&input, 0, 0);
    let one_word = ArgumentValue {
        at: entry,
        target: entry,
        argument: 2,
        value: ValueShare {
            value: 0x7000,
            share: share_of(0.9),
        },
        calls: 1000,
        bursts: 20,
    };
    let observed = input.observed.as_mut().expect("bursts");
    observed.argument_values.push(one_word);
    assert_eq!(quadratic::detect(&input).len(), 1, "always for the same");
}
