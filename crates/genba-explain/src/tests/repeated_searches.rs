//! Searches that find what the one before found, and near misses.

use genba_model::{Fact, Fix, ObservedFact};
use genba_observe::LoopAgain;
use iced_x86::code_asm::*;

use crate::causes::repeated_search;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_repetition::{CALLS, observations, point, repeated_runs, seen};
use crate::tests::synthetic::{function, has_fact, program};

/// A binary search, by order or by equality, of eight iterations.
fn search(by_order: bool, computes: bool) -> AnalysisInput {
    search_with(by_order, computes, false)
}

/// The same; with `halves` the range is halved in each iteration.
fn search_with(by_order: bool, computes: bool, halves: bool) -> AnalysisInput {
    let (runs, times) = (CALLS, 8 * CALLS);
    let one = function(
        "period_of",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            match halves {
                true => a.lea(rcx, ptr(rax + r9))?,
                false => a.lea(rcx, ptr(rax + 1))?,
            }
            a.cmp(qword_ptr(rdi + rcx * 8), rsi)?;
            if by_order {
                a.cmovle(rax, rcx)?;
            } else {
                a.je(out)?;
            }
            if computes {
                a.imul_2(rdx, rcx)?;
            } else if halves {
                a.shr(rcx, 1)?;
            } else {
                a.nop()?;
            }
            a.cmp(rcx, r8)?;
            a.jl(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[runs, times, times, times, times, times, times, runs],
        &[0.0, 0.1, 0.3, 0.2, 0.1, 0.1, 0.1, 0.0],
        &[(6, times - runs)],
    );
    let mut input = program(vec![one]);
    if !by_order {
        // Hardly any run ends at a match.
        input.functions[0].taken[3] = Some(runs / 100);
    }
    input
}

#[test]
fn search_that_ends_where_the_one_before_ended_is_found() {
    let found = repeated_search::detect(&repeated_runs(search(true, false), 0.95));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RememberFound { few: false });
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::RepeatedSearches { iterations, .. })
            if (iterations - 8.0).abs() < 1e-9
    )));
    assert!(found[0].residual_fraction.value < 0.2);
}

#[test]
fn loop_that_sums_what_it_goes_over_is_no_search() {
    let (runs, times) = (CALLS, 8 * CALLS);
    let records = |sums: bool| {
        let one = function(
            "size_of",
            |a| {
                let mut head = a.create_label();
                a.xor(eax, eax)?;
                a.set_label(&mut head)?;
                a.movzx(edx, byte_ptr(rdi))?;
                match sums {
                    true => a.add(rax, rdx)?,
                    false => a.nop()?,
                }
                a.add(rdi, rdx)?;
                a.cmp(edx, ecx)?;
                a.jg(head)?;
                a.ret()
            },
            &[runs, times, times, times, times, times, runs],
            &[0.0, 0.3, 0.2, 0.1, 0.1, 0.1, 0.0],
            &[(5, times - runs)],
        );
        repeated_search::detect(&repeated_runs(program(vec![one]), 0.95))
    };
    assert_eq!(records(false).len(), 1);
    assert!(records(true).is_empty());
}

/// How a loop chooses.
#[derive(Clone, Copy, PartialEq)]
enum Choice {
    ByBranch,
    Unseen,
    /// Without a branch, but the chosen value is only tested.
    Tested,
    /// The same of less, equal or greater in one register.
    ThreeWay,
}

