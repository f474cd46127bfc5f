//! Branches that are mispredicted in loops of loops, and what the next choice waits for, on functions assembled by hand.

use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

const ROUNDS: u64 = 10_000_000;

/// `for (i = 0; i < n; i++) { while (*p++ & 1) {} if (…) … }`: inner loops of `inner` iterations on average, with the time
/// behind their branch.
fn runs(inner: f64) -> FunctionInput {
    let all = (ROUNDS as f64 * inner) as u64;
    function(
        "phases",
        |a| {
            let (mut outer, mut head) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut outer)?;
            a.nop()?;
            a.set_label(&mut head)?;
            a.add(rdi, 1)?;
            a.test(byte_ptr(rdi), 1)?;
            a.jne(head)?;
            a.add(rax, 1)?;
            a.cmp(rax, rcx)?;
            a.jne(outer)?;
            a.ret()
        },
        &[1, ROUNDS, all, all, all, ROUNDS, ROUNDS, ROUNDS, 1],
        &[0.0, 0.02, 0.1, 0.02, 0.0, 0.12, 0.0, 0.0, 0.0],
        &[(4, all - ROUNDS), (7, ROUNDS - 1)],
    )
}

fn found(function: FunctionInput) -> Vec<Candidate> {
    unpredictable_branch::detect(&program(vec![function]))
}

#[test]
fn end_of_short_inner_loops_is_a_choice_of_the_loop_around() {
    let found = found(runs(1.5));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [4]);
}

#[test]
fn end_of_long_inner_loops_is_not_a_choice() {
    assert!(found(runs(40.0)).is_empty());
}

/// Where the branch's operand is loaded from.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// `bits[i * 6 / 8]`.
    PackedIndex,
    /// `list[n]`, where `n` is counted by the choice.
    CountedByChoice,
}

/// `for (i = 0; i < n; i++) if (load < limit) n++;` with random outcomes.
fn counts(from: From) -> f64 {
    let chosen = ROUNDS / 2;
    let one = function(
        "count",
        |a| {
            let (mut head, mut skip) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.lea(r10, qword_ptr(rax + rax * 2))?;
            a.shr(r10, 2)?;
            match from {
                From::PackedIndex => a.movzx(ecx, byte_ptr(rdi + r10))?,
                From::CountedByChoice => a.movzx(ecx, byte_ptr(rdi + r8))?,
            }
            a.cmp(ecx, edx)?;
            a.jge(skip)?;
            a.add(r8, 1)?;
            a.set_label(&mut skip)?;
            a.add(rax, 1)?;
            a.cmp(rax, r9)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            1, ROUNDS, ROUNDS, ROUNDS, ROUNDS, ROUNDS, chosen, ROUNDS, ROUNDS, ROUNDS, 1,
        ],
        &[0.0, 0.01, 0.01, 0.0, 0.0, 0.0, 0.06, 0.06, 0.0, 0.0, 0.0],
        &[(5, chosen), (9, ROUNDS - 1)],
    );
    let found = found(one);
    assert_eq!(found.len(), 1);
    found[0].residual_fraction.value
}

#[test]
fn only_addresses_that_follow_from_a_choice_wait_for_it() {
    let packed = counts(From::PackedIndex);
    let decided = counts(From::CountedByChoice);
    assert!(decided > 1.3 * packed, "{decided} {packed}");
}

/// `node = 2 * node + (value[node] < limit ? 1 : 2)` with random outcomes, from level to level of trees.
fn descent() -> FunctionInput {
    let (trees, chosen) = (ROUNDS / 6, ROUNDS / 2);
    function(
        "classify",
        |a| {
            let (mut outer, mut head, mut enter) =
                (a.create_label(), a.create_label(), a.create_label());
            let (mut other, mut out) = (a.create_label(), a.create_label());
            a.set_label(&mut outer)?;
            a.mov(edx, 6)?;
            a.xor(eax, eax)?;
            a.jmp(enter)?;
            a.set_label(&mut other)?;
            a.lea(eax, dword_ptr(rax + rax + 2))?;
            a.sub(edx, 1)?;
            a.je(out)?;
            a.set_label(&mut enter)?;
            a.movsxd(r14, eax)?;
            a.movzx(r15d, byte_ptr(rcx + r14))?;
            a.cmp(r15d, r13d)?;
            a.jbe(other)?;
            a.lea(eax, dword_ptr(rax + rax + 1))?;
            a.sub(edx, 1)?;
            a.jne(enter)?;
            a.set_label(&mut out)?;
            a.add(rcx, 64)?;
            a.cmp(rcx, r12)?;
            a.jne(outer)?;
            a.set_label(&mut head)?;
            a.ret()
        },
        &[
            trees, trees, trees, chosen, chosen, chosen, ROUNDS, ROUNDS, ROUNDS, ROUNDS, chosen,
            chosen, chosen, trees, trees, trees, 1,
        ],
        &[
            0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[
            (5, trees / 2),
            (9, chosen),
            (12, chosen - trees / 2),
            (15, trees - 1),
        ],
    )
}

#[test]
fn next_level_of_a_tree_waits_for_the_choice() {
    let found = found(descent());
    let left = found[0].residual_fraction.value;
    assert!(left > 0.4, "{left}");
}

/// A loop with a random choice, of which so many instructions are executed in half of the iterations, and so many in all of them.
fn choice_among(decided: usize, always: usize) -> usize {
    let chosen = ROUNDS / 2;
    let counts = [
        vec![1],
        vec![ROUNDS; always + 3],
        vec![chosen; decided],
        vec![ROUNDS; 3],
        vec![1],
    ]
    .concat();
    let mut heat = vec![0.002; counts.len()];
    let behind = always + 4;
    heat[behind] = 0.1;
    heat[behind + decided] = 0.1;
    let one = function(
        "choose",
        |a| {
            let (mut head, mut skip) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            for _ in 0..always {
                a.nop()?;
            }
            a.movzx(ecx, byte_ptr(rdi + rax))?;
            a.cmp(ecx, edx)?;
            a.jge(skip)?;
            for _ in 0..decided {
                a.add(r8, 1)?;
            }
            a.set_label(&mut skip)?;
            a.add(rax, 1)?;
            a.cmp(rax, r9)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(always + 3, chosen), (always + decided + 6, ROUNDS - 1)],
    );
    found(one).len()
}

#[test]
fn what_every_iteration_does_may_be_more_than_what_a_choice_decides() {
    assert_eq!(choice_among(4, 8), 1);
    assert_eq!(choice_among(4, 60), 1);
    assert_eq!(choice_among(60, 4), 0, "too much for conditional moves");
}
