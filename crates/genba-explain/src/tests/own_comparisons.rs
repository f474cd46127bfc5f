//! Searches that compare by a function of the user's own, and their near misses.

use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::search_loops::{Comparison, search_of};
use crate::tests::synthetic::{call, function, program};

const SEARCHES: u64 = 1000;
const ALL: u64 = SEARCHES * 50;

/// What the function does that is called for each element.
#[derive(Clone, Copy, PartialEq)]
enum Callee {
    /// Compares two bytes.
    Reads,
    /// Counts its calls as well.
    Writes,
    /// Compares, but nobody looks at the answer.
    Ignored,
}

/// `for (; p < end; p++) if (same(key, p->name)) break;`
fn lookup(callee: Callee) -> AnalysisInput {
    let mut find = function(
        "find",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            let mut same = a.create_label();
            a.set_label(&mut head)?;
            a.mov(rsi, qword_ptr(rbx))?;
            a.mov(rdi, r12)?;
            a.call(same)?;
            match callee {
                Callee::Ignored => a.nop()?,
                _ => a.test(eax, eax)?,
            }
            a.je(out)?;
            a.add(rbx, 8)?;
            a.cmp(rbx, rbp)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()?;
            a.set_label(&mut same)?;
            a.ret()
        },
        &[ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, SEARCHES, 0],
        &[0.1, 0.0, 0.1, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0],
        &[(4, SEARCHES), (7, ALL - SEARCHES)],
    );
    find.call_sites.push(call(2, "same", ALL, 4.0));
    let same = function(
        "same",
        |a| {
            a.movzx(eax, byte_ptr(rdi))?;
            a.movzx(ecx, byte_ptr(rsi))?;
            match callee {
                Callee::Writes => a.mov(dword_ptr(rdx), ecx)?,
                _ => a.nop()?,
            }
            a.sub(eax, ecx)?;
            a.ret()
        },
        &[ALL; 5],
        &[0.1, 0.1, 0.0, 0.1, 0.1],
        &[],
    );
    program(vec![find, same])
}

fn found(callee: Callee) -> Option<Comparison> {
    let input = lookup(callee);
    search_of(&input, &input.functions[0], 0)
}

#[test]
fn function_that_only_reads_and_whose_answer_is_tested_compares() {
    assert_eq!(found(Callee::Reads), Some(Comparison::Call));
}

#[test]
fn function_that_writes_or_whose_answer_is_not_tested_does_not_compare() {
    assert_eq!(found(Callee::Writes), None);
    assert_eq!(found(Callee::Ignored), None);
}

#[test]
fn function_of_which_nothing_is_known_does_not_compare() {
    let mut input = lookup(Callee::Reads);
    input.functions.truncate(1);
    assert_eq!(search_of(&input, &input.functions[0], 0), None);
}

#[test]
fn long_search_that_compares_by_an_own_function_is_quadratic() {
    let found = |callee| quadratic::detect(&lookup(callee));
    assert_eq!(found(Callee::Reads).len(), 1);
    assert!(found(Callee::Writes).is_empty());
    assert!(found(Callee::Ignored).is_empty());
}
