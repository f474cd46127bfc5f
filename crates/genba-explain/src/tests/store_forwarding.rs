//! Loads that wait for narrower stores, on loops assembled by hand, and near misses.

use genba_observe::PartlyStoredLoad;
use iced_x86::code_asm::*;

use crate::causes::cache_miss;
use crate::causes::store_forward_stall;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::latency::{count, iterations, looped};
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{function, program};

/// Two narrow stores and a load of both, or of one.
fn halves(wide: bool) -> AnalysisInput {
    let heat = [0.02, 0.02, 0.8, 0.1, 0.02, 0.02, 0.02];
    program(vec![looped(16.0, &heat, |a| {
        a.mov(dword_ptr(rsp + 16), ecx)?;
        a.mov(dword_ptr(rsp + 20), edx)?;
        if wide {
            a.mov(rax, qword_ptr(rsp + 16))?;
        } else {
            a.mov(eax, dword_ptr(rsp + 16))?;
        }
        a.add(rbx, rax)?;
        a.add(rdi, 1)?;
        a.cmp(rdi, rsi)
    })])
}

#[test]
fn store_forward_stall_is_found_for_partial_overlap_only() {
    let found = store_forward_stall::detect(&halves(true));
    assert_eq!(count(&found), 1);
    assert!(found[0].residual_fraction.value < 0.8);
    assert_eq!(count(&store_forward_stall::detect(&halves(false))), 0);
    assert_eq!(count(&cache_miss::detect(&halves(true))), 0);
}

/// The same in a loop that waits far longer for a load of its own, which was seen to miss so often.
fn halves_beside(missed: f64) -> AnalysisInput {
    let heat = [0.01, 0.01, 0.1, 0.01, 0.8, 0.04, 0.01, 0.01, 0.01];
    let mut input = program(vec![looped(200.0, &heat, |a| {
        a.mov(dword_ptr(rsp + 16), ecx)?;
        a.mov(dword_ptr(rsp + 20), edx)?;
        a.mov(rax, qword_ptr(rsp + 16))?;
        a.add(rbx, rax)?;
        a.mov(r8, qword_ptr(r9 + rcx * 8))?;
        a.add(r10, r8)?;
        a.add(rdi, 1)?;
        a.cmp(rdi, rsi)
    })]);
    let mut observed = observations();
    (observed.loads).push(load_site(point(&input, 0, 5), missed, None));
    input.observed = Some(observed);
    input
}

#[test]
fn stall_behind_a_longer_wait_may_gain_nothing() {
    let found = store_forward_stall::detect(&halves_beside(0.9));
    assert_eq!(count(&found), 1);
    let stays = found[0].residual_fraction;
    assert!(stays.value > 0.8 && stays.high >= 1.0, "{stays:?}");
    // One that hits is late because of it.
    let late = store_forward_stall::detect(&halves_beside(0.0));
    assert!(late[0].residual_fraction.value < 0.6);
}

/// The same by two functions: what the second one loads was observed to be stored by half in this share of the cases.
fn halves_of_another(share: f64) -> AnalysisInput {
    let calls = iterations(30.0);
    let fill = function(
        "fill",
        |a| {
            a.mov(dword_ptr(rdi), esi)?;
            a.mov(dword_ptr(rdi + 4), edx)?;
            a.ret()
        },
        &[calls; 3],
        &[0.05, 0.05, 0.0],
        &[],
    );
    let sum = function(
        "sum",
        |a| {
            a.mov(rax, qword_ptr(rdi))?;
            a.imul_2(rax, rcx)?;
            a.ret()
        },
        &[calls; 3],
        &[0.1, 0.8, 0.0],
        &[],
    );
    let mut input = program(vec![fill, sum]);
    let mut observed = observations();
    observed.partly_stored_loads.push(PartlyStoredLoad {
        at: point(&input, 1, 0),
        store: point(&input, 0, 1),
        seen: seen(share),
    });
    input.observed = Some(observed);
    input
}

#[test]
fn store_of_another_function_is_known_by_what_was_observed() {
    let found = store_forward_stall::detect(&halves_of_another(0.95));
    assert_eq!(count(&found), 1);
    assert_eq!(
        (found[0].function, found[0].site.as_slice()),
        (Some(1), &[0][..])
    );
    assert_eq!(
        count(&store_forward_stall::detect(&halves_of_another(0.2))),
        0
    );
}
