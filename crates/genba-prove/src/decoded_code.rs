//! The instructions of a function, decoded.

use genba_symbols::Binary;
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Register};

/// Bytes of code that are decoded at most.
const MAX_CODE_BYTES: u64 = 1 << 20;

/// The instructions of a function, in the order of their addresses.
#[derive(Clone, Debug, Default)]
pub struct DecodedCode {
    code: Vec<u8>,
    begin: u64,
    instructions: Vec<Instruction>,
}

impl DecodedCode {
    /// Decodes code that begins at an address.
    #[must_use]
    pub fn new(begin: u64, code: &[u8]) -> Self {
        let decoder = Decoder::with_ip(64, code, begin, DecoderOptions::NONE);
        Self {
            code: code.to_vec(),
            begin,
            instructions: decoder.into_iter().collect(),
        }
    }

    /// Decodes the function that contains an address; `None` if there is no code.
    #[must_use]
    pub fn around(binary: &Binary, address: u64) -> Option<Self> {
        let range = binary.function_range_at(address)?;
        let size = range.end.checked_sub(range.start)?.min(MAX_CODE_BYTES);
        Some(Self::new(range.start, binary.bytes_at(range.start, size)?))
    }

    /// Returns all instructions.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns the index of the instruction at an address.
    #[must_use]
    pub fn index(&self, address: u64) -> Option<usize> {
        self.instructions
            .binary_search_by_key(&address, Instruction::ip)
            .ok()
    }

    /// Returns the first address and the one after the last.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        (self.begin, self.begin + self.code.len() as u64)
    }

    /// Whether any instruction uses a 64-bit register or a part of it.
    #[must_use]
    pub fn uses(&self, register: Register) -> bool {
        let mut factory = InstructionInfoFactory::new();
        self.instructions.iter().any(|one| {
            let used = factory.info(one).used_registers();
            used.iter()
                .any(|used| used.register().full_register() == register)
        })
    }

    /// Returns the bytes of an instruction.
    #[must_use]
    pub fn bytes(&self, instruction: &Instruction) -> &[u8] {
        let at = (instruction.ip() - self.begin) as usize;
        self.code
            .get(at..at + instruction.len())
            .unwrap_or_default()
    }
}