/// `for (i = 0; i < 8; i++) if (p[i] - key < best) { best = p[i] - key; place = i; }`, or `if (min(p[i] - key, best)) …`.
fn nearest(choice: Choice) -> AnalysisInput {
    let (runs, times) = (CALLS, 8 * CALLS);
    let one = function(
        "nearest",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            a.xor(ecx, ecx)?;
            a.set_label(&mut head)?;
            a.mov(rdx, qword_ptr(rdi + rcx * 8))?;
            a.sub(rdx, rsi)?;
            a.cmp(rdx, r9)?;
            match choice {
                Choice::ByBranch => a.jae(next)?,
                Choice::Unseen => a.nop()?,
                Choice::Tested => a.cmova(rdx, r9)?,
                Choice::ThreeWay => a.seta(dl)?,
            }
            match choice {
                Choice::ByBranch => a.mov(r9, rdx)?,
                Choice::Unseen => a.cmovb(r9, rdx)?,
                Choice::Tested => a.test(rdx, rdx)?,
                Choice::ThreeWay => a.sbb(dl, 0)?,
            }
            match choice {
                Choice::ThreeWay => a.cmp(dl, 1)?,
                _ => a.nop()?,
            }
            a.set_label(&mut next)?;
            a.add(rcx, 1)?;
            a.cmp(rcx, r8)?;
            a.jne(head)?;
            a.mov(rax, r9)?;
            a.ret()
        },
        &[
            runs, times, times, times, times, times, times, times, times, times, runs, runs,
        ],
        &[0.0, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[(9, times - runs)],
    );
    let mut input = program(vec![one]);
    if choice == Choice::ByBranch {
        input.functions[0].taken[4] = Some(times / 2);
    }
    input
}

#[test]
fn search_that_chooses_by_a_key_in_a_register_without_a_branch_is_not_known_to_repeat() {
    let found = |choice| repeated_search::detect(&repeated_runs(nearest(choice), 0.95)).len();
    assert_eq!(found(Choice::ByBranch), 1);
    assert_eq!(found(Choice::Unseen), 0);
    assert_eq!(found(Choice::Tested), 1, "branches show it");
    assert_eq!(found(Choice::ThreeWay), 1, "branches show it");
}

/// A descent through a tree of eight levels: steps to the left are a loop inside of the one for steps to the right.
/// By equality it only ends where the key is.
fn tree_search(by_order: bool) -> AnalysisInput {
    tree_search_with(by_order, 4 * CALLS)
}

/// The same, with so many steps to the right.
fn tree_search_with(by_order: bool, rights: u64) -> AnalysisInput {
    let (runs, steps) = (CALLS, 8 * CALLS);
    let one = function(
        "port_of",
        |a| {
            let (mut right, mut left) = (a.create_label(), a.create_label());
            let mut out = a.create_label();
            a.nop()?;
            a.set_label(&mut right)?;
            a.mov(rax, qword_ptr(rax + 24))?;
            a.test(rax, rax)?;
            a.je(out)?;
            a.set_label(&mut left)?;
            a.cmp(qword_ptr(rax + 32), rsi)?;
            match by_order {
                true => a.jbe(right)?,
                false => a.jne(right)?,
            }
            a.mov(rax, qword_ptr(rax + 16))?;
            a.test(rax, rax)?;
            a.jne(left)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            runs, rights, rights, rights, steps, steps, steps, steps, steps, runs,
        ],
        &[0.0, 0.1, 0.1, 0.0, 0.5, 0.1, 0.1, 0.1, 0.0, 0.0],
        &[(3, runs), (5, rights - runs), (8, steps - rights)],
    );
    program(vec![one])
}

#[test]
fn search_in_two_loops_of_one_descent_is_a_search_by_order() {
    let found = repeated_search::detect(&repeated_runs(tree_search(true), 0.95));
    assert_eq!(found.len(), 1);
    assert!(repeated_search::detect(&repeated_runs(tree_search(true), 0.2)).is_empty());
    assert!(repeated_search::detect(&repeated_runs(tree_search(false), 0.95)).is_empty());
}

#[test]
fn steps_of_a_search_are_those_of_the_loops_inside_of_it() {
    let few = CALLS + CALLS / 8;
    let found = repeated_search::detect(&repeated_runs(tree_search_with(true, few), 0.95));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::RepeatedSearches { iterations, .. })
            if (iterations - 8.0).abs() < 1e-9
    )));
}

