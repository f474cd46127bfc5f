//! Expensive tests in front of cheap ones: synthetic programs.

use iced_x86::code_asm::*;

use genba_model::{Cause, Fact, ObservedFact};

use crate::causes::discarded_work;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::tests::synthetic::{call, function, has_fact, program};

const CALLS: u64 = 1_000_000;
const PASSED: u64 = 500_000;

/// What the cheap test behind the call looks at.
#[derive(Clone, Copy, PartialEq)]
enum Looks {
    /// At a field of the argument.
    AtField,
    /// At what the call returned.
    AtResult,
    /// At a field, and counts.
    AndCounts,
}

/// `if (!contains(f)) return; if (f->kind != kind) return; use(f)`, of which `refused` fail the second test.
fn matches(looks: Looks, refused: u64) -> FunctionInput {
    let used = PASSED - refused;
    let mut one = function(
        "matches",
        |a| {
            let (mut no, mut callee) = (a.create_label(), a.create_label());
            a.mov(rbx, rdi)?;
            a.call(callee)?;
            a.test(rax, rax)?;
            a.je(no)?;
            match looks {
                Looks::AtField => a.mov(edx, dword_ptr(rbx + 8))?,
                Looks::AtResult => a.mov(edx, dword_ptr(rax + 8))?,
                Looks::AndCounts => a.inc(dword_ptr(r14))?,
            }
            a.cmp(dword_ptr(rbx + 12), 3)?;
            a.jne(no)?;
            a.mov(dword_ptr(r15), 1)?;
            a.set_label(&mut no)?;
            a.ret()?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, PASSED, PASSED, PASSED, used, CALLS, 0,
        ],
        &[0.01; 10],
        &[(3, CALLS - PASSED), (6, refused)],
    );
    one.call_sites.push(call(1, "contains", CALLS, 400.0));
    one
}

/// What the call goes to: it loads, or stores as well.
fn contains(stores: bool) -> FunctionInput {
    function(
        "contains",
        |a| {
            match stores {
                true => a.mov(dword_ptr(r15), eax)?,
                false => a.mov(eax, dword_ptr(rdi))?,
            }
            a.ret()
        },
        &[CALLS, CALLS],
        &[0.8, 0.0],
        &[],
    )
}

fn asked(tester: FunctionInput, stores: bool) -> AnalysisInput {
    program(vec![tester, contains(stores)])
}

#[test]
fn cheap_test_that_mostly_says_no_comes_first() {
    let found = discarded_work::detect(&asked(matches(Looks::AtField, 450_000), false));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].cause, found[0].function),
        (Cause::DiscardedWork, Some(0))
    );
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::ExpensiveTest {
            tests: CALLS,
            passed: PASSED,
            ..
        })
    )));
    // Certainly for the 45 % that pass the first test and fail the second; likely for nine of ten.
    let rest = found[0].residual_fraction;
    assert!(rest.value < 0.35 && rest.high > 0.6, "{rest:?}");
}

#[test]
fn tests_that_mostly_say_yes_stay_where_they_are() {
    let input = asked(matches(Looks::AtField, 100_000), false);
    assert!(discarded_work::detect(&input).is_empty());
}

#[test]
fn tests_of_what_was_found_come_after_it() {
    let input = asked(matches(Looks::AtResult, 450_000), false);
    assert!(discarded_work::detect(&input).is_empty());
}

#[test]
fn tests_that_are_reached_without_the_dear_one_are_not_spared_it() {
    let mut tester = matches(Looks::AtField, 450_000);
    // Half as many pass the expensive test as reach the cheap one.
    tester.taken[3] = Some(CALLS - PASSED / 2);
    assert!(discarded_work::detect(&asked(tester, false)).is_empty());
}

#[test]
fn calls_with_effects_stay_first() {
    let input = asked(matches(Looks::AtField, 450_000), true);
    assert!(discarded_work::detect(&input).is_empty());
}

#[test]
fn tests_that_do_something_stay_behind() {
    let input = asked(matches(Looks::AndCounts, 450_000), false);
    assert!(discarded_work::detect(&input).is_empty());
}
