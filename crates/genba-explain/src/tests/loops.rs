//! The causes about bytes, branches, searches and atomics, on loops assembled by hand: what they
//! must find, and what looks like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{ByteOperation, Fact, Fix, LoopFact};

use crate::causes::bytewise_compare;
use crate::causes::bytewise_copy;
use crate::causes::needless_atomic;
use crate::causes::quadratic;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, has_fact, program};

const ITERATIONS: u64 = 10_000_000;

/// How a byte arrives.
#[derive(PartialEq)]
enum Byte {
    AsItIs,
    Changed,
    /// At the other end: `*out--`.
    TurnedRound,
}

/// `while ((*out++ = *in++) != '{')`, in runs of so many bytes.
fn copy(run: u64, byte: Byte) -> FunctionInput {
    let (iterations, runs) = (ITERATIONS, ITERATIONS / run);
    function(
        "copy",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rsi))?;
            if byte == Byte::Changed {
                a.xor(eax, 0x20)?;
            } else {
                a.nop()?;
            }
            a.mov(byte_ptr(rdi), al)?;
            a.add(rsi, 1)?;
            match byte {
                Byte::TurnedRound => a.sub(rdi, 1)?,
                _ => a.add(rdi, 1)?,
            }
            a.cmp(al, 0x7b)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            runs, iterations, iterations, iterations, iterations, iterations, iterations,
            iterations, runs,
        ],
        &[0.0, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(7, iterations - runs)],
    )
}

#[test]
fn bytewise_copy_is_found_for_long_runs() {
    let found = bytewise_copy::detect(&program(vec![copy(200, Byte::AsItIs)]));
    assert_eq!(found.len(), 1);
    assert!(found[0].site.contains(&3) && found[0].site.contains(&1));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Loop(LoopFact::ByteRuns { operation: ByteOperation::Copy, mean_run, .. })
            if (mean_run - 200.0).abs() < 1.0
    )));
    assert!(
        found[0].residual_fraction.value < 0.05,
        "90 cycles a byte become a fraction"
    );
    assert!(bytewise_compare::detect(&program(vec![copy(200, Byte::AsItIs)])).is_empty());
}

#[test]
fn bytewise_copy_is_not_found_for_short_runs_or_changed_bytes() {
    assert!(bytewise_copy::detect(&program(vec![copy(6, Byte::AsItIs)])).is_empty());
    assert!(bytewise_copy::detect(&program(vec![copy(200, Byte::Changed)])).is_empty());
}

#[test]
fn bytes_are_copied_where_the_index_had_no_register_left() {
    let (iterations, runs) = (ITERATIONS, ITERATIONS / 200);
    // The index of the store is spilled and loaded again; what is stored there is that of the load, or another.
    let spilled = |scaled: bool| {
        let copy = function(
            "append",
            |a| {
                let mut head = a.create_label();
                a.nop()?;
                a.set_label(&mut head)?;
                match scaled {
                    true => a.lea(r8, ptr(rcx + rcx * 2))?,
                    false => a.mov(r8, rcx)?,
                }
                a.mov(qword_ptr(rsp + 8), r8)?;
                a.movzx(eax, byte_ptr(rsi + rcx))?;
                a.mov(rdx, qword_ptr(rsp + 8))?;
                a.mov(byte_ptr(rdi + rdx), al)?;
                a.add(rcx, 1)?;
                a.cmp(rcx, r9)?;
                a.jne(head)?;
                a.ret()
            },
            &[
                runs, iterations, iterations, iterations, iterations, iterations, iterations,
                iterations, iterations, runs,
            ],
            &[0.0, 0.1, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0],
            &[(8, iterations - runs)],
        );
        bytewise_copy::detect(&program(vec![copy])).len()
    };
    assert_eq!(spilled(false), 1);
    assert_eq!(spilled(true), 0, "every third byte is written");
}

#[test]
fn bytes_that_are_turned_round_are_told_so() {
    let fix = |byte| {
        bytewise_copy::detect(&program(vec![copy(200, byte)]))[0]
            .fix
            .clone()
    };
    assert_eq!(fix(Byte::TurnedRound), Fix::TurnRoundWords);
    assert_eq!(fix(Byte::AsItIs), Fix::CopyRuns);
}

