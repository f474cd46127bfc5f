//! Bytes appended through memory, bytes tested without branches, and their near misses.

use genba_model::{CodePoint, Estimate, Fact, Fix, LoopFact};
use genba_observe::{Observations, PiecewiseCall, Seen};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::{bytewise_compare, bytewise_copy};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::synthetic::{call, function, has_fact, program};

const RUNS: u64 = 100_000;
const ALL: u64 = RUNS * 150;

/// Where an append has the buffer's length.
#[derive(Clone, Copy, PartialEq)]
enum Length {
    /// Read from memory and stored there for each byte.
    InMemory,
    /// In a register.
    InRegister,
    /// Stored for each byte, but never read again.
    StoredOnly,
}

/// `for (i = 0; i < n; i++) put(in[i] + 33, out)` with the body of `put` inlined.
fn appending(length: Length) -> FunctionInput {
    function(
        "format",
        |a| {
            let mut head = a.create_label();
            a.xor(ebx, ebx)?;
            a.mov(rax, qword_ptr(r15))?;
            a.set_label(&mut head)?;
            match length {
                Length::InMemory => a.mov(rax, qword_ptr(r15))?,
                Length::InRegister | Length::StoredOnly => a.nop()?,
            }
            a.movzx(ecx, byte_ptr(rbp + rbx))?;
            a.mov(rdi, qword_ptr(r15 + 16))?;
            a.add(ecx, 33)?;
            a.mov(byte_ptr(rdi + rax), cl)?;
            a.add(rax, 1)?;
            match length {
                Length::InRegister => a.nop()?,
                Length::InMemory | Length::StoredOnly => a.mov(qword_ptr(r15), rax)?,
            }
            a.add(rbx, 1)?;
            a.cmp(rbx, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            RUNS, RUNS, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, RUNS,
        ],
        &[
            0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0,
        ],
        &[(11, ALL - RUNS)],
    )
}

/// `while ((c = getc_unlocked(in)) != end) *p++ = c`, inlined: the position is in the stream, and is written
/// back so much further on.
fn read_line(step: i32) -> FunctionInput {
    function(
        "read_line",
        |a| {
            let (mut head, mut out, mut again) =
                (a.create_label(), a.create_label(), a.create_label());
            a.jmp(head)?;
            a.set_label(&mut again)?;
            a.mov(byte_ptr(rbx), r14b)?;
            a.lea(r15, ptr(rbx + 1))?;
            a.cmp(ebp, r13d)?;
            a.je(out)?;
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(r12 + 8))?;
            a.cmp(rax, qword_ptr(r12 + 16))?;
            a.jae(out)?;
            a.lea(rsi, ptr(rax + step))?;
            a.mov(qword_ptr(r12 + 8), rsi)?;
            a.movzx(ebp, byte_ptr(rax))?;
            a.mov(r14d, ebp)?;
            a.mov(rbx, r15)?;
            a.cmp(r15, rcx)?;
            a.jne(again)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            RUNS, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, RUNS,
        ],
        &[0.06; 16],
        &[(4, RUNS), (7, 0), (14, ALL - RUNS)],
    )
}

#[test]
fn bytes_of_a_stream_whose_position_is_in_memory_are_found() {
    let found = appends(read_line(1));
    assert_eq!(found.len(), 1);
    assert!(found[0].residual_fraction.value < 0.5);
    // One letter of two, and the same letter each time, are not a run.
    assert!(appends(read_line(2)).is_empty());
    assert!(appends(read_line(0)).is_empty());
}

fn appends(function: FunctionInput) -> Vec<Candidate> {
    bytewise_copy::detect(&program(vec![function]))
}

#[test]
fn bytes_appended_through_memory_are_found() {
    let found = appends(appending(Length::InMemory));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [6]);
    assert!(found[0].residual_fraction.value < 0.95);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::AppendedBytes {
            bytes: ALL,
            reloads: 2,
            ..
        })
    )));
}

#[test]
fn bytes_written_through_registers_are_not_appended_through_memory() {
    assert!(appends(appending(Length::InRegister)).is_empty());
    assert!(appends(appending(Length::StoredOnly)).is_empty());
}

