//! Counters that go round by a remainder, and near misses.

use genba_model::Fix;
use iced_x86::code_asm::*;

use crate::causes::loop_invariant_divisor;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

const TIMES: u64 = 10_000_000;

/// What is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dividend {
    /// `i = (i + 1) % n`
    Counter,
    /// `i = (i + 1000) % n`
    Strides,
    /// `i = (i * 5 + 1) % n`
    Multiplied,
    /// `i = (h + 1) % n` of a hash that goes on otherwise.
    Hash,
}

fn in_loop(dividend: Dividend) -> FunctionInput {
    let counts = [vec![1], vec![TIMES; 7], vec![1]].concat();
    function(
        "fill",
        |a| {
            let mut head = a.create_label();
            a.mov(rdx, r9)?;
            a.set_label(&mut head)?;
            match dividend {
                Dividend::Counter => a.lea(rax, ptr(rdx + 1))?,
                Dividend::Strides => a.lea(rax, ptr(rdx + 1000))?,
                Dividend::Multiplied => a.lea(rax, ptr(rdx + rdx * 4 + 1))?,
                Dividend::Hash => a.lea(rax, ptr(r8 + 1))?,
            }
            a.xor(edx, edx)?;
            a.div(rcx)?;
            a.mov(qword_ptr(rdi + rdx * 8), rsi)?;
            match dividend {
                Dividend::Hash => a.xor(r8, rsi)?,
                _ => a.nop()?,
            }
            a.dec(rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &[0.0, 0.1, 0.0, 0.4, 0.3, 0.0, 0.1, 0.0, 0.0],
        &[(7, TIMES - 1)],
    )
}

/// `r->tail = (r->tail + 1) % r->size;`, or to another field.
fn in_memory(same_field: bool) -> FunctionInput {
    function(
        "push",
        |a| {
            a.mov(rax, qword_ptr(rdi + 8))?;
            a.add(rax, 1)?;
            a.xor(edx, edx)?;
            a.div(qword_ptr(rdi + 16))?;
            a.mov(qword_ptr(rdi + if same_field { 8 } else { 24 }), rdx)?;
            a.ret()
        },
        &[TIMES; 6],
        &[0.1, 0.0, 0.0, 0.4, 0.3, 0.1],
        &[],
    )
}

fn is_wrapped(function: FunctionInput) -> bool {
    let found = loop_invariant_divisor::detect(&program(vec![function]));
    found.iter().any(|one| one.fix == Fix::WrapByComparison)
}

#[test]
fn counters_that_go_round_by_a_remainder_are_found() {
    assert!(is_wrapped(in_loop(Dividend::Counter)));
    assert!(is_wrapped(in_memory(true)));
}

#[test]
fn hashes_generators_and_large_steps_are_not_counters() {
    for dividend in [Dividend::Strides, Dividend::Multiplied, Dividend::Hash] {
        assert!(!is_wrapped(in_loop(dividend)), "{dividend:?}");
    }
    assert!(!is_wrapped(in_memory(false)));
}
