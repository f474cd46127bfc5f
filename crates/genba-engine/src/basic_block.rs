//! Decoding basic blocks: the instructions from an address to the first that may branch elsewhere.

use alloc::vec::Vec;

use iced_x86::{
    Code, Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, MemorySize, Mnemonic,
    OpKind, Register,
};

/// Maximum number of instructions of a block; a longer run becomes several blocks.
pub const MAX_BLOCK_INSTRUCTIONS: usize = 64;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEnd {
    /// It does not branch: the next block follows.
    Falls,
    /// A jump to a fixed address.
    Jump(u64),
    /// A conditional jump to this address; if it is not taken, the next block follows.
    Branch(u64),
    /// A call of a fixed address.
    Call(u64),
    /// A jump to the address in a register or memory operand.
    JumpIndirect,
    /// A call of the address in a register or memory operand.
    CallIndirect,
    /// A return, which pops this many bytes of arguments.
    Return(u16),
    /// A system call.
    Syscall,
    /// The block's only instruction faults or traps: the processor executes it at its own address,
    /// so that the program sees the fault there.
    Native,
    /// The block's only instruction cannot be counted; the reason.
    Refused(&'static str),
}

/// A decoded basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Address of the first instruction.
    pub pc: u64,
    /// All instructions, the one that ends the block included; empty for [`BlockEnd::Native`] and
    /// [`BlockEnd::Refused`].
    pub instructions: Vec<Instruction>,
    /// How it ends.
    pub end: BlockEnd,
}

impl Block {
    /// Address after the last instruction.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.instructions
            .last()
            .map_or(self.pc, Instruction::next_ip)
    }

    /// Target of the direct branch that ends it; 0 for none.
    #[must_use]
    pub fn target(&self) -> u64 {
        match self.end {
            BlockEnd::Jump(to) | BlockEnd::Branch(to) | BlockEnd::Call(to) => to,
            _ => 0,
        }
    }

    /// Number of instructions without the one that ends the block.
    #[must_use]
    pub fn body(&self) -> usize {
        match self.end {
            BlockEnd::Falls | BlockEnd::Native | BlockEnd::Refused(_) => self.instructions.len(),
            _ => self.instructions.len() - 1,
        }
    }
}

/// Decodes the block at `pc`; `code` starts there and ends where executable memory does.
#[must_use]
pub fn decode(pc: u64, code: &[u8]) -> Block {
    let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
    let mut instructions = Vec::with_capacity(16);
    loop {
        if instructions.len() == MAX_BLOCK_INSTRUCTIONS {
            return Block {
                pc,
                instructions,
                end: BlockEnd::Falls,
            };
        }
        let start = decoder.position();
        let instruction = decoder.decode();
        let raw = code.get(start..decoder.position()).unwrap_or_default();
        let end = classify(&instruction, raw, decoder.last_error());
        match end {
            None => instructions.push(instruction),
            // It becomes a block of its own, translated only when control reaches it.
            Some(BlockEnd::Native | BlockEnd::Refused(_)) if !instructions.is_empty() => {
                return Block {
                    pc,
                    instructions,
                    end: BlockEnd::Falls,
                };
            }
            Some(end @ (BlockEnd::Native | BlockEnd::Refused(_))) => {
                return Block {
                    pc,
                    instructions,
                    end,
                };
            }
            Some(end) => {
                instructions.push(instruction);
                return Block {
                    pc,
                    instructions,
                    end,
                };
            }
        }
    }
}

