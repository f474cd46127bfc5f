//! What is behind a find moved to where the search began, and near misses.

use genba_model::{Fact, QuadraticFact};
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::{CallSite, CallTarget};
use crate::tests::synthetic::{function, has_fact, program};

const LINES: u64 = 20_000;

fn call(at: usize, function: &str) -> CallSite {
    CallSite {
        at,
        targets: vec![CallTarget {
            function: function.to_owned(),
            module: "/lib/libc.so.6".to_owned(),
            count: LINES,
            unit: None,
            size: 300,
            instructions_per_call: 500.0,
            calls_others: false,
        }],
        ..CallSite::default()
    }
}

/// `p = search(text, '\n', n); memmove(to, p + 1, …)`, where `to` is the text or another one.
fn moves(search: &str, within: bool) -> bool {
    let mut caller = function(
        "next_line",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(rdi, rbp)?;
            a.call(0x5000)?;
            a.lea(rsi, ptr(rax + 1))?;
            a.mov(rdi, if within { rbp } else { r12 })?;
            a.call(0x6000)?;
            a.sub(r13, 1)?;
            a.jne(head)?;
            a.ret()
        },
        &[LINES, LINES, LINES, LINES, LINES, LINES, LINES, 1],
        &[0.0, 0.0, 0.0, 0.0, 0.05, 0.05, 0.0, 0.0],
        &[(6, LINES - 1)],
    );
    caller.call_sites = vec![call(1, search), call(4, "__memmove_evex_unaligned_erms")];
    let mut memmove = function(
        "__memmove_evex_unaligned_erms",
        |a| a.ret(),
        &[LINES],
        &[0.85],
        &[],
    );
    memmove.module = "/lib/libc.so.6".to_owned();
    memmove.own = false;
    let found = quadratic::detect(&program(vec![caller, memmove]));
    has_fact(&found, |fact| {
        matches!(
            fact,
            Fact::Quadratic(QuadraticFact::ArrayShift { removed: true, .. })
        )
    })
}

#[test]
fn rest_moved_to_where_the_search_began_is_a_shift() {
    assert!(moves("__memchr_evex", true));
    assert!(moves("strchr", true));
}

#[test]
fn find_moved_elsewhere_and_results_that_are_lengths_are_not_shifts() {
    assert!(!moves("__memchr_evex", false), "to another text");
    assert!(!moves("strlen", true), "a length");
    assert!(!moves("malloc", true), "another block");
}

/// What a loop does with the elements that it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loop {
    /// Each onto the one before.
    Removes,
    /// Each onto the one behind, from the end on.
    Inserts,
    /// Each into another array.
    Copies,
    /// Each is changed on the way.
    Changes,
}

fn removed_by_loop(elements: u64, with: Loop) -> Option<bool> {
    let all = LINES * elements;
    let one = function(
        "take",
        |a| {
            let (mut again, mut head) = (a.create_label(), a.create_label());
            a.set_label(&mut again)?;
            a.mov(rax, r14)?;
            a.set_label(&mut head)?;
            let from = if with == Loop::Inserts { -24 } else { 24 };
            a.movdqu(xmm0, xmmword_ptr(rax + from))?;
            match with {
                Loop::Changes => a.paddd(xmm0, xmm1)?,
                _ => a.nop()?,
            }
            match with {
                Loop::Copies => a.movups(xmmword_ptr(rdi + rax), xmm0)?,
                _ => a.movups(xmmword_ptr(rax), xmm0)?,
            }
            a.add(rax, from)?;
            a.cmp(rax, rcx)?;
            a.jne(head)?;
            a.dec(r15)?;
            a.jne(again)?;
            a.ret()
        },
        &[LINES, all, all, all, all, all, all, LINES, LINES, 1],
        &[0.0, 0.3, 0.1, 0.3, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0],
        &[(6, all - LINES), (8, LINES - 1)],
    );
    let found = quadratic::detect(&program(vec![one]));
    found.iter().find_map(|one| {
        one.facts.iter().find_map(|fact| match fact {
            Fact::Quadratic(QuadraticFact::ArrayShift { removed, .. }) => Some(*removed),
            _ => None,
        })
    })
}

#[test]
fn elements_moved_one_by_one_are_a_shift() {
    assert_eq!(removed_by_loop(4000, Loop::Removes), Some(true));
    assert_eq!(removed_by_loop(4000, Loop::Inserts), Some(false));
}

#[test]
fn copies_changed_elements_and_short_arrays_are_not_a_shift() {
    assert_eq!(removed_by_loop(4000, Loop::Copies), None);
    assert_eq!(removed_by_loop(4000, Loop::Changes), None);
    assert_eq!(removed_by_loop(8, Loop::Removes), None);
}
