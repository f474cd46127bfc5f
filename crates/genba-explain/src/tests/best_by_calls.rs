//! Searches for the earliest of many by calls of an accessor, and near misses.

use genba_model::Fix;
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point};
use crate::tests::synthetic::{call, function, program};

const SEARCHES: u64 = 20_000;
const ELEMENTS: u64 = 1000;
const ALL: u64 = SEARCHES * ELEMENTS;

/// What is done with the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    /// `if (when(e[i]) < earliest) { earliest = when(e[i]); best = i; }`
    When,
    /// The same, with a copy in the frame each time, by a frame pointer.
    Copied,
    /// The same, and what was better is noted elsewhere, too.
    Notes,
    /// `distance(e[i], from)`
    Distance,
    /// The times are added up besides.
    SumsUp,
    /// Of the next row each time.
    OfRows,
    /// The accessor counts its calls.
    Counts,
    /// All times are made anew for each search.
    MadeAnew,
}

/// `for (i = 0; i < n; i++) e[i].when = …`
fn remake() -> FunctionInput {
    function(
        "remake",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(dword_ptr(rdi), eax)?;
            a.add(rdi, 4)?;
            a.cmp(rdi, rsi)?;
            a.jne(head)?;
            a.ret()
        },
        &[ALL, ALL, ALL, ALL, SEARCHES],
        &[0.0; 5],
        &[(3, ALL - SEARCHES)],
    )
}

fn accessor(asked: Asked) -> FunctionInput {
    function(
        "when",
        |a| {
            a.mov(eax, dword_ptr(rdi + 8))?;
            match asked {
                Asked::Distance => a.sub(eax, esi)?,
                Asked::Counts => a.inc(dword_ptr(rdi + 16))?,
                _ => a.nop()?,
            }
            a.ret()
        },
        &[ALL; 3],
        &[0.1, 0.1, 0.1],
        &[],
    )
}

fn search(asked: Asked) -> FunctionInput {
    let better = SEARCHES * 7;
    let mut one = function(
        "take_earliest",
        |a| {
            let (mut again, mut head, mut next) =
                (a.create_label(), a.create_label(), a.create_label());
            a.lea(rbp, ptr(rsp + 64))?;
            a.set_label(&mut again)?;
            a.xor(ebx, ebx)?;
            a.mov(r12d, -1)?;
            a.set_label(&mut head)?;
            a.mov(rdi, qword_ptr(r13 + rbx * 8))?;
            a.mov(rsi, r14)?;
            a.call(0x5000)?;
            match asked {
                Asked::SumsUp => a.add(qword_ptr(rsp + 16), rax)?,
                Asked::Copied => a.mov(qword_ptr(rbp - 32), rax)?,
                _ => a.nop()?,
            }
            a.cmp(eax, r12d)?;
            a.jae(next)?;
            a.mov(r12d, eax)?;
            a.mov(r15, rbx)?;
            match asked {
                Asked::Notes => a.mov(qword_ptr(r14), rbx)?,
                _ => a.nop()?,
            }
            a.set_label(&mut next)?;
            a.add(rbx, 1)?;
            a.cmp(rbx, ELEMENTS as i32)?;
            a.jne(head)?;
            a.mov(qword_ptr(r13 + r15 * 8), 0)?;
            match asked {
                Asked::OfRows => a.lea(r13, ptr(r13 + ELEMENTS as i32 * 8))?,
                _ => a.nop()?,
            }
            a.dec(qword_ptr(rsp + 8))?;
            a.jne(again)?;
            a.ret()
        },
        &[
            1, SEARCHES, SEARCHES, ALL, ALL, ALL, ALL, ALL, ALL, better, better, better, ALL, ALL,
            ALL, SEARCHES, SEARCHES, SEARCHES, SEARCHES, 1,
        ],
        &[
            0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.0, 0.0, 0.0,
            0.0, 0.0, 0.0,
        ],
        &[(8, ALL - better), (14, ALL - SEARCHES), (18, SEARCHES - 1)],
    );
    one.call_sites = vec![call(5, "when", ALL, 3.0)];
    one
}

fn is_found(asked: Asked, memory: f64) -> bool {
    let mut functions = vec![search(asked), accessor(asked)];
    if asked == Asked::MadeAnew {
        functions.push(remake());
    }
    let mut input = program(functions);
    input.program.max_rss_bytes = Some(memory);
    let mut observed = observations();
    observed
        .loads
        .push(load_site(point(&input, 0, 3), 0.0, Some(8)));
    input.observed = Some(observed);
    let found = quadratic::detect(&input);
    found
        .iter()
        .any(|one| one.fix == Fix::FindDirectly { best: true })
}

#[test]
fn earliest_of_many_looked_for_through_an_accessor_is_quadratic() {
    assert!(is_found(Asked::When, 4e6));
    assert!(is_found(Asked::Copied, 4e6));
    assert!(is_found(Asked::Notes, 4e6));
}

#[test]
fn distances_sums_rows_effects_and_elements_made_anew_or_seen_once_are_not() {
    for asked in [
        Asked::Distance,
        Asked::SumsUp,
        Asked::OfRows,
        Asked::Counts,
        Asked::MadeAnew,
    ] {
        assert!(!is_found(asked, 4e6), "{asked:?}");
    }
    assert!(!is_found(Asked::When, 1e9));
}
