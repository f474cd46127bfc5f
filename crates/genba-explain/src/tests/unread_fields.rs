//! Results of which a caller reads some fields only, and near misses.

use iced_x86::code_asm::*;

use genba_model::{Fact, Fix, ObservedFact};
use genba_observe::DeadStore;

use crate::causes::discarded_work;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::patterns::needed_code::needed_for_only;
use crate::tests::observed_repetition::{CALLS, observations, point, seen};
use crate::tests::synthetic::{call, function, has_fact, program};

/// `while (n--) p -= decode(p).previous_length;`: `decode` stores four fields, of which so many are overwritten unread to
/// this share. So many of its calls come from the loop.
fn decoded(unread: usize, dead: f64, from_loop: u64) -> AnalysisInput {
    let mut walk = function(
        "walk",
        |a| {
            let (mut head, mut decode) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.mov(rdi, rbx)?;
            a.call(decode)?;
            a.sub(rbp, qword_ptr(rsp))?;
            a.sub(r12d, 1)?;
            a.jne(head)?;
            a.set_label(&mut decode)?;
            a.ret()
        },
        &[CALLS, CALLS, CALLS, CALLS, CALLS, 1],
        &[0.05; 6],
        &[(4, CALLS - 1)],
    );
    walk.call_sites.push(call(1, "decode", from_loop, 12.0));
    let mut decode = function(
        "decode",
        |a| {
            a.movzx(eax, byte_ptr(rsi))?;
            a.movzx(ecx, byte_ptr(rsi + rax))?;
            a.mov(edx, ecx)?;
            a.shr(edx, 6)?;
            a.mov(qword_ptr(rdi), rax)?;
            a.mov(dword_ptr(rdi + 8), ecx)?;
            a.mov(dword_ptr(rdi + 12), edx)?;
            a.mov(qword_ptr(rdi + 16), rsi)?;
            a.ret()
        },
        &[CALLS; 9],
        &[0.1, 0.1, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1],
        &[],
    );
    decode.calls = Some(CALLS);
    let mut input = program(vec![walk, decode]);
    let mut observed = observations();
    for at in [5, 6, 7, 4].into_iter().take(unread) {
        observed.dead_stores.push(DeadStore {
            at: point(&input, 1, at),
            seen: seen(dead),
            unknown: 0.0,
            overwritten_by: point(&input, 1, at),
            size: 4,
            decided_by: Vec::new(),
        });
    }
    input.observed = Some(observed);
    input
}

#[test]
fn result_of_which_one_field_is_read_is_found_at_the_call() {
    let found = discarded_work::detect(&decoded(3, 1.0, CALLS));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].function, &found[0].site), (Some(0), &vec![1]));
    assert_eq!(found[0].fix, Fix::MakeOnlyWhatIsRead);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::UnreadFields {
            stores: 3,
            of: 4,
            ..
        })
    )));
}

#[test]
fn results_that_are_read_by_half_or_by_nobody_or_elsewhere_are_not() {
    for (unread, dead, from_loop) in [
        (1, 1.0, CALLS),
        (3, 0.6, CALLS),
        // Nothing of it is read: a benchmark.
        (4, 1.0, CALLS),
        (3, 1.0, CALLS / 2),
    ] {
        assert!(discarded_work::detect(&decoded(unread, dead, from_loop)).is_empty());
    }
}

/// A sum that a loop keeps in a field behind a pointer is stored for each element, and read after the last.
#[test]
fn sums_that_are_stored_for_each_element_are_no_result() {
    let mut input = decoded(3, 1.0, CALLS);
    input.functions[1].counts = vec![16 * CALLS; 9];
    assert!(discarded_work::detect(&input).is_empty());
}

/// Two sums over an array in one loop, one of which is stored first, after a test that so often stores something else.
fn two_sums(exceptions: u64) -> FunctionInput {
    function(
        "summarise",
        |a| {
            let (mut head, mut empty) = (a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            a.movsd_2(xmm2, qword_ptr(rsi))?;
            a.addsd(xmm0, xmm2)?;
            a.mulsd(xmm2, xmm2)?;
            a.addsd(xmm1, xmm2)?;
            a.add(rsi, 8)?;
            a.cmp(rsi, rcx)?;
            a.jne(head)?;
            a.movsd_2(qword_ptr(rdi), xmm0)?;
            a.comisd(xmm1, xmm3)?;
            a.jb(empty)?;
            a.movsd_2(qword_ptr(rdi + 8), xmm1)?;
            a.set_label(&mut empty)?;
            a.movapd(xmm0, xmm3)?;
            a.movapd(xmm1, xmm3)?;
            a.ret()
        },
        &[
            &[10 * CALLS; 7][..],
            &[CALLS; 3],
            &[CALLS - exceptions],
            &[CALLS; 3],
        ]
        .concat(),
        &[0.05; 14],
        &[(6, 9 * CALLS), (9, exceptions)],
    )
}

#[test]
fn work_in_a_loop_that_feeds_a_store_alone_is_known() {
    let square_store = 10;
    // Square, sum and the test that always goes one way; the loop goes on for the other sum.
    assert_eq!(
        needed_for_only(&two_sums(0), &[square_store]),
        [2, 3, square_store]
    );
    // Where the test decides, its operand is needed.
    assert_eq!(
        needed_for_only(&two_sums(CALLS / 2), &[square_store]),
        [square_store]
    );
    // Of both stores: the loop as a whole.
    assert_eq!(
        needed_for_only(&two_sums(0), &[7, square_store]),
        [0, 1, 2, 3, 4, 5, 6, 7, square_store]
    );
}
