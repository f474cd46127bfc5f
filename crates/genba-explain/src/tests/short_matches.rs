//! Matches of some bytes compared one by one.

use iced_x86::code_asm::*;

use crate::causes::bytewise_compare;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

const ALL: u64 = 80_000_000;

/// `while (n < max && a[n] == b[n]) n++;` in runs of so many bytes, with all the time.
fn match_length(run: u64) -> FunctionInput {
    let runs = ALL / run;
    function(
        "match_length",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(ecx, byte_ptr(rdi + rax))?;
            a.cmp(byte_ptr(rsi + rax), cl)?;
            a.jne(out)?;
            a.add(rax, 1)?;
            a.cmp(rax, rdx)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            runs,
            ALL,
            ALL,
            ALL,
            ALL - runs,
            ALL - runs,
            ALL - runs,
            runs,
        ],
        &[0.0, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1],
        &[(3, runs), (6, ALL - runs)],
    )
}

#[test]
fn matches_of_some_bytes_are_compared_by_words() {
    let found = |run| bytewise_compare::detect(&program(vec![match_length(run)]));
    assert_eq!(found(10).len(), 1);
    assert!(found(10)[0].residual_fraction.value > found(40)[0].residual_fraction.value);
    assert!(found(3).is_empty(), "nothing to gain");
}

/// The same with one of the pointers on the stack, for want of registers, and an `int` for the position. `moves`
/// stores the pointer in each iteration, too.
fn spilled_match_length(run: u64, moves: bool) -> FunctionInput {
    let runs = ALL / run;
    let times = [ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL];
    let mut counts = vec![runs];
    counts.extend(times);
    counts.push(runs);
    function(
        "match_length",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.movsxd(r8, eax)?;
            a.cmp(ebp, eax)?;
            a.jle(out)?;
            a.mov(r13, qword_ptr(rsp - 0x10))?;
            a.movzx(ecx, byte_ptr(r13 + rax))?;
            a.add(rax, 1)?;
            match moves {
                true => a.mov(qword_ptr(rsp - 0x10), r8)?,
                false => a.mov(r9, r8)?,
            }
            a.cmp(byte_ptr(rsi + rax - 1), cl)?;
            a.je(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &counts,
        &[0.0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(3, 0), (9, ALL - runs)],
    )
}

#[test]
fn pointer_that_is_loaded_from_the_stack_each_time_stays() {
    let found =
        |moves| bytewise_compare::detect(&program(vec![spilled_match_length(10, moves)])).len();
    assert_eq!(found(false), 1);
    assert_eq!(found(true), 0, "the pointer changes");
}
