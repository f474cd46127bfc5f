//! Calls whose results one way of a test reads only: synthetic programs.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Estimate, Fact, ObservedFact};
use genba_observe::{Observations, Seen, UnaskedResult};

use crate::causes::discarded_work;
use crate::input::analysis_input::{AnalysisInput, Place};
use crate::tests::synthetic::{call, function, has_fact, program};

const CALLS: u64 = 10_000_000;

/// `height`: measures in each round what a loaded value drops for `discarded` of them.
fn measured(discarded: f64, with_effects: f64, instructions: f64) -> AnalysisInput {
    let mut one = function(
        "height",
        |a| {
            let (mut round, mut callee) = (a.create_label(), a.create_label());
            a.set_label(&mut round)?;
            a.call(callee)?;
            a.mov(edx, dword_ptr(r15 + 12))?;
            a.test(edx, edx)?;
            a.cmove(edx, eax)?;
            a.dec(rbx)?;
            a.jne(round)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, 1],
        &[0.02, 0.02, 0.02, 0.02, 0.01, 0.01, 0.0],
        &[(5, CALLS - 1)],
    );
    one.places = vec![
        Place {
            line: Some(80),
            ..Place::default()
        };
        one.code.len()
    ];
    one.call_sites.push(call(0, "measure", CALLS, instructions));
    let point = |at: usize| CodePoint {
        module: 0,
        address: one.code[at].address,
    };
    let share = |value: f64| Estimate {
        value,
        low: value - 0.05,
        high: value + 0.05,
    };
    let result = UnaskedResult {
        at: point(0),
        test: point(3),
        seen: Seen {
            share: share(discarded),
            executions: 10_000,
            bursts: 40,
        },
        with_effects,
        share_of_instructions: share(0.9 * discarded),
        instructions_per_call: instructions,
    };
    let module = one.module.clone();
    let mut input = program(vec![one]);
    input.program.threads = 1;
    input.observed = Some(Observations {
        modules: vec![module],
        bursts: 40,
        unasked_results: vec![result],
        ..Observations::default()
    });
    input
}

#[test]
fn result_that_a_loaded_value_drops_is_discarded_work() {
    let found = discarded_work::detect(&measured(0.6, 0.0, 500.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [0, 3]);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Observed(ObservedFact::UnaskedResults { calls: CALLS, .. })
    )));
    // 0.95 of 0.54 of the time.
    let saved = found[0].share.unwrap_or(0.0) * (1.0 - found[0].residual_fraction.value);
    assert!((saved - 0.95 * 0.54).abs() < 1e-9, "{saved}");
}

#[test]
fn calls_with_effects_or_of_few_instructions_are_not_reported() {
    for other in [
        // What it changes may be wanted, and the test may read it.
        measured(0.6, 0.1, 500.0),
        // Nobody ever reads it: there may be no reader at all.
        measured(1.0, 0.0, 500.0),
        // A test costs as much.
        measured(0.6, 0.0, 12.0),
    ] {
        assert!(discarded_work::detect(&other).is_empty());
    }
}
