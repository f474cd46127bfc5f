//! Texts that are checked piece by piece, on functions assembled by hand.

use iced_x86::code_asm::*;

use genba_model::Fix;

use crate::candidate::Candidate;
use crate::causes::invariant_check;
use crate::tests::synthetic::{ALL, call, function, program};

/// `write`, which calls this function so often that each call takes so many cycles, half of all.
fn found(callee: &str, cycles: f64) -> Vec<Candidate> {
    let calls = (0.5 * ALL / cycles) as u64;
    let mut write = function(
        "write",
        |a| {
            a.call(0x5000)?;
            a.ret()
        },
        &[calls; 2],
        &[0.25, 0.25],
        &[],
    );
    write.call_sites = vec![call(0, callee, calls, 20.0)];
    let body = |a: &mut CodeAssembler| {
        a.movzx(eax, byte_ptr(rdi))?;
        a.ret()
    };
    let mut check = function(callee, body, &[calls; 2], &[0.4, 0.1], &[]);
    check.calls = Some(calls);
    invariant_check::detect(&program(vec![write, check]))
}

#[test]
fn short_texts_checked_one_by_one_are_found_where_they_are_checked() {
    let found = found("core::str::converts::from_utf8", 15.0);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].function, Some(0));
    assert_eq!(found[0].fix, Fix::CheckTextOnce);
}

#[test]
fn long_texts_and_other_functions_are_not_short_checks() {
    assert!(found("core::str::converts::from_utf8", 400.0).is_empty());
    assert!(found("app::from_utf8", 15.0).is_empty());
}
