//! How a debugger finds the program's registers from those of a thread in the copy of its code,
//! or on the way between that and the engine: what [`crate::recover`] and
//! [`super::super::interrupted`] do, as expressions for the debugger, which read the same lists.
//!
//! Differences: counts are of no interest; a thread that makes a system call is behind it, as one
//! that waits in it is natively; the state of a thread, which `%gs` says and DWARF does not, is that
//! whose last known stack pointer is nearest.

mod engine;

use alloc::vec::Vec;
use core::mem::offset_of;

use crate::layout::{Control, LENGTHS, SLOT_SIZE, SLOTS};
use crate::marks::Mark;
use crate::state;

use super::super::book::BlockInfo;
use super::super::engine::{Exit, Placed};
use super::dwarf::{Expression, Label, Op};

/// DWARF's numbers of registers, by those of instructions; rip is 16.
pub const NUMBERS: [u8; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];
const RSP: u8 = 7;
const RIP: u8 = 16;

/// Where the lists are.
#[derive(Clone, Copy)]
pub struct Lists {
    /// Address of the address of the first [`Placed`].
    pub fragments: u64,
    /// The same of the first [`BlockInfo`].
    pub blocks: u64,
    /// The same of the first [`Exit`].
    pub exits: u64,
    /// Address of the zones: low, end, address and length of the numbers of fragments; after the
    /// last one 0.
    pub zones: u64,
    /// Address of the file of counts.
    pub shared: u64,
    /// Address of the words that say which slots are in use.
    pub in_use: u64,
}

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// The program's next instruction.
    Pc,
    /// Its stack pointer.
    Stack,
    /// A register, by the number that instructions have.
    Register(u32),
}

/// A displacement of so many bits, signed, and below it what it is from, become their sum.
fn relative(e: &mut Expression, bits: u64) {
    use Op::{Dup, Minus, Plus, Shl, Shr};
    e.op(Dup).number(bits - 1).op(Shr).number(bits).op(Shl);
    e.ops(&[Minus, Plus]);
}

