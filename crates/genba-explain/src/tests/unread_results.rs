//! Results in memory of their own that are given back unread: synthetic programs.

use iced_x86::code_asm::*;

use genba_model::{CodePoint, Estimate, Fact, ObservedFact};
use genba_observe::{Observations, Seen, UnreadResult};

use crate::causes::discarded_work;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::synthetic::{call, function, has_fact, program};

const CALLS: u64 = 10_000_000;

/// `handle`: makes a text in each round, which a log that is off would write; the way there was taken so often, and
/// reads an object in the frame at this place.
fn described(unread: f64, handed_on: f64, written: u64, object: i32) -> AnalysisInput {
    let mut one = function(
        "handle",
        |a| {
            let (mut round, mut off, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut round)?;
            a.lea(rdi, qword_ptr(rsp + 16))?;
            a.call(callee)?;
            a.cmp(dword_ptr(r15), 0)?;
            a.jg(off)?;
            a.mov(rsi, qword_ptr(rsp + object))?;
            a.call(callee)?;
            a.set_label(&mut off)?;
            a.dec(rbx)?;
            a.jne(round)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, written, written, CALLS, CALLS, 1,
        ],
        &[0.02, 0.02, 0.02, 0.02, 0.0, 0.0, 0.01, 0.01, 0.0],
        &[(3, CALLS - written), (7, CALLS - 1)],
    );
    one.call_sites.push(call(1, "describe", CALLS, 500.0));
    let mut callee = function("describe", |a| a.ret(), &[CALLS], &[0.6], &[]);
    callee.calls = Some(CALLS);
    let point = |at: usize| CodePoint {
        module: 0,
        address: one.code[at].address,
    };
    let result = UnreadResult {
        at: point(1),
        target: CodePoint {
            module: 0,
            address: callee.code[0].address,
        },
        seen: Seen {
            share: Estimate {
                value: unread,
                low: unread - 0.05,
                high: (unread + 0.05).min(1.0),
            },
            executions: 10_000,
            bursts: 40,
        },
        kept: 0.0,
        handed_on,
        share_of_instructions: Estimate::exact(0.6 * unread),
        instructions_per_call: 500.0,
    };
    let module = one.module.clone();
    let mut input = program(vec![one, callee]);
    input.program.threads = 1;
    input.observed = Some(Observations {
        modules: vec![module],
        bursts: 40,
        unread_results: vec![result],
        ..Observations::default()
    });
    input
}

#[test]
fn text_for_a_log_that_is_off_is_discarded_work() {
    for input in [
        // The log is a function that is called.
        described(1.0, 1.0, 0, 200),
        // It is inlined.
        described(1.0, 0.0, 0, 16),
        // Now and then it is on.
        described(0.8, 0.0, CALLS / 5, 16),
    ] {
        let found = discarded_work::detect(&input);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].function, &found[0].site), (Some(0), &vec![1]));
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Observed(ObservedFact::UnreadResults { calls: CALLS, .. })
        )));
    }
}

#[test]
fn text_that_nobody_would_read_or_most_read_is_not() {
    for input in [
        // A benchmark gives it back; another object is read elsewhere.
        described(1.0, 0.0, 0, 200),
        described(0.4, 1.0, CALLS / 2, 16),
    ] {
        assert!(discarded_work::detect(&input).is_empty());
    }
}
