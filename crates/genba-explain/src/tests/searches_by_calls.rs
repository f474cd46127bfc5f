//! Linear searches whose elements come from calls, and near misses.

use genba_model::Cause;
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
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

pub(super) fn call(at: usize, function: &str, module: &str, count: u64) -> CallSite {
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

/// An iterator's step, and the library's comparison, each called so often.
fn callees(calls: u64) -> [FunctionInput; 2] {
    let body = |a: &mut CodeAssembler| {
        a.inc(qword_ptr(rdi))?;
        a.mov(rax, qword_ptr(rdi + 8))?;
        a.ret()
    };
    let [step, mut compare] = ["next", "__strncmp_evex"]
        .map(|name| function(name, body, &[calls; 3], &[0.1, 0.1, 0.1], &[]));
    compare.module = "/lib/libc.so.6".to_owned();
    compare.own = false;
    [step, compare]
}

/// The share of the search that is found among these functions.
fn share_of_search(functions: Vec<FunctionInput>) -> Option<f64> {
    search(functions)?.share
}

fn search(functions: Vec<FunctionInput>) -> Option<Candidate> {
    let found = quadratic::detect(&program(functions));
    found.into_iter().find(|one| one.cause == Cause::Quadratic)
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
    let [step, compare] = callees(all);
    vec![find, step, compare]
}

fn share(elements: u64, second: Second) -> Option<f64> {
    share_of_search(searches(elements, second))
}

#[test]
fn search_through_an_iterator_is_found_with_the_time_of_its_steps() {
    let share = share(100, Second::BringsElement).expect("a search");
    assert!(share > 0.7, "{share}");
}

#[test]
fn few_elements_and_loops_that_call_for_something_else_are_not_searches() {
    assert_eq!(share(5, Second::BringsElement), None, "few elements");
    assert_eq!(share(100, Second::DoesSomethingElse), None, "another call");
}

/// What is done with elements whose first part is equal.
#[derive(Clone, Copy, PartialEq)]
enum EqualKey {
    /// `if (strcmp(e->value, value) == 0) break;`
    Compares,
    /// `if (strcmp(e->value, value) == 0) found++;`
    Counts,
    /// `if (use(e->value, value) == 0) break;`
    Uses,
}

/// `for (p = begin; p != end; p++) if (strcmp((*p)->key, key) == 0 && strcmp((*p)->value, value) == 0) break;`
fn in_parts(equal: EqualKey, equal_keys: f64) -> Vec<FunctionInput> {
    let all = SEARCHES * 1000;
    let some = (all as f64 * equal_keys) as u64;
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut next, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.mov(r14, qword_ptr(rbp))?;
            a.set_label(&mut head)?;
            a.mov(rbx, qword_ptr(r14))?;
            a.mov(rdi, qword_ptr(rbx + 8))?;
            a.mov(rsi, r13)?;
            a.call(0x5000)?;
            a.test(eax, eax)?;
            a.jne(next)?;
            a.mov(rdi, qword_ptr(rbx + 16))?;
            a.mov(rsi, r12)?;
            a.call(0x6000)?;
            a.test(eax, eax)?;
            match equal {
                EqualKey::Counts => {
                    a.jne(next)?;
                    a.inc(rbp)?;
                }
                _ => {
                    a.je(out)?;
                    a.nop()?;
                }
            }
            a.set_label(&mut next)?;
            a.add(r14, 8)?;
            a.cmp(r14, r15)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SEARCHES, all, all, all, all, all, all, some, some, some, some, some, some, all, all,
            all, SEARCHES,
        ],
        &[
            0.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02, 0.02,
            0.02, 0.0,
        ],
        &[(6, all - some), (11, 0), (15, all - SEARCHES)],
    );
    let second = match equal {
        EqualKey::Uses => "use",
        _ => "__strcmp_evex",
    };
    find.call_sites = vec![
        call(4, "__strcmp_evex", "/lib/libc.so.6", all),
        call(9, second, "/lib/libc.so.6", some),
    ];
    let body = |a: &mut CodeAssembler| {
        a.mov(rax, qword_ptr(rdi))?;
        a.ret()
    };
    let counts = [all + some; 2];
    let mut compare = function("__strcmp_evex", body, &counts, &[0.5, 0.3], &[]);
    compare.module = "/lib/libc.so.6".to_owned();
    compare.own = false;
    vec![find, compare]
}

