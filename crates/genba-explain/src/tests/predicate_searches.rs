//! Searches for an element that passes tests, or for the best, and near misses.

use genba_model::{CodePoint, Fix};
use genba_observe::{ArgumentValue, SameLoad, ValueShare};
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{call, function, program};

const SEARCHES: u64 = 20_000;
const ELEMENTS: u64 = 1000;

/// What is done with the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Walk {
    /// `if (b->free && b->size == size) return b;`
    FirstFit,
    /// The sizes are added up besides.
    SumsUp,
    /// Each element that is passed is marked.
    Marks,
    /// The list is handed over by the caller.
    OfCaller,
}

/// `for (b = head; b; b = b->next) …` of which half of the elements are free.
fn walk(walk: Walk) -> FunctionInput {
    let all = SEARCHES * ELEMENTS;
    let half = all / 2;
    function(
        "get",
        |a| {
            let (mut head, mut next, mut found) =
                (a.create_label(), a.create_label(), a.create_label());
            match walk {
                Walk::OfCaller => a.mov(rax, rdi)?,
                _ => a.mov(rax, qword_ptr(r15))?,
            }
            a.set_label(&mut head)?;
            a.mov(edx, dword_ptr(rax + 12))?;
            a.test(edx, edx)?;
            a.je(next)?;
            a.cmp(ebx, dword_ptr(rax + 8))?;
            a.je(found)?;
            a.set_label(&mut next)?;
            match walk {
                Walk::SumsUp => a.add(r9, rdx)?,
                Walk::Marks => a.mov(dword_ptr(rax + 16), ebx)?,
                _ => a.nop()?,
            }
            a.mov(rax, qword_ptr(rax))?;
            a.test(rax, rax)?;
            a.jne(head)?;
            a.set_label(&mut found)?;
            a.mov(qword_ptr(r14), r9)?;
            a.ret()
        },
        &[
            SEARCHES,
            all,
            all,
            all,
            half,
            half,
            all - SEARCHES,
            all - SEARCHES,
            all - SEARCHES,
            all - SEARCHES,
            SEARCHES,
            SEARCHES,
        ],
        &[0.0, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0, 0.2, 0.1, 0.1, 0.0, 0.0],
        &[(3, half), (5, SEARCHES), (9, all - SEARCHES)],
    )
}

/// What the least is looked for among.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Least {
    /// One array.
    OfArray,
    /// The next row each time.
    OfRows,
    /// Differences of an array's elements from a key.
    Difference,
}

/// `for (i = 0; i < n; i++) if (p[i] < p[best]) best = i;`
fn best(least: Least) -> FunctionInput {
    let all = SEARCHES * ELEMENTS;
    function(
        "take_least",
        |a| {
            let (mut again, mut head) = (a.create_label(), a.create_label());
            a.set_label(&mut again)?;
            a.xor(eax, eax)?;
            a.xor(edx, edx)?;
            a.set_label(&mut head)?;
            a.mov(rcx, qword_ptr(rdi + rax * 8))?;
            match least {
                Least::Difference => a.sub(rcx, r12)?,
                _ => a.nop()?,
            }
            a.cmp(rcx, qword_ptr(rdi + rdx * 8))?;
            a.cmovb(rdx, rax)?;
            a.add(rax, 1)?;
            a.cmp(rax, rsi)?;
            a.jne(head)?;
            a.mov(qword_ptr(rdi + rdx * 8), -1)?;
            match least {
                Least::OfRows => a.lea(rdi, ptr(rdi + rsi * 8))?,
                _ => a.nop()?,
            }
            a.dec(r15)?;
            a.jne(again)?;
            a.ret()
        },
        &[
            SEARCHES, SEARCHES, all, all, all, all, all, all, all, SEARCHES, SEARCHES, SEARCHES,
            SEARCHES, 1,
        ],
        &[
            0.0, 0.0, 0.3, 0.0, 0.2, 0.2, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(8, all - SEARCHES), (12, SEARCHES - 1)],
    )
}

/// `for (i = 0; i < n; i++) if (!p->slot[i].used) return i;` in a function of its own.
fn first_free() -> FunctionInput {
    let all = SEARCHES * ELEMENTS;
    function(
        "first_free",
        |a| {
            let (mut head, mut found) = (a.create_label(), a.create_label());
            a.mov(rdx, qword_ptr(rdi))?;
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.mov(ecx, dword_ptr(rdx))?;
            a.test(ecx, ecx)?;
            a.je(found)?;
            a.add(rdx, 32)?;
            a.inc(rax)?;
            a.cmp(rax, rsi)?;
            a.jne(head)?;
            a.set_label(&mut found)?;
            a.ret()
        },
        &[
            SEARCHES, SEARCHES, all, all, all, all, all, all, all, SEARCHES,
        ],
        &[0.0, 0.0, 0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(4, SEARCHES), (8, all - SEARCHES)],
    )
}