/// The same with a test for room; `grows` times in all the buffer is made larger by a call, and its
/// length read again.
fn appending_with_growth(grows: u64) -> FunctionInput {
    function(
        "format",
        |a| {
            let (mut head, mut store) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(rbx + 16))?;
            a.lea(rsi, qword_ptr(rax + 1))?;
            a.cmp(qword_ptr(rbx + 24), rsi)?;
            a.jae(store)?;
            a.mov(rdi, rbx)?;
            a.call(qword_ptr(rbx))?;
            a.mov(rax, qword_ptr(rbx + 16))?;
            a.lea(rsi, qword_ptr(rax + 1))?;
            a.set_label(&mut store)?;
            a.movzx(ecx, byte_ptr(rbp))?;
            a.mov(rdx, qword_ptr(rbx + 8))?;
            a.add(rbp, 1)?;
            a.mov(qword_ptr(rbx + 16), rsi)?;
            a.mov(byte_ptr(rdx + rax), cl)?;
            a.cmp(r12, rbp)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            ALL, ALL, ALL, ALL, grows, grows, grows, grows, ALL, ALL, ALL, ALL, ALL, ALL, ALL, RUNS,
        ],
        &[
            0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0,
        ],
        &[(3, ALL - grows), (14, ALL - RUNS)],
    )
}

#[test]
fn appended_bytes_are_found_beside_a_rare_way_that_grows_the_buffer() {
    let found = appends(appending_with_growth(10));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [12]);
}

#[test]
fn bytes_that_are_handed_on_by_a_call_each_are_not_appended() {
    assert!(appends(appending_with_growth(ALL / 2)).is_empty());
}

/// What is made of a byte that is tested.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    /// `if (c == 10) { lines++; column = 0; }` without a branch.
    Selected,
    /// A branch on it.
    Branch,
    /// Less, not equal.
    Order,
    /// Equal to what is in a register, and counted.
    Counted,
    /// Equal to what changes with each byte.
    Changing,
}

/// Lines and columns up to an error, in starts of this length.
fn position(bytes: u64, outcome: Outcome) -> FunctionInput {
    let starts = ALL * 10 / bytes;
    let all = starts * bytes;
    function(
        "position",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.xor(r9d, r9d)?;
            a.set_label(&mut head)?;
            a.add(rdx, 1)?;
            a.xor(r8d, r8d)?;
            match outcome {
                Outcome::Counted | Outcome::Changing => a.cmp(byte_ptr(rsi + rdi), r10b)?,
                _ => a.cmp(byte_ptr(rsi + rdi), 10)?,
            }
            match outcome {
                Outcome::Counted => {
                    a.sete(r8b)?;
                    a.nop()?;
                }
                Outcome::Changing => {
                    a.sete(r8b)?;
                    a.lea(r10, ptr(r10 + 1))?;
                }
                Outcome::Selected => {
                    a.cmove(rdx, r9)?;
                    a.sete(r8b)?;
                }
                Outcome::Branch => {
                    a.jne(next)?;
                    a.nop()?;
                }
                Outcome::Order => {
                    a.cmovb(rdx, r9)?;
                    a.setb(r8b)?;
                }
            }
            a.set_label(&mut next)?;
            a.add(rax, r8)?;
            a.add(rdi, 1)?;
            a.cmp(rdi, rcx)?;
            a.jne(head)?;
            a.ret()
        },
        &[starts, all, all, all, all, all, all, all, all, all, starts],
        &[0.0, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(9, all - starts)],
    )
}

fn tests_of(bytes: u64, outcome: Outcome) -> Vec<Candidate> {
    let found = bytewise_compare::detect(&program(vec![position(bytes, outcome)]));
    let tests = |one: &Candidate| {
        let mut facts = one.facts.iter();
        facts.any(|fact| matches!(fact, Fact::Loop(LoopFact::ByteTests { .. })))
    };
    found.into_iter().filter(tests).collect()
}

#[test]
fn bytes_tested_without_branches_are_found() {
    let found = tests_of(1_000_000, Outcome::Selected);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [3]);
    let counted = tests_of(1_000_000, Outcome::Counted);
    assert_eq!(counted.len(), 1);
}

