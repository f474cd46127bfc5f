//! Passes that move nearly all elements to take out a few, and their near misses.

use genba_model::{Cause, Fact, Fix, QuadraticFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::synthetic::{function, program};

const PASSES: u64 = 10_000;

/// `for (p = begin; p != end; p++) if (p->time > now) *q++ = *p;` of so many elements of 16 bytes, of which so many are
/// dropped in each pass. With `plain` all are copied.
fn retain(elements: u64, dropped: u64, plain: bool) -> FunctionInput {
    let all = PASSES * elements;
    let kept = all - PASSES * dropped;
    function(
        "expire",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.mov(rdi, qword_ptr(r15))?;
            a.set_label(&mut head)?;
            a.mov(r10, qword_ptr(rdi))?;
            a.cmp(r10, rdx)?;
            match plain {
                true => a.nop()?,
                false => a.jbe(next)?,
            }
            a.mov(r11, qword_ptr(rdi + 8))?;
            a.mov(qword_ptr(rax), r10)?;
            a.mov(qword_ptr(rax + 8), r11)?;
            a.add(rax, 16)?;
            a.set_label(&mut next)?;
            a.add(rdi, 16)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            PASSES, all, all, all, kept, kept, kept, kept, all, all, all, PASSES,
        ],
        &[
            0.0, 0.1, 0.1, 0.05, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.0,
        ],
        &[(3, all - kept), (10, all - PASSES)],
    )
}

/// `for (; p != end; p++) p->time += step;` of so many elements in all.
fn changed(all: u64) -> FunctionInput {
    function(
        "advance",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.add(qword_ptr(rdi), rsi)?;
            a.add(rdi, 16)?;
            a.cmp(rdi, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[PASSES, all, all, all, all, PASSES],
        &[0.0, 0.05, 0.0, 0.0, 0.0, 0.0],
        &[(4, all - PASSES)],
    )
}

fn shifts(functions: Vec<FunctionInput>, memory: f64) -> Vec<Candidate> {
    let mut input: AnalysisInput = program(functions);
    input.program.input_bytes = Some(1000);
    input.program.max_rss_bytes = Some(memory);
    let found = quadratic::detect(&input).into_iter();
    found.filter(|one| one.fix == Fix::AvoidShifts).collect()
}

#[test]
fn passes_that_move_nearly_all_elements_are_quadratic() {
    let found = shifts(vec![retain(400, 1, false)], 1e5);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].cause, Cause::Quadratic);
    assert_eq!(found[0].site, [5]);
    let passes = Fact::Quadratic(QuadraticFact::IdlePasses {
        passes: PASSES,
        elements: 400.0,
    });
    assert!(found[0].facts.contains(&passes));
    assert!(found[0].residual_fraction.value < 0.3);
}

#[test]
fn copies_filters_and_short_passes_move_nothing_needlessly() {
    for (elements, dropped, plain) in [(400, 1, true), (400, 100, false), (4, 0, false)] {
        let found = shifts(vec![retain(elements, dropped, plain)], 1e5);
        assert!(found.is_empty(), "{elements} {dropped} {plain}");
    }
    // Each element is passed a few times.
    assert!(shifts(vec![retain(400, 1, false)], 1e9).is_empty());
}

#[test]
fn elements_that_change_between_the_passes_are_gone_over_anyway() {
    let moved = PASSES * 400;
    let both = |all| shifts(vec![retain(400, 1, false), changed(all)], 1e5);
    assert!(both(moved / 2).is_empty());
    assert_eq!(both(moved / 100).len(), 1);
}
