//! Searches that compare by a function of the user's own, and their near misses.

use iced_x86::IcedError;
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

/// A loop over a sequence that calls a function at its end, behind its own, with these arguments.
fn search(
    a: &mut CodeAssembler,
    callee: Callee,
    arguments: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>,
) -> Result<(), IcedError> {
    let (mut head, mut out) = (a.create_label(), a.create_label());
    let mut same = a.create_label();
    a.set_label(&mut head)?;
    arguments(a)?;
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
}

/// `for (; p < end; p++) if (same(key, p->name)) break;`
fn lookup(callee: Callee) -> AnalysisInput {
    let mut find = function(
        "find",
        |a| {
            search(a, callee, |a| {
                a.mov(rsi, qword_ptr(rbx))?;
                a.mov(rdi, r12)
            })
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

/// What a search stores in its frame where it then lets the key and the element be compared.
#[derive(Clone, Copy, PartialEq)]
enum Stored {
    /// The element's address, loaded from the sequence.
    Element,
    /// The element's address, behind what the comparison looks at.
    Elsewhere,
    /// What does not come from the sequence.
    Other,
}

/// `for (; p < end; p++) { struct name copy = {p->name}; if (same(&copy, &key)) break; }`
fn lookup_of_copies(stored: Stored) -> AnalysisInput {
    let mut find = function(
        "find",
        |a| {
            a.sub(rsp, 0x100)?;
            search(a, Callee::Reads, |a| {
                a.mov(rax, qword_ptr(rbx))?;
                match stored {
                    Stored::Element => a.mov(qword_ptr(rsp + 0x20), rax)?,
                    Stored::Elsewhere => a.mov(qword_ptr(rsp + 0x80), rax)?,
                    Stored::Other => a.mov(qword_ptr(rsp + 0x20), r13)?,
                }
                a.lea(rdi, ptr(rsp + 0x20))?;
                a.lea(rsi, ptr(rsp + 8))
            })
        },
        &[
            SEARCHES, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, SEARCHES, 0,
        ],
        &[
            0.0, 0.1, 0.1, 0.0, 0.1, 0.1, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0,
        ],
        &[(7, SEARCHES), (10, ALL - SEARCHES)],
    );
    find.call_sites.push(call(5, "same", ALL, 4.0));
    let same = lookup(Callee::Reads).functions.swap_remove(1);
    program(vec![find, same])
}

#[test]
fn long_search_that_compares_copies_of_its_elements_is_quadratic() {
    let found = |stored| quadratic::detect(&lookup_of_copies(stored)).len();
    assert_eq!(found(Stored::Element), 1);
    assert_eq!(found(Stored::Elsewhere), 0);
    assert_eq!(found(Stored::Other), 0);
}