#[test]
fn short_texts_branches_and_orders_are_not_tests_without_branches() {
    assert!(tests_of(100, Outcome::Selected).is_empty(), "short");
    assert!(tests_of(1_000_000, Outcome::Branch).is_empty(), "a branch");
    assert!(
        tests_of(1_000_000, Outcome::Order).is_empty(),
        "not equality"
    );
    assert!(
        tests_of(1_000_000, Outcome::Changing).is_empty(),
        "looks for something else each time"
    );
}

const PUTS: u64 = 10_000_000;

/// `put(out, in, n)` of a few bytes for each letter, which bursts saw continue the call before in
/// this share of the calls.
fn putting(bytes: f64, continued: f64) -> Vec<Candidate> {
    putting_beside(bytes, continued, 0)
}

/// The same where another call of `put` in the function is executed so often.
fn putting_beside(bytes: f64, continued: f64, others: u64) -> Vec<Candidate> {
    let put = function("put", |a| a.ret(), &[PUTS], &[0.3], &[]);
    let mut caller = function(
        "write",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.call(0x1000u64)?;
            a.add(rsi, 2)?;
            a.cmp(rsi, rbx)?;
            a.jne(head)?;
            a.ret()
        },
        &[PUTS, PUTS, PUTS, PUTS, 1],
        &[0.02, 0.1, 0.1, 0.1, 0.0],
        &[(3, PUTS - 1)],
    );
    caller.call_sites = vec![call(0, "put", PUTS, 20.0), call(4, "put", others, 20.0)];
    detected(put, caller, bytes, continued, PUTS + others)
}

/// The same where a function with 0.3 of the time as well is called from the loop so often.
fn putting_what_is_found(made: u64) -> Vec<Candidate> {
    let put = function("put", |a| a.ret(), &[PUTS], &[0.3], &[]);
    let find = function("find", |a| a.ret(), &[made], &[0.3], &[]);
    let mut caller = function(
        "write",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.call(0x1000u64)?;
            a.call(0x2000u64)?;
            a.cmp(rsi, rbx)?;
            a.jne(head)?;
            a.ret()
        },
        &[PUTS, PUTS, PUTS, PUTS, 1],
        &[0.02, 0.1, 0.1, 0.1, 0.0],
        &[(3, PUTS - 1)],
    );
    caller.call_sites = vec![call(0, "put", PUTS, 20.0), call(1, "find", made, 20.0)];
    let mut input = seen(vec![put, caller, find], 1.8, 0.97);
    input.functions[0].calls = Some(PUTS);
    bytewise_copy::detect(&input)
}

fn detected(
    put: FunctionInput,
    caller: FunctionInput,
    bytes: f64,
    continued: f64,
    calls: u64,
) -> Vec<Candidate> {
    let mut input = seen(vec![put, caller], bytes, continued);
    input.functions[0].calls = Some(calls);
    bytewise_copy::detect(&input)
}

/// A program whose call at 0x1000 bursts saw continue the one before in this share of the calls.
fn seen(functions: Vec<FunctionInput>, bytes: f64, continued: f64) -> AnalysisInput {
    let mut input = program(functions);
    let point = |address| CodePoint { module: 0, address };
    input.observed = Some(Observations {
        modules: vec!["/bin/prog".to_owned()],
        piecewise_calls: vec![PiecewiseCall {
            at: point(0x1000),
            target: point(0x1000),
            seen: Seen {
                share: Estimate::exact(continued),
                executions: 10_000,
                bursts: 30,
            },
            bytes_per_call: bytes,
            calls_per_run: 1.0 / (1.0 - continued).max(0.001),
            appended: false,
            pointer: 1,
            first_goes_on: 0.0,
        }],
        ..Observations::default()
    });
    input
}

#[test]
fn runs_handed_on_by_calls_of_few_bytes_are_found() {
    let found = putting(1.8, 0.97);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].function, &found[0].site[..]), (Some(1), &[0][..]));
    let saved = 1.0 - found[0].residual_fraction.value;
    assert!(
        (0.25..0.4).contains(&saved),
        "0.4 of the time but for what finds the end: {saved}"
    );
}

