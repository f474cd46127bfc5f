//! Emits blocks that record what they do, for bursts ([`crate::burst_layout`]). A fragment has one
//! such block. Jumps to fixed addresses are linked as in other fragments; indirect ones go to the
//! dispatcher, and so do all ways out of the burst.
//!
//! What must hold: only a thread in a burst executes this code. A block's words count only when it
//! was executed to its end, so its place in the recording is reserved at its beginning, and is given
//! back if it is left in the middle.

use alloc::vec::Vec;

use iced_x86::{Instruction, InstructionInfoFactory};

use super::observed_memory::{EventPlace, address_to_rax, value_to_rax};
use super::{BuildContext, Builder, Error, Fragment, RAX, RCX};
use crate::basic_block::{Block, BlockEnd, decode};
use crate::burst_layout::{BLOCK_WORDS, DESCRIPTOR_HEAD, End, Operation, RECORDING_END_BIT};
use crate::observed_operations::{MemoryOperation, memory_operations};
use crate::recovery_marks::Mark;
use crate::thread_state;

const RDX: u8 = 2;
/// Numbers of the registers with a function's arguments.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// What building an observing fragment needs in addition.
pub trait ObserveContext: BuildContext {
    /// Stores a block's descriptor; its offset.
    ///
    /// # Errors
    /// If there is no room.
    fn describe(&mut self, descriptor: &[u32]) -> Result<u32, Error>;
}

/// Builds the observing fragment of the block at `pc`; `None` if a burst cannot go on there.
///
/// # Errors
/// If the block cannot be translated.
pub fn build_observing<W: ObserveContext>(
    context: &mut W,
    factory: &mut InstructionInfoFactory,
    pc: u64,
    base: u64,
    first_exit: u32,
) -> Result<Option<Fragment>, Error> {
    let mut block = decode(pc, context.bytes(pc));
    let end = match block.end {
        BlockEnd::Native | BlockEnd::Refused(_) => return Ok(None),
        BlockEnd::Falls | BlockEnd::Jump(_) => End::Falls,
        BlockEnd::Branch(_) => End::Branch,
        BlockEnd::Call(_) | BlockEnd::CallIndirect => End::Call,
        BlockEnd::JumpIndirect => End::Jump,
        BlockEnd::Return(_) => End::Return,
        BlockEnd::Syscall => {
            // The call itself is made by translated code that counts.
            block.instructions.pop();
            block.end = BlockEnd::Falls;
            End::SystemCall
        }
    };
    if block.instructions.is_empty() {
        return Ok(None);
    }
    let mut accesses = Vec::new();
    for (index, instruction) in block.instructions.iter().enumerate() {
        for operation in memory_operations(instruction, factory) {
            accesses.push((index, operation));
        }
    }
    let extra = match end {
        End::Call => Some(Operation::Arguments),
        End::Jump if jumps_through_fixed_address(&block) => Some(Operation::Arguments),
        End::Return | End::SystemCall => Some(Operation::Result),
        _ => None,
    };
    let words = 1
        + (accesses.iter())
            .map(|(_, access)| access.operation.words())
            .chain(extra.map(Operation::words))
            .sum::<u32>();
    if words > BLOCK_WORDS {
        return Ok(None);
    }
    let mut builder = Builder::new(context, factory, base);
    builder.observing_block(&block, end, &accesses, extra, words)?;
    builder.finish(first_exit).map(Some)
}

/// Whether a block ends with a jump to what an address of its own module holds: a stub of the procedure linkage
/// table, or a tail call of another module's function.
fn jumps_through_fixed_address(block: &Block) -> bool {
    block
        .instructions
        .last()
        .is_some_and(Instruction::is_ip_rel_memory_operand)
}