impl Lists {
    /// For the address on the top of the stack: from there down what holds (mark, block, index of
    /// the instruction, as bits 0, 8, 16), the mark after that, the end of the marks, the offset
    /// in the fragment, the fragment, the address. To `fail` with anything on the stack.
    fn position(&self, e: &mut Expression, fail: Label) {
        use Op::Swap;
        use Op::{
            And, Deref, Drop, Dup, Eq, Ge, Gt, Le, Lt, Minus, Mul, Over, Plus, Rot, Shl, Shr,
        };
        let number_to_fragment = |e: &mut Expression| {
            e.load(4).number(size_of::<Placed>() as u64).op(Mul);
            e.number(self.fragments).ops(&[Deref, Plus]);
        };
        // The zone.
        e.number(self.zones);
        let zone = e.here();
        let (next, found) = (e.label(), e.label());
        e.ops(&[Dup, Deref]).number(0).op(Eq).branch(fail);
        e.ops(&[Over, Over, Deref, Lt]).branch(next);
        e.ops(&[Over, Over]).add(8).ops(&[Deref, Lt]).branch(found);
        e.set(next).add(32).skip(zone);
        e.set(found);
        // The fragment, by halves: high, low, zone, address.
        e.number(0).op(Over).add(24).op(Deref);
        let halve = e.here();
        let (high, done) = (e.label(), e.label());
        e.pick(0).pick(2).op(Minus).number(1).op(Le).branch(done);
        e.op(Dup).pick(2).op(Plus).number(1).op(Shr);
        e.op(Dup).number(2).op(Shl);
        e.pick(4).add(16).ops(&[Deref, Plus]);
        number_to_fragment(e);
        e.add(offset_of!(Placed, start) as u64).op(Deref);
        e.pick(5).op(Gt).branch(high);
        e.ops(&[Rot, Swap, Drop]).skip(halve);
        e.set(high).ops(&[Swap, Drop]).skip(halve);
        e.set(done).op(Drop);
        e.number(2).ops(&[Shl, Over]).add(16).ops(&[Deref, Plus]);
        number_to_fragment(e);
        e.ops(&[Swap, Drop]);
        // The offset.
        e.op(Dup).add(offset_of!(Placed, start) as u64).op(Deref);
        e.pick(2).ops(&[Swap, Minus]);
        // What is before the first fragment is in none.
        e.op(Dup).number(0).op(Lt).branch(fail);
        e.op(Dup)
            .pick(2)
            .add(offset_of!(Placed, size) as u64)
            .load(4);
        e.op(Ge).branch(fail);
        // The marks.
        let marks = offset_of!(Placed, marks) as u64;
        e.op(Over).add(marks).op(Deref);
        e.op(Dup).pick(3).add(marks + 8).op(Deref);
        e.number(2).ops(&[Shl, Plus, Swap]).number(0);
        let mark = e.here();
        let (instruction, other, next) = (e.label(), e.label(), e.label());
        let (beyond, done) = (e.label(), e.label());
        e.pick(1).pick(3).op(Ge).branch(done);
        e.pick(1).load(4);
        e.op(Dup)
            .number(0xFFFF)
            .op(And)
            .pick(5)
            .op(Gt)
            .branch(beyond);
        e.op(Dup).number(16).op(Shr).number(0xFF).op(And);
        e.op(Dup)
            .number(Mark::Instruction as u64)
            .op(Eq)
            .branch(instruction);
        e.op(Dup).number(Mark::Counted as u64).op(Lt).branch(other);
        e.op(Dup).number(Mark::Rcx as u64).op(Gt).branch(other);
        e.ops(&[Swap, Drop, Swap])
            .number(8)
            .op(Shr)
            .number(8)
            .ops(&[Shl, Plus])
            .skip(next);
        e.set(instruction).ops(&[Drop, Drop]);
        e.number(8)
            .op(Shr)
            .number(8)
            .op(Shl)
            .add(0x1_0000 + Mark::Instruction as u64)
            .skip(next);
        e.set(other).ops(&[Drop, Swap, Drop]).number(16).op(Shr);
        e.set(next).op(Swap).add(4).op(Swap).skip(mark);
        e.set(beyond).op(Drop);
        e.set(done);
    }

    /// The state of the thread whose stack pointer the program's is: the nearest.
    fn nearest(&self, e: &mut Expression) {
        use Op::{Deref, Drop, Dup, Eq, Ge, Minus, Mul, Over, Plus, Rot, Shl, Swap};
        let used = self.shared + offset_of!(Control, slots) as u64;
        // Distance, state, index.
        e.number(0)
            .number(self.shared + SLOTS)
            .number(i64::MAX as u64);
        let slot = e.here();
        let (next, done, farther) = (e.label(), e.label(), e.label());
        e.pick(2).number(used).load(4).op(Ge).branch(done);
        e.pick(2)
            .number(2)
            .op(Shl)
            .number(self.in_use)
            .op(Plus)
            .load(4);
        e.number(0).op(Eq).branch(next);
        e.pick(2)
            .number(SLOT_SIZE)
            .op(Mul)
            .number(self.shared + SLOTS)
            .op(Plus);
        // State, distance, state, index.
        e.op(Dup).add(u64::from(state::CONTEXT + 32)).op(Deref);
        // Comparisons are of signed numbers, absolute values of unsigned ones.
        let above = e.label();
        e.register(RSP).ops(&[Over, Over, Ge]).branch(above);
        e.op(Swap).set(above).op(Minus);
        // Its distance, its state, distance, state, index.
        e.op(Dup).pick(3).op(Ge).branch(farther);
        e.ops(&[Rot, Rot, Drop, Rot, Rot, Drop]).skip(next);
        e.set(farther).ops(&[Drop, Drop]);
        e.set(next).ops(&[Rot, Rot]).add(1).op(Rot).skip(slot);
        e.set(done).op(Drop);
    }

