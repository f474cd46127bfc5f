//! Causes that few processors show, on synthetic programs: what they must find, and what looks like
//! it and must not be reported. And what counted events change.

use genba_model::{EvidenceSource, Fact, LoopFact};
use iced_x86::code_asm::*;

use crate::causes::cache_miss;
use crate::causes::memory_bound_copy;
use crate::causes::missed_vectorisation;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::{AnalysisInput, EventCounts, EventPlace, RuntimeUse, UserCall};
use crate::tests::synthetic::{ALL, function, looped, program};

fn copies(calls: f64, share: f64) -> AnalysisInput {
    let mut copy = function(
        "__memcpy_avx_unaligned_erms",
        |a| a.ret(),
        &[1],
        &[share],
        &[],
    );
    copy.module = "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned();
    copy.own = false;
    let mut input = program(vec![copy]);
    input.program.cpu_seconds = 1.0;
    input.program.runtime = vec![RuntimeUse {
        service: "copy".to_owned(),
        calls: calls as u64,
        users: vec![UserCall {
            function: "step".to_owned(),
            module: "/bin/prog".to_owned(),
            address: 0x1000,
            calls,
            executions: calls as u64,
            caller_calls: None,
            ..UserCall::default()
        }],
        ..RuntimeUse::default()
    }];
    input
}

#[test]
fn memory_bound_copy_is_found_for_large_copies_only() {
    let found = memory_bound_copy::detect(&copies(1e3, 0.6));
    assert_eq!(found.len(), 1);
    assert!(found[0].residual_fraction.high < 1.0);
    assert!(memory_bound_copy::detect(&copies(1e7, 0.6)).is_empty());
    assert!(memory_bound_copy::detect(&copies(1e3, 0.05)).is_empty());
}

/// `if (a[i] < limit) n++` at ten cycles per iteration; both ways as often.
fn coin() -> AnalysisInput {
    let (iterations, half) = (ALL as u64 / 10, ALL as u64 / 20);
    program(vec![function(
        "filter",
        |a| {
            let (mut head, mut skip) = (a.create_label(), a.create_label());
            a.xor(eax, eax)?;
            a.set_label(&mut head)?;
            a.cmp(dword_ptr(rdi + rax * 4), edx)?;
            a.jge(skip)?;
            a.add(r8, 1)?;
            a.set_label(&mut skip)?;
            a.add(rax, 1)?;
            a.cmp(rax, r9)?;
            a.jne(head)?;
            a.ret()
        },
        &[
            1, iterations, iterations, half, iterations, iterations, iterations, 1,
        ],
        &[0.0, 0.02, 0.0, 0.5, 0.48, 0.0, 0.0, 0.0],
        &[(2, half), (6, iterations - 1)],
    )])
}

fn events(at: usize, times: f64) -> Option<EventCounts> {
    Some(EventCounts {
        event: "branch-misses".to_owned(),
        source: genba_model::EvidenceSource::Measured,
        period: 1000.0,
        places: vec![EventPlace {
            function: 0,
            at,
            times,
        }],
    })
}

#[test]
fn counted_mispredictions_override_the_estimate() {
    let mut input = coin();
    let iterations = ALL / 10.0;
    assert!(unpredictable_branch::is_suspected(&input));
    input.program.follow_up.mispredictions = events(3, 0.45 * iterations);
    let found = unpredictable_branch::detect(&input);
    assert_eq!(found.len(), 1);
    let counted = found[0].facts.iter().any(|fact| {
        let Fact::Loop(LoopFact::Mispredictions {
            per_iteration,
            source,
            ..
        }) = fact
        else {
            return false;
        };
        (per_iteration - 0.45).abs() < 0.01 && *source == EvidenceSource::Measured
    });
    assert!(counted, "{:?}", found[0].facts);
    input.program.follow_up.mispredictions = events(3, 0.01 * iterations);
    assert!(unpredictable_branch::detect(&input).is_empty(), "foreseen");
    input.program.follow_up.mispredictions = events(0, 0.0);
    assert!(
        unpredictable_branch::detect(&input).is_empty(),
        "none at all"
    );
}

#[test]
fn mispredictions_of_a_model_that_the_time_has_no_room_for_are_none() {
    let mut input = coin();
    let iterations = ALL / 10.0;
    let of = |source, times| EventCounts {
        source,
        ..events(3, times).expect("events")
    };
    let mut found = |source, times| {
        input.program.follow_up.mispredictions = Some(of(source, times));
        unpredictable_branch::detect(&input).len()
    };
    assert_eq!(found(EvidenceSource::Observed, 0.45 * iterations), 1);
    // More than the iterations have time for: the processor predicts what the model does not.
    assert_eq!(found(EvidenceSource::Observed, 3.0 * iterations), 0);
    assert_eq!(found(EvidenceSource::Measured, 3.0 * iterations), 1);
}

#[test]
fn cache_miss_is_not_found_for_loads_that_never_miss() {
    let far = |misses: Option<EventCounts>| {
        let heat = [0.02, 0.02, 0.9, 0.02, 0.02, 0.02];
        let mut input = program(vec![looped(40.0, 1, &heat, |a| {
            a.mov(rax, qword_ptr(rdi))?;
            a.imul_2(rax, rbx)?;
            a.add(rcx, qword_ptr(r8 + rax * 8))?;
            a.add(rdi, 8)?;
            a.cmp(rdi, rsi)
        })]);
        input.program.follow_up.cache_misses = misses;
        cache_miss::detect(&input).len()
    };
    let iterations = ALL / 40.0;
    assert_eq!(far(None), 1);
    assert_eq!(far(events(4, 0.9 * iterations)), 1);
    assert_eq!(far(events(4, 0.001 * iterations)), 0);
}

/// `out[i] = in[i] * gain` of 16-bit numbers, compiled for size: nothing clears the register.
#[test]
fn missed_vectorisation_is_found_for_conversions_along_arrays() {
    let heat = [0.1, 0.4, 0.2, 0.2, 0.03, 0.03, 0.04];
    let input = program(vec![looped(1.6, 1, &heat, |a| {
        a.movsx(ecx, word_ptr(rsi + rax * 2))?;
        a.cvtsi2sd(xmm1, ecx)?;
        a.mulsd(xmm1, xmm2)?;
        a.movsd_2(qword_ptr(rdi + rax * 8), xmm1)?;
        a.add(rax, 1)?;
        a.cmp(rax, rdx)
    })]);
    assert_eq!(missed_vectorisation::detect(&input).len(), 1);
}

#[test]
fn outcomes_that_only_a_model_learns_by_heart_take_what_the_time_says() {
    let mut input = coin();
    let iterations = ALL / 10.0;
    let mut left = |source, times| {
        let events = events(3, times).expect("events");
        input.program.follow_up.mispredictions = Some(EventCounts { source, ..events });
        unpredictable_branch::detect(&input)[0].residual_fraction
    };
    let modelled = left(EvidenceSource::Observed, 0.15 * iterations);
    let measured = left(EvidenceSource::Measured, 0.15 * iterations);
    // Half of the executions come out either way, and all the time is behind the branch.
    assert!(modelled.value < measured.value - 0.1, "{modelled:?}");
    // The model may be right all the same.
    assert_eq!(modelled.high, measured.high);
}