/// Runs that all end elsewhere, with so much of the start in common.
fn alike_at_first(input: AnalysisInput, share: f64) -> AnalysisInput {
    let mut input = repeated_runs(input, 0.0);
    let observed = input.observed.as_mut().expect("observations");
    observed.repeated_loops[0].starts_as_previous = Some(seen(share));
    observed.repeated_loops[0].seen = seen(0.1);
    input
}

#[test]
fn binary_search_that_ends_near_the_one_before_is_found() {
    for by_order in [true, false] {
        let found =
            repeated_search::detect(&alike_at_first(search_with(by_order, false, true), 0.85));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fix, Fix::RememberFound { few: false });
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Observed(ObservedFact::SearchesStartAlike { .. })
        )));
    }
    // Keys at random have the first probes in common, no more.
    let random = alike_at_first(search_with(true, false, true), 0.25);
    assert!(repeated_search::detect(&random).is_empty());
    // A search from the start has it in common whatever it looks for.
    assert!(repeated_search::detect(&alike_at_first(search(true, false), 0.85)).is_empty());
    assert!(repeated_search::detect(&alike_at_first(search(false, false), 0.85)).is_empty());
}

#[test]
fn searches_without_a_last_result_to_test_are_not_reported() {
    // Ends elsewhere each time.
    assert!(repeated_search::detect(&repeated_runs(search(true, false), 0.2)).is_empty());
    // Looks for other keys, and finds none of them.
    assert!(repeated_search::detect(&repeated_runs(search(false, false), 0.95)).is_empty());
    // Computes with registers that may differ.
    assert!(repeated_search::detect(&repeated_runs(search(true, true), 0.95)).is_empty());
}

/// Two walks down a tree in one function, by a key in a register, or for the first element with this flag; the second
/// one goes over what the first went over in this share of its runs.
fn two_searches(flags: Option<[i32; 2]>, again: f64) -> AnalysisInput {
    let times = 8 * CALLS;
    let one = function(
        "count",
        |a| {
            for walk in 0..2 {
                let mut head = a.create_label();
                a.mov(rax, rdi)?;
                a.set_label(&mut head)?;
                match flags {
                    Some(flags) => a.cmp(dword_ptr(rax + 8), flags[walk])?,
                    None => a.cmp(rsi, qword_ptr(rax + 8))?,
                }
                a.mov(rdx, qword_ptr(rax + 16))?;
                a.cmovg(rdx, qword_ptr(rax + 24))?;
                a.mov(rax, rdx)?;
                a.test(rax, rax)?;
                a.jne(head)?;
            }
            a.ret()
        },
        &[
            CALLS, times, times, times, times, times, times, //
            CALLS, times, times, times, times, times, times, CALLS,
        ],
        &[
            0.0, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, //
            0.0, 0.2, 0.1, 0.1, 0.0, 0.05, 0.0, 0.0,
        ],
        &[(6, times - CALLS), (13, times - CALLS)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.loops_again.push(LoopAgain {
        head: point(&input, 0, 8),
        other: point(&input, 0, 1),
        seen: seen(again),
    });
    input.observed = Some(observed);
    input
}

#[test]
fn search_for_what_was_just_searched_is_found_at_its_second_place() {
    let found = repeated_search::detect(&two_searches(None, 0.98));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].site[0], &found[0].fix), (8, &Fix::SearchOnce));
    assert_eq!(found[0].executions, Some(CALLS));
    // The first one stays.
    assert!((found[0].share.expect("known") - 0.45).abs() < 1e-9);
    assert!(repeated_search::detect(&two_searches(None, 0.3)).is_empty());
    assert_eq!(
        repeated_search::detect(&two_searches(Some([7, 7]), 0.98)).len(),
        1
    );
    assert!(repeated_search::detect(&two_searches(Some([7, 9]), 0.98)).is_empty());
}
