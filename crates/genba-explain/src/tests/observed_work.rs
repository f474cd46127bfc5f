//! The causes about work done again or for nothing, on functions assembled by hand with synthetic
//! observations: what they must find, and what looks like it and must not be reported.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Estimate, Fact, Fix, ObservedFact};
use genba_observe::{
    DeadStore, Observations, OverwrittenBuffer, RedundantCall, RepeatedCopy, RepeatedLoop, Seen,
};

use crate::causes::{
    dead_store, discarded_work, redundant_computation, repeated_copy, repeated_search,
};
use crate::input::analysis_input::{AnalysisInput, FunctionInput, Place, RuntimeUse, UserCall};
use crate::tests::synthetic::{call, function, has_fact, program};

const CALLS: u64 = 10_000_000;

pub(super) fn seen(share: f64) -> Seen {
    Seen {
        share: share_of(share),
        executions: 10_000,
        bursts: 20,
    }
}

pub(super) fn share_of(share: f64) -> Estimate {
    Estimate {
        value: share,
        low: (share - 0.02).max(0.0),
        high: (share + 0.02).min(1.0),
    }
}

/// Observations of enough bursts; module 0 is the program.
pub(super) fn observations() -> Observations {
    Observations {
        modules: vec!["/bin/prog".to_owned(), "/lib/libc.so.6".to_owned()],
        bursts: 20,
        instructions: 1_000_000,
        threads: 1,
        ..Observations::default()
    }
}

pub(super) fn point(input: &AnalysisInput, function: usize, at: usize) -> CodePoint {
    CodePoint {
        module: 0,
        address: input.functions[function].code[at].address,
    }
}

/// A loop that calls `hash` for each element.
fn caller() -> FunctionInput {
    let mut one = function(
        "find",
        |a| {
            let (mut head, mut callee) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.mov(rdi, qword_ptr(rbx))?;
            a.call(callee)?;
            a.add(rbx, 24)?;
            a.cmp(rbx, r12)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[CALLS, CALLS, CALLS, CALLS, CALLS, 1],
        &[0.02, 0.02, 0.02, 0.02, 0.02, 0.0],
        &[(4, CALLS - 1)],
    );
    one.call_sites.push(call(1, "hash", CALLS, 200.0));
    one
}

/// A hash, or with `search` a search through elements of eight bytes.
fn callee(search: bool) -> FunctionInput {
    let times = 20 * CALLS;
    let mut one = function(
        "hash",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            if search {
                a.cmp(rax, qword_ptr(rdi))?;
                a.jb(head)?;
                a.nop()?;
            } else {
                a.movzx(ecx, byte_ptr(rdi))?;
                a.xor(rax, rcx)?;
                a.imul_3(rax, rax, 0x1b3)?;
            }
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[times, times, times, times, times, times, CALLS],
        &[0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1],
        &[(5, times - CALLS)],
    );
    // Apart from the caller, whose code has the same addresses.
    "/bin/other".clone_into(&mut one.module);
    one.calls = Some(CALLS);
    if search {
        one.taken[1] = Some(0);
    }
    one
}

fn redundant(change: impl FnOnce(&mut RedundantCall), search: bool) -> AnalysisInput {
    let mut caller = caller();
    "/bin/other".clone_into(&mut caller.call_sites[0].targets[0].module);
    let mut input = program(vec![caller, callee(search)]);
    let mut one = RedundantCall {
        at: point(&input, 0, 1),
        target: CodePoint {
            module: 2,
            address: 0x1000,
        },
        seen: seen(0.97),
        repeats_previous: seen(0.0),
        distinct_per_burst: 24.0,
        share_of_instructions: share_of(0.9),
        instructions_per_call: 200.0,
        stores_outside: 0.0,
    };
    change(&mut one);
    let mut observed = observations();
    observed.modules.push("/bin/other".to_owned());
    observed.redundant_calls.push(one);
    input.observed = Some(observed);
    input
}

#[test]
fn calls_with_few_inputs_in_turn_are_redundant() {
    let input = redundant(|_| {}, false);
    let found = redundant_computation::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].function, found[0].site.as_slice()),
        (Some(0), &[1][..])
    );
    assert!((found[0].share.unwrap_or(0.0) - 0.9).abs() < 1e-9);
    // 97 % of the calls, of 90 cycles each, against six for a kept result.
    let left = found[0].residual_fraction;
    assert!(
        (left.value - (1.0 - 0.97 * (1.0 - 6.0 / 90.0))).abs() < 1e-9,
        "{left:?}"
    );
    assert!(left.low < left.value && left.value < left.high);
    assert!(repeated_search::detect(&input).is_empty());
}

