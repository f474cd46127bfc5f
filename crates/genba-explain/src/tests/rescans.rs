//! The same bytes scanned from many starts, moves by a distance that varies, and their near misses.

use genba_model::{CodePoint, Estimate, Fact, QuadraticFact};
use genba_observe::{AdvancingCall, Seen};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::input::analysis_input::{AnalysisInput, CalledFunction, FunctionInput};
use crate::tests::observed_repetition::{observations, redundant};
use crate::tests::synthetic::{function, has_fact, program};

const SCANS: u64 = 40_000;

/// What the loop does beside looking for a byte.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Nothing,
    Sums,
    Stores,
}

/// `while (*p++ != '>');` in scans of so many bytes, all the time.
fn scan(bytes: u64, beside: Beside) -> FunctionInput {
    let all = SCANS * bytes;
    function(
        "scan",
        |a| {
            let mut head = a.create_label();
            a.xor(ecx, ecx)?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rdi))?;
            match beside {
                Beside::Nothing => a.nop()?,
                // In a register that the caller has as well.
                Beside::Sums => a.add(r12, rax)?,
                Beside::Stores => a.mov(byte_ptr(rsi), al)?,
            }
            a.add(rdi, 1)?;
            a.cmp(al, 62)?;
            a.jne(head)?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, SCANS],
        &[0.0, 0.5, 0.1, 0.1, 0.1, 0.2, 0.0],
        &[(5, all - SCANS)],
    )
}

/// `while (lexer->at < end && text[lexer->at++] != '"');` in scans of so many bytes.
fn scan_through_memory(bytes: u64) -> FunctionInput {
    let all = SCANS * bytes;
    function(
        "scan_token",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(rdx, qword_ptr(rbx))?;
            a.movzx(eax, byte_ptr(r14 + rdx))?;
            a.add(rdx, 1)?;
            a.mov(qword_ptr(rbx), rdx)?;
            a.cmp(al, 34)?;
            a.jne(head)?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, all, SCANS],
        &[0.0, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(6, all - SCANS)],
    )
}

#[test]
fn scans_with_the_position_in_memory_pass_the_same_bytes_as_well() {
    let one = |bytes, memory| found(scan_through_memory(bytes), Some(160_000), memory);
    assert_eq!(one(60_000, 5e6).len(), 1);
    // Each byte once, or as much memory as is passed.
    assert!(one(100, 5e6).is_empty());
    assert!(one(60_000, 3e9).is_empty());
}

/// What bursts saw of a program that does all its work again and again, or one thing after the other.
fn observed(input: &mut AnalysisInput, whole: bool) {
    let mut seen = observations();
    if whole {
        let of_whole = redundant(
            |one| {
                one.stores_outside = 1.0;
                one.repeats_previous = one.seen;
            },
            false,
        );
        let calls = of_whole.observed.map(|one| one.redundant_calls);
        seen.redundant_calls = calls.unwrap_or_default();
    }
    input.observed = Some(seen);
}

#[test]
fn shorter_scans_pass_all_memory_many_times_and_not_with_all_other_work() {
    let is_found = |bytes, memory, whole| {
        let mut input = program(vec![scan(bytes, Beside::Nothing)]);
        input.program.input_bytes = Some(40_000);
        input.program.max_rss_bytes = Some(memory);
        observed(&mut input, whole);
        !quadratic::detect(&input).is_empty()
    };
    // 40,000 scans of 800 bytes: 160 times what there is, or 32 times.
    assert!(is_found(800, 2e5, false));
    assert!(!is_found(800, 1e6, false), "long scans only");
    assert!(!is_found(800, 2e5, true), "the program does all again");
    assert!(!is_found(200, 4e4, false), "lines");
}

#[test]
fn scans_that_go_on_where_the_one_before_ended_are_of_another_pass() {
    let is_found = |bytes_per_call| {
        let mut input = program(vec![scan(60_000, Beside::Nothing)]);
        input.program.input_bytes = Some(160_000);
        input.program.max_rss_bytes = Some(5e6);
        let mut all = observations();
        let entry = CodePoint {
            module: 0,
            address: input.functions[0].code[0].address,
        };
        all.modules = vec![input.functions[0].module.clone()];
        all.advancing_calls.push(AdvancingCall {
            at: entry,
            target: entry,
            argument: 0,
            seen: Seen {
                share: Estimate::exact(1.0),
                executions: 4,
                bursts: 4,
            },
            bytes_per_call,
        });
        input.observed = Some(all);
        !quadratic::detect(&input).is_empty()
    };
    assert!(is_found(20.0), "a token further each time");
    assert!(!is_found(40_000.0));
}

