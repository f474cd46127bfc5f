//! Repeated calls inside of repeated calls: the same time is one finding.

use genba_model::CodePoint;

use crate::candidate::Candidate;
use crate::causes::redundant_computation;
use crate::tests::observed_repetition::{CALLS, redundant};
use crate::tests::synthetic::{call, function};

/// `find`, whose calls of `hash` repeat, is called for this part of its calls by `look_up`, whose calls repeat too.
fn nested(part: f64) -> Vec<Candidate> {
    let mut input = redundant(|_| {}, false);
    let mut outer = function(
        "look_up",
        |a| {
            let mut callee = a.create_label();
            a.call(callee)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[CALLS, CALLS],
        &[0.0, 0.0],
        &[],
    );
    "/bin/above".clone_into(&mut outer.module);
    let count = (part * CALLS as f64) as u64;
    outer.call_sites.push(call(0, "find", count, 220.0));
    input.functions.push(outer);
    if let Some(observed) = &mut input.observed {
        observed.modules.push("/bin/above".to_owned());
        let address = 0x1000;
        let mut one = observed.redundant_calls[0].clone();
        one.at = CodePoint { module: 3, address };
        one.target = CodePoint { module: 0, address };
        observed.redundant_calls.push(one);
    }
    redundant_computation::detect(&input)
}

#[test]
fn calls_inside_of_repeated_calls_are_not_a_finding_of_their_own() {
    let found = nested(1.0);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(2));
}

#[test]
fn call_around_calls_that_take_more_is_not_a_finding_of_its_own() {
    let found = nested(0.8);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(0));
}