fn descriptor(
    counter: u32,
    block: &Block,
    end: End,
    accesses: &[(usize, MemoryOperation)],
    extra: Option<Operation>,
    words: u32,
) -> Vec<u32> {
    let target = match block.end {
        BlockEnd::Branch(to) | BlockEnd::Call(to) => to,
        _ => 0,
    };
    let last = block.instructions.len().saturating_sub(1);
    let operation = |operation: Operation, index: usize, size: u16| {
        operation as u32 | (index as u32) << 8 | u32::from(size) << 16
    };
    let mut descriptor = Vec::with_capacity(DESCRIPTOR_HEAD + accesses.len() + 1);
    let count = accesses.len() + usize::from(extra.is_some());
    descriptor.push(counter);
    descriptor.push(end as u32 | (count as u32) << 8 | words << 16);
    descriptor.push(target as u32);
    descriptor.push((target >> 32) as u32);
    for (index, access) in accesses {
        descriptor.push(operation(access.operation, *index, access.size));
    }
    if let Some(extra) = extra {
        descriptor.push(operation(extra, last, 0));
    }
    descriptor
}

impl<W: ObserveContext> Builder<'_, W> {
    fn observing_block(
        &mut self,
        block: &Block,
        end: End,
        accesses: &[(usize, MemoryOperation)],
        extra: Option<Operation>,
        words: u32,
    ) -> Result<(), Error> {
        let counter = self.context.counter(block, false)?;
        let described = descriptor(counter, block, end, accesses, extra, words);
        let descriptor = self.context.describe(&described)?;
        self.open(block, counter, true);
        self.head(block, counter, descriptor, words);
        let body = block.body();
        let mut word = 1;
        let mut accesses = accesses.iter().peekable();
        for (index, instruction) in block.instructions.iter().enumerate() {
            let mut of_this = Vec::new();
            while let Some((_, access)) = accesses.next_if(|(of, _)| *of == index) {
                of_this.push((word, *access));
                word += access.operation.words();
            }
            self.record_before(instruction, &of_this, index >= body);
            if index < body {
                let raw = self.raw(instruction);
                self.emitter().copy(instruction, &raw)?;
                self.mark(Mark::Instruction);
                self.record_after(&of_this);
            }
        }
        if let Some(extra) = extra {
            self.record_registers(extra, word);
        }
        self.observing_end(block, end)
    }

    /// Emits the beginning of a block: ends the burst if it is full; reserves the block's words;
    /// increments the counter.
    fn head(&mut self, block: &Block, counter: u32, descriptor: u32, words: u32) {
        self.emitter().store(RCX, thread_state::RCX);
        self.mark(Mark::RcxSaved);
        self.emitter().load(RCX, thread_state::BURST_POSITION);
        // The flags may be live: rorx rcx, rcx, BIT; mov ecx, ecx; jrcxz over what leaves.
        self.emitter()
            .bytes(&[0xC4, 0xE3, 0xFB, 0xF0, 0xC9, RECORDING_END_BIT as u8]);
        self.emitter().bytes(&[0x89, 0xC9, 0xE3, 0]);
        let over = self.fragment.emitter.offset();
        self.mark(Mark::PadMatched);
        self.emitter().load(RCX, thread_state::RCX);
        self.leave(block.pc);
        let after = self.fragment.emitter.offset();
        self.fragment.emitter.code[over - 1] = (after - over) as u8;
        self.mark(Mark::Block);
        self.mark(Mark::RcxSaved);
        self.emitter().load(RCX, thread_state::BURST_POSITION);
        // mov qword ptr gs:[rcx + RECORDING], descriptor
        self.emitter().bytes(&[0x65, 0x48, 0xC7, 0x81]);
        self.emitter().u32(thread_state::RECORDING);
        self.emitter().u32(descriptor);
        self.emitter().store(RCX, thread_state::BURST_BLOCK);
        // lea rcx, [rcx + …]
        self.emitter().bytes(&[0x48, 0x8D, 0x89]);
        self.emitter().u32(words * 8);
        self.emitter().store(RCX, thread_state::BURST_POSITION);
        self.count_through_saved_rcx(Some(counter));
        self.emitter().load(RCX, thread_state::RCX);
        self.mark(Mark::Counted);
    }

    /// Jumps out of the burst, to counting code for `to`.
    fn leave(&mut self, to: u64) {
        self.jump(to);
        if let Some(exit) = self.fragment.exits.last_mut() {
            exit.leaves_burst = true;
        }
    }

    fn save(&mut self, registers: &[u8]) {
        const SLOTS: [u32; 3] = [thread_state::RAX, thread_state::RCX, thread_state::RDX];
        for register in registers {
            self.emitter()
                .store(*register, SLOTS[usize::from(*register)]);
        }
        self.mark(match registers.len() {
            3 => Mark::RaxRcxRdxSaved,
            _ => Mark::RaxRcxSaved,
        });
    }

    fn restore(&mut self, registers: &[u8]) {
        const SLOTS: [u32; 3] = [thread_state::RAX, thread_state::RCX, thread_state::RDX];
        for register in registers {
            self.emitter()
                .load(*register, SLOTS[usize::from(*register)]);
        }
        // What holds now is what held before: the block was counted at its beginning.
        self.mark(Mark::Counted);
    }

    /// Records addresses, and values before the instruction; for one that ends the block, the value
    /// that a call pushes, too.
    fn record_before(
        &mut self,
        instruction: &Instruction,
        accesses: &[(u32, MemoryOperation)],
        ends: bool,
    ) {
        if accesses.is_empty() {
            return;
        }
        let registers = saved_for(accesses);
        self.save(registers);
        for (word, access) in accesses {
            // The first access has changed the registers that this one's address may need.
            self.reload(registers, *word != accesses[0].0);
            address_to_rax(self.emitter(), &access.address);
            self.emitter().load(RCX, thread_state::BURST_BLOCK);
            EventPlace(*word).store(self.emitter(), RAX);
            let range = matches!(
                access.operation,
                Operation::LoadRange | Operation::StoreRange
            );
            if !range {
                value_to_rax(self.emitter(), access.size);
                self.emitter().load(RCX, thread_state::BURST_BLOCK);
                EventPlace(word + 1).store(self.emitter(), RAX);
            }
            if ends && access.operation == Operation::Store {
                // mov rax, RETURN_ADDRESS
                self.emitter().bytes(&[0x48, 0xB8]);
                let address = instruction.next_ip();
                self.emitter().bytes(&address.to_le_bytes());
                EventPlace(word + 2).store(self.emitter(), RAX);
            }
        }
        self.restore(registers);
    }

    /// Records what an instruction has written.
    fn record_after(&mut self, accesses: &[(u32, MemoryOperation)]) {
        if accesses
            .iter()
            .all(|(_, access)| access.operation == Operation::Load)
        {
            return;
        }
        let registers = saved_for(accesses);
        self.save(registers);
        for (word, access) in accesses {
            match access.operation {
                Operation::LoadRange | Operation::StoreRange => {
                    self.reload(registers, *word != accesses[0].0);
                    address_to_rax(self.emitter(), &access.address);
                    self.emitter().load(RCX, thread_state::BURST_BLOCK);
                    EventPlace(word + 1).store(self.emitter(), RAX);
                }
                Operation::Store | Operation::Update => {
                    self.emitter().load(RCX, thread_state::BURST_BLOCK);
                    EventPlace(*word).load(self.emitter(), RAX);
                    value_to_rax(self.emitter(), access.size);
                    self.emitter().load(RCX, thread_state::BURST_BLOCK);
                    EventPlace(word + 2).store(self.emitter(), RAX);
                }
                _ => {}
            }
        }
        self.restore(registers);
    }

    /// Gives saved registers the program's values, which stay saved.
    fn reload(&mut self, registers: &[u8], necessary: bool) {
        const SLOTS: [u32; 3] = [thread_state::RAX, thread_state::RCX, thread_state::RDX];
        for register in registers.iter().filter(|_| necessary) {
            self.emitter()
                .load(*register, SLOTS[usize::from(*register)]);
        }
    }

    /// Records a call's arguments, or rax.
    fn record_registers(&mut self, operation: Operation, word: u32) {
        let registers = [RAX, RCX];
        self.save(&registers);
        self.emitter().load(RCX, thread_state::BURST_BLOCK);
        if operation == Operation::Arguments {
            for (place, register) in (word..).zip(ARGUMENTS) {
                if register == RCX {
                    self.emitter().load(RAX, thread_state::RCX);
                    EventPlace(place).store(self.emitter(), RAX);
                } else {
                    EventPlace(place).store(self.emitter(), register);
                }
            }
        } else {
            EventPlace(word).store(self.emitter(), RAX);
        }
        self.restore(&registers);
    }

    fn observing_end(&mut self, block: &Block, end: End) -> Result<(), Error> {
        let Some(last) = block.instructions.last() else {
            return Ok(());
        };
        match block.end {
            BlockEnd::Falls => {
                self.mark(Mark::NotTaken);
                match end {
                    End::SystemCall => self.leave(block.next()),
                    _ => self.jump(block.next()),
                }
            }
            BlockEnd::Jump(to) => {
                self.context.enters(to);
                self.jump(to);
            }
            BlockEnd::Branch(to) => {
                self.branch(last, to)?;
                self.mark(Mark::NotTaken);
                self.jump(block.next());
            }
            BlockEnd::Call(to) => {
                self.context.enters(to);
                let constant = self.push_return_address(last.next_ip());
                self.mark(Mark::Taken);
                self.jump(to);
                self.put_constant(constant, last.next_ip());
            }
            BlockEnd::CallIndirect => {
                self.target(last, None)?;
                let constant = self.push_return_address(last.next_ip());
                self.mark(Mark::BranchedIndirectly);
                self.enter_dispatcher(last.ip());
                self.put_constant(constant, last.next_ip());
            }
            BlockEnd::JumpIndirect => {
                self.target(last, None)?;
                self.mark(Mark::BranchedIndirectly);
                self.enter_dispatcher(last.ip());
            }
            BlockEnd::Return(pops) => {
                self.emitter().store(RCX, thread_state::RCX);
                self.mark(Mark::RcxSaved);
                // mov rcx, [rsp]; …; lea rsp, [rsp + …]
                self.emitter().bytes(&[0x48, 0x8B, 0x0C, 0x24]);
                self.emitter().store(RCX, thread_state::TARGET);
                self.emitter().bytes(&[0x48, 0x8D, 0xA4, 0x24]);
                self.emitter().u32(u32::from(pops) + 8);
                self.mark(Mark::JumpPad);
                self.emitter().load(RCX, thread_state::RCX);
                self.emitter()
                    .store_number(thread_state::EXIT, thread_state::EXIT_RETURN);
                self.emitter().jump_vector(thread_state::DISPATCH);
            }
            BlockEnd::Syscall | BlockEnd::Native | BlockEnd::Refused(_) => {}
        }
        Ok(())
    }

    /// Continues at TARGET after the jump or call at `from`; rcx is saved.
    fn enter_dispatcher(&mut self, from: u64) {
        let site = self.context.site(from);
        self.emitter().load(RCX, thread_state::RCX);
        self.emitter().store_number(thread_state::SITE, site);
        self.emitter()
            .store_number(thread_state::EXIT, thread_state::EXIT_TRANSFER);
        self.emitter().jump_vector(thread_state::DISPATCH);
    }

    /// Emits the push of a return address; the offset of the displacement that must lead to it.
    fn push_return_address(&mut self, address: u64) -> Option<usize> {
        if let Ok(low) = i32::try_from(address) {
            self.emitter().bytes(&[0x68]);
            self.emitter().u32(low as u32);
            return None;
        }
        self.emitter().bytes(&[0xFF, 0x35]);
        let at = self.fragment.emitter.offset();
        self.emitter().u32(0);
        Some(at)
    }

    fn put_constant(&mut self, constant: Option<usize>, value: u64) {
        self.mark(Mark::Data);
        let Some(at) = constant else { return };
        while self.fragment.emitter.here() & 7 != 0 {
            self.emitter().bytes(&[0xCC]);
        }
        let here = self.fragment.emitter.here();
        // It is within the fragment, so it is never out of reach.
        let _ = self.emitter().aim(at, here);
        self.emitter().bytes(&value.to_le_bytes());
    }
}

/// Returns the registers that recording these accesses needs: three for a hash.
fn saved_for(accesses: &[(u32, MemoryOperation)]) -> &'static [u8] {
    let range = |access: &MemoryOperation| {
        matches!(
            access.operation,
            Operation::LoadRange | Operation::StoreRange
        )
    };
    let hashed = (accesses.iter())
        .any(|(_, access)| !range(access) && !matches!(access.size, 1 | 2 | 4 | 8));
    match hashed {
        true => &[RAX, RCX, RDX],
        false => &[RAX, RCX],
    }
}
