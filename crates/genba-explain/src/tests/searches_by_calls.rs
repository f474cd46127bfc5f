//! Linear searches whose elements come from calls, and near misses.

use genba_model::Cause;
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::{CallSite, CallTarget, FunctionInput};
use crate::tests::synthetic::{function, program};

const SEARCHES: u64 = 20_000;

/// What the loop's second call is for.
#[derive(Clone, Copy, PartialEq)]
enum Second {
    /// `e = next(table, &i)`.
    BringsElement,
    /// `e += 1`, and something else is done by the call.
    DoesSomethingElse,
}

fn call(at: usize, function: &str, module: &str, count: u64) -> CallSite {
    CallSite {
        at,
        targets: vec![CallTarget {
            function: function.to_owned(),
            module: module.to_owned(),
            count,
            unit: None,
            size: 20,
            instructions_per_call: 12.0,
            calls_others: false,
        }],
        ..CallSite::default()
    }
}

/// `for (e = first(t, &i); e; e = next(t, &i)) if (strncmp(e->name, name, n) == 0 && e->name[n] == 0) return e;`
fn searches(elements: u64, second: Second) -> Vec<FunctionInput> {
    let all = SEARCHES * elements;
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut next, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.call(0x4000)?;
            a.mov(rbx, rax)?;
            a.set_label(&mut head)?;
            a.lea(rdi, qword_ptr(rbx + 4))?;
            a.mov(rsi, r13)?;
            a.call(0x5000)?;
            a.test(eax, eax)?;
            a.jne(next)?;
            a.cmp(byte_ptr(rbx + rbp + 4), 0)?;
            a.je(out)?;
            a.set_label(&mut next)?;
            a.mov(rdi, r12)?;
            a.call(0x6000)?;
            match second {
                Second::BringsElement => a.mov(rbx, rax)?,
                Second::DoesSomethingElse => a.add(rbx, 16)?,
            }
            a.test(rbx, rbx)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SEARCHES, SEARCHES, all, all, all, all, all, SEARCHES, SEARCHES, all, all, all, all,
            all, SEARCHES,
        ],
        &[
            0.0, 0.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.0, 0.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.0,
        ],
        &[(6, all - SEARCHES), (8, 0), (13, all - SEARCHES)],
    );
    find.call_sites = vec![
        call(0, "first", "/bin/prog", SEARCHES),
        call(4, "__strncmp_evex", "/lib/libc.so.6", all),
        call(10, "next", "/bin/prog", all),
    ];
    let body = |a: &mut CodeAssembler| {
        a.inc(qword_ptr(rdi))?;
        a.mov(rax, qword_ptr(rdi + 8))?;
        a.ret()
    };
    let step = function("next", body, &[all; 3], &[0.1, 0.1, 0.1], &[]);
    let mut compare = function("__strncmp_evex", body, &[all; 3], &[0.1, 0.1, 0.1], &[]);
    compare.module = "/lib/libc.so.6".to_owned();
    compare.own = false;
    vec![find, step, compare]
}

fn share(elements: u64, second: Second) -> Option<f64> {
    let found = quadratic::detect(&program(searches(elements, second)));
    let one = found.iter().find(|one| one.cause == Cause::Quadratic)?;
    one.share
}

#[test]
fn search_through_an_iterator_is_found_with_the_time_of_its_steps() {
    let share = share(100, Second::BringsElement).expect("a search");
    assert!(share > 0.7, "{share}");
}

#[test]
fn few_elements_and_loops_that_call_for_something_else_are_no_searches() {
    assert_eq!(share(5, Second::BringsElement), None, "few elements");
    assert_eq!(share(100, Second::DoesSomethingElse), None, "another call");
}
