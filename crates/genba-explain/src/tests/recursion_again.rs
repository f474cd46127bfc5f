//! Functions that call themselves again and again with what they were called with before.

use iced_x86::code_asm::*;

use genba_model::CodePoint;
use genba_observe::RedundantCall;

use crate::candidate::Candidate;
use crate::causes::redundant_computation;
use crate::tests::observed_repetition::{observations, point, seen, share_of};
use crate::tests::synthetic::{call, function, program};

const CALLS: u64 = 20_000_000;

/// `finish(task) = cost + finish(first need) + finish(second need)`: so many calls repeat an earlier one, among so many
/// different ones in a burst.
fn found(repeated: f64, distinct: f64, effects: f64) -> Vec<Candidate> {
    let inner = CALLS / 2;
    let counts = [CALLS, inner, inner, inner, CALLS];
    let mut one = function(
        "finish",
        |a| {
            let (mut itself, mut out) = (a.create_label(), a.create_label());
            a.set_label(&mut itself)?;
            a.jz(out)?;
            a.call(itself)?;
            a.call(itself)?;
            a.add(rax, 1)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &counts,
        &[0.2, 0.2, 0.2, 0.2, 0.2],
        &[(0, CALLS - inner)],
    );
    one.calls = Some(CALLS);
    one.call_sites = vec![call(1, "finish", inner, 5.0), call(2, "finish", inner, 5.0)];
    for site in &mut one.call_sites {
        "/bin/prog".clone_into(&mut site.targets[0].module);
    }
    let mut input = program(vec![one]);
    let again = |at: usize| RedundantCall {
        at: point(&input, 0, at),
        target: CodePoint {
            module: point(&input, 0, 0).module,
            address: input.functions[0].address,
        },
        seen: seen(repeated),
        repeats_previous: seen(0.0),
        distinct_per_burst: distinct,
        share_of_instructions: share_of(0.95),
        instructions_per_call: 100.0,
        stores_outside: effects,
        about_one_object: 0.0,
        moved: None,
        recaptured: None,
        elsewhere: None,
        made: None,
    };
    let list = vec![again(1), again(2)];
    let mut observed = observations();
    observed.redundant_calls = list;
    input.observed = Some(observed);
    redundant_computation::detect(&input)
}

#[test]
fn recursion_that_does_the_same_again_is_redundant() {
    let found = found(0.97, 24.0, 0.0);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [1, 2]);
    // All of the function's time: where a result is kept, nothing inside is called.
    assert!((found[0].share.unwrap_or(0.0) - 1.0).abs() < 1e-9);
    assert!(found[0].residual_fraction.value < 0.05);
}

#[test]
fn recursion_that_does_much_again_is_redundant_however_much_it_is() {
    assert_eq!(found(0.97, 5000.0, 0.0).len(), 1);
    // Bursts begin and end in the middle of it.
    assert_eq!(found(0.75, 400.0, 0.0).len(), 1);
}

#[test]
fn recursion_over_different_things_or_with_effects_is_needed() {
    assert!(found(0.3, 24.0, 0.0).is_empty());
    assert!(found(0.55, 5000.0, 0.0).is_empty());
    assert!(found(0.97, 24.0, 0.5).is_empty());
}
