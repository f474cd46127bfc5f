//! Scans from the beginning to the letter, line or record of a number, many bytes in each step.

use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

const SCANS: u64 = 40_000;

/// What becomes of how many there are in a step.
#[derive(Clone, Copy, PartialEq)]
enum Passed {
    /// It is taken off what is left to pass, which ends the scan.
    TakenOff,
    /// It is added up to what is returned.
    AddedUp,
    /// It is taken off what only the caller reads.
    Returned,
}

/// `while (left > 64) left -= popcount(mask(text + at)), at += 32;` over so many bytes each time.
fn letters(bytes: u64, passed: Passed) -> FunctionInput {
    let steps = SCANS * bytes / 32;
    function(
        "byte_of_letter",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.xor(r9d, r9d)?;
            a.set_label(&mut head)?;
            a.movdqu(xmm1, xmmword_ptr(rcx + r9))?;
            a.movdqu(xmm2, xmmword_ptr(rcx + r9 + 16))?;
            a.pmovmskb(r10d, xmm1)?;
            a.add(r9, 32)?;
            match passed {
                Passed::AddedUp => a.add(r8, r10)?,
                _ => a.sub(r8, r10)?,
            }
            match passed {
                Passed::Returned => a.cmp(r9, rdi)?,
                _ => a.cmp(r8, 64)?,
            }
            a.jb(out)?;
            a.cmp(r9, rsi)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.lea(rax, qword_ptr(r8 + r9))?;
            a.ret()
        },
        &[
            SCANS, steps, steps, steps, steps, steps, steps, steps, steps, steps, SCANS, SCANS,
        ],
        &[0.0, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[(7, SCANS / 2), (9, steps - SCANS)],
    )
}

fn is_found(bytes: u64, passed: Passed) -> bool {
    let mut input = program(vec![letters(bytes, passed)]);
    input.program.input_bytes = Some(100_000);
    input.program.max_rss_bytes = Some(3e6);
    !quadratic::detect(&input).is_empty()
}

#[test]
fn scan_to_the_letter_of_a_number_is_quadratic() {
    assert!(is_found(60_000, Passed::TakenOff));
    assert!(!is_found(640, Passed::TakenOff), "short");
}

#[test]
fn sums_and_counts_of_what_was_read_are_results() {
    assert!(!is_found(60_000, Passed::AddedUp));
    assert!(!is_found(60_000, Passed::Returned));
}

/// How a walk over records goes on.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// By a length in a table, by the first byte of the record.
    Table,
    /// By the first byte, with a sum of all of them.
    AndSum,
    /// By a byte that may be negative.
    Signed,
    /// By eight bytes.
    Wide,
    /// By one; the bytes are added up.
    SumAlone,
}

/// `while (at < end) last = at, at += sizes[*at];` over so many records each time.
fn records(count: u64, step: Step) -> FunctionInput {
    let all = SCANS * count;
    function(
        "record_before",
        |a| {
            let mut head = a.create_label();
            a.mov(rdx, rdi)?;
            a.set_label(&mut head)?;
            a.mov(rcx, rdx)?;
            match step {
                Step::Signed => a.movsx(rax, byte_ptr(rdx))?,
                Step::Wide => a.mov(rax, qword_ptr(rdx))?,
                _ => a.movzx(eax, byte_ptr(rdx))?,
            }
            match step {
                Step::Table => a.movzx(eax, byte_ptr(r8 + rax))?,
                Step::AndSum => a.add(r9, rax)?,
                _ => a.nop()?,
            }
            match step {
                Step::SumAlone => a.add(r9, rax)?,
                _ => a.add(rdx, rax)?,
            }
            match step {
                Step::SumAlone => a.inc(rdx)?,
                _ => a.nop()?,
            }
            a.cmp(rdx, rsi)?;
            a.jb(head)?;
            a.lea(rax, qword_ptr(rcx + r9))?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, all, all, SCANS, SCANS],
        &[0.0, 0.1, 0.3, 0.3, 0.1, 0.0, 0.1, 0.1, 0.0, 0.0],
        &[(7, all - SCANS)],
    )
}

#[test]
fn walk_by_the_lengths_of_records_to_the_last_one_is_quadratic() {
    let is_found = |count, step| {
        let mut input = program(vec![records(count, step)]);
        input.program.input_bytes = Some(100_000);
        input.program.max_rss_bytes = Some(3e6);
        !quadratic::detect(&input).is_empty()
    };
    assert!(is_found(20_000, Step::Table));
    assert!(!is_found(40, Step::Table), "short");
    assert!(!is_found(20_000, Step::AndSum), "a sum beside it");
    assert!(!is_found(20_000, Step::SumAlone), "a checksum");
    assert!(!is_found(20_000, Step::Signed), "it may go back");
    assert!(!is_found(20_000, Step::Wide), "so may eight bytes");
}

/// `for (offset, letter) in text.char_indices()`: the offset goes on by as much as the pointer; or by as much as stands
/// there.
fn offsets(sum: bool) -> FunctionInput {
    let all = SCANS * 20_000;
    function(
        "offset_of_letter",
        |a| {
            let mut head = a.create_label();
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.movzx(r10d, byte_ptr(rsi))?;
            a.lea(r11, qword_ptr(rsi + 1))?;
            a.mov(rcx, r11)?;
            match sum {
                true => a.sub(rcx, r10)?,
                false => a.sub(rcx, rsi)?,
            }
            a.add(rax, rcx)?;
            a.mov(rsi, r11)?;
            a.dec(r9)?;
            a.jne(head)?;
            a.ret()
        },
        &[&[SCANS][..], &[all; 8], &[SCANS]].concat(),
        &[0.0, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0],
        &[(8, all - SCANS)],
    )
}

#[test]
fn offset_beside_a_pointer_is_a_position_but_a_sum_is_not() {
    let is_found = |sum| {
        let mut input = program(vec![offsets(sum)]);
        input.program.input_bytes = Some(100_000);
        input.program.max_rss_bytes = Some(3e6);
        !quadratic::detect(&input).is_empty()
    };
    assert!(is_found(false));
    assert!(!is_found(true));
}
