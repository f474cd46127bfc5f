//! What debuggers are told is what [`crate::recover`] finds.

mod engine;
mod image;
mod laid;
mod machine;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::dwarf::{Expression, Op};
use super::rules::Want;
use crate::marks::{Mark, Marked};
use crate::recover::Found;
use crate::state::register;
use laid::{LISTS, Laid, Plan, STACKS, Slot, plan};
use machine::{Machine, Memory};

/// Threads by how far their stacks are from this one's.
fn slots() -> impl Strategy<Value = Vec<(bool, i64, [u64; 3])>> {
    let far = prop_oneof![
        Just(0i64),
        -8i64..8,
        -0x1_0000i64..0x1_0000,
        -0x7000_0000_0000i64..0x1000_0000,
    ];
    prop::collection::vec((any::<bool>(), far, any::<[u64; 3]>()), 1..5)
}

fn plans() -> impl Strategy<Value = (Vec<Plan>, bool)> {
    (prop::collection::vec(plan(), 1..5), any::<bool>())
}

/// The state that the thread's registers are looked for in.
fn nearest(slots: &[Slot], rsp: u64) -> &Slot {
    let used = slots.iter().filter(|slot| slot.in_use);
    used.min_by_key(|slot| slot.rsp.abs_diff(rsp))
        .unwrap_or(&slots[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn debuggers_find_what_signal_handlers_are_told(
        (plans, high) in plans(),
        slots in slots(),
        mut registers: [u64; 16],
        rsp in STACKS,
        stack: [u64; 3],
    ) {
        let mut laid = Laid::new(&plans, high);
        let slots: Vec<Slot> = (slots.into_iter())
            .map(|(in_use, far, aside)| Slot { in_use, rsp: rsp.wrapping_add_signed(far), aside })
            .collect();
        laid.threads(&slots);
        laid.memory.words(rsp - 8, &stack);
        registers[register::RSP as usize] = rsp;
        let slot = nearest(&slots, rsp);
        let wants = [register::RAX, register::RCX].map(Want::Register);
        let rules = [Want::Stack, Want::Pc, wants[0], wants[1]].map(|want| LISTS.in_copy(want));
        for rip in laid.places() {
            let machine = Machine { memory: &laid.memory, rip, registers };
            let found = laid.recover(rip, &registers, slot);
            let after = found.map_or(registers, |found| found.registers);
            let pc = match found {
                // Behind a return.
                Some(Found { next_at: Some(at), .. }) => stack[((at - (rsp - 8)) / 8) as usize],
                Some(found) => found.pc,
                None => rip,
            };
            let frame = after[register::RSP as usize];
            let expected = [frame, pc, after[0], after[1]];
            for ((rule, expected), name) in rules.iter().zip(expected).zip(["rsp", "pc", "rax", "rcx"]) {
                let frame = (name != "rsp").then_some(frame);
                let said = machine.evaluate(rule, frame);
                prop_assert_eq!(said, Ok(expected), "{} at {:#x}: {:?}", name, rip, laid.mark(rip));
            }
        }
    }
}

/// So the property sees every mark.
#[test]
fn arbitrary_code_has_all_marks() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        let tree = plans().new_tree(&mut runner).expect("plans");
        let (plans, high) = tree.current();
        let laid = Laid::new(&plans, high);
        let marks = laid.fragments.iter().flat_map(|placed| &placed.marks);
        seen.extend(marks.map(|marked| marked.mark as u8));
    }
    assert!(seen.iter().copied().eq(0..=Mark::Stub as u8), "{seen:?}");
}

/// What the expressions take for granted of Rust's types.
#[test]
fn marks_are_found_by_their_address_and_number() {
    let mark = |offset| Marked {
        offset,
        mark: Mark::Stub,
        block: 7,
    };
    let marks: Box<[Marked]> = vec![mark(0), mark(0x1234), mark(3)].into();
    assert_eq!(size_of_val(&marks), 16);
    // SAFETY: two words, which any bytes are.
    let words: [usize; 2] = unsafe { core::mem::transmute_copy(&marks) };
    assert_eq!(words, [marks.as_ptr() as usize, 3]);
    assert_eq!(size_of::<Marked>(), 4);
    // SAFETY: four bytes without any between fields.
    let bytes: [u8; 4] = unsafe { core::mem::transmute(marks[1]) };
    assert_eq!(bytes, [0x34, 0x12, Mark::Stub as u8, 7]);
}

fn value(write: impl FnOnce(&mut Expression) -> &mut Expression) -> Result<u64, String> {
    let mut memory = Memory::default();
    memory.words(0x1000, &[0x8877_6655_4433_2211]);
    let mut registers = [0; 16];
    registers[register::RSP as usize] = 0x1000;
    let machine = Machine {
        memory: &memory,
        rip: 0x4000,
        registers,
    };
    let mut expression = Expression::default();
    write(&mut expression);
    machine.evaluate(&expression.finish(), None)
}

#[test]
fn expressions_branch_both_ways() {
    // The sum of the numbers up to 100; the loop leaves forwards and goes on backwards.
    let sum = value(|e| {
        e.number(0).number(100);
        let again = e.here();
        let done = e.label();
        e.ops(&[Op::Dup]).number(0).op(Op::Eq).branch(done);
        e.ops(&[Op::Swap, Op::Over, Op::Plus, Op::Swap]);
        e.number(1).op(Op::Minus).skip(again);
        e.set(done).op(Op::Drop)
    });
    assert_eq!(sum, Ok(5050));
    // A branch that is not taken, to a label that several lead to, over more than 127 bytes.
    let far = value(|e| {
        let (end, other) = (e.label(), e.label());
        e.number(0).branch(other).number(u64::MAX).branch(end);
        e.set(other);
        for _ in 0..200 {
            e.number(1);
        }
        e.skip(end).set(end).number(7)
    });
    assert_eq!(far, Ok(7));
}

#[test]
fn expressions_have_numbers_registers_and_memory() {
    for number in [0, 31, 32, 127, 128, 0xFFFF, 1 << 63, u64::MAX] {
        assert_eq!(value(|e| e.number(number)), Ok(number));
        let added = value(|e| e.number(3).add(number));
        assert_eq!(added, Ok(number.wrapping_add(3)));
    }
    assert_eq!(
        value(|e| e.register(7).op(Op::Deref)),
        Ok(0x8877_6655_4433_2211)
    );
    assert_eq!(value(|e| e.register(7).add(2).load(2)), Ok(0x4433));
    assert_eq!(value(|e| e.register(16)), Ok(0x4000));
    assert_eq!(value(|e| e.number(5).number(6).number(7).pick(2)), Ok(5));
    let rotated = value(|e| e.number(5).number(6).number(7).op(Op::Rot));
    assert_eq!(rotated, Ok(6));
    assert!(value(|e| e.number(0xFFF).load(1)).is_err());
}

/// As gdb has them (`dwarf2/expr.c`; its untyped values are of a signed type): comparisons and divisions of signed numbers, shifts of
/// unsigned ones.
#[test]
fn the_evaluation_has_the_signs_of_a_debuggers() {
    let of = |op| value(|e| e.number(u64::MAX).number(2).op(op));
    assert_eq!(of(Op::Lt), Ok(1));
    assert_eq!(of(Op::Ge), Ok(0));
    assert_eq!(of(Op::Div), Ok(0));
    assert_eq!(of(Op::Shr), Ok(u64::MAX >> 2));
}
