//! Bytes that are copied again, on functions assembled by hand with synthetic observations.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Fact, ObservedFact};
use genba_observe::RepeatedCopy;

use crate::causes::repeated_copy;
use crate::input::analysis_input::{AnalysisInput, Place, RuntimeUse, UserCall};
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{call, function, has_fact, looped, program};

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
        through_library: false,
        calls: 100_000.0,
        executions: 100_000,
        caller_calls: None,
    };
    input.program.runtime.push(RuntimeUse {
        service: "copy".to_owned(),
        system_call: false,
        calls: 200_000,
        users: vec![user(0), user(1)],
        ..RuntimeUse::default()
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
        to_new_blocks: 0.0,
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
        (left.value - (1.0 - 0.4 * 0.98 * 0.85 - 0.4 * 0.4)).abs() < 1e-6,
        "with a part of the first copy: {left:?}"
    );
}

/// Not the allocator's, whatever allocates in between.
#[test]
fn copies_by_a_template_of_a_library_are_the_users() {
    let mut input = copied_twice(4096.0, 0.98);
    let share = |input: &AnalysisInput| repeated_copy::detect(input)[0].share;
    let called = share(&input);
    // Who asks for them calls the function that calls `memcpy`.
    for user in &mut input.program.runtime[0].users {
        user.function = "words".to_owned();
        user.address += 0x8000;
    }
    let by_template = share(&input);
    let [called, by_template] = [called, by_template].map(|one| one.expect("it is measured"));
    assert!(called > 0.3 && (by_template / called - 1.0).abs() < 0.1);
}

#[test]
fn time_of_copies_made_again_has_the_first_ones() {
    let share = repeated_copy::time_of_copies(&copied_twice(4096.0, 0.98));
    assert!((share - 0.8).abs() < 1e-6, "{share}");
    for other in [copied_twice(4096.0, 0.3), copied_twice(8.0, 0.98)] {
        assert!(repeated_copy::time_of_copies(&other).abs() < 1e-9);
    }
}

/// A copy of a structure by a string instruction in a loop that does more.
fn copied_by_string_instruction() -> AnalysisInput {
    let one = looped(10.0, 0, &[0.1, 0.4, 0.3, 0.1, 0.1], |a| {
        a.rep().movsq()?;
        a.add(rax, rbx)?;
        a.imul_2(rax, rcx)?;
        a.cmp(rdx, rax)
    });
    let mut input = program(vec![one]);
    let copy = RepeatedCopy {
        at: point(&input, 0, 0),
        target: None,
        seen: seen(0.98),
        bytes_per_copy: 4096.0,
        previous: point(&input, 0, 0),
        to_new_blocks: 0.0,
        bytes_per_instruction: share_of(1.0),
    };
    let mut observed = observations();
    observed.repeated_copies = vec![copy];
    input.observed = Some(observed);
    input
}

#[test]
fn time_of_a_string_instruction_that_copies_is_its_own() {
    let found = repeated_copy::detect(&copied_by_string_instruction());
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::CopyChainTime { share, .. }) if (share - 0.1).abs() < 1e-6
    )));
}

/// The same outside of loops, behind a field that is moved by itself; `known`: the string instruction is a place, too.
fn copied_behind_a_field(known: bool) -> Vec<f64> {
    let one = function(
        "push",
        |a| {
            a.mov(qword_ptr(rdi), rdx)?;
            a.lea(rsi, qword_ptr(rsi + 8))?;
            a.rep().movsq()?;
            a.ret()
        },
        &[1000; 4],
        &[0.1, 0.0, 0.5, 0.0],
        &[],
    );
    let mut input = program(vec![one]);
    let copy = |at: usize| RepeatedCopy {
        at: point(&input, 0, at),
        target: None,
        seen: seen(0.98),
        bytes_per_copy: 264.0,
        previous: point(&input, 0, at),
        to_new_blocks: 0.0,
        bytes_per_instruction: share_of(1.0),
    };
    let mut observed = observations();
    observed.repeated_copies = vec![copy(0)];
    if known {
        observed.repeated_copies.push(copy(2));
    }
    input.observed = Some(observed);
    let found = repeated_copy::detect(&input);
    let shares = found.iter().flat_map(|one| &one.facts);
    let mut shares: Vec<f64> = shares
        .filter_map(|fact| match fact {
            Fact::Observed(ObservedFact::CopyChainTime { share, .. }) => Some(*share),
            _ => None,
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    shares
}

#[test]
fn a_string_instruction_goes_on_with_a_copy_that_began_with_a_field() {
    let near = |found: Vec<f64>, wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        let mut both = found.iter().zip(wanted);
        assert!(both.all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    };
    near(copied_behind_a_field(false), &[0.6]);
    // It has its time once.
    near(copied_behind_a_field(true), &[0.1, 0.5]);
}

#[test]
fn copies_of_new_or_few_bytes_are_not_repeated() {
    assert!(repeated_copy::detect(&copied_twice(4096.0, 0.3)).is_empty());
    assert!(repeated_copy::detect(&copied_twice(40.0, 0.98)).is_empty());
}
