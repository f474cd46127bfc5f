//! Look-ups in a hash table that go from slot to slot, and their near misses.

use genba_model::{Fact, Fix, QuadraticFact};
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, has_fact, program};

const LOOK_UPS: u64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// The hash that it holds is compared with the key's.
    Compared,
    /// Whether it is empty is all that is asked: a table that is filled anew.
    Empty,
    /// It is marked.
    Stored,
}

/// `while ((slot = &table[at])->key) { if (slot->hash == hash) return slot; at = (at + step) & mask; }` in look-ups
/// of so many slots; without the mask it is a search of an array.
fn look_up(slots: u64, slot: Slot, masked: bool) -> FunctionInput {
    let all = LOOK_UPS * slots;
    let each = 0.9 / 10.0;
    let mut counts = vec![LOOK_UPS, LOOK_UPS, all - LOOK_UPS, all - LOOK_UPS];
    counts.extend([all; 8]);
    counts.push(LOOK_UPS);
    let mut heat = vec![0.0; 2];
    heat.extend([each; 10]);
    heat.push(0.0);
    function(
        "find",
        |a| {
            let (mut next, mut enter, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.mov(rbp, rsi)?;
            a.jmp(enter)?;
            a.set_label(&mut next)?;
            a.add(rbp, r9)?;
            match masked {
                true => a.and(rbp, r13)?,
                false => a.nop()?,
            }
            a.set_label(&mut enter)?;
            a.mov(rbx, rbp)?;
            a.shl(rbx, 5)?;
            a.add(rbx, r14)?;
            match slot {
                Slot::Stored => a.mov(qword_ptr(rbx + 16), r8)?,
                _ => a.nop()?,
            }
            a.cmp(qword_ptr(rbx + 8), 0)?;
            a.je(out)?;
            match slot {
                Slot::Empty => a.test(r8, r8)?,
                _ => a.cmp(qword_ptr(rbx), r12)?,
            }
            a.jne(next)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(9, 0), (11, all - LOOK_UPS)],
    )
}

#[test]
fn hash_table_whose_look_ups_read_many_slots_is_quadratic() {
    let found = quadratic::detect(&program(vec![look_up(2000, Slot::Compared, true)]));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].site.clone(), &found[0].fix),
        (vec![10], &Fix::SpreadKeys)
    );
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::Probes { slots, .. }) if (slots - 2000.0).abs() < 2.0
    )));
}

#[test]
fn short_look_ups_refills_and_loops_that_store_are_not_probes() {
    for (slots, slot, masked) in [
        (12, Slot::Compared, true),
        (2000, Slot::Empty, true),
        (2000, Slot::Stored, true),
        (2000, Slot::Compared, false),
    ] {
        let found = quadratic::detect(&program(vec![look_up(slots, slot, masked)]));
        let is_probe = found.iter().any(|one| one.fix == Fix::SpreadKeys);
        assert!(!is_probe, "{slots} {slot:?} {masked}");
    }
}
