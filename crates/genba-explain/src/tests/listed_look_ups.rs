//! Look-ups of all that could be in a small table, from a list that is made anew each time, and near misses.

use genba_model::Fix;
use genba_observe::SilentStore;
use iced_x86::code_asm::*;

use crate::candidate::Candidate;
use crate::causes::quadratic;
use crate::tests::observed_repetition::{observations, point, seen};
use crate::tests::synthetic::{function, program};

const PASSES: u64 = 10_000;
const ELEMENTS: u64 = 20_000;
const ALL: u64 = PASSES * ELEMENTS;

/// What is done with what a look-up finds or does not find.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// What is found is stored.
    Stores,
    /// The steps of all look-ups are added up.
    AddsUp,
}

/// Where the length of the list is kept while it is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Length {
    Register,
    Memory,
    /// In a register, beside a sum in the frame.
    BesideSum,
}

/// A list of numbers, and a pass that looks each up in a table whose free slots are 0: one in so many is there. The list
/// is the same as before in this share of its stores.
fn listed(silent: f64, length: Length, then: Then, one_in: u64) -> Vec<Candidate> {
    let found = ALL / one_in;
    let missed = ALL - found;
    let one = function(
        "query",
        |a| {
            let (mut list, mut head, mut probe) =
                (a.create_label(), a.create_label(), a.create_label());
            let (mut hit, mut next) = (a.create_label(), a.create_label());
            a.xor(r9d, r9d)?;
            a.set_label(&mut list)?;
            a.movsxd(rax, dword_ptr(rbx + 0x80))?;
            a.lea(r10d, qword_ptr(rax + 1))?;
            match length {
                Length::Memory => a.mov(dword_ptr(rbx + 0x80), r10d)?,
                Length::Register => a.nop()?,
                Length::BesideSum => a.add(dword_ptr(rsp + 16), r12d)?,
            }
            a.mov(dword_ptr(rcx + rax * 4), r12d)?;
            a.add(r12d, 1)?;
            a.cmp(r12d, esi)?;
            a.jne(list)?;
            a.set_label(&mut head)?;
            a.mov(r11d, dword_ptr(rdi))?;
            a.mov(qword_ptr(rsp + 8), r9)?;
            a.mov(r8d, r11d)?;
            a.and(r8d, r13d)?;
            a.mov(eax, r8d)?;
            a.set_label(&mut probe)?;
            a.mov(r10d, dword_ptr(rdx + rax * 4))?;
            a.test(r10d, r10d)?;
            a.je(next)?;
            a.cmp(r10d, r11d)?;
            a.je(hit)?;
            a.add(eax, 1)?;
            a.and(eax, r13d)?;
            a.jmp(probe)?;
            a.set_label(&mut hit)?;
            a.mov(dword_ptr(r14), r11d)?;
            a.set_label(&mut next)?;
            a.mov(r9, qword_ptr(rsp + 8))?;
            match then {
                Then::Stores => a.nop()?,
                Then::AddsUp => a.add(r9, r10)?,
            }
            a.add(rdi, 4)?;
            a.cmp(rdi, rbp)?;
            a.jne(head)?;
            a.mov(rax, r9)?;
            a.ret()
        },
        &[
            PASSES,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL + missed,
            ALL + missed,
            ALL + missed,
            ALL,
            ALL,
            missed,
            missed,
            missed,
            found,
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
            PASSES,
            PASSES,
        ],
        &[
            0.0, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.04, 0.04, 0.04, 0.04, 0.04, 0.1, 0.05,
            0.05, 0.05, 0.05, 0.05, 0.05, 0.02, 0.0, 0.04, 0.02, 0.02, 0.02, 0.05, 0.0, 0.0,
        ],
        &[
            (7, ALL - PASSES),
            (15, missed),
            (17, found),
            (26, ALL - PASSES),
        ],
    );
    let mut input = program(vec![one]);
    input.program.input_bytes = Some(1000);
    input.program.max_rss_bytes = Some(1e6);
    let mut observed = observations();
    observed.silent_stores.push(SilentStore {
        at: point(&input, 0, 4),
        seen: seen(silent),
        reads: false,
    });
    input.observed = Some(observed);
    quadratic::detect(&input)
}

#[test]
fn look_ups_of_a_list_that_hardly_ever_find_are_quadratic_with_the_making_of_the_list() {
    // A length that is kept is left behind, and may be asked for; so may a sum.
    for (length, least, most) in [
        (Length::Register, 0.95, 1.01),
        (Length::Memory, 0.7, 0.8),
        (Length::BesideSum, 0.7, 0.8),
    ] {
        let found = listed(0.999, length, Then::Stores, 4000);
        let fixes: Vec<&Fix> = found.iter().map(|one| &one.fix).collect();
        assert_eq!(fixes, [&Fix::GoOverFewer]);
        let share = found[0].share.unwrap();
        assert!((least..most).contains(&share), "{length:?}: {share}");
    }
}

#[test]
fn look_ups_that_often_find_or_are_added_up_or_of_new_lists_are_not() {
    for (silent, then, one_in) in [
        (0.999, Then::Stores, 10),
        (0.999, Then::AddsUp, 4000),
        (0.5, Then::Stores, 4000),
    ] {
        let found = listed(silent, Length::Memory, then, one_in);
        let fewer = found.iter().any(|one| one.fix == Fix::GoOverFewer);
        assert!(!fewer, "{silent} {then:?} {one_in}");
    }
}
