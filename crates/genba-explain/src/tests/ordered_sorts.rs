//! Sorts of what is in order already, and near misses.

use genba_model::{Fact, ObservedFact};
use genba_observe::BranchSite;
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::redundant_computation;
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{call, function, has_fact, program};

const SORTS: u64 = 50;
const CALLS: u64 = 50_000;
const COMPARISONS: u64 = 20_000_000;

/// What a sort's most frequent branch compares.
#[derive(Clone, Copy)]
enum Compared {
    Elements,
    /// The place with a bound in the frame.
    Bound,
    /// An element with zero.
    Zero,
}

fn found(name: &str, sorts: u64, repeated: f64) -> Vec<Candidate> {
    compared(name, sorts, repeated, Compared::Elements)
}

/// A sort that divides by `while (less(*p, pivot)) p++;` and calls itself, called elsewhere so often.
/// Comparisons go the way of the one before in this share.
fn compared(name: &str, sorts: u64, repeated: f64, what: Compared) -> Vec<Candidate> {
    let all = COMPARISONS;
    let mut one = function(
        name,
        |a| {
            let (mut head, mut entry) = (a.create_label(), a.create_label());
            a.set_label(&mut entry)?;
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(rdi))?;
            a.add(rdi, 8)?;
            match what {
                Compared::Elements => a.cmp(rax, rdx)?,
                Compared::Bound => a.cmp(rdi, qword_ptr(rsp + 0x48))?,
                Compared::Zero => a.test(rax, rax)?,
            }
            a.jb(head)?;
            a.call(entry)?;
            a.ret()
        },
        &[CALLS, all, all, all, all, CALLS - sorts, CALLS],
        &[0.0, 0.4, 0.2, 0.1, 0.2, 0.0, 0.0],
        &[(4, all - CALLS)],
    );
    one.calls = Some(CALLS);
    one.call_sites.push(call(5, name, CALLS - sorts, 100.0));
    let mut input = program(vec![one]);
    let mut all = observations();
    all.branches.push(BranchSite {
        at: point(&input, 0, 4),
        taken: seen(0.8),
        mispredicted: None,
        repeated: Some(seen(repeated)),
    });
    input.observed = Some(all);
    redundant_computation::detect(&input)
}

#[test]
fn sort_whose_comparisons_all_go_alike_is_needless() {
    let found = found("sort<int*>", SORTS, 0.99);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [4]);
    // A tree of a thousand calls has ten levels.
    assert!((found[0].residual_fraction.value - 1.0 / 12.0).abs() < 0.01);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::OrderedSort { sorts: SORTS, .. })
    )));
}

#[test]
fn elements_without_order_and_other_recursions_are_not_reported() {
    assert!(found("sort<int*>", SORTS, 0.6).is_empty(), "no order");
    assert!(found("walk", SORTS, 0.99).is_empty(), "a tree");
    assert!(
        found("sort<int*>", CALLS, 0.99).is_empty(),
        "no calls of itself"
    );
    assert!(
        found("sort<int*>", CALLS / 2, 0.99).is_empty(),
        "short arrays"
    );
    for what in [Compared::Bound, Compared::Zero] {
        assert!(compared("sort<int*>", SORTS, 0.99, what).is_empty());
    }
}
