//! The causes about work done for nothing (overwritten unread, discarded), on functions
//! assembled by hand with synthetic observations.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Fact, Fix, ObservedFact};
use genba_observe::{DeadStore, OverwrittenBuffer};

use crate::causes::{dead_store, discarded_work};
use crate::input::analysis_input::AnalysisInput;
use crate::tests::latency::looped;
use crate::tests::observed_repetition::{CALLS, observations, point, seen};
use crate::tests::synthetic::{call, function, has_fact, program};

/// With a store of which so much is overwritten by the store itself unread, in bursts.
pub(super) fn with_dead_store(
    mut input: AnalysisInput,
    at: usize,
    dead: f64,
    size: u16,
) -> AnalysisInput {
    let mut observed = observations();
    observed.dead_stores.push(DeadStore {
        at: point(&input, 0, at),
        seen: seen(dead),
        unknown: 0.0,
        overwritten_by: point(&input, 0, at),
        size,
        decided_by: Vec::new(),
    });
    input.observed = Some(observed);
    input
}

/// The same where a branch of the first function decides what becomes of the stores.
pub(super) fn decided(mut input: AnalysisInput, branch: usize) -> AnalysisInput {
    let branch = point(&input, 0, branch);
    let stores = input
        .observed
        .iter_mut()
        .flat_map(|one| &mut one.dead_stores);
    stores.for_each(|one| one.decided_by = vec![branch]);
    input
}

/// `memset`, then a loop that stores; the loop first with `after`.
fn cleared(after: bool) -> AnalysisInput {
    let times = 1000 * 1000;
    let mut one = function(
        "decode_page",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            if !after {
                a.call(callee)?;
            }
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(byte_ptr(rax), cl)?;
            a.add(rax, 1)?;
            a.cmp(rax, rdx)?;
            a.jne(head)?;
            if after {
                a.call(callee)?;
            }
            a.set_label(&mut callee)?;
            a.ret()
        },
        &match after {
            false => [1000, 1000, times, times, times, times, 1000],
            true => [1000, times, times, times, times, 1000, 1000],
        },
        &[0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0],
        &[(if after { 4 } else { 5 }, times - 1000)],
    );
    let at = if after { 5 } else { 0 };
    one.call_sites.push(call(at, "memset", 1000, 2000.0));
    let mut memset = function("memset", |a| a.ret(), &[1000], &[0.4], &[]);
    "/lib/libc.so.6".clone_into(&mut memset.module);
    memset.own = false;
    "/lib/libc.so.6".clone_into(&mut one.call_sites[0].targets[0].module);
    let mut input = program(vec![one, memset]);
    let mut observed = observations();
    observed.overwritten_buffers.push(OverwrittenBuffer {
        at: point(&input, 0, at),
        target: CodePoint {
            module: 1,
            address: 0x1000,
        },
        seen: seen(0.99),
        unknown: 0.0,
        bytes_per_call: 4096.0,
        overwritten_by: point(&input, 0, if after { 1 } else { 2 }),
    });
    input.observed = Some(observed);
    input
}

