//! Walks along lists from which nothing comes, and near misses.

use genba_model::{Fact, Fix, QuadraticFact};
use genba_observe::SilentStore;
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::input::analysis_input::{AnalysisInput, Place};
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{call, function, has_fact, program};

const WALKS: u64 = 5000;

/// What is done with each element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum With {
    /// Its kind is tested, for what is not done.
    Tests,
    /// The same, up to the element that the walk is to end at.
    TestsUpTo,
    /// A mark is taken away, which in this share of the executions is not there.
    Unmarks(f64),
    /// The same by a function.
    CallsUnmark(f64),
    Sums,
    /// The sum is in the frame.
    SumsInFrame,
    /// It is compared with what is looked for.
    Key,
}

/// `for (; p; p = p->parent) …` in walks of so many links.
fn walks(elements: u64, with: With) -> AnalysisInput {
    let all = WALKS * elements;
    let each = 0.9 / 5.0;
    let mut one = function(
        "close",
        |a| {
            let (mut again, mut head) = (a.create_label(), a.create_label());
            let mut next = a.create_label();
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(rbx, r14)?;
            a.set_label(&mut head)?;
            match with {
                With::Tests | With::TestsUpTo => a.cmp(dword_ptr(rbx + 24), 3)?,
                With::Unmarks(_) => a.and(dword_ptr(rbx + 24), -2)?,
                With::CallsUnmark(_) => a.call(0x40_2000)?,
                With::SumsInFrame => a.add(qword_ptr(rsp + 8), rcx)?,
                With::Sums => a.add(rcx, qword_ptr(rbx + 24))?,
                With::Key => a.cmp(dword_ptr(rbx + 24), esi)?,
            }
            match with {
                With::Tests | With::TestsUpTo => a.je(next)?,
                _ => a.nop()?,
            }
            a.set_label(&mut next)?;
            a.mov(rbx, qword_ptr(rbx + 8))?;
            match with {
                With::TestsUpTo => a.cmp(rbx, r13)?,
                _ => a.test(rbx, rbx)?,
            }
            a.jne(head)?;
            a.dec(r15)?;
            a.jne(again)?;
            a.mov(rax, rcx)?;
            a.ret()
        },
        &[1, WALKS, all, all, all, all, all, WALKS, WALKS, 1, 1],
        &[0.0, 0.0, each, each, each, each, each, 0.0, 0.0, 0.0, 0.0],
        &[(3, 0), (6, all - WALKS), (8, WALKS - 1)],
    );
    let mut functions = Vec::new();
    if let With::CallsUnmark(_) = with {
        one.call_sites.push(call(2, "unmark", all, 2.0));
        let mut unmark = function(
            "unmark",
            |a| {
                a.and(dword_ptr(rdi + 24), -2)?;
                a.ret()
            },
            &[all, all],
            &[0.05; 2],
            &[],
        );
        unmark.calls = Some(all);
        functions.push(unmark);
    }
    functions.insert(0, one);
    let mut input = program(functions);
    let mut observed = observations();
    let store = match with {
        With::Unmarks(share) => Some(((0, 2), share)),
        With::CallsUnmark(share) => Some(((1, 0), share)),
        _ => None,
    };
    observed
        .silent_stores
        .extend(store.map(|((function, at), share)| SilentStore {
            at: point(&input, function, at),
            seen: seen(share),
            reads: true,
        }));
    input.observed = Some(observed);
    input
}

fn is_found(elements: u64, with: With) -> bool {
    let found = quadratic::detect(&walks(elements, with));
    found.iter().any(|one| one.fix == Fix::SkipWalk)
}

#[test]
fn walks_that_leave_everything_as_it_was_are_quadratic() {
    for with in [
        With::Tests,
        With::TestsUpTo,
        With::Unmarks(1.0),
        With::CallsUnmark(1.0),
    ] {
        assert!(is_found(3000, with), "{with:?}");
    }
}

#[test]
fn a_way_that_never_runs_does_not_hide_the_link() {
    let all = WALKS * 3000;
    let one = function(
        "openers",
        |a| {
            let (mut again, mut head) = (a.create_label(), a.create_label());
            let mut elsewhere = a.create_label();
            let mut tail = a.create_label();
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(rbx, r14)?;
            a.set_label(&mut head)?;
            a.cmp(dword_ptr(rbx + 24), 3)?;
            a.jne(elsewhere)?;
            a.mov(rbx, qword_ptr(rbx + 8))?;
            a.set_label(&mut tail)?;
            a.test(rbx, rbx)?;
            a.jne(head)?;
            a.dec(r15)?;
            a.jne(again)?;
            a.pop(rbx)?;
            a.ret()?;
            a.set_label(&mut elsewhere)?;
            a.mov(rbx, qword_ptr(rbx + 8))?;
            a.jmp(tail)
        },
        &[1, WALKS, all, all, all, all, all, WALKS, WALKS, 1, 1, 0, 0],
        &[
            0.0, 0.0, 0.18, 0.18, 0.18, 0.18, 0.18, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(3, 0), (6, all - WALKS), (8, WALKS - 1)],
    );
    let found = quadratic::detect(&program(vec![one]));
    assert!(
        found
            .iter()
            .any(|one| one.fix == Fix::SkipWalk || one.fix == Fix::RememberPlace)
    );
}

#[test]
fn walks_that_change_sum_up_or_search_and_short_ones_are_not() {
    for with in [
        With::Unmarks(0.9),
        With::CallsUnmark(0.9),
        With::Sums,
        With::SumsInFrame,
        With::Key,
    ] {
        assert!(!is_found(3000, with), "{with:?}");
    }
    assert!(!is_found(40, With::Tests));
}

#[test]
fn what_walks_call_is_part_of_their_time() {
    let found = quadratic::detect(&walks(3000, With::CallsUnmark(1.0)));
    assert!(found[0].share.is_some_and(|share| share > 0.95));
    let again = |found: &[Candidate]| {
        has_fact(found, |fact| {
            *fact == Fact::Quadratic(QuadraticFact::WalksStoreAgain)
        })
    };
    assert!(again(&found));
    assert!(!again(&quadratic::detect(&walks(3000, With::Tests))));
}

#[test]
fn walk_is_named_where_the_loop_stands() {
    let place = |function: &str, line: u32, within: Option<Place>| Place {
        function: Some(function.to_owned()),
        file: Some("blocks.c".to_owned()),
        line: Some(line),
        inlined: within.is_some(),
        within: within.map(Box::new),
    };
    let site = |loads_in_accessor: bool| {
        let mut input = walks(3000, With::Tests);
        let places = &mut input.functions[0].places;
        places.clear();
        places.resize(11, place("close", 10, None));
        if loads_in_accessor {
            places[4] = place("parent", 3, Some(place("close", 11, None)));
        }
        quadratic::detect(&input)[0].site.clone()
    };
    assert_eq!(site(true), [2, 4]);
    assert_eq!(site(false), [4]);
}