    /// Address of the [`BlockInfo`], and the mark, above what [`Self::position`] gives.
    fn block(&self, e: &mut Expression) {
        use Op::{And, Deref, Mul, Plus, Shr};
        e.pick(0).number(8).op(Shr).number(0xFF).op(And);
        e.pick(5)
            .add(offset_of!(Placed, first_block) as u64)
            .load(4);
        e.op(Plus).number(size_of::<BlockInfo>() as u64).op(Mul);
        e.number(self.blocks).ops(&[Deref, Plus]);
        e.pick(1).number(0xFF).op(And);
    }

    /// How many instructions the block has, whose [`BlockInfo`] is so deep.
    fn instructions(e: &mut Expression, depth: u8) {
        e.pick(depth)
            .add(offset_of!(BlockInfo, instructions) as u64)
            .load(2);
    }

    /// Above the [`BlockInfo`] and the number of an instruction, its address.
    fn instruction(&self, e: &mut Expression) {
        use Op::{Deref, Ge, Over, Plus, Swap};
        // Number, block; then the address, the next length, the last.
        e.pick(1).add(offset_of!(BlockInfo, lengths) as u64).load(4);
        e.number(self.shared + LENGTHS).op(Plus);
        e.ops(&[Swap, Over, Plus, Swap]);
        e.pick(2).add(offset_of!(BlockInfo, pc) as u64).op(Deref);
        let next = e.here();
        let done = e.label();
        e.pick(1).pick(3).op(Ge).branch(done);
        e.pick(1).load(1).op(Plus);
        e.op(Swap).number(1).ops(&[Plus, Swap]).skip(next);
        e.set(done);
    }

    /// Above the [`BlockInfo`] and the mark, the address behind the block.
    fn behind(&self, e: &mut Expression) {
        e.op(Op::Drop);
        Self::instructions(e, 0);
        self.instruction(e);
    }

    /// The program's next instruction for the address in the copy on the top of the stack.
    fn pc(&self, e: &mut Expression, fail: Label) {
        use Op::{And, Deref, Div, Dup, Eq, Le, Lt, Minus, Mul, Or, Over, Plus, Swap};
        let end = e.label();
        self.position(e, fail);
        self.block(e);
        let [within, last, all, taken, short] = core::array::from_fn(|_| e.label());
        let [target, returned, popped, landed, stub] = core::array::from_fn(|_| e.label());
        e.op(Dup).number(Mark::Rcx as u64).op(Le).branch(within);
        e.op(Dup).number(Mark::PoppedRcx as u64).op(Le).branch(last);
        e.op(Dup).number(Mark::TakenRax as u64).op(Le).branch(taken);
        for (mark, to) in [
            (Mark::NotTaken, all),
            (Mark::SyscallDone, all),
            (Mark::Gone, target),
            (Mark::Landing, target),
            (Mark::Returned, returned),
            (Mark::ReturnedPopped, popped),
            (Mark::Landed, landed),
            (Mark::Stub, stub),
        ] {
            e.op(Dup).number(mark as u64).op(Eq).branch(to);
        }
        e.skip(fail);
        // Mark, block, what holds.
        e.set(within).op(Op::Drop).pick(1).number(16).op(Op::Shr);
        self.instruction(e);
        e.skip(end);
        e.set(last).op(Op::Drop);
        Self::instructions(e, 0);
        e.number(1).op(Minus);
        self.instruction(e);
        e.skip(end);
        e.set(all);
        self.behind(e);
        e.skip(end);
        // Where the last instruction, a direct branch, leads: with 32 bits, if it has room and the
        // opcode for them, else with 8.
        e.set(taken);
        self.behind(e);
        // Its end, behind the last length.
        e.pick(1)
            .number(1)
            .op(Minus)
            .load(1)
            .number(5)
            .op(Lt)
            .branch(short);
        e.op(Dup).number(5).op(Minus).load(1);
        e.op(Dup).number(0xFE).op(And).number(0xE8).op(Eq);
        e.op(Swap).number(0xF0).op(And).number(0x80).op(Eq);
        // The byte before, if it is the instruction's, too: else there may be nothing.
        e.pick(2).number(5).op(Minus);
        e.pick(4)
            .number(1)
            .op(Minus)
            .load(1)
            .number(5)
            .ops(&[Op::Gt, Minus]);
        e.load(1).number(0x0F).ops(&[Eq, And, Or]);
        e.number(0).op(Eq).branch(short);
        e.op(Dup).number(4).op(Minus).load(4);
        relative(e, 32);
        e.skip(end);
        e.set(short).op(Dup).number(1).op(Minus).load(1);
        relative(e, 8);
        e.skip(end);
        e.set(target);
        self.nearest(e);
        e.add(u64::from(state::TARGET)).op(Deref).skip(end);
        e.set(returned).register(RSP).op(Deref).skip(end);
        e.set(popped)
            .register(RSP)
            .number(8)
            .ops(&[Minus, Deref])
            .skip(end);
        e.set(landed)
            .op(Over)
            .add(offset_of!(BlockInfo, pc) as u64)
            .op(Deref)
            .skip(end);
        // Stubs follow one another from the mark on, each with its exit's number.
        e.set(stub).pick(5).pick(4).number(4).op(Minus).load(2);
        e.op(Swap).pick(1).op(Minus);
        e.number(crate::fragment::STUB_BYTES as u64).op(Div);
        e.number(crate::fragment::STUB_BYTES as u64)
            .ops(&[Mul, Plus]);
        e.pick(7)
            .add(offset_of!(Placed, start) as u64)
            .ops(&[Deref, Plus]);
        e.add(8).load(4);
        self.exit(e);
        e.set(end);
    }