#[test]
fn buffer_that_is_cleared_and_then_filled_is_found() {
    let found = dead_store::detect(&cleared(false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [0]);
    assert!((found[0].share.unwrap_or(0.0) - 0.4).abs() < 1e-9);
}

#[test]
fn buffer_that_the_next_round_overwrites_is_a_result_not_a_dead_store() {
    assert!(dead_store::detect(&cleared(true)).is_empty());
}

/// A buffer that the same call fills again next time.
fn filled_again(by: &str) -> AnalysisInput {
    let mut input = cleared(false);
    by.clone_into(&mut input.functions[1].function);
    by.clone_into(&mut input.functions[0].call_sites[0].targets[0].function);
    let mut observed = input.observed.take().expect("observations");
    let one = &mut observed.overwritten_buffers[0];
    one.overwritten_by = one.at;
    input.observed = Some(observed);
    input
}

#[test]
fn buffer_that_is_cleared_and_cleared_again_unused_is_found() {
    let found = dead_store::detect(&filled_again("__memset_evex_unaligned_erms"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::ClearUsedPart);
}

/// A request whose fields the compiler clears, or copies from a template, by one string instruction.
fn string_instruction(clears: bool) -> AnalysisInput {
    let one = function(
        "parse",
        |a| {
            a.mov(ecx, 800)?;
            match clears {
                true => a.rep().stosq()?,
                false => a.rep().movsq()?,
            }
            a.ret()
        },
        &[1_000_000; 3],
        &[0.0, 0.4, 0.0],
        &[],
    );
    let mut input = program(vec![one]);
    let at = point(&input, 0, 1);
    let mut observed = observations();
    observed.overwritten_buffers.push(OverwrittenBuffer {
        at,
        target: at,
        seen: seen(0.97),
        unknown: 0.0,
        bytes_per_call: 6400.0,
        overwritten_by: at,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn clear_by_a_string_instruction_is_found_a_copy_is_a_result() {
    let found = dead_store::detect(&string_instruction(true));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::ClearUsedPart);
    assert!((found[0].share.unwrap_or(0.0) - 0.4).abs() < 1e-9);
    assert!(dead_store::detect(&string_instruction(false)).is_empty());
}

#[test]
fn copy_that_the_next_copy_overwrites_unread_is_a_result() {
    assert!(dead_store::detect(&filled_again("memcpy")).is_empty());
    let mut used = filled_again("memset");
    let observed = used.observed.as_mut().expect("observations");
    observed.overwritten_buffers[0].seen = seen(0.6);
    assert!(dead_store::detect(&used).is_empty());
}

#[test]
fn buffer_that_is_read_or_may_be_read_by_threads_is_not_dead() {
    let mut partly = cleared(false);
    let observed = partly.observed.as_mut().expect("observations");
    observed.overwritten_buffers[0].seen = seen(0.6);
    assert!(dead_store::detect(&partly).is_empty());
    let mut threads = cleared(false);
    threads.program.threads = 2;
    assert!(dead_store::detect(&threads).is_empty());
}

/// A loop that counts in memory; with `moves` at another address each time.
fn counting(moves: bool) -> AnalysisInput {
    counting_runs(moves, CALLS, 100)
}

/// The same of so many iterations in so many runs.
fn counting_runs(moves: bool, all: u64, runs: u64) -> AnalysisInput {
    let one = function(
        "scan",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.add(rax, 1)?;
            if moves {
                a.mov(qword_ptr(rdi + rax * 8), rax)?;
            } else {
                a.mov(qword_ptr(rdi), rax)?;
            }
            a.cmp(rax, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[all, all, all, all, runs],
        &[0.1, 0.5, 0.1, 0.1, 0.0],
        &[(3, all - runs)],
    );
    let input = program(vec![one]);
    with_dead_store(input, 1, 0.99, 8)
}

/// A store takes a part of a cycle of those that the model has for an iteration: what a loop takes beyond them, or at the
/// end of each short run, is something else's.
#[test]
fn stores_in_loops_that_wait_for_something_else_are_worth_what_the_model_says() {
    let saved = |all: u64, runs: u64| {
        let found = dead_store::detect(&counting_runs(false, all, runs));
        (found.first()).map_or(0.0, |one| 1.0 - one.residual_fraction.value)
    };
    // One cycle and a half an iteration, and ten thousand.
    let (known, waiting) = (saved(500_000_000, 100), saved(CALLS, 100));
    let short = saved(500_000_000, 250_000_000);
    assert!(known > 0.2, "{known}");
    assert!(waiting < 0.1, "{waiting}");
    assert!(short < 0.5 * known, "{short}");
}

#[test]
fn counter_that_is_stored_in_each_iteration_is_found() {
    let found = dead_store::detect(&counting(false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::DropDeadStores { buffer: false });
    assert!(dead_store::detect(&counting(true)).is_empty());
}

#[test]
fn store_beside_a_chain_gains_what_the_model_says() {
    // Samples stand at the store, which waits for the sum.
    let summed = looped(4.5, &[0.1, 0.2, 0.5, 0.1, 0.05, 0.05], |a| {
        a.movsd_2(xmm1, qword_ptr(rsi))?;
        a.addsd(xmm0, xmm1)?;
        a.movsd_2(qword_ptr(rdi), xmm0)?;
        a.add(rsi, 8)?;
        a.cmp(rsi, rdx)
    });
    let mut input = with_dead_store(program(vec![summed]), 3, 0.99, 8);
    // Whether the loop itself overwrites most of them, or the code behind it.
    for by in [3, 7] {
        let by = point(&input, 0, by);
        let observed = input.observed.as_mut().expect("observations");
        observed.dead_stores[0].overwritten_by = by;
        let found = dead_store::detect(&input);
        let saved: Vec<f64> = found
            .iter()
            .map(|one| 0.5 * (1.0 - one.residual_fraction.value))
            .collect();
        assert!(saved.iter().all(|saved| *saved < 0.2), "{saved:?}");
    }
}

/// A call whose result is stored, and a test behind it that is taken in so many of the rows.
fn parsed(dead: f64, taken: u64) -> AnalysisInput {
    parsed_and_tested(dead, taken, false)
}

/// The same; `result` is whether the test is of what the call returned.
fn parsed_and_tested(dead: f64, taken: u64, result: bool) -> AnalysisInput {
    let mut one = function(
        "sum_region",
        |a| {
            let (mut head, mut next, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.call(callee)?;
            a.mov(qword_ptr(rsp + 8), rax)?;
            match result {
                true => a.cmp(rbx, rax)?,
                false => a.cmp(rbx, rbp)?,
            }
            a.jne(next)?;
            a.mov(rax, qword_ptr(rsp + 8))?;
            a.add(r12, rax)?;
            a.set_label(&mut next)?;
            a.add(r13, 1)?;
            a.cmp(r13, r14)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS,
            CALLS,
            CALLS,
            CALLS,
            CALLS - taken,
            CALLS - taken,
            CALLS,
            CALLS,
            CALLS,
            1,
        ],
        &[0.02; 10],
        &[(3, taken), (8, CALLS - 1)],
    );
    one.call_sites.push(call(0, "parse", CALLS, 100.0));
    "/bin/other".clone_into(&mut one.call_sites[0].targets[0].module);
    let mut parse = function("parse", |a| a.ret(), &[CALLS], &[0.8], &[]);
    "/bin/other".clone_into(&mut parse.module);
    let input = program(vec![one, parse]);
    decided(with_dead_store(input, 1, dead, 8), 3)
}

#[test]
fn result_that_a_later_test_discards_is_found() {
    let found = discarded_work::detect(&parsed(0.95, CALLS * 95 / 100));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [3, 0]);
    // Of 82 % of the time three quarters go.
    let left = found[0].residual_fraction;
    assert!((0.3..0.4).contains(&left.value), "{left:?}");
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::DiscardingTest { share, .. }) if (share - 0.95).abs() < 1e-9
    )));
}

#[test]
fn result_that_the_test_needs_is_not_discarded() {
    let found = discarded_work::detect(&parsed_and_tested(0.95, CALLS * 95 / 100, true));
    assert!(found.iter().all(|one| !one.site.contains(&0)));
}

/// A loop of eight rounds that writes a table, then a test that mostly discards it; `elsewhere` is whether the
/// loop writes to other places as well.
fn tabulated(dead: f64, taken: u64, elsewhere: bool) -> AnalysisInput {
    const RUNS: u64 = CALLS / 8;
    let one = function(
        "judge",
        |a| {
            let (mut head, mut inner, mut next) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.xor(ecx, ecx)?;
            a.set_label(&mut inner)?;
            a.imul_3(edx, edx, 31)?;
            a.mov(dword_ptr(rdi + rcx * 4), edx)?;
            match elsewhere {
                true => a.mov(dword_ptr(rsi + rcx * 4), ecx)?,
                false => a.nop()?,
            }
            a.add(rcx, 1)?;
            a.cmp(rcx, 8)?;
            a.jne(inner)?;
            a.cmp(rbx, rbp)?;
            a.jne(next)?;
            a.mov(r8, qword_ptr(rdi))?;
            a.set_label(&mut next)?;
            a.add(r13, 1)?;
            a.cmp(r13, r14)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            RUNS,
            CALLS,
            CALLS,
            CALLS,
            CALLS,
            CALLS,
            CALLS,
            RUNS,
            RUNS,
            RUNS - taken,
            RUNS,
            RUNS,
            RUNS,
            1,
        ],
        &[
            0.01, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.0,
        ],
        &[(6, CALLS - RUNS), (8, taken), (12, RUNS - 1)],
    );
    let input = program(vec![one]);
    decided(with_dead_store(input, 2, dead, 4), 8)
}

#[test]
fn loop_whose_results_a_test_behind_it_discards_is_found() {
    let runs = CALLS / 8;
    let found = discarded_work::detect(&tabulated(0.875, runs * 7 / 8, false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site[0], 8);
    // The whole loop is work for the results.
    assert_eq!(found[0].affected, [1, 2, 3, 4, 5, 6]);
    let undecided = decided(tabulated(0.875, runs * 7 / 8, false), 6);
    assert!(discarded_work::detect(&undecided).is_empty());
    assert!(discarded_work::detect(&tabulated(0.875, runs * 7 / 8, true)).is_empty());
}

/// A value that goes from round to round, stored in each; the loop goes on in so many of the rounds.
fn carried(dead: f64, on: u64) -> AnalysisInput {
    let one = function(
        "write_digits",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.imul_3(rax, rax, 7)?;
            a.mov(qword_ptr(rdi), rax)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.ret()
        },
        &[CALLS, CALLS, CALLS, CALLS, CALLS - on],
        &[0.4, 0.4, 0.1, 0.1, 0.0],
        &[(3, on)],
    );
    let input = program(vec![one]);
    decided(with_dead_store(input, 1, dead, 8), 3)
}

#[test]
fn the_end_of_a_loop_discards_nothing() {
    assert!(discarded_work::detect(&carried(0.89, CALLS * 89 / 100)).is_empty());
}

/// A call whose result is stored, and behind it a loop of so many iterations, each with a test that is mostly taken.
fn parsed_before_loop(iterations: u64) -> AnalysisInput {
    let all = CALLS * iterations;
    let taken = all * 95 / 100;
    let mut one = function(
        "best_of_all",
        |a| {
            let (mut head, mut each, mut next, mut callee) = (
                a.create_label(),
                a.create_label(),
                a.create_label(),
                a.create_label(),
            );
            a.set_label(&mut head)?;
            a.call(callee)?;
            a.mov(qword_ptr(rsp + 8), rax)?;
            a.set_label(&mut each)?;
            a.cmp(rbx, rbp)?;
            a.jne(next)?;
            a.add(r12, qword_ptr(rsp + 8))?;
            a.set_label(&mut next)?;
            a.sub(rbp, 1)?;
            a.jne(each)?;
            a.add(r13, 1)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS,
            CALLS,
            all,
            all,
            all - taken,
            all,
            all,
            CALLS,
            CALLS,
            1,
        ],
        &[0.02; 10],
        &[(3, taken), (6, all - CALLS), (8, CALLS - 1)],
    );
    one.call_sites.push(call(0, "parse", CALLS, 100.0));
    "/bin/other".clone_into(&mut one.call_sites[0].targets[0].module);
    let mut parse = function("parse", |a| a.ret(), &[CALLS], &[0.8], &[]);
    "/bin/other".clone_into(&mut parse.module);
    decided(with_dead_store(program(vec![one, parse]), 1, 0.95, 8), 3)
}

#[test]
fn test_in_each_iteration_of_a_loop_behind_discards_no_result() {
    assert!(discarded_work::detect(&parsed_before_loop(4)).is_empty());
}

/// A call that stores two results for its caller, which tests what it returns, or with `memory` what it
/// stored.
fn tested(memory: bool) -> AnalysisInput {
    let found = CALLS / 20;
    let mut one = function(
        "select",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            let mut callee = a.create_label();
            a.set_label(&mut head)?;
            a.call(callee)?;
            if memory {
                a.cmp(qword_ptr(rbx), 0)?;
            } else {
                a.test(rax, rax)?;
            }
            a.je(next)?;
            a.inc(r12)?;
            a.set_label(&mut next)?;
            a.add(r13, 1)?;
            a.cmp(r13, r14)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[CALLS, CALLS, CALLS, found, CALLS, CALLS, CALLS, 1],
        &[0.02; 8],
        &[(2, CALLS - found), (6, CALLS - 1)],
    );
    one.call_sites.push(call(0, "match", CALLS, 100.0));
    "/bin/other".clone_into(&mut one.call_sites[0].targets[0].module);
    let mut callee = function(
        "match",
        |a| {
            a.mov(qword_ptr(rdi), rdx)?;
            a.mov(qword_ptr(rdi + 8), rcx)?;
            a.ret()
        },
        &[CALLS; 3],
        &[0.3; 3],
        &[],
    );
    "/bin/other".clone_into(&mut callee.module);
    callee.calls = Some(CALLS);
    let mut input = program(vec![one, callee]);
    let mut observed = observations();
    observed.modules.push("/bin/other".to_owned());
    for at in 0..2 {
        let address = input.functions[1].code[at].address;
        let place = CodePoint { module: 2, address };
        observed.dead_stores.push(DeadStore {
            at: place,
            seen: seen(0.95),
            unknown: 0.0,
            overwritten_by: place,
            size: 8,
            decided_by: Vec::new(),
        });
    }
    input.observed = Some(observed);
    decided(input, 2)
}

#[test]
fn call_whose_return_value_is_tested_cannot_come_after_the_test() {
    assert!(discarded_work::detect(&tested(false)).is_empty());
    let found = discarded_work::detect(&tested(true));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [2, 0]);
}

#[test]
fn results_that_are_wanted_or_that_no_test_discards_are_not_reported() {
    // Half of them are read.
    assert!(discarded_work::detect(&parsed(0.5, CALLS / 2)).is_empty());
    // The test goes one way as often, but at other times.
    let mut by_chance = parsed(0.95, CALLS * 95 / 100);
    let stores = (by_chance.observed.iter_mut()).flat_map(|one| &mut one.dead_stores);
    stores.for_each(|one| one.decided_by.clear());
    assert!(discarded_work::detect(&by_chance).is_empty());
    // Nobody ever reads them: a benchmark.
    assert!(discarded_work::detect(&parsed(0.999, CALLS * 999 / 1000)).is_empty());
}