/// `while (n > 0) { do p++; while ((*p & 0xc0) == 0x80); n--; }`: letters of two bytes are passed until so many
/// are, and the place is the result; with `counts` how many are left as well.
fn letters(counts: bool) -> FunctionInput {
    let (letters, all) = (SCANS * 30_000, SCANS * 60_000);
    function(
        "byte_of_letter",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.mov(ecx, esi)?;
            a.set_label(&mut head)?;
            a.add(rdi, 1)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.and(eax, 0xc0)?;
            a.cmp(eax, 0x80)?;
            a.je(head)?;
            a.sub(rcx, 1)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            match counts {
                true => a.lea(rax, qword_ptr(rdi + rcx))?,
                false => a.mov(rax, rdi)?,
            }
            a.ret()
        },
        &[
            SCANS, all, all, all, all, all, letters, letters, SCANS, SCANS,
        ],
        &[0.0, 0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0],
        &[(5, all - letters), (7, letters - SCANS)],
    )
}

#[test]
fn scan_that_counts_only_to_know_its_end_is_quadratic() {
    let one = |counts| found(letters(counts), Some(300), 3e6);
    assert_eq!(one(false).len(), 1);
    assert!(one(true).is_empty(), "the number is a result");
}

/// What a state machine does between its states.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Nothing,
    /// It remembers where it was.
    Marks,
    /// It adds up what it reads.
    Sums,
}

/// `do { while (*p++ != '?'); } while (*p++ != '>')` with three letters between question marks.
fn scan_by_states(bytes: u64, between: Between) -> FunctionInput {
    let (inner, outer) = (SCANS * bytes * 3 / 4, SCANS * bytes / 4);
    function(
        "scan",
        |a| {
            let (mut head, mut letters) = (a.create_label(), a.create_label());
            a.mov(rsi, rdi)?;
            a.mov(rcx, rdi)?;
            a.set_label(&mut head)?;
            a.nop()?;
            a.set_label(&mut letters)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.add(rdi, 1)?;
            a.cmp(al, 63)?;
            a.jne(letters)?;
            match between {
                Between::Nothing => a.nop()?,
                Between::Marks => a.mov(rcx, rdi)?,
                Between::Sums => a.add(rcx, rax)?,
            }
            a.movzx(eax, byte_ptr(rdi))?;
            a.add(rdi, 1)?;
            a.cmp(al, 62)?;
            a.jne(head)?;
            a.mov(rax, rcx)?;
            a.ret()
        },
        &[
            SCANS, SCANS, outer, inner, inner, inner, inner, outer, outer, outer, outer, outer,
            SCANS, SCANS,
        ],
        &[
            0.0, 0.0, 0.0, 0.4, 0.1, 0.1, 0.1, 0.0, 0.1, 0.1, 0.05, 0.05, 0.0, 0.0,
        ],
        &[(6, inner - outer), (11, outer - SCANS)],
    )
}

fn found(function: FunctionInput, input_bytes: Option<u64>, memory: f64) -> Vec<Candidate> {
    let mut input = program(vec![function]);
    input.program.input_bytes = input_bytes;
    input.program.max_rss_bytes = Some(memory);
    quadratic::detect(&input)
}

#[test]
fn scans_that_read_more_than_there_is_are_quadratic() {
    let found = found(scan(60_000, Beside::Nothing), Some(160_000), 3e6);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [1]);
    assert!(found[0].residual_fraction.value < 0.01);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::Scans { scans: SCANS, bytes }) if (*bytes - 60_000.0).abs() < 10.0
    )));
}

#[test]
fn scans_are_not_quadratic_where_the_bytes_may_be_new_ones() {
    let one = |input_bytes, memory| found(scan(60_000, Beside::Nothing), input_bytes, memory);
    assert!(one(None, 3e6).is_empty(), "unknown input");
    assert!(one(Some(160_000), 1e9).is_empty(), "as much memory");
    assert!(one(Some(2_000_000_000), 3e6).is_empty(), "as much input");
}

#[test]
fn input_without_a_name_is_what_reading_calls_returned_at_most() {
    let one = |read_bytes, called: Option<&str>| {
        let mut input = program(vec![scan(60_000, Beside::Nothing)]);
        input.program.max_rss_bytes = Some(3e6);
        input.program.instructions = Some(1 << 40);
        input.program.read_bytes = read_bytes;
        input.program.called = (called.into_iter())
            .map(|name| CalledFunction {
                function: name.to_owned(),
                module: "libc.so.6".to_owned(),
                calls: 10,
                instructions: 100,
            })
            .collect();
        quadratic::detect(&input).len()
    };
    assert_eq!(one(Some(2_000), None), 1, "a short script");
    assert_eq!(one(Some(2_000), Some("read")), 1);
    assert_eq!(one(Some(2_000_000_000), None), 0, "a long stream");
    assert_eq!(one(Some(2_000), Some("__libc_recv")), 0, "from sockets");
    assert_eq!(one(None, None), 0, "not known");
}

#[test]
fn lines_sums_and_copies_are_not_quadratic() {
    let one = |bytes, beside| found(scan(bytes, beside), Some(1_000), 1e4);
    assert!(!one(60_000, Beside::Nothing).is_empty());
    assert!(one(80, Beside::Nothing).is_empty(), "lines");
    assert!(one(60_000, Beside::Sums).is_empty(), "a checksum");
    assert!(one(60_000, Beside::Stores).is_empty(), "a copy");
}

