//! Long arrays copied for each small change, and near misses.

use genba_model::{Cause, Fix};
use iced_x86::code_asm::*;

use crate::causes::repeated_copy;
use crate::tests::synthetic::{function, program};

const COPIES: u64 = 20_000;
const MEMORY: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Elements {
    AsTheyAre,
    Changed,
    /// Onto the neighbours in the same array.
    Shifted,
}

/// `for (i) to[i] = from[i];` with so many elements, between which another loop stores so many.
fn is_copy(elements: u64, kind: Elements, stored_between: u64) -> bool {
    let all = COPIES * elements;
    let between = (COPIES * stored_between).max(1);
    let copy = function(
        "unshare",
        |a| {
            let (mut moving, mut storing) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut moving)?;
            a.mov(rax, qword_ptr(rsi + rcx * 8))?;
            match kind {
                Elements::Changed => a.add(rax, rdx)?,
                _ => a.nop()?,
            }
            match kind {
                Elements::Shifted => a.mov(qword_ptr(rsi + rcx * 8 - 8), rax)?,
                _ => a.mov(qword_ptr(rdi + rcx * 8), rax)?,
            }
            a.add(rcx, 1)?;
            a.cmp(rcx, r8)?;
            a.jne(moving)?;
            a.set_label(&mut storing)?;
            a.mov(qword_ptr(rbx + rbp * 8), rbp)?;
            a.add(rbp, 1)?;
            a.cmp(rbp, r9)?;
            a.jne(storing)?;
            a.ret()
        },
        &[
            COPIES, all, all, all, all, all, all, between, between, between, between, COPIES,
        ],
        &[
            0.0, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.0,
        ],
        &[(6, all - COPIES), (10, between.saturating_sub(COPIES))],
    );
    let mut input = program(vec![copy]);
    input.program.max_rss_bytes = Some(MEMORY);
    let found = repeated_copy::detect(&input);
    let is = |one: &crate::candidate::Candidate| {
        (one.cause, &one.fix) == (Cause::RepeatedCopy, &Fix::ChangeInPlace) && one.site == [3]
    };
    found.iter().any(is)
}

#[test]
fn arrays_that_are_copied_between_few_stores_are_found() {
    assert!(is_copy(5000, Elements::AsTheyAre, 1));
}

#[test]
fn copies_of_what_has_changed_are_not() {
    assert!(!is_copy(5000, Elements::AsTheyAre, 4000), "filled anew");
    assert!(!is_copy(5000, Elements::Changed, 1), "changed on the way");
    assert!(!is_copy(5000, Elements::Shifted, 1), "moved within");
    assert!(!is_copy(50, Elements::AsTheyAre, 1), "short");
}