#[test]
fn search_that_compares_elements_in_two_parts_is_found_with_the_time_of_both() {
    for keys in [0.03, 0.6] {
        let found = quadratic::detect(&program(in_parts(EqualKey::Compares, keys)));
        let share = found.iter().find_map(|one| one.share).expect("a search");
        assert!(share > 0.9, "{share}");
    }
}

#[test]
fn searches_that_go_on_or_do_more_where_a_part_is_equal_are_none() {
    for equal in [EqualKey::Counts, EqualKey::Uses] {
        let found = quadratic::detect(&program(in_parts(equal, 0.03)));
        assert!(found.is_empty(), "{found:?}");
    }
}

/// `for (p = text; p < end; p += …) if (memcmp(p, word, n) == 0) return p;`
fn places_of_text(step: Step) -> Option<f64> {
    let all = SEARCHES * 200;
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.mov(rbx, rdi)?;
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            a.mov(rsi, r13)?;
            a.call(0x5000)?;
            a.test(eax, eax)?;
            a.je(out)?;
            a.movzx(eax, byte_ptr(rbx + rbp))?;
            match step {
                Step::Letter => a.add(rbx, 1)?,
                Step::OfTable => a.add(rbx, qword_ptr(rsp + rax * 8 + 16))?,
                Step::Element => a.add(rbx, 24)?,
            }
            a.cmp(rbx, r12)?;
            a.jb(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SEARCHES, all, all, all, all, all, all, all, all, all, SEARCHES,
        ],
        &[
            0.0, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.0,
        ],
        &[(5, 0), (9, all - SEARCHES)],
    );
    find.call_sites = vec![call(3, "__memcmp_avx2_movbe", "/lib/libc.so.6", all)];
    let body = |a: &mut CodeAssembler| {
        a.mov(rax, qword_ptr(rdi + 8))?;
        a.ret()
    };
    let mut compare = function("__memcmp_avx2_movbe", body, &[all; 2], &[0.2, 0.2], &[]);
    compare.module = "/lib/libc.so.6".to_owned();
    compare.own = false;
    share_of_search(vec![find, compare])
}

/// How the place in the text goes on.
#[derive(Clone, Copy)]
enum Step {
    Letter,
    OfTable,
    Element,
}

#[test]
fn word_looked_for_in_a_text_is_not_looked_up_in_a_list() {
    assert!(places_of_text(Step::Element).is_some(), "records");
    assert_eq!(places_of_text(Step::Letter), None);
    assert_eq!(places_of_text(Step::OfTable), None, "Sunday's search");
}