#[test]
fn repeated_calls_that_search_are_searches() {
    let input = redundant(|_| {}, true);
    assert!(redundant_computation::detect(&input).is_empty());
    let found = repeated_search::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RememberFound { few: true });
}

#[test]
fn calls_that_do_not_repeat_enough_are_not_redundant() {
    let changes: [fn(&mut RedundantCall); 7] = [
        // What repeats is the short way through the function.
        |one| one.share_of_instructions = share_of(0.05),
        // Inputs come back after a thousand others.
        |one| one.distinct_per_burst = 1000.0,
        // A third is new.
        |one| one.seen = seen(0.66),
        // It writes for others.
        |one| one.stores_outside = 0.5,
        // Keeping the result costs as much.
        |one| one.instructions_per_call = 12.0,
        // Seen too seldom.
        |one| one.seen.bursts = 2,
        |one| one.seen.executions = 20,
    ];
    for change in changes {
        assert!(redundant_computation::detect(&redundant(change, false)).is_empty());
    }
    let mut few = redundant(|_| {}, false);
    few.observed.as_mut().expect("observations").bursts = 3;
    assert!(redundant_computation::detect(&few).is_empty());
}

/// A binary search, by order or by equality, of eight iterations.
fn search(by_order: bool, computes: bool) -> AnalysisInput {
    let (runs, times) = (CALLS, 8 * CALLS);
    let one = function(
        "period_of",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.lea(rcx, ptr(rax + 1))?;
            a.cmp(qword_ptr(rdi + rcx * 8), rsi)?;
            if by_order {
                a.cmovle(rax, rcx)?;
            } else {
                a.je(out)?;
            }
            if computes {
                a.imul_2(rdx, rcx)?;
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

fn repeated_runs(mut input: AnalysisInput, previous: f64) -> AnalysisInput {
    let mut observed = observations();
    observed.repeated_loops.push(RepeatedLoop {
        head: point(&input, 0, 1),
        seen: seen(0.99),
        repeats_previous: seen(previous),
        distinct_per_burst: 3.0,
        share_of_instructions: share_of(0.8),
        instructions_per_run: 50.0,
        stores_outside: 0.0,
    });
    input.observed = Some(observed);
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
fn searches_without_a_last_result_to_test_are_not_reported() {
    // Ends elsewhere each time.
    assert!(repeated_search::detect(&repeated_runs(search(true, false), 0.2)).is_empty());
    // Looks for other keys, and finds none of them.
    assert!(repeated_search::detect(&repeated_runs(search(false, false), 0.95)).is_empty());
    // Computes with registers that may differ.
    assert!(repeated_search::detect(&repeated_runs(search(true, true), 0.95)).is_empty());
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
        &[CALLS, CALLS, CALLS, CALLS, 100],
        &[0.1, 0.5, 0.1, 0.1, 0.0],
        &[(3, CALLS - 100)],
    );
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.dead_stores.push(DeadStore {
        at: point(&input, 0, 1),
        seen: seen(0.99),
        unknown: 0.0,
        overwritten_by: point(&input, 0, 1),
        size: 8,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn counter_that_is_stored_in_each_iteration_is_found() {
    let found = dead_store::detect(&counting(false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::DropDeadStores { buffer: false });
    assert!(dead_store::detect(&counting(true)).is_empty());
}

/// Two calls of `memcpy` of so many bytes; what the second copies the first had copied.
fn copied_twice(bytes: f64, again: f64) -> AnalysisInput {
    let mut one = function(
        "pack",
        |a| {
            let mut callee = a.create_label();
            a.call(callee)?;
            a.call(callee)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[100_000, 100_000, 100_000],
        &[0.05, 0.05, 0.0],
        &[],
    );
    one.call_sites.push(call(0, "memcpy", 100_000, 100.0));
    one.call_sites.push(call(1, "memcpy", 100_000, 100.0));
    let mut memcpy = function("memcpy", |a| a.ret(), &[200_000], &[0.8], &[]);
    "/lib/libc.so.6".clone_into(&mut memcpy.module);
    memcpy.own = false;
    let mut input = program(vec![one, memcpy]);
    let user = |at: usize| UserCall {
        function: "pack".to_owned(),
        module: "/bin/prog".to_owned(),
        address: input.functions[0].code[at].address,
        place: Place::default(),
        through: Vec::new(),
        calls: 100_000.0,
        executions: 100_000,
        caller_calls: None,
    };
    input.program.runtime.push(RuntimeUse {
        service: "copy".to_owned(),
        system_call: false,
        calls: 200_000,
        users: vec![user(0), user(1)],
    });
    let target = Some(CodePoint {
        module: 1,
        address: 0x1000,
    });
    let copy = |at: usize, share: f64| RepeatedCopy {
        at: point(&input, 0, at),
        target,
        seen: seen(share),
        bytes_per_copy: bytes,
        previous: point(&input, 0, 1 - at),
        bytes_per_instruction: share_of(0.5),
    };
    let list = vec![copy(0, 0.02), copy(1, again)];
    let mut observed = observations();
    observed.repeated_copies = list;
    input.observed = Some(observed);
    input
}

#[test]
fn copy_of_what_was_just_copied_is_found() {
    let found = repeated_copy::detect(&copied_twice(4096.0, 0.98));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [1]);
    // Half of all copied bytes, of 80 % of the time.
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::CopyChainTime { share, places: 1, .. })
            if (share - 0.4).abs() < 1e-6
    )));
    let left = found[0].residual_fraction;
    assert!(
        (left.value - (1.0 - 0.4 * 0.98 * 0.85)).abs() < 1e-6,
        "{left:?}"
    );
}

#[test]
fn copies_of_new_or_few_bytes_are_not_repeated() {
    assert!(repeated_copy::detect(&copied_twice(4096.0, 0.3)).is_empty());
    assert!(repeated_copy::detect(&copied_twice(40.0, 0.98)).is_empty());
}

/// A call whose result is stored, and a test behind it that is taken in so many of the rows.
fn parsed(dead: f64, taken: u64) -> AnalysisInput {
    let mut one = function(
        "sum_region",
        |a| {
            let (mut head, mut next, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.call(callee)?;
            a.mov(qword_ptr(rsp + 8), rax)?;
            a.cmp(rbx, rbp)?;
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
    let mut input = program(vec![one, parse]);
    let mut observed = observations();
    observed.dead_stores.push(DeadStore {
        at: point(&input, 0, 1),
        seen: seen(dead),
        unknown: 0.0,
        overwritten_by: point(&input, 0, 1),
        size: 8,
    });
    input.observed = Some(observed);
    input
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
    let mut input = program(vec![one]);
    let mut observed = observations();
    observed.dead_stores.push(DeadStore {
        at: point(&input, 0, 1),
        seen: seen(dead),
        unknown: 0.0,
        overwritten_by: point(&input, 0, 1),
        size: 8,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn the_end_of_a_loop_discards_nothing() {
    assert!(discarded_work::detect(&carried(0.89, CALLS * 89 / 100)).is_empty());
}

#[test]
fn results_that_are_wanted_or_that_no_test_discards_are_not_reported() {
    // Half of them are read.
    assert!(discarded_work::detect(&parsed(0.5, CALLS / 2)).is_empty());
    // The test says something else.
    assert!(discarded_work::detect(&parsed(0.95, CALLS * 3 / 10)).is_empty());
    // Nobody ever reads them: a benchmark.
    assert!(discarded_work::detect(&parsed(0.999, CALLS * 999 / 1000)).is_empty());
}
