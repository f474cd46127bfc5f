//! Passes over a whole table that store what is there already, and near misses.

use genba_model::{Estimate, Fact, Fix, QuadraticFact};
use genba_observe::SilentStore;
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{observations, point, seen, usual_value};
use crate::tests::synthetic::{call, function, program};

const PASSES: u64 = 6000;

/// What the passes are like.
#[derive(Clone, Copy)]
struct Kind {
    elements: u64,
    /// Share of the stores that store what is there.
    silent: f64,
    /// Whether the largest element is handed on.
    largest: bool,
    /// Whether another loop counts the elements in a place in the frame.
    counted_beside: bool,
    /// Share of the stores that store zero.
    zeros: f64,
    memory: f64,
}

const PLAIN: Kind = Kind {
    elements: 3000,
    silent: 0.99,
    largest: false,
    counted_beside: false,
    zeros: 0.1,
    memory: 1e6,
};

/// `for (i = 0; i < n; i++) length = max(length, t[i].id);` and `for (i = 0; i < n; i++) to[i] = &t[i];`.
fn passes(kind: Kind) -> AnalysisInput {
    let all = PASSES * kind.elements;
    let one = function(
        "update",
        |a| {
            let (mut first, mut second) = (a.create_label(), a.create_label());
            a.set_label(&mut first)?;
            match kind.counted_beside {
                true => a.add(dword_ptr(rsp + 8), r9d)?,
                false => a.cmp(r9d, dword_ptr(rdi))?,
            }
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)?;
            a.jne(first)?;
            a.set_label(&mut second)?;
            a.mov(r10, qword_ptr(r8))?;
            match kind.largest {
                true => a.add(rax, r10)?,
                false => a.nop()?,
            }
            a.mov(qword_ptr(r8 + 0x10000), r10)?;
            a.add(r8, 8)?;
            a.cmp(r8, rcx)?;
            a.jne(second)?;
            a.ret()
        },
        &[all, all, all, all, all, all, all, all, all, all, PASSES],
        &[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(3, all - PASSES), (9, all - PASSES)],
    );
    let mut input = program(vec![one]);
    input.program.input_bytes = Some(1000);
    input.program.max_rss_bytes = Some(kind.memory);
    let mut observed = observations();
    observed.silent_stores.push(SilentStore {
        at: point(&input, 0, 6),
        seen: seen(kind.silent),
        reads: false,
    });
    observed.operand_values.push(usual_value(
        point(&input, 0, 6),
        true,
        (8, 0),
        Estimate::exact(kind.zeros),
    ));
    input.observed = Some(observed);
    input
}

fn is_found(kind: Kind) -> bool {
    let found = quadratic::detect(&passes(kind));
    found.iter().any(|one| one.fix == Fix::OnlyWhatChanged)
}

#[test]
fn passes_that_store_what_is_there_are_quadratic_with_loops_beside_them() {
    let found = quadratic::detect(&passes(PLAIN));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::OnlyWhatChanged);
    assert_eq!(found[0].site, vec![6]);
    assert!(found[0].share.unwrap() > 0.95);
    assert!(found[0].residual_fraction.value < 0.05);
    let passes = Fact::Quadratic(QuadraticFact::IdlePasses {
        passes: PASSES,
        elements: 3000.0,
    });
    assert!(found[0].facts.contains(&passes));
}

#[test]
fn a_loop_beside_that_counts_in_the_frame_has_its_own_time() {
    let counts = Kind {
        counted_beside: true,
        ..PLAIN
    };
    let found = quadratic::detect(&passes(counts));
    assert!((found[0].share.unwrap() - 0.6).abs() < 0.01);
}

#[test]
fn passes_that_change_elements_store_zeros_hand_on_are_short_or_go_over_much_are_not() {
    for kind in [
        Kind {
            silent: 0.8,
            ..PLAIN
        },
        Kind {
            zeros: 0.97,
            ..PLAIN
        },
        Kind {
            largest: true,
            ..PLAIN
        },
        Kind {
            elements: 300,
            ..PLAIN
        },
        Kind {
            elements: 20 * PASSES,
            ..PLAIN
        },
        Kind {
            memory: 1e8,
            ..PLAIN
        },
    ] {
        assert!(!is_found(kind));
    }
}

#[test]
fn passes_whose_stores_were_not_seen_are_not_judged() {
    let mut input = passes(PLAIN);
    input.observed.as_mut().unwrap().silent_stores.clear();
    assert!(quadratic::detect(&input).is_empty());
}

#[test]
fn passes_that_write_a_result_into_memory_allocated_for_each_are_not() {
    let found = |name, calls| {
        let mut input = passes(PLAIN);
        // Made anew before each pass, by the instruction at the end as well as by any other.
        input.functions[0]
            .call_sites
            .push(call(10, name, calls, 50.0));
        quadratic::detect(&input).len()
    };
    assert_eq!(found("malloc", PASSES), 0);
    assert_eq!(found("log_pass", PASSES), 1);
}
