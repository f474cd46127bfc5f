//! What inlining a small function is estimated to leave: of branches that are mispredicted in any case, and of
//! objects that are in memory in any case.

use genba_model::{Estimate, EvidenceSource, HostTableEntry};
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::tiny_callee_not_inlined;
use crate::input::analysis_input::{AnalysisInput, EventCounts, EventPlace};
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point};
use crate::tests::synthetic::{call, function, program};

const ITERATIONS: u64 = 80_000_000;

/// `for (; rbx != rbp; rbx++) if (test(&object, rbx)) ...`, with the object in the frame. `stored`: the loop stores
/// a field of it before each call.
fn tests_of_object(stored: bool) -> AnalysisInput {
    let n = ITERATIONS;
    let mut caller = function(
        "caller",
        |a| {
            let (mut head, mut callee, mut next) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            match stored {
                true => a.mov(qword_ptr(rsp + 0x18), rbx)?,
                false => a.mov(qword_ptr(rsp + 0x28), rbx)?,
            }
            a.lea(rdi, ptr(rsp + 0x10))?;
            a.call(callee)?;
            a.test(eax, eax)?;
            a.je(next)?;
            a.add(r12, 1)?;
            a.set_label(&mut next)?;
            a.add(rbx, 1)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[n, n, n, n, n, n / 2, n, n, n, 10],
        &[0.05, 0.05, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.0],
        &[(4, n / 2), (8, n - 10)],
    );
    caller.call_sites.push(call(2, "tiny", n, 3.0));
    let mut tiny = function(
        "tiny",
        |a| {
            a.mov(rax, qword_ptr(rdi + 8))?;
            a.add(rax, 1)?;
            a.ret()
        },
        &[n; 3],
        &[0.2, 0.1, 0.1],
        &[],
    );
    tiny.unit = Some("/src/other.c".to_owned());
    for place in &mut tiny.places {
        place.file = Some("/src/other.c".to_owned());
    }
    program(vec![tiny, caller])
}

fn found(input: &AnalysisInput) -> Candidate {
    let mut found = tiny_callee_not_inlined::detect(input);
    assert_eq!(found.len(), 1);
    found.swap_remove(0)
}

fn left(input: &AnalysisInput) -> f64 {
    found(input).residual_fraction.value
}

#[test]
fn object_that_only_lives_in_the_frame_is_not_an_argument_through_memory() {
    assert!(left(&tests_of_object(true)) < left(&tests_of_object(false)));
}

#[test]
fn observed_mispredictions_stay_when_the_call_is_inlined() {
    let with = |times: f64| {
        let mut input = tests_of_object(true);
        input.program.follow_up.mispredictions = Some(EventCounts {
            event: "branch-misses".to_owned(),
            source: EvidenceSource::Observed,
            period: 1.0,
            places: vec![EventPlace {
                function: 1,
                at: 4,
                times,
            }],
        });
        input
    };
    let (none, often) = (left(&with(0.0)), left(&with(0.5 * ITERATIONS as f64)));
    assert!(often > none, "{often} {none}");
    // More than there is time for: the call's own time is gained still.
    assert!(left(&with(30.0 * ITERATIONS as f64)) < 1.0);
}

#[test]
fn loads_that_the_first_cache_does_not_serve_are_waited_for_in_any_case() {
    let with = |missed: Option<f64>| {
        let mut input = tests_of_object(true);
        let table = input.program.costs.table.as_mut().expect("a table");
        table.entries.push(HostTableEntry {
            form: "load [L2]".to_owned(),
            latency_cycles: Some(Estimate::exact(14.0)),
            ..HostTableEntry::default()
        });
        let mut observed = observations();
        let at = point(&input, 0, 0);
        observed
            .loads
            .extend(missed.map(|missed| load_site(at, missed, None)));
        input.observed = Some(observed);
        left(&input)
    };
    assert_eq!(with(None), with(Some(0.0)));
    let (some, all) = (with(Some(0.3)), with(Some(1.0)));
    assert!(with(None) < some && some <= all, "{some} {all}");
    // The call's own time is gained still.
    assert!(all < 1.0);
}