/// `while (e) { value = next(e); if (compare(e, name)) return e; e = next(value); }`, where `first` is what the second step
/// begins at, and a step counts its calls or only reads.
fn pairs(first: AsmRegister64, counts: bool) -> Option<Candidate> {
    let all = SEARCHES * 100;
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.mov(rbx, rdi)?;
            a.set_label(&mut head)?;
            a.mov(rdi, r12)?;
            a.mov(rsi, rbx)?;
            a.call(0x6000)?;
            a.mov(rbp, rax)?;
            a.test(rbp, rbp)?;
            a.je(out)?;
            a.mov(rdi, rbx)?;
            a.mov(rsi, r13)?;
            a.call(0x5000)?;
            a.test(eax, eax)?;
            a.jne(out)?;
            a.mov(rdi, r12)?;
            a.mov(rsi, first)?;
            a.call(0x6000)?;
            a.mov(rbx, rax)?;
            a.test(rbx, rbx)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[[SEARCHES].as_slice(), &[all; 17], &[SEARCHES]].concat(),
        &[[0.0].as_slice(), &[0.02; 17], &[0.0]].concat(),
        &[(6, 0), (11, 0), (17, all - SEARCHES)],
    );
    find.call_sites = vec![
        call(3, "next", "/bin/prog", all),
        call(9, "__strncmp_evex", "/lib/libc.so.6", all),
        call(14, "next", "/bin/prog", all),
    ];
    let [mut step, compare] = callees(all);
    if !counts {
        let body = |a: &mut CodeAssembler| {
            a.mov(rax, qword_ptr(rsi + 8))?;
            a.ret()
        };
        step = function("next", body, &[all; 2], &[0.2, 0.1], &[]);
    }
    search(vec![find, step, compare])
}

#[test]
fn element_may_be_two_steps_away() {
    for counts in [true, false] {
        let found = pairs(rbp, counts).expect("the name's step, then the value's");
        assert_eq!(found.site, [9], "the comparison; steps count: {counts}");
    }
    assert!(
        pairs(rbx, true).is_none(),
        "the first call is for something else"
    );
}

/// `do { step(it); if (it->slot == it->empty) return 0; } while (!eql(context, key, (*it->entries)[it->slot].key));`, or the step
/// is of something that the element is not read through.
fn through_iterator_in_memory(steps_to_element: bool, takes_element: bool) -> Option<Candidate> {
    let all = SEARCHES * 200;
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(rdi, if steps_to_element { rbx } else { r14 })?;
            a.call(0x4000)?;
            a.mov(edx, dword_ptr(rbx + 0x18))?;
            a.cmp(edx, dword_ptr(rbx + 0xc))?;
            a.je(out)?;
            a.mov(rcx, qword_ptr(rbx))?;
            a.shl(rdx, 4)?;
            a.add(rdx, qword_ptr(rcx))?;
            a.mov(rdx, qword_ptr(rdx))?;
            a.mov(rsi, rbp)?;
            a.mov(rdi, r12)?;
            a.call(0x5000)?;
            a.test(al, al)?;
            a.je(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SEARCHES, all, all, all, all, all, all, all, all, all, all, all, all, all, all,
            SEARCHES,
        ],
        &[
            0.0, 0.01, 0.01, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02,
            0.02, 0.0,
        ],
        &[(5, 0), (14, all - SEARCHES)],
    );
    find.call_sites = vec![
        call(2, "step", "/bin/prog", all),
        call(12, "eql", "/bin/prog", all),
    ];
    let step = |a: &mut CodeAssembler| {
        a.inc(dword_ptr(rdi + 0x18))?;
        a.ret()
    };
    let eql = |a: &mut CodeAssembler| {
        match takes_element {
            true => a.cmp(rsi, rdx)?,
            false => a.cmp(rsi, 3)?,
        }
        a.sete(al)?;
        a.ret()
    };
    let step = function("step", step, &[all; 2], &[0.2, 0.1], &[]);
    let eql = function("eql", eql, &[all; 3], &[0.1, 0.1, 0.1], &[]);
    search(vec![find, step, eql])
}

#[test]
fn iterator_that_goes_on_in_memory_leads_to_the_elements_compared_behind_a_context() {
    let found = through_iterator_in_memory(true, true).expect("a search");
    assert_eq!(found.executions, Some(SEARCHES * 200));
    assert!(
        found.share.is_some_and(|share| share > 0.7),
        "{:?}",
        found.share
    );
    assert!(through_iterator_in_memory(false, true).is_none());
    let asks_something_else = through_iterator_in_memory(true, false);
    assert!(
        asks_something_else.is_none(),
        "what is left in a register is no argument"
    );
}