/// The largest number of so many bytes, in a register that a result of two registers would be in, too.
fn largest(bytes: u64) -> FunctionInput {
    let all = SCANS * bytes / 4;
    function(
        "top",
        |a| {
            let mut head = a.create_label();
            a.xor(edx, edx)?;
            a.set_label(&mut head)?;
            a.mov(eax, dword_ptr(rdi))?;
            a.cmp(edx, eax)?;
            a.cmovb(edx, eax)?;
            a.add(rdi, 4)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.mov(eax, edx)?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, all, SCANS, SCANS],
        &[0.0, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0],
        &[(6, all - SCANS)],
    )
}

#[test]
fn largest_element_is_a_result() {
    assert!(found(largest(80_000), Some(4_000), 1.5e6).is_empty());
}

#[test]
fn state_machine_whose_states_are_loops_is_one_scan() {
    let one = |between| found(scan_by_states(60_000, between), Some(160_000), 3e6);
    for between in [Between::Nothing, Between::Marks] {
        let found = one(between);
        assert_eq!(found.len(), 1);
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Quadratic(QuadraticFact::Scans { scans: SCANS, bytes })
                if (*bytes - 60_000.0).abs() < 10.0
        )));
    }
    assert!(one(Between::Sums).is_empty(), "a checksum");
}

/// `if (near) while (*p++ != '>'); else while (*--p != '>');`: the scan from either end takes half of the calls.
fn scan_from_both_ends(bytes: u64) -> FunctionInput {
    let (half, all) = (SCANS / 2, SCANS / 2 * bytes);
    function(
        "byte_of_letter",
        |a| {
            let (mut forward, mut backward) = (a.create_label(), a.create_label());
            a.test(esi, esi)?;
            a.je(backward)?;
            a.set_label(&mut forward)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.add(rdi, 1)?;
            a.cmp(al, 62)?;
            a.jne(forward)?;
            a.mov(rax, rdi)?;
            a.ret()?;
            a.set_label(&mut backward)?;
            a.movzx(eax, byte_ptr(rdi))?;
            a.sub(rdi, 1)?;
            a.cmp(al, 62)?;
            a.jne(backward)?;
            a.mov(rax, rdi)?;
            a.ret()
        },
        &[
            SCANS, SCANS, all, all, all, all, half, half, all, all, all, all, half, half,
        ],
        &[
            0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0,
        ],
        &[(1, half), (5, all - half), (11, all - half)],
    )
}

#[test]
fn scans_of_one_function_are_one_finding_whose_work_adds_up() {
    let found = found(scan_from_both_ends(60_000), Some(160_000), 3e6);
    assert_eq!(found.len(), 1);
    // The scan with more time decides the line.
    assert_eq!(found[0].site, [8, 2]);
    assert_eq!(found[0].executions, Some(SCANS * 60_000));
    assert!((found[0].share.unwrap_or(0.0) - 0.9).abs() < 1e-9);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::Scans { scans: SCANS, bytes }) if (*bytes - 60_000.0).abs() < 10.0
    )));
}

#[test]
fn scans_of_two_functions_stay_two_findings() {
    let mut input = program(vec![
        scan(60_000, Beside::Nothing),
        FunctionInput {
            function: "other".to_owned(),
            ..scan(60_000, Beside::Nothing)
        },
    ]);
    input.program.input_bytes = Some(160_000);
    input.program.max_rss_bytes = Some(3e6);
    assert_eq!(quadratic::detect(&input).len(), 2);
}

/// `for (k = 0; k < 7; k++) { h = 0; for (p = text; p < end; p++) h = h * 31 + *p; if (!(h & mask)) break; }`, or the same
/// loops without the hash.
fn hashes_of_text(hashed: bool) -> FunctionInput {
    let (hashes, all) = (7 * SCANS, 7 * SCANS * 4000);
    function(
        "may_contain",
        |a| {
            let (mut hash, mut byte, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.mov(r8d, 7)?;
            a.set_label(&mut hash)?;
            a.mov(rdx, r13)?;
            a.xor(eax, eax)?;
            a.set_label(&mut byte)?;
            a.movzx(ecx, byte_ptr(rdx))?;
            if hashed {
                a.imul_3(rax, rax, 31)?;
                a.add(rax, rcx)?;
            } else {
                a.nop()?;
                a.nop()?;
            }
            a.add(rdx, 1)?;
            a.cmp(cl, 0)?;
            a.jne(byte)?;
            a.test(rax, rsi)?;
            a.jne(out)?;
            a.sub(r8, 1)?;
            a.jne(hash)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SCANS, hashes, hashes, all, all, all, all, all, all, hashes, hashes, hashes, hashes,
            SCANS,
        ],
        &[
            0.0, 0.0, 0.0, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(8, all - hashes), (10, 0), (12, hashes - SCANS)],
    )
}

#[test]
fn hash_that_a_loop_inside_makes_is_no_scan_of_the_loop_around() {
    assert!(!found(hashes_of_text(false), Some(160_000), 5e6).is_empty());
    assert!(found(hashes_of_text(true), Some(160_000), 5e6).is_empty());
}
