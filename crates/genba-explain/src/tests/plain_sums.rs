//! Sums of mostly the terms of the sum before, counts made from the start for each place, and near misses.

use genba_model::{Cause, Fix};
use genba_observe::RepeatedLoop;
use iced_x86::code_asm::*;

use crate::causes::{bytewise_copy, quadratic, redundant_computation};
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{function, program};

const SUMS: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Term {
    Plain,
    /// Times what the loop is handed.
    Product,
    /// Counted if it is what the loop is handed.
    EqualToKey,
    /// Of a hash.
    Hashed,
}

/// `for (i) for (j) sum += p[j];`: so many elements for each sum, all from one place or from the next one each time.
fn sums(elements: u64, term: Term, moves: i32) -> AnalysisInput {
    let all = SUMS * elements;
    let one = function(
        "all_sums",
        |a| {
            let (mut sum, mut head) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut sum)?;
            a.xor(eax, eax)?;
            a.xor(ecx, ecx)?;
            a.set_label(&mut head)?;
            a.mov(rdx, qword_ptr(rdi + rcx * 8))?;
            match term {
                Term::Plain => a.nop()?,
                Term::Product => a.imul_2(rdx, rsi)?,
                Term::EqualToKey => a.sub(rdx, rsi)?,
                Term::Hashed => a.imul_2(rax, rax)?,
            }
            a.add(rax, rdx)?;
            a.add(rcx, 1)?;
            a.cmp(rcx, r8)?;
            a.jne(head)?;
            a.mov(qword_ptr(r9), rax)?;
            a.add(rdi, moves)?;
            a.sub(r10, 1)?;
            a.jne(sum)?;
            a.ret()
        },
        &[
            1, SUMS, SUMS, all, all, all, all, all, all, SUMS, SUMS, SUMS, SUMS, 1,
        ],
        &[
            0.0, 0.0, 0.0, 0.3, 0.1, 0.3, 0.1, 0.1, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(8, all - SUMS), (12, SUMS - 1)],
    );
    let mut input = program(vec![one]);
    input.program.input_bytes = Some(1000);
    input.program.max_rss_bytes = Some(2e6);
    input.observed = Some(observations());
    input
}

/// Whether the sum is told to be kept, where so much of what a run loads is that of the run before.
fn is_sum_again(term: Term, in_common: f64, repeated: f64) -> bool {
    let mut input = sums(200, term, 24);
    let head = point(&input, 0, 3);
    let observed = input.observed.as_mut().expect("made with them");
    observed.repeated_loops.push(RepeatedLoop {
        head,
        seen: seen(repeated),
        repeats_previous: seen(repeated),
        starts_as_previous: None,
        ends_near_earlier: None,
        loads_as_previous: Some(seen(in_common)),
        repeats_recent: None,
        distinct_per_burst: 1000.0,
        share_of_instructions: share_of(0.0),
        instructions_per_run: 500.0,
        stores_outside: 0.0,
    });
    let found = redundant_computation::detect(&input);
    found.iter().any(|one| one.fix == Fix::UpdateSum)
}

#[test]
fn sum_of_mostly_the_same_terms_is_told_to_be_changed() {
    assert!(is_sum_again(Term::Plain, 0.95, 0.0));
}

#[test]
fn sums_of_other_terms_and_more_than_sums_are_not() {
    assert!(!is_sum_again(Term::Plain, 0.5, 0.0), "half of the terms");
    assert!(
        !is_sum_again(Term::Plain, 0.95, 0.95),
        "the same altogether"
    );
    for term in [Term::Product, Term::EqualToKey, Term::Hashed] {
        assert!(!is_sum_again(term, 0.95, 0.0), "{term:?}");
    }
}

fn is_summed_from_start(elements: u64, term: Term, moves: i32) -> bool {
    let found = quadratic::detect(&sums(elements, term, moves));
    found.iter().any(|one| one.fix == Fix::ScanOnce)
}

#[test]
fn long_sums_from_one_start_are_scans_of_the_same_bytes() {
    assert!(is_summed_from_start(10_000, Term::Plain, 0));
    assert!(!is_summed_from_start(10, Term::Plain, 0), "short");
    assert!(
        !is_summed_from_start(10_000, Term::Plain, 80_000),
        "another place each time"
    );
    for term in [Term::Product, Term::EqualToKey, Term::Hashed] {
        assert!(!is_summed_from_start(10_000, term, 0), "{term:?}");
    }
}

/// `while (n--) { block[fill++] = *p++; if (fill == size) { digest(block); fill = 0; } }`, the fill in memory.
fn blocks(size: u64) -> AnalysisInput {
    let bytes = SUMS * 4000;
    let full = bytes / size;
    let one = function(
        "update",
        |a| {
            let (mut go_on, mut head) = (a.create_label(), a.create_label());
            a.jmp(head)?;
            a.set_label(&mut go_on)?;
            a.cmp(r10, r9)?;
            let mut out = a.create_label();
            a.je(out)?;
            a.set_label(&mut head)?;
            a.mov(eax, dword_ptr(rdi + 64))?;
            a.add(r9, 1)?;
            a.lea(ecx, ptr(rax + 1))?;
            a.mov(dword_ptr(rdi + 64), ecx)?;
            a.movzx(esi, byte_ptr(r9 - 1))?;
            a.mov(byte_ptr(rdi + rax + 32), sil)?;
            a.cmp(ecx, size as i32)?;
            a.jne(go_on)?;
            a.call(0x5000)?;
            a.mov(dword_ptr(rdi + 64), 0)?;
            a.cmp(r10, r9)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SUMS,
            bytes - full,
            bytes - full,
            bytes,
            bytes,
            bytes,
            bytes,
            bytes,
            bytes,
            bytes,
            bytes,
            full,
            full,
            full,
            full,
            SUMS,
        ],
        &[
            0.0, 0.05, 0.05, 0.2, 0.05, 0.05, 0.1, 0.1, 0.1, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(2, SUMS / 2), (10, bytes - full), (14, full - SUMS / 2)],
    );
    program(vec![one])
}

#[test]
fn blocks_filled_byte_by_byte_at_a_number_in_memory_are_copies() {
    let found = bytewise_copy::detect(&blocks(32));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].cause, &found[0].fix),
        (Cause::BytewiseCopy, &Fix::CopyRuns)
    );
    assert!(bytewise_copy::detect(&blocks(4)).is_empty(), "short blocks");
}
