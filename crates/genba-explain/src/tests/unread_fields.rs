//! Results of which a caller reads some fields only, and near misses.

use iced_x86::code_asm::*;

use genba_model::{Fact, Fix, ObservedFact};
use genba_observe::DeadStore;

use crate::causes::discarded_work;
use crate::input::analysis_input::AnalysisInput;
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