/// `while (*a == *b) a++, b++`, or a sum of what is read.
pub(crate) fn compare(run: u64, hashes: bool) -> FunctionInput {
    let (iterations, runs) = (ITERATIONS, ITERATIONS / run);
    function(
        "compare",
        |a| {
            let mut head = a.create_label();
            a.nop()?;
            a.set_label(&mut head)?;
            a.movzx(eax, byte_ptr(rsi + rcx))?;
            if hashes {
                a.add(edx, eax)?;
            } else {
                a.nop()?;
            }
            a.add(rcx, 1)?;
            a.cmp(al, byte_ptr(rdi + rcx - 1))?;
            a.je(head)?;
            a.ret()
        },
        &[
            runs, iterations, iterations, iterations, iterations, iterations, runs,
        ],
        &[0.0, 0.2, 0.1, 0.1, 0.3, 0.2, 0.0],
        &[(5, iterations - runs)],
    )
}

#[test]
fn bytewise_compare_is_found_for_long_runs() {
    let found = bytewise_compare::detect(&program(vec![compare(50, false)]));
    assert_eq!(found.len(), 1);
    assert!(bytewise_copy::detect(&program(vec![compare(50, false)])).is_empty());
}

#[test]
fn bytewise_compare_is_not_found_for_short_runs_or_sums() {
    assert!(bytewise_compare::detect(&program(vec![compare(4, false)])).is_empty());
    assert!(bytewise_compare::detect(&program(vec![compare(50, true)])).is_empty());
}

/// `if (price[i] < limit) out[n++] = i`, with the time where it is given: at the two sides of the
/// branch, and at the rest.
fn filter(taken: u64, sides: f64, rest: f64) -> FunctionInput {
    let iterations = 10_000_000;
    let stored = iterations - taken;
    function(
        "filter",
        |a| {
            let (mut head, mut skip) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.mov(ecx, dword_ptr(rdi + rax * 4))?;
            a.nop()?;
            a.cmp(ecx, edx)?;
            a.jge(skip)?;
            a.mov(dword_ptr(rsi + r8 * 4), eax)?;
            a.add(r8, 1)?;
            a.set_label(&mut skip)?;
            a.add(rax, 1)?;
            a.cmp(rax, r9)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            1, iterations, iterations, iterations, iterations, stored, stored, iterations,
            iterations, iterations, 1,
        ],
        &[
            0.0,
            rest / 2.0,
            0.0,
            rest / 2.0,
            0.0,
            sides / 2.0,
            0.0,
            sides / 2.0,
            0.0,
            0.0,
            0.0,
        ],
        &[(4, taken), (9, iterations - 1)],
    )
}