/// How this instruction ends its block; `None` if the block goes on.
fn classify(instruction: &Instruction, raw: &[u8], error: DecoderError) -> Option<BlockEnd> {
    if error != DecoderError::None {
        return Some(BlockEnd::Native);
    }
    if let Some(reason) = refusal(instruction, raw) {
        return Some(BlockEnd::Refused(reason));
    }
    match instruction.flow_control() {
        FlowControl::Next => privileged(instruction).then_some(BlockEnd::Native),
        FlowControl::UnconditionalBranch => Some(BlockEnd::Jump(instruction.near_branch_target())),
        FlowControl::ConditionalBranch => Some(BlockEnd::Branch(instruction.near_branch_target())),
        FlowControl::IndirectBranch => Some(BlockEnd::JumpIndirect),
        FlowControl::IndirectCall => Some(BlockEnd::CallIndirect),
        FlowControl::Return => Some(BlockEnd::Return(match instruction.op0_kind() {
            OpKind::Immediate16 => instruction.immediate16(),
            _ => 0,
        })),
        FlowControl::Call if instruction.code() == Code::Syscall => Some(BlockEnd::Syscall),
        FlowControl::Call => Some(BlockEnd::Call(instruction.near_branch_target())),
        // ud2, int3, int1, into, hlt, …
        FlowControl::Interrupt | FlowControl::Exception => Some(BlockEnd::Native),
        FlowControl::XbeginXabortXend => {
            Some(BlockEnd::Refused("it uses hardware transactions (TSX)"))
        }
    }
}

/// Whether an instruction faults in user mode; the program must see the fault at its own address.
fn privileged(instruction: &Instruction) -> bool {
    instruction.is_privileged()
}

/// Why an instruction cannot be translated without a wrong result; `None` if it can.
fn refusal(instruction: &Instruction, raw: &[u8]) -> Option<&'static str> {
    const GS: &str = "it uses the segment register %gs, which the engine needs";
    const FAR: &str =
        "it uses far calls, jumps or returns, or system calls by interrupt or sysenter";
    if instruction.segment_prefix() == Register::GS && has_memory(instruction) {
        return Some(GS);
    }
    let memory = instruction.is_ip_rel_memory_operand();
    if memory && instruction.memory_base() == Register::EIP {
        return Some("it uses 32-bit addresses relative to rip");
    }
    match instruction.mnemonic() {
        Mnemonic::Rdgsbase | Mnemonic::Wrgsbase | Mnemonic::Swapgs | Mnemonic::Lgs => {
            return Some(GS);
        }
        Mnemonic::Mov | Mnemonic::Pop if instruction.op0_register() == Register::GS => {
            return Some(GS);
        }
        Mnemonic::Sysenter | Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq => {
            return Some(FAR);
        }
        Mnemonic::Int if instruction.immediate8() == 0x80 => return Some(FAR),
        _ => {}
    }
    let branch = !matches!(
        instruction.flow_control(),
        FlowControl::Next | FlowControl::Interrupt | FlowControl::Exception
    );
    if branch && instruction.code() != Code::Syscall && has_operand_size_prefix(raw) {
        return Some("it jumps with 16-bit addresses");
    }
    let near = match instruction.flow_control() {
        FlowControl::Call if instruction.code() == Code::Syscall => true,
        FlowControl::Call => instruction.code() == Code::Call_rel32_64,
        FlowControl::UnconditionalBranch => {
            matches!(instruction.code(), Code::Jmp_rel8_64 | Code::Jmp_rel32_64)
        }
        FlowControl::IndirectBranch => instruction.code() == Code::Jmp_rm64,
        FlowControl::IndirectCall => instruction.code() == Code::Call_rm64,
        FlowControl::Return => {
            matches!(instruction.code(), Code::Retnq | Code::Retnq_imm16)
        }
        FlowControl::ConditionalBranch => {
            instruction.near_branch_target() != 0 && branch_is_64(instruction)
        }
        _ => true,
    };
    (!near).then_some(FAR)
}

/// Whether a branch has an operand-size prefix, which Intel's processors ignore and AMD's do not.
/// With REX.W they agree.
fn has_operand_size_prefix(raw: &[u8]) -> bool {
    let prefix = |byte: &&u8| {
        matches!(
            byte,
            0x26 | 0x2E | 0x36 | 0x3E | 0x64..=0x67 | 0xF0 | 0xF2 | 0xF3
        )
    };
    let prefixes = raw.iter().take_while(prefix).count();
    let wide = raw.get(prefixes).is_some_and(|byte| byte & 0xF8 == 0x48);
    raw.iter().take(prefixes).any(|&byte| byte == 0x66) && !wide
}