/// What is told where the array's address is loaded the same in this share of the calls.
fn fixes_of_array(steady: f64) -> Vec<Fix> {
    let mut input = program(vec![first_free()]);
    input.program.max_rss_bytes = Some(4e6);
    let mut observed = observations();
    observed.same_loads.push(SameLoad {
        at: point(&input, 0, 0),
        seen: seen(steady),
        recent: seen(steady),
    });
    input.observed = Some(observed);
    let found = quadratic::detect(&input);
    found.into_iter().map(|one| one.fix).collect()
}

#[test]
fn array_that_is_loaded_is_one_where_that_was_observed() {
    assert_eq!(fixes_of_array(0.97), [Fix::FindDirectly { best: false }]);
    assert!(fixes_of_array(0.1).is_empty(), "rows");
}

fn fixes(function: FunctionInput, memory: f64) -> Vec<Fix> {
    fixes_called_with(function, memory, 0.0)
}

/// The same where the function's first argument is one value in this share of its calls.
fn fixes_called_with(searching: FunctionInput, memory: f64, usual: f64) -> Vec<Fix> {
    let address = searching.address;
    let mut caller = function("main", |a| a.call(0x5000), &[SEARCHES], &[0.0], &[]);
    caller.address = 0x9000;
    for code in &mut caller.code {
        code.address += 0x8000;
    }
    caller.call_sites = vec![call(0, &searching.function, SEARCHES, 100.0)];
    "/bin/prog".clone_into(&mut caller.call_sites[0].targets[0].module);
    let mut input = program(vec![searching, caller]);
    input.program.max_rss_bytes = Some(memory);
    let mut observed = observations();
    observed.argument_values.push(ArgumentValue {
        at: point(&input, 1, 0),
        target: CodePoint {
            module: point(&input, 0, 0).module,
            address,
        },
        argument: 0,
        value: ValueShare {
            value: 0x7000_0000,
            share: share_of(usual),
        },
        calls: 1000,
        bursts: 20,
    });
    input.observed = Some(observed);
    let found = quadratic::detect(&input);
    found.into_iter().map(|one| one.fix).collect()
}

#[test]
fn first_fit_and_the_least_of_all_are_quadratic() {
    assert_eq!(
        fixes(walk(Walk::FirstFit), 4e6),
        [Fix::FindDirectly { best: false }]
    );
    assert_eq!(
        fixes(best(Least::OfArray), 4e6),
        [Fix::FindDirectly { best: true }]
    );
}

/// The least of an array, beside a loop that stores so many numbers in all.
fn fixes_beside(stores: u64) -> Vec<Fix> {
    let fill = function(
        "mix",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(qword_ptr(rdi + rax * 8), rcx)?;
            a.add(rax, 1)?;
            a.cmp(rax, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[stores, stores, stores, stores, SEARCHES],
        &[0.01, 0.0, 0.0, 0.0, 0.0],
        &[(3, stores - SEARCHES)],
    );
    let mut input = program(vec![best(Least::OfArray), fill]);
    input.program.max_rss_bytes = Some(4e6);
    input.observed = Some(observations());
    let found = quadratic::detect(&input);
    found.into_iter().map(|one| one.fix).collect()
}

#[test]
fn least_of_elements_that_are_made_anew_for_each_search_is_not() {
    let few = ELEMENTS * SEARCHES / 100;
    assert_eq!(fixes_beside(few), [Fix::FindDirectly { best: true }]);
    assert!(fixes_beside(ELEMENTS * SEARCHES).is_empty());
}

#[test]
fn elements_that_the_caller_hands_over_are_the_same_where_that_was_observed() {
    let of_caller = |usual| fixes_called_with(walk(Walk::OfCaller), 4e6, usual);
    assert_eq!(of_caller(1.0), [Fix::FindDirectly { best: false }]);
    assert!(of_caller(0.5).is_empty());
}

#[test]
fn sums_marks_rows_and_elements_seen_once_are_not() {
    let near = |fixes: Vec<Fix>| {
        let searches = |one: &Fix| matches!(one, Fix::FindDirectly { .. });
        fixes.iter().any(searches)
    };
    assert!(!near(fixes(walk(Walk::SumsUp), 4e6)), "a sum");
    assert!(!near(fixes(walk(Walk::Marks), 4e6)), "marks");
    assert!(!near(fixes(walk(Walk::OfCaller), 4e6)), "any list");
    assert!(
        !near(fixes(walk(Walk::FirstFit), 400e6)),
        "each element once"
    );
    assert!(!near(fixes(best(Least::OfRows), 4e6)), "rows");
    assert!(!near(fixes(best(Least::Difference), 4e6)), "distances");
}
