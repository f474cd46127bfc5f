//! Assembles edits: instructions with labels, the words of edits, and the parts in which registers of
//! the program are saved.

use genba_count::native::{
    CodeEdit, EditedBranch, LOG_OFFSET, LOG_STEP_OFFSET, SavedRegister, Side, slot_offset,
};
use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use iced_x86::{BlockEncoderOptions, Code, IcedError, Instruction, MemoryOperand, Register};

use crate::DecodedCode;

/// Number of a word of edits that is always zero.
pub const ZERO_SLOT: u8 = 63;

/// The code of an edit while it is made.
pub struct EditAssembler {
    assembler: CodeAssembler,
    instructions: usize,
    original: Vec<u8>,
    original_at: Option<usize>,
    /// From which instruction on a register is saved in which word, to the end or to an instruction.
    saved: Vec<(usize, Option<usize>, u8, u8)>,
    address: u64,
    group: u8,
    executed_at: Option<usize>,
    side: Side,
}

/// Stands for the end of the group's other edit.
const FOR_GROUP: usize = usize::MAX;

/// Size of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    Double,
    /// 64 bits.
    Quad,
}

impl Width {
    /// Returns the part of a 64-bit register that has this size.
    #[must_use]
    pub fn of(self, register: Register) -> Register {
        match self {
            Self::Quad => register,
            Self::Double => Register::EAX + register.number() as u32,
        }
    }

    fn code(self, double: Code, quad: Code) -> Code {
        match self {
            Self::Double => double,
            Self::Quad => quad,
        }
    }
}

/// The memory operand of a word of edits.
fn word(slot: u8) -> MemoryOperand {
    state_word(slot_offset(slot))
}

/// The memory operand of a word of the thread's state.
pub fn state_word(offset: u32) -> MemoryOperand {
    MemoryOperand::new(
        Register::None,
        Register::None,
        1,
        i64::from(offset),
        4,
        false,
        Register::GS,
    )
}

/// The memory operand at so many bytes from a register's address.
pub fn at_offset(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::new(
        base,
        Register::None,
        1,
        displacement,
        8,
        false,
        Register::None,
    )
}

impl EditAssembler {
    /// Returns an empty edit of an instruction.
    ///
    /// # Errors
    /// None that happens.
    pub fn new(code: &DecodedCode, instruction: &Instruction) -> Result<Self, IcedError> {
        Ok(Self {
            assembler: CodeAssembler::new(64)?,
            instructions: 0,
            original: code.bytes(instruction).to_vec(),
            original_at: None,
            saved: Vec::new(),
            address: instruction.ip(),
            group: 0,
            executed_at: None,
            side: Side::Edited,
        })
    }

    /// Makes it one of another side.
    pub fn on_side(&mut self, side: Side) {
        self.side = side;
    }

    /// Makes it one of two edits that are made only together, in one block.
    pub fn in_group(&mut self, group: u8) {
        self.group = group;
    }

    /// Says that at the next instruction the edited one has been executed.
    pub fn executed(&mut self) {
        self.executed_at = Some(self.instructions);
    }

    fn add(&mut self, instruction: Instruction) -> Result<(), IcedError> {
        self.instructions += 1;
        self.assembler.add_instruction(instruction)
    }

    /// Returns a new label.
    pub fn label(&mut self) -> CodeLabel {
        self.assembler.create_label()
    }

    /// Places a label at the next instruction.
    ///
    /// # Errors
    /// If two labels are at the same instruction.
    pub fn place(&mut self, label: &mut CodeLabel) -> Result<(), IcedError> {
        self.assembler.set_label(label)
    }

    /// Emits the instruction that is edited.
    ///
    /// # Errors
    /// None that happens.
    pub fn original(&mut self) -> Result<(), IcedError> {
        self.original_at = Some(self.instructions);
        self.instructions += 1;
        self.assembler.db(&self.original.clone())
    }

    /// Says that from the next instruction on a register of the program is in a word, to the end.
    pub fn saved(&mut self, register: Register, slot: u8) {
        let number = register.number() as u8;
        self.saved.push((self.instructions, None, number, slot));
    }

    /// Says that from the next instruction on a register of the program is in a word, to the end of the
    /// group's other edit.
    pub fn saved_for_group(&mut self, register: Register, slot: u8) {
        let number = register.number() as u8;
        self.saved
            .push((self.instructions, Some(FOR_GROUP), number, slot));
    }

    /// Says that the next instruction finds the register as the program has it again.
    pub fn restored(&mut self, register: Register) {
        let number = register.number() as u8;
        for saved in &mut self.saved {
            if saved.2 == number {
                saved.1.get_or_insert(self.instructions);
            }
        }
    }

    /// `mov [word], register`
    ///
    /// # Errors
    /// None that happens.
    pub fn store(&mut self, slot: u8, register: Register) -> Result<(), IcedError> {
        self.add(Instruction::with2(
            Code::Mov_rm64_r64,
            word(slot),
            register,
        )?)
    }

    /// `mov register, [word]`
    ///
    /// # Errors
    /// None that happens.
    pub fn load(&mut self, register: Register, slot: u8) -> Result<(), IcedError> {
        self.add(Instruction::with2(
            Code::Mov_r64_rm64,
            register,
            word(slot),
        )?)
    }

