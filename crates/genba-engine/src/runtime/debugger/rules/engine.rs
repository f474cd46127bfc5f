//! The program's registers where a thread is in the engine, or on the way to it or back.

use alloc::vec::Vec;

use super::{Lists, NUMBERS, RIP, RSP, Want};
use crate::layout::{SLOT_CAPACITY, SLOT_SIZE, SLOTS};
use crate::runtime::debugger::dwarf::{Expression, Label, Op};
use crate::runtime::entry::label;
use crate::state::{self, register};

fn address(label: unsafe extern "C" fn()) -> u64 {
    label as *const () as u64
}

impl Lists {
    /// Whether rip is from one place up to another.
    fn within(e: &mut Expression, from: unsafe extern "C" fn(), to: unsafe extern "C" fn()) {
        e.register(RIP).number(address(from)).op(Op::Ge);
        e.register(RIP).number(address(to)).ops(&[Op::Lt, Op::And]);
    }

    /// The state, and above it whether the program's registers are in it.
    fn own(&self, e: &mut Expression) {
        use Op::{Div, Ge, Lt, Minus, Mul, Plus};
        let slots = self.shared + SLOTS;
        let (outside, end) = (e.label(), e.label());
        e.register(RSP).number(slots).op(Lt).branch(outside);
        e.register(RSP)
            .number(slots + SLOT_SIZE * u64::from(SLOT_CAPACITY));
        e.op(Ge).branch(outside);
        e.register(RSP)
            .number(slots)
            .op(Minus)
            .number(SLOT_SIZE)
            .op(Div);
        e.number(SLOT_SIZE).op(Mul).number(slots).op(Plus);
        e.number(1).skip(end);
        e.set(outside);
        self.nearest(e);
        // From where they have been saved until they all are back.
        Self::within(e, label::genba_dispatch_saved, label::genba_resume_end);
        e.set(end);
    }

    /// Above the state, whether a register is in its place there.
    fn aside(e: &mut Expression, number: u32) {
        use label::*;
        type Ranges = [[unsafe extern "C" fn(); 2]; 3];
        let ranges: Ranges = match number {
            register::RAX => [
                [genba_miss_aside, genba_miss_end],
                [genba_return_aside, genba_return_end],
                [genba_transfer_aside, genba_transfer_end],
            ],
            register::RCX => [
                [genba_miss, genba_miss_end],
                [genba_return, genba_return_end],
                [genba_transfer, genba_transfer_end],
            ],
            _ => [
                [genba_miss_saved, genba_miss_end],
                [genba_return_saved, genba_return_end],
                [genba_transfer_saved, genba_transfer_end],
            ],
        };
        e.number(0);
        for [from, to] in ranges {
            Self::within(e, from, to);
            e.op(Op::Or);
        }
    }

    /// For the state on the top of the stack, where the system call leads that is being made.
    fn behind_call(&self, e: &mut Expression, fail: Label) {
        let (first, found) = (e.label(), e.label());
        let before = address(label::genba_syscall);
        e.register(RIP).number(before).op(Op::Eq).branch(first);
        e.add(u64::from(state::SYSCALL_NEXT))
            .op(Op::Deref)
            .skip(found);
        e.set(first).register(NUMBERS[register::RCX as usize]);
        e.set(found);
        self.pc(e, fail);
    }

    /// In the engine.
    #[must_use]
    pub fn in_engine(&self, want: Want) -> Vec<u8> {
        use Op::{Deref, Dup, Eq, Plus};
        let mut expression = Expression::default();
        let e = &mut expression;
        let end = e.label();
        let saved = |number: u32| u64::from(state::CONTEXT + number * 8);
        self.own(e);
        match want {
            Want::Register(number) => {
                let [context, aside, call, fail] = core::array::from_fn(|_| e.label());
                e.branch(context);
                let places = [
                    (register::RAX, state::RAX),
                    (register::RCX, state::RCX),
                    (register::RDX, state::RDX),
                ];
                let place = places.iter().find(|place| place.0 == number);
                if place.is_some() {
                    Self::aside(e, number);
                    e.branch(aside);
                }
                if number == register::RAX {
                    Self::within(e, label::genba_syscall_number, label::genba_syscall_now);
                    let done = address(label::genba_syscall_done);
                    e.register(RIP).number(done).op(Op::Gt);
                    let special = address(label::genba_syscall_special);
                    e.register(RIP).number(special);
                    e.ops(&[Op::Lt, Op::And, Op::Or]).branch(call);
                }
                if number == register::RCX {
                    Self::within(e, label::genba_syscall, label::genba_syscall_end);
                    e.branch(call);
                }
                e.set(fail).register(NUMBERS[number as usize]).skip(end);
                if let Some(&(_, place)) = place {
                    e.set(aside).add(u64::from(place)).op(Deref).skip(end);
                }
                match number {
                    register::RAX => {
                        e.set(call).register(NUMBERS[11]).skip(end);
                    }
                    register::RCX => {
                        // As the kernel leaves it.
                        e.set(call);
                        self.behind_call(e, fail);
                        e.skip(end);
                    }
                    _ => {}
                }
                e.set(context).add(saved(number)).op(Deref);
            }
            Want::Stack => {
                let context = e.label();
                e.branch(context);
                // A return that is being looked for is done.
                Self::within(e, label::genba_return, label::genba_return_popped);
                e.number(3).op(Op::Shl).register(RSP).op(Plus).skip(end);
                e.set(context).add(saved(register::RSP)).op(Deref);
            }
            Want::Pc => {
                let [call, calls, leaving, target, exit, fail] =
                    core::array::from_fn(|_| e.label());
                let [resume, returning] = core::array::from_fn(|_| e.label());
                // In a handler's preparation: not known.
                e.op(Op::Over)
                    .add(u64::from(state::IN_SIGNAL))
                    .op(Deref)
                    .branch(fail);
                let signal = address(label::genba_signal);
                e.register(RIP).number(signal).op(Eq).branch(fail);
                e.branch(leaving);
                Self::within(e, label::genba_syscall, label::genba_syscall_end);
                e.branch(calls);
                Self::within(e, label::genba_return, label::genba_return_popped);
                e.branch(returning);
                Self::within(e, label::genba_miss, label::genba_transfer_end);
                e.branch(target);
                e.set(leaving);
                Self::within(e, label::genba_resume, label::genba_resume_end);
                e.branch(resume);
                e.op(Dup).add(u64::from(state::EXIT)).load(4);
                e.op(Dup)
                    .number(u64::from(state::EXIT_SYSCALL))
                    .op(Eq)
                    .branch(call);
                for number in [
                    state::EXIT_INDIRECT,
                    state::EXIT_RETURN,
                    state::EXIT_TRANSFER,
                ] {
                    e.op(Dup).number(u64::from(number)).op(Eq).branch(exit);
                }
                self.exit(e);
                e.skip(end);
                e.set(exit).op(Op::Drop);
                e.set(target)
                    .add(u64::from(state::TARGET))
                    .op(Deref)
                    .skip(end);
                e.set(returning).register(RSP).op(Deref).skip(end);
                e.set(resume)
                    .op(Dup)
                    .add(u64::from(state::AT_SYSCALL))
                    .op(Deref)
                    .branch(calls);
                e.add(u64::from(state::RESUME_PC)).op(Deref).skip(end);
                e.set(call).op(Op::Drop);
                e.set(calls);
                self.behind_call(e, fail);
                e.skip(end);
                e.set(fail).number(0);
            }
        }
        e.set(end);
        e.finish()
    }
}
