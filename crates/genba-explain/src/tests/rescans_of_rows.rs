//! Scans whose address is made of a row and a position in it, and of what is kept in the frame.

use genba_model::{Fact, QuadraticFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, has_fact, program};

const SCANS: u64 = 2_000;
const ROWS: u64 = 500;
const WORDS: u64 = 40;

/// How rows follow one another.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// By what the loop does not change.
    Regular,
    /// By what each row says: a list.
    Linked,
}

/// `for (; y >= 0; y--) for (x = 0; x < w; x += step) if (map[y * stride + (x >> 6)]) return x;`
fn bitmap(step: u32, rows: Rows) -> FunctionInput {
    let (rows_all, words) = (SCANS * ROWS, SCANS * ROWS * WORDS);
    let left = words - rows_all;
    function(
        "find_next",
        |a| {
            let (mut row, mut word, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.mov(edx, r8d)?;
            a.set_label(&mut row)?;
            a.xor(ebx, ebx)?;
            a.set_label(&mut word)?;
            a.mov(ecx, ebx)?;
            a.sar(ecx, 6)?;
            a.movsxd(rcx, ecx)?;
            a.add(rcx, rax)?;
            a.cmp(qword_ptr(r10 + rcx * 8), 0)?;
            a.jne(out)?;
            a.add(ebx, step)?;
            a.cmp(esi, ebx)?;
            a.jg(word)?;
            match rows {
                Rows::Regular => a.sub(rax, rdi)?,
                Rows::Linked => a.mov(rax, qword_ptr(r11 + rax * 8))?,
            }
            a.sub(edx, 1)?;
            a.jns(row)?;
            a.set_label(&mut out)?;
            a.lea(rax, qword_ptr(rax + rbx))?;
            a.ret()
        },
        &[
            SCANS, rows_all, words, words, words, words, words, words, words, words, words,
            rows_all, rows_all, rows_all, SCANS, SCANS,
        ],
        &[
            0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(7, 0), (10, left), (13, rows_all - SCANS)],
    )
}

fn found(function: FunctionInput) -> Vec<Candidate> {
    let mut input = program(vec![function]);
    input.program.input_bytes = Some(1_000);
    input.program.max_rss_bytes = Some(3e6);
    quadratic::detect(&input)
}

#[test]
fn bitmap_scanned_from_its_first_row_again_is_quadratic() {
    let found = found(bitmap(64, Rows::Regular));
    assert_eq!(found.len(), 1);
    let bytes_of_scan = (8 * ROWS * WORDS) as f64;
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::Scans { scans: SCANS, bytes })
            if (*bytes / bytes_of_scan - 1.0).abs() < 0.05
    )));
}

#[test]
fn rows_of_a_list_and_columns_are_not_scans() {
    assert!(found(bitmap(64, Rows::Linked)).is_empty(), "a list of rows");
    assert!(
        found(bitmap(4096, Rows::Regular)).is_empty(),
        "every 64th word"
    );
}

/// `while (i-- > 0) { rune = *s; s++; }` with the letter in memory, since its address is handed on elsewhere.
fn letter(reads_again: bool) -> FunctionInput {
    let all = SCANS * 60_000;
    function(
        "letter_at",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rdi))?;
            match reads_again {
                true => a.add(dword_ptr(rsp + 12), eax)?,
                false => a.mov(dword_ptr(rsp + 12), eax)?,
            }
            a.add(rdi, 1)?;
            a.sub(esi, 1)?;
            a.jne(head)?;
            a.mov(eax, dword_ptr(rsp + 12))?;
            a.ret()
        },
        &[SCANS, all, all, all, all, all, SCANS, SCANS],
        &[0.0, 0.3, 0.3, 0.1, 0.1, 0.2, 0.0, 0.0],
        &[(5, all - SCANS)],
    )
}

#[test]
fn letter_kept_in_the_frame_is_a_scan_and_a_sum_there_is_not() {
    assert_eq!(found(letter(false)).len(), 1);
    assert!(found(letter(true)).is_empty(), "a checksum");
}