    /// `cmp register, [word]`
    ///
    /// # Errors
    /// None that happens.
    pub fn compare_word(
        &mut self,
        width: Width,
        register: Register,
        slot: u8,
    ) -> Result<(), IcedError> {
        let code = width.code(Code::Cmp_r32_rm32, Code::Cmp_r64_rm64);
        self.add(Instruction::with2(code, width.of(register), word(slot))?)
    }

    /// An instruction of two registers: its codes for 32 and 64 bits.
    ///
    /// # Errors
    /// If the code has other operands.
    pub fn registers(
        &mut self,
        width: Width,
        (double, quad): (Code, Code),
        to: Register,
        from: Register,
    ) -> Result<(), IcedError> {
        let code = width.code(double, quad);
        self.add(Instruction::with2(code, width.of(to), width.of(from))?)
    }

    /// An instruction of a register and a word.
    ///
    /// # Errors
    /// If the code has other operands.
    pub fn with_word(
        &mut self,
        width: Width,
        (double, quad): (Code, Code),
        register: Register,
        slot: u8,
    ) -> Result<(), IcedError> {
        let code = width.code(double, quad);
        self.add(Instruction::with2(code, width.of(register), word(slot))?)
    }

    /// Any instruction.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn instruction(&mut self, instruction: Instruction) -> Result<(), IcedError> {
        self.add(instruction)
    }

    /// `log = address of the log's current entry`
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn load_log(&mut self, log: Register) -> Result<(), IcedError> {
        let address = state_word(LOG_OFFSET);
        self.add(Instruction::with2(Code::Mov_r64_rm64, log, address)?)
    }

    /// `log = address of the log's current entry = log + size of an entry`; `step` is written to, flags are not.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn advance_log(&mut self, log: Register, step: Register) -> Result<(), IcedError> {
        let size = state_word(LOG_STEP_OFFSET);
        self.add(Instruction::with2(Code::Mov_r64_rm64, step, size)?)?;
        let next = MemoryOperand::new(log, step, 1, 0, 0, false, Register::None);
        self.add(Instruction::with2(Code::Lea_r64_m, log, next)?)?;
        let address = state_word(LOG_OFFSET);
        self.add(Instruction::with2(Code::Mov_rm64_r64, address, log)?)
    }

    /// `mulx high, low, rdx × [word]`
    ///
    /// # Errors
    /// None that happens.
    pub fn multiply_rdx_by_word(
        &mut self,
        high: Register,
        low: Register,
        slot: u8,
    ) -> Result<(), IcedError> {
        self.add(Instruction::with3(
            Code::VEX_Mulx_r64_r64_rm64,
            high,
            low,
            word(slot),
        )?)
    }

    /// `cmp [word], 0`, 64 bits
    ///
    /// # Errors
    /// None that happens.
    pub fn compare_with_zero(&mut self, slot: u8) -> Result<(), IcedError> {
        self.add(Instruction::with2(Code::Cmp_rm64_imm8, word(slot), 0i32)?)
    }

    /// `div register`
    ///
    /// # Errors
    /// None that happens.
    pub fn divide(&mut self, width: Width, by: Register) -> Result<(), IcedError> {
        let code = width.code(Code::Div_rm32, Code::Div_rm64);
        self.add(Instruction::with1(code, width.of(by))?)
    }

    /// `div [word]`, 64 bits
    ///
    /// # Errors
    /// None that happens.
    pub fn divide_by_word(&mut self, slot: u8) -> Result<(), IcedError> {
        self.add(Instruction::with1(Code::Div_rm64, word(slot))?)
    }

    /// A conditional jump, or an unconditional one.
    ///
    /// # Errors
    /// None that happens.
    pub fn jump(
        &mut self,
        jump: fn(&mut CodeAssembler, CodeLabel) -> Result<(), IcedError>,
        to: CodeLabel,
    ) -> Result<(), IcedError> {
        self.instructions += 1;
        jump(&mut self.assembler, to)
    }

    /// Returns the edit. Labels at its end must have been placed before a final `nop`-less place; see
    /// [`Self::place_at_end`].
    ///
    /// # Errors
    /// If the code cannot be encoded.
    pub fn finish(mut self) -> Result<CodeEdit, IcedError> {
        // Labels need an instruction: one that is cut off again.
        self.assembler.nop()?;
        let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
        let result = self.assembler.assemble_options(0x1000, options)?;
        let offsets = &result.inner.new_instruction_offsets;
        let at = |index: usize| offsets.get(index).copied().unwrap_or_default();
        let end = at(self.instructions);
        let mut code = result.inner.code_buffer;
        code.truncate(end as usize);
        let saved = self
            .saved
            .iter()
            .map(|&(from, to, register, slot)| SavedRegister {
                begin: at(from) as u8,
                end: match to {
                    Some(FOR_GROUP) => SavedRegister::TO_THE_END_OF_THE_GROUP,
                    to => at(to.unwrap_or(self.instructions)) as u8,
                },
                register,
                slot,
            });
        Ok(CodeEdit {
            address: self.address,
            saved: saved.collect(),
            original_at: self.original_at.map(|index| at(index) as u8),
            code,
            original: self.original,
            without_lock: false,
            group: self.group,
            executed_at: self.executed_at.map(|index| at(index) as u8),
            side: self.side,
            branch: EditedBranch::AsIs,
        })
    }
}
