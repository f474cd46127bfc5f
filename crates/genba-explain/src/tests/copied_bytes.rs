//! Time in copies divided by bytes: few long moves beside many short copies.

use genba_model::{Cause, CodePoint, Estimate};
use genba_observe::{CallLength, Observations, Seen};
use iced_x86::code_asm::*;

use crate::causes::{memory_bound_copy, quadratic};
use crate::input::analysis_input::{AnalysisInput, FunctionInput, RuntimeUse};
use crate::tests::synthetic::{call, function, program};

const MOVES: u64 = 20_000;
const COPIES: u64 = 20_000_000;
const MEMMOVE: &str = "__memmove_avx_unaligned_erms";

/// `memmove(p, p + n, …)` or `memcpy(p, q, n)` in a loop of so many iterations.
fn caller(name: &str, times: u64, address: u64, onto_itself: bool) -> FunctionInput {
    let mut one = function(
        name,
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            a.mov(rbx, rdi)?;
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            match onto_itself {
                true => a.lea(rsi, ptr(rbx + r12))?,
                false => a.mov(rsi, r12)?,
            }
            a.call(callee)?;
            a.sub(r13, 1)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[1, times, times, times, times, times, 1],
        &[0.0, 0.0, 0.0, 0.01, 0.01, 0.0, 0.0],
        &[(5, times - 1)],
    );
    for code in &mut one.code {
        code.address += address;
    }
    one.call_sites.push(call(3, MEMMOVE, times, 500.0));
    one
}

/// Long moves and short copies, of which bursts saw these mean sizes.
fn copying(moved: f64, copied: f64, bursts: u32) -> AnalysisInput {
    let mut memmove = function(MEMMOVE, |a| a.ret(), &[MOVES + COPIES], &[0.5], &[]);
    memmove.own = false;
    let drop = caller("drop", MOVES, 0x1000, true);
    let put = caller("put", COPIES, 0x2000, false);
    let length = |function: &FunctionInput, bytes_per_call| CallLength {
        at: CodePoint {
            module: 0,
            address: function.code[3].address,
        },
        calls: 100,
        bytes_per_call,
        short: None,
        bytes_of_short: 0.0,
        onto_itself: None,
        moved_by: 0.0,
    };
    let call_lengths = vec![length(&drop, moved), length(&put, copied)];
    let mut input = program(vec![memmove, drop, put]);
    input.observed = Some(Observations {
        modules: vec!["/bin/prog".to_owned()],
        bursts,
        call_lengths,
        ..Observations::default()
    });
    input
}

#[test]
fn few_long_moves_are_found_beside_many_short_copies() {
    let found = quadratic::detect(&copying(600_000.0, 2.0, 40));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(1));
    assert!(found[0].residual_fraction.value < 0.55, "of the program");
}

/// Moves between registers that the code does not relate, of whose bytes `overlapping` go onto themselves.
fn moving(overlapping: f64) -> AnalysisInput {
    let mut input = copying(2.0, 600_000.0, 40);
    input.functions[0] = function(MEMMOVE, |a| a.ret(), &[MOVES], &[0.5], &[]);
    input.functions[0].own = false;
    input.functions.remove(1);
    input.functions[1] = caller("put", MOVES, 0x2000, false);
    let observed = input.observed.as_mut().expect("bursts");
    observed.call_lengths.remove(0);
    let share = Estimate {
        value: overlapping,
        low: overlapping - 0.1,
        high: 1.0,
    };
    observed.call_lengths[0].onto_itself = Some(Seen {
        share,
        executions: 1_000_000,
        bursts: 40,
    });
    observed.call_lengths[0].moved_by = 12.0;
    input
}

#[test]
fn moves_are_onto_themselves_where_bursts_saw_it() {
    let found = quadratic::detect(&moving(1.0));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].cause),
        (Some(1), Cause::Quadratic)
    );
    assert!(quadratic::detect(&moving(0.3)).is_empty(), "mostly copies");
}

#[test]
fn few_short_moves_are_not_blamed_for_the_copies() {
    assert!(quadratic::detect(&copying(16.0, 2.0, 40)).is_empty());
    assert!(
        quadratic::detect(&copying(600_000.0, 2.0, 1)).is_empty(),
        "one burst"
    );
}

/// Copies of this mean size at one place, as far as so many bursts saw them.
fn copying_by(bytes: f64, bursts: u32) -> AnalysisInput {
    let mut input = copying(2.0, bytes, bursts);
    input.program.cpu_seconds = 1.0;
    input.program.runtime.push(RuntimeUse {
        service: "copy".to_owned(),
        calls: MOVES + COPIES,
        ..RuntimeUse::default()
    });
    input
}

#[test]
fn large_copies_are_found_by_the_sizes_that_bursts_saw() {
    let found = memory_bound_copy::detect(&copying_by(20_000.0, 40));
    assert_eq!(found.len(), 1);
    let site = found[0].at.as_ref().expect("the line that copies");
    assert_eq!(site.function, "put");
}

#[test]
fn many_short_copies_are_not_large_ones() {
    assert!(memory_bound_copy::detect(&copying_by(200.0, 40)).is_empty());
    let unseen = memory_bound_copy::detect(&copying_by(20_000.0, 1));
    assert!(unseen.is_empty(), "one burst");
}

#[test]
fn copies_too_small_for_their_time_are_not_blamed() {
    // 40 MB in 2,000 calls take no half second: a call that bursts did not meet copies the rest.
    let mut input = copying_by(20_000.0, 40);
    for one in &mut input.functions {
        for site in &mut one.call_sites {
            for target in &mut site.targets {
                target.count = 2_000;
            }
        }
    }
    assert!(memory_bound_copy::detect(&input).is_empty());
    let mut moves = copying(600_000.0, 2.0, 40);
    moves.program.cpu_seconds = 100.0;
    assert!(quadratic::detect(&moves).is_empty());
}