    /// Where the exit leads whose number is on the top of the stack.
    fn exit(&self, e: &mut Expression) {
        e.number(size_of::<Exit>() as u64).op(Op::Mul);
        e.number(self.exits).ops(&[Op::Deref, Op::Plus]);
        e.add(offset_of!(Exit, target) as u64).op(Op::Deref);
    }

    /// In the copy.
    #[must_use]
    pub fn in_copy(&self, want: Want) -> Vec<u8> {
        let mut expression = Expression::default();
        let e = &mut expression;
        let (fail, end) = (e.label(), e.label());
        e.register(RIP);
        match want {
            Want::Pc => {
                self.pc(e, fail);
                e.skip(end);
                e.set(fail).register(RIP);
            }
            Want::Stack => {
                self.position(e, fail);
                let pushed = [Mark::Pushed, Mark::PushedRcx, Mark::Returned];
                self.one_of(e, &pushed);
                e.number(3).op(Op::Shl).register(RSP).op(Op::Plus).skip(end);
                e.set(fail).register(RSP);
            }
            Want::Register(number) => {
                let (aside, marks): (u32, &[Mark]) = if number == state::register::RAX {
                    let marks = &[Mark::Rax, Mark::TakenUnrecordedRax, Mark::TakenRax];
                    (state::RAX, marks)
                } else {
                    (state::RCX, &ASIDE)
                };
                let (is_aside, syscall) = (e.label(), e.label());
                self.position(e, fail);
                if number == state::register::RCX {
                    e.op(Op::Dup);
                    self.one_of(e, &[Mark::SyscallDone]);
                    e.branch(syscall).op(Op::Drop);
                }
                self.one_of(e, marks);
                e.branch(is_aside);
                e.set(fail).register(NUMBERS[number as usize]).skip(end);
                e.set(is_aside);
                self.nearest(e);
                e.add(u64::from(aside)).op(Op::Deref).skip(end);
                // As the kernel leaves it: it says where the system call returned to.
                e.set(syscall).op(Op::Drop);
                self.block(e);
                self.behind(e);
            }
        }
        e.set(end);
        e.finish()
    }

    /// Whether what holds, on the top of the stack, is one of these marks.
    fn one_of(&self, e: &mut Expression, marks: &[Mark]) {
        e.number(0xFF).op(Op::And).number(0);
        for &mark in marks {
            e.op(Op::Over).number(mark as u64).ops(&[Op::Eq, Op::Or]);
        }
    }
}

/// Where rcx is in its place.
const ASIDE: [Mark; 8] = [
    Mark::Rcx,
    Mark::PushedRcx,
    Mark::PoppedRcx,
    Mark::Gone,
    Mark::Landing,
    Mark::Returned,
    Mark::ReturnedPopped,
    Mark::Landed,
];
