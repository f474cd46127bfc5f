//! Where the result of a call is, from instruction to instruction.

use crate::dataflow::{DataFlow, Locations, STACK_POINTER, Shortcut};
use crate::instruction::{Flow, Instruction};

/// Registers in which functions take arguments, but for those of results: rcx, rsi, rdi, r8, r9.
const ARGUMENTS: Locations = 0b11_1100_0010;

/// rax, rcx, rdx, rsi, rdi, r8 to r11, and all vector and mask registers.
const CHANGED_BY_CALLS: Locations = 0b1111_1100_0111 | ((1 << 40) - 1) << 16;

/// Where a result is: registers, and places in the frame, by their distance from the stack pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) registers: Locations,
    pub(super) slots: Vec<i64>,
}

/// What an instruction does with a result.
#[derive(PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, or it makes something of it that is as good as the result.
    Holds,
    /// Something that others may see.
    Asks,
}

impl Held {
    /// It is at these places as well, on another way.
    pub(super) fn add(&mut self, other: Self) {
        self.registers |= other.registers;
        self.slots.extend(other.slots);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.registers == 0 && self.slots.is_empty()
    }

    /// Whether an instruction reads it.
    pub(super) fn is_read(&self, data: &DataFlow) -> bool {
        data.reads() & self.registers != 0 && data.shortcut != Shortcut::Constant
            || slots(data).any(|(slot, reads)| reads && self.slots.contains(&slot))
    }

    /// The result behind an instruction before which it is here.
    pub(super) fn step(&mut self, code: &Instruction, data: &DataFlow) -> Step {
        if matches!(code.flow, Flow::Call(_) | Flow::IndirectCall) {
            let asks = (self.registers & ARGUMENTS) | (data.reads() & self.registers);
            self.registers &= !CHANGED_BY_CALLS;
            return if asks == 0 { Step::Holds } else { Step::Asks };
        }
        let reads = self.is_read(data);
        let address = data.address_reads & self.registers != 0;
        let kept = slots(data)
            .filter(|one| !one.1)
            .map(|one| one.0)
            .collect::<Vec<_>>();
        if reads && (address || data.opaque.is_some() || data.stores() && kept.is_empty()) {
            return Step::Asks;
        }
        self.slots.retain(|slot| !kept.contains(slot));
        if reads {
            self.slots.extend(kept);
            self.registers |= data.writes;
        } else {
            self.registers &= !data.writes;
        }
        Step::Holds
    }
}

/// Places of the frame that an instruction accesses, and whether it reads them.
fn slots(data: &DataFlow) -> impl Iterator<Item = (i64, bool)> + '_ {
    let frame = |one: &&crate::MemoryAccess| {
        one.base == Some(STACK_POINTER) && one.index.is_none() && !one.stack
    };
    let accesses = data.memory.iter().filter(frame);
    accesses.map(|one| (one.displacement, one.reads))
}
