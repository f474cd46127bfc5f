//! Bytes that are only tested, at a position in memory, and near misses.

use genba_model::{Fact, Fix, LoopFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::bytewise_compare;
use crate::tests::synthetic::{function, has_fact, program};

const RUNS: u64 = 2_000_000;

/// Where a scan has its position.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// Loaded and stored for each byte.
    Stored,
    /// Loaded for each byte, and counted where it is.
    CountedInMemory,
    /// Advanced in a register, and stored for each byte.
    StoredFromRegister,
    InRegister,
}

/// What a scan does with a byte beside testing it.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Nothing,
    Sums,
    Copies,
    OtherStream,
}

/// `while (lexer->at < end) { c = text[lexer->at++]; if (c == '"') break; if (classes[c] & 2) …; }` with runs of
/// so many bytes.
fn lexing(run: u64, position: Position, beside: Beside) -> Vec<Candidate> {
    let all = RUNS * run;
    let heat = 0.9 / 11.0;
    let scan = function(
        "lex_string",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.xor(edx, edx)?;
            a.set_label(&mut head)?;
            match position {
                Position::InRegister | Position::StoredFromRegister => a.nop()?,
                _ => a.mov(rdx, qword_ptr(rbx))?,
            }
            a.cmp(rdx, r13)?;
            a.jae(out)?;
            a.movzx(eax, byte_ptr(r14 + rdx))?;
            match position {
                Position::Stored => {
                    a.lea(rcx, qword_ptr(rdx + 1))?;
                    a.mov(qword_ptr(rbx), rcx)?;
                }
                Position::CountedInMemory => {
                    a.add(qword_ptr(rbx), 1)?;
                    a.nop()?;
                }
                Position::StoredFromRegister => {
                    a.add(rdx, 1)?;
                    a.mov(qword_ptr(rbx), rdx)?;
                }
                Position::InRegister => {
                    a.add(rdx, 1)?;
                    a.nop()?;
                }
            }
            match beside {
                Beside::Nothing => a.nop()?,
                Beside::Sums => a.add(r12, rax)?,
                Beside::Copies => a.mov(byte_ptr(r15 + rdx), al)?,
                Beside::OtherStream => a.mov(r9, qword_ptr(r15 + rdx * 8))?,
            }
            a.cmp(al, 34)?;
            a.je(out)?;
            a.test(byte_ptr(r8 + rax), 2)?;
            a.je(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            RUNS, all, all, all, all, all, all, all, all, all, all, all, RUNS,
        ],
        &[heat; 13],
        &[(3, 0), (9, 0), (11, all - RUNS)],
    );
    bytewise_compare::detect(&program(vec![scan]))
}

#[test]
fn bytes_tested_at_a_position_in_memory_are_found() {
    for position in [Position::Stored, Position::CountedInMemory] {
        let found = lexing(20, position, Beside::Nothing);
        assert_eq!(found.len(), 1);
        assert_eq!((&found[0].fix, &found[0].site), (&Fix::ScanAhead, &vec![4]));
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Loop(LoopFact::BytesThroughMemory { mean_run, reloads: 1, .. })
                if (mean_run - 20.0).abs() < 0.1
        )));
        // 25 cycles a byte: one of the run as before, and little for the others.
        let rest = found[0].residual_fraction;
        assert!(rest.low < rest.value && rest.value < rest.high && rest.high < 0.4);
    }
}

#[test]
fn position_that_is_stored_for_each_byte_from_a_register_is_found() {
    let found = lexing(20, Position::StoredFromRegister, Beside::Nothing);
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::BytesThroughMemory { reloads: 0, .. })
    )));
    for beside in [Beside::Sums, Beside::Copies, Beside::OtherStream] {
        assert!(lexing(20, Position::StoredFromRegister, beside).is_empty());
    }
}

#[test]
fn short_runs_are_not_scans_through_memory() {
    assert!(lexing(4, Position::Stored, Beside::Nothing).is_empty());
    assert!(lexing(4, Position::InRegister, Beside::Nothing).is_empty());
}

#[test]
fn class_of_a_byte_by_a_table_at_a_position_in_a_register_is_tested_wider() {
    let found = lexing(40, Position::InRegister, Beside::Nothing);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].fix, &found[0].site),
        (&Fix::WideClasses, &vec![4])
    );
    for beside in [Beside::Sums, Beside::Copies, Beside::OtherStream] {
        assert!(lexing(40, Position::InRegister, beside).is_empty());
    }
}

#[test]
fn bytes_of_which_something_is_made_are_not_a_scan() {
    for beside in [Beside::Sums, Beside::Copies, Beside::OtherStream] {
        assert!(lexing(20, Position::Stored, beside).is_empty());
    }
}

/// `while (text[parser->at] == ' ') { parser->at++; parser->column++; if (--to_tab == 0) to_tab = 4; }`.
fn blanks(beside: Beside) -> Vec<Candidate> {
    let all = RUNS * 400;
    let scan = function(
        "find_first_nonspace",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.mov(edx, dword_ptr(r8 + 0x2c))?;
            a.set_label(&mut head)?;
            a.movsxd(rax, edx)?;
            a.mov(dword_ptr(r8 + 0x2c), edx)?;
            a.add(edx, 1)?;
            a.add(rax, r9)?;
            a.mov(dword_ptr(r8 + 0x30), esi)?;
            a.movzx(ecx, byte_ptr(rax))?;
            match beside {
                Beside::Copies => a.mov(dword_ptr(r8 + 0x40), ecx)?,
                _ => a.nop()?,
            }
            a.cmp(cl, 0x20)?;
            a.jne(out)?;
            a.add(esi, 1)?;
            a.sub(edi, 1)?;
            a.cmove(edi, r11d)?;
            a.jmp(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            RUNS,
            all,
            all,
            all,
            all,
            all,
            all,
            all,
            all,
            all,
            all - RUNS,
            all - RUNS,
            all - RUNS,
            all - RUNS,
            RUNS,
        ],
        &[0.06; 15],
        &[(9, RUNS)],
    );
    bytewise_compare::detect(&program(vec![scan]))
}

#[test]
fn columns_counted_beside_the_position_do_not_matter() {
    let found = blanks(Beside::Nothing);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0].fix, &found[0].site), (&Fix::ScanAhead, &vec![6]));
    assert!(blanks(Beside::Copies).is_empty());
}