/// Whether a branch has a 64-bit target. Intel and AMD differ in the targets of 16-bit branches.
fn branch_is_64(instruction: &Instruction) -> bool {
    matches!(instruction.op0_kind(), OpKind::NearBranch64)
}

fn has_memory(instruction: &Instruction) -> bool {
    instruction.memory_size() != MemorySize::Unknown
        || (0..instruction.op_count()).any(|operand| {
            matches!(
                instruction.op_kind(operand),
                OpKind::Memory
                    | OpKind::MemorySegSI
                    | OpKind::MemorySegESI
                    | OpKind::MemorySegRSI
                    | OpKind::MemorySegDI
                    | OpKind::MemorySegEDI
                    | OpKind::MemorySegRDI
            )
        }) && instruction.mnemonic() != Mnemonic::Lea
            && instruction.mnemonic() != Mnemonic::Nop
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(code: &[u8]) -> (usize, BlockEnd) {
        let block = decode(0x1000, code);
        (block.instructions.len(), block.end)
    }

    #[test]
    fn a_block_ends_at_its_first_branch() {
        assert_eq!(end(&[0x90, 0xC3]), (2, BlockEnd::Return(0)));
        assert_eq!(end(&[0xC2, 8, 0]), (1, BlockEnd::Return(8)));
        assert_eq!(end(&[0x90, 0xEB, 0x10]), (2, BlockEnd::Jump(0x1013)));
        assert_eq!(end(&[0x74, 0xFE]), (1, BlockEnd::Branch(0x1000)));
        assert_eq!(end(&[0xE2, 0xFE]), (1, BlockEnd::Branch(0x1000)));
        assert_eq!(end(&[0xE8, 0, 0, 0, 0]), (1, BlockEnd::Call(0x1005)));
        assert_eq!(end(&[0xFF, 0xD0]), (1, BlockEnd::CallIndirect));
        assert_eq!(end(&[0x3E, 0xFF, 0xE0]), (1, BlockEnd::JumpIndirect));
        assert_eq!(end(&[0x0F, 0x05]), (1, BlockEnd::Syscall));
        assert_eq!(end(&[0x90; 100]), (MAX_BLOCK_INSTRUCTIONS, BlockEnd::Falls));
    }

    #[test]
    fn faulting_and_trapping_instructions_are_blocks_of_their_own() {
        assert_eq!(end(&[0x90, 0x0F, 0x0B]), (1, BlockEnd::Falls));
        for code in [
            &[0x0F, 0x0B][..],
            &[0xCC],
            &[0xF4],
            &[0x06],
            &[],
            &[0xE8, 0],
            &[0x0F, 0x01, 0xD0 - 0x10],
        ] {
            assert_eq!(end(code), (0, BlockEnd::Native), "{code:x?}");
        }
    }

    #[test]
    fn instructions_that_cannot_be_translated_correctly_are_refused() {
        for code in [
            &[0x65, 0x48, 0x8B, 0x04, 0x25, 0, 0, 0, 0][..],
            &[0xF3, 0x48, 0x0F, 0xAE, 0xD8],
            &[0xCD, 0x80],
            &[0x48, 0xCB],
            &[0xC7, 0xF8, 0, 0, 0, 0],
            &[0x66, 0xC3],
        ] {
            assert!(
                matches!(end(code), (0, BlockEnd::Refused(_))),
                "{code:x?}: {:?}",
                end(code)
            );
        }
        // A segment prefix without a memory operand has no effect.
        assert_eq!(end(&[0x65, 0x90, 0xC3]), (2, BlockEnd::Return(0)));
    }
}
