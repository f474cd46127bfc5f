//! Comparisons by calls that mostly find a difference, and near misses.

use genba_model::{Fact, Fix, PathFact};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::general_case_first;
use crate::input::analysis_input::{CallSite, CallTarget, FunctionInput};
use crate::tests::synthetic::{function, has_fact, program};

const CALLS: u64 = 10_000_000;

/// What stands around the calls.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// `if (strcmp(a, b) == 0)`.
    Equality,
    /// `if (strcmp(a, b) < 0)`.
    Order,
    /// `int order = strcmp(a, b); if (order != 0 && order < 0)`.
    OrderOfUnequal,
    /// `int order = strcmp(a, b); if (order != 0) return order;`.
    Returned,
    /// `if (a->hash == hash && strcmp(a->name, b) == 0)`.
    BehindHash,
}

/// A loop over elements, each compared with a name.
fn table(shape: Shape, equal: f64) -> Vec<FunctionInput> {
    let same = (equal * CALLS as f64) as u64;
    let mut search = function(
        "table_get",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            let mut out = a.create_label();
            a.set_label(&mut head)?;
            match shape {
                Shape::BehindHash => a.cmp(dword_ptr(rbx + 8), r13d)?,
                _ => a.cmp(rbx, r13)?,
            }
            a.jne(next)?;
            a.mov(rdi, qword_ptr(rbx))?;
            a.mov(rsi, rbp)?;
            a.call(0x5000)?;
            a.test(eax, eax)?;
            match shape {
                Shape::Order => a.js(next)?,
                Shape::Returned => a.jne(out)?,
                _ => a.jne(next)?,
            }
            a.inc(r12)?;
            a.set_label(&mut next)?;
            match shape {
                Shape::OrderOfUnequal => a.sar(eax, 31)?,
                _ => a.nop()?,
            }
            a.add(rbx, 16)?;
            a.cmp(rbx, r14)?;
            a.jb(head)?;
            a.xor(eax, eax)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, same, CALLS, CALLS, CALLS, CALLS, 1,
            CALLS,
        ],
        &[
            0.02, 0.02, 0.02, 0.02, 0.05, 0.03, 0.02, 0.0, 0.0, 0.02, 0.02, 0.02, 0.0, 0.0,
        ],
        &[(1, 0), (6, CALLS - same), (11, CALLS - 1)],
    );
    search.call_sites = vec![CallSite {
        at: 4,
        plt: true,
        targets: vec![CallTarget {
            function: "__strcmp_evex".to_owned(),
            module: "/lib/libc.so.6".to_owned(),
            count: CALLS,
            unit: None,
            size: 40,
            instructions_per_call: 15.0,
            calls_others: false,
        }],
        ..CallSite::default()
    }];
    // What the name leads to by a jump.
    let mut compare = function(
        "__strcmp_l_evex",
        |a| {
            a.mov(eax, dword_ptr(rdi))?;
            a.sub(eax, dword_ptr(rsi))?;
            a.ret()
        },
        &[CALLS; 3],
        &[0.3, 0.3, 0.06],
        &[],
    );
    compare.module = "/lib/libc.so.6".to_owned();
    compare.own = false;
    vec![search, compare]
}

fn found(shape: Shape, equal: f64) -> Vec<Candidate> {
    general_case_first::detect(&program(table(shape, equal)))
}

#[test]
fn comparisons_that_mostly_find_a_difference_are_found() {
    let found = found(Shape::Equality, 0.1);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::CompareFirstLetter);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Path(PathFact::UnequalComparisons { function, unequal, .. })
            if function == "strcmp" && (unequal - 0.9).abs() < 1e-6
    )));
    // Two thirds of the time are in the calls, nine of ten of which a test rules out in part.
    let left = found[0].residual_fraction;
    assert!((0.4..0.65).contains(&left.value), "{left:?}");
}

#[test]
fn comparisons_that_order_or_are_behind_a_hash_or_often_equal_are_not_reported() {
    assert!(found(Shape::Order, 0.1).is_empty(), "answers that order");
    assert!(
        found(Shape::OrderOfUnequal, 0.1).is_empty(),
        "unequal ones in order"
    );
    assert!(found(Shape::Returned, 0.1).is_empty(), "handed on");
    assert!(found(Shape::BehindHash, 0.1).is_empty(), "a hash in front");
    assert!(found(Shape::Equality, 0.5).is_empty(), "half of them equal");
}