#[test]
fn unpredictable_branch_is_found_for_random_outcomes() {
    // 10 cycles per iteration, half of the iterations mispredict at 20 cycles.
    let found = unpredictable_branch::detect(&program(vec![filter(5_000_000, 0.09, 0.02)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, vec![4]);
    assert!(found[0].residual_fraction.high < 0.9);
}

#[test]
fn unpredictable_branch_is_not_found_for_predicted_branches_or_cache_misses() {
    // Both outcomes as often, but two cycles per iteration: a predictable pattern.
    let pattern = filter(5_000_000, 0.015, 0.005);
    assert!(unpredictable_branch::detect(&program(vec![pattern])).is_empty());
    // The time stands at what the load brings.
    let memory = filter(5_000_000, 0.02, 0.09);
    assert!(unpredictable_branch::detect(&program(vec![memory])).is_empty());
    let rare = filter(100_000, 0.09, 0.02);
    assert!(unpredictable_branch::detect(&program(vec![rare])).is_empty());
}

/// `for (i = 0; i < n; i++) if (list[i] == key) break`, or a sum over the list.
fn search(sums: bool, elements: u64) -> FunctionInput {
    let searches = 10_000;
    let iterations = searches * elements;
    function(
        "contains",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            if sums {
                a.add(rdx, qword_ptr(rdi + rax * 8))?;
                a.cmp(rdx, r8)?;
            } else {
                a.mov(rdx, qword_ptr(rdi + rax * 8))?;
                a.cmp(rdx, r8)?;
            }
            a.je(out)?;
            a.add(rax, 1)?;
            a.cmp(rax, rsi)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            searches, iterations, iterations, iterations, iterations, iterations, iterations,
            searches,
        ],
        &[0.0, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(3, searches / 10), (6, iterations - searches)],
    )
}

#[test]
fn quadratic_is_found_for_long_linear_searches() {
    let found = quadratic::detect(&program(vec![search(false, 2000)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, vec![2]);
}

#[test]
fn quadratic_is_not_found_for_short_searches_or_sums() {
    assert!(quadratic::detect(&program(vec![search(false, 12)])).is_empty());
    assert!(quadratic::detect(&program(vec![search(true, 2000)])).is_empty());
}

#[test]
fn needless_atomic_is_found_in_a_single_threaded_program() {
    let count = || {
        function(
            "count",
            |a| {
                let mut head = a.create_label();
                a.nop()?;
                a.set_label(&mut head)?;
                a.lock().add(qword_ptr(rdi), rsi)?;
                a.sub(rdx, 1)?;
                a.jne(head)?;
                a.ret()
            },
            &[1, ITERATIONS, ITERATIONS, ITERATIONS, 1],
            &[0.0, 0.15, 0.05, 0.05, 0.0],
            &[(3, ITERATIONS - 1)],
        )
    };
    let mut input = program(vec![count()]);
    let found = needless_atomic::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, vec![1]);
    input.program.threads = 2;
    assert!(needless_atomic::detect(&input).is_empty());
    input.program.threads = 1;
    input.functions[0].own = false;
    assert!(needless_atomic::detect(&input).is_empty());
}

/// A function that adds to a statistic, with so much of the time.
fn adding(name: &str, word: u64, heat: f64) -> FunctionInput {
    let mut one = function(
        name,
        |a| {
            a.lock().add(qword_ptr(word), rsi)?;
            a.ret()
        },
        &[ITERATIONS; 2],
        &[heat, 0.0],
        &[],
    );
    one.calls = Some(ITERATIONS);
    one
}

#[test]
fn atomics_of_several_functions_on_one_word_are_one_finding() {
    let found = needless_atomic::detect(&program(vec![
        adding("zmalloc", 0x4000, 0.008),
        adding("zfree", 0x4000, 0.009),
        adding("other", 0x5000, 0.009),
    ]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(1));
    assert_eq!(found[0].copies, [(0, vec![0, 1])]);
    assert_eq!(found[0].executions, Some(2 * ITERATIONS));
    assert!(
        found[0]
            .share
            .is_some_and(|share| (share - 0.017).abs() < 1e-9)
    );
}

/// `for (p = list; p != end; p = p->next) …`: what is compared is the element's key, or the link.
fn walk(key: bool) -> FunctionInput {
    let (searches, iterations) = (10_000, 20_000_000);
    function(
        "walk",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            if key {
                a.cmp(dword_ptr(rdi + 8), esi)?;
                a.je(out)?;
                a.mov(rdi, qword_ptr(rdi))?;
                a.test(rdi, rdi)?;
            } else {
                a.add(rax, qword_ptr(rdi + 8))?;
                a.nop()?;
                a.mov(rdi, qword_ptr(rdi))?;
                a.cmp(rdi, rsi)?;
            }
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            searches, iterations, iterations, iterations, iterations, iterations, searches,
        ],
        &[0.0, 0.2, 0.2, 0.2, 0.1, 0.2, 0.0],
        &[(2, searches / 2), (5, iterations - searches)],
    )
}

#[test]
fn quadratic_is_found_for_list_searches_not_for_traversals() {
    assert_eq!(quadratic::detect(&program(vec![walk(true)])).len(), 1);
    assert!(quadratic::detect(&program(vec![walk(false)])).is_empty());
}
