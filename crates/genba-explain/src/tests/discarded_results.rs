//! Results that a callee puts into its caller's frame, copied from there and discarded by a test, with a near miss.

use iced_x86::code_asm::*;

use crate::causes::discarded_work;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::observed_waste::{decided, with_dead_store};
use crate::tests::synthetic::{call, function, program};

const CALLS: u64 = 10_000_000;

/// A call, a copy from the frame to a field, and a test behind it that nearly always discards the field; the
/// function itself writes that place of its frame in each round where `local`.
fn copied_from_frame(local: bool) -> AnalysisInput {
    let wanted = CALLS / 20;
    let mut one = function(
        "rows",
        |a| {
            let (mut head, mut next, mut callee) =
                (a.create_label(), a.create_label(), a.create_label());
            a.set_label(&mut head)?;
            match local {
                true => a.mov(qword_ptr(rsp + 16), r15)?,
                false => a.lea(rdi, ptr(rsp + 16))?,
            }
            a.call(callee)?;
            a.mov(rcx, qword_ptr(rsp + 16))?;
            a.mov(qword_ptr(rbx + 8), rcx)?;
            a.cmp(rbp, r12)?;
            a.jne(next)?;
            a.add(r12, qword_ptr(rbx + 8))?;
            a.set_label(&mut next)?;
            a.add(r13, 1)?;
            a.cmp(r13, r14)?;
            a.jne(head)?;
            a.set_label(&mut callee)?;
            a.ret()
        },
        &[
            CALLS, CALLS, CALLS, CALLS, CALLS, CALLS, wanted, CALLS, CALLS, CALLS, 1,
        ],
        &[0.01; 11],
        &[(5, CALLS - wanted), (9, CALLS - 1)],
    );
    one.call_sites.push(call(1, "parse", CALLS, 100.0));
    "/bin/other".clone_into(&mut one.call_sites[0].targets[0].module);
    let mut parse = function("parse", |a| a.ret(), &[CALLS], &[0.8], &[]);
    "/bin/other".clone_into(&mut parse.module);
    decided(with_dead_store(program(vec![one, parse]), 3, 0.95, 8), 5)
}

#[test]
fn result_in_the_frame_is_the_calls_unless_the_function_keeps_it_there() {
    let found = discarded_work::detect(&copied_from_frame(false));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [5, 1]);
    let local = discarded_work::detect(&copied_from_frame(true));
    assert!(local.iter().all(|one| !one.site.contains(&1)), "{local:?}");
}
