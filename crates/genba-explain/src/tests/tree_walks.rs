//! Trees that are walked whole by recursion, for each of many things that are looked for.

use iced_x86::code_asm::*;

use genba_model::{Fact, Fix, QuadraticFact};

use crate::causes::quadratic;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::synthetic::{call, function, has_fact, program};

const WALKS: u64 = 1000;

/// What a walk does with an element.
#[derive(Clone, Copy, PartialEq)]
enum With {
    /// Compares a field with what is looked for; equal in so many of a million executions.
    Looked(u64),
    /// Compares a field with a constant.
    Constant,
    /// Writes into it.
    Written,
}

/// `n = (node->key == key); for each of two children n += count(key, child)`, with so many elements a walk.
fn walked(elements: u64, with: With) -> AnalysisInput {
    let calls = WALKS * (elements + 1);
    let equal = match with {
        With::Looked(of_million) => calls * of_million / 1_000_000,
        _ => 0,
    };
    let mut one = function(
        "count",
        |a| {
            let (mut this, mut out, mut other) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut this)?;
            a.push(rbx)?;
            a.push(r12)?;
            a.mov(r12, rdi)?;
            a.mov(rbx, rsi)?;
            a.test(rsi, rsi)?;
            a.je(out)?;
            match with {
                With::Constant => a.cmp(qword_ptr(rbx + 80), 7)?,
                _ => a.cmp(r12, qword_ptr(rbx + 80))?,
            }
            a.jne(other)?;
            a.add(dword_ptr(rsp), 1)?;
            a.set_label(&mut other)?;
            match with {
                With::Written => a.mov(qword_ptr(rbx + 32), r12)?,
                _ => a.mov(rax, qword_ptr(rbx + 32))?,
            }
            a.mov(rsi, qword_ptr(rbx + 104))?;
            a.mov(rdi, r12)?;
            a.call(this)?;
            a.set_label(&mut out)?;
            a.pop(r12)?;
            a.pop(rbx)?;
            a.ret()
        },
        &[
            calls, calls, calls, calls, calls, calls, calls, calls, equal, calls, calls, calls,
            calls, calls, calls, calls,
        ],
        &[0.05; 16],
        &[(5, WALKS), (7, calls - equal)],
    );
    one.calls = Some(calls);
    one.call_sites
        .push(call(12, "count", WALKS * elements, 12.0));
    program(vec![one])
}

#[test]
fn tree_that_is_walked_for_each_of_many_keys_is_found() {
    let found = quadratic::detect(&walked(2000, With::Looked(500)));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].fix, found[0].site.as_slice()),
        (&Fix::WalkOnceForAll, [6].as_slice())
    );
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::RecursiveWalks { walks: WALKS, elements })
            if (elements - 2000.0).abs() < 1e-9
    )));
}

#[test]
fn walks_that_are_short_or_do_something_else_are_not() {
    // A search tree's path.
    assert!(quadratic::detect(&walked(20, With::Looked(500))).is_empty());
    // Half of the elements are of the kind.
    assert!(quadratic::detect(&walked(2000, With::Looked(500_000))).is_empty());
    assert!(quadratic::detect(&walked(2000, With::Constant)).is_empty());
    assert!(quadratic::detect(&walked(2000, With::Written)).is_empty());
}