#[test]
fn loop_and_other_calls_of_one_callee_may_go_with_the_pieces() {
    let alone = putting(1.8, 0.97)[0].residual_fraction;
    let beside = putting_beside(1.8, 0.97, PUTS)[0].residual_fraction;
    // 0.3 are in the callee, 0.02 and 0.1 at the call, 0.2 in the rest of the loop.
    assert!(alone.low < 1.0 - 0.42 * 0.97 && alone.low >= 1.0 - 0.42 - 0.1 - 1e-9);
    assert!(alone.high > 0.75, "half of the calls' time");
    assert!(
        beside.value > alone.value,
        "these calls make half of the calls"
    );
    assert!((beside.low - alone.low).abs() < 0.02, "but all may go");
}

#[test]
fn what_finds_each_piece_is_called_once_for_a_run_then() {
    let (rare, each) = (putting_what_is_found(10), putting_what_is_found(PUTS));
    let (rare, each) = (rare[0].residual_fraction, each[0].residual_fraction);
    assert!(
        each.value < rare.value && each.low < rare.low,
        "{each:?} {rare:?}"
    );
    assert!(
        each.high >= rare.high - 1e-9,
        "it may have to look at each letter"
    );
}

#[test]
fn words_and_large_pieces_are_not_runs() {
    assert!(putting(1.8, 0.3).is_empty(), "seldom continued");
    assert!(putting(64.0, 0.97).is_empty(), "large pieces");
}

/// How a search goes on.
#[derive(Clone, Copy, PartialEq)]
enum Skip {
    /// By what a table has for a letter.
    Letter,
    /// By what a table has for an element of eight bytes: a list in an array.
    Link,
}

/// `for (; y < end; y += skip[y[m]]) if (*y == first && …)`, so many positions in each search.
fn word_search(positions: u64, skip: Skip) -> Vec<Candidate> {
    let searches = 1_000_000_000 / positions;
    let all = searches * positions;
    let one = function(
        "search",
        |a| {
            let (mut head, mut next, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.cmp(bpl, byte_ptr(rbx))?;
            a.je(out)?;
            a.set_label(&mut next)?;
            match skip {
                Skip::Letter => a.movzx(eax, byte_ptr(rbx + r14))?,
                Skip::Link => a.mov(rax, qword_ptr(rbx + r14))?,
            }
            a.add(rbx, qword_ptr(r12 + rax * 8))?;
            a.cmp(rbx, r15)?;
            a.jb(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[searches, all, all, all, all, all, all, searches],
        &[0.0, 0.1, 0.1, 0.2, 0.4, 0.1, 0.1, 0.0],
        &[(2, 0), (6, all - searches)],
    );
    let found = bytewise_compare::detect(&program(vec![one]));
    found
        .into_iter()
        .filter(|one| one.fix == Fix::SearchWord)
        .collect()
}

#[test]
fn word_searches_by_a_table_of_skips_are_found() {
    let found = word_search(10_000, Skip::Letter);
    assert_eq!(found.len(), 1);
    assert!(found[0].residual_fraction.value < 1.0);
    assert!(word_search(4, Skip::Letter).is_empty(), "short");
    assert!(word_search(10_000, Skip::Link).is_empty(), "no letters");
}

/// `for (; left; letters++) { size = *p < 0x80 ? 1 : 2; if (size > left) break; p += size; left -= size; }`, of which one
/// in so many letters has two bytes.
fn letters(one_in: u64) -> FunctionInput {
    let long = ALL / one_in;
    function(
        "count",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            let (mut out, mut two) = (a.create_label(), a.create_label());
            a.xor(esi, esi)?;
            a.set_label(&mut head)?;
            a.mov(edi, 1)?;
            a.cmp(byte_ptr(rax), 0)?;
            a.js(two)?;
            a.set_label(&mut next)?;
            a.cmp(rdi, rdx)?;
            a.ja(out)?;
            a.add(rax, rdi)?;
            a.inc(rsi)?;
            a.sub(rdx, rdi)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()?;
            a.set_label(&mut two)?;
            a.mov(edi, 2)?;
            a.jmp(next)
        },
        &[
            RUNS, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, RUNS, long, long,
        ],
        &[
            0.0, 0.1, 0.2, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(3, long), (5, 0), (9, ALL - RUNS)],
    )
}

#[test]
fn letters_that_are_nearly_always_one_byte_are_passed_byte_by_byte() {
    let found = |one_in| bytewise_compare::detect(&program(vec![letters(one_in)]));
    assert_eq!(found(100_000).len(), 1);
    assert!(found(2).is_empty());
}
