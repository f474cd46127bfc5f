//! Disassembly, whatever the architecture.

use genba_symbols::{Architecture, Binary};

use crate::error::CodeError;
use crate::instruction::{Instruction, Syntax};
use crate::x86_64;

/// Turns bytes into [`Instruction`]s.
///
/// ```
/// use genba_code::{Disassembler, Syntax};
/// let disassembler = Disassembler::x86_64(Syntax::Intel);
/// let code = disassembler.disassemble(&[0x48, 0x31, 0xc0, 0xc3], 0x1000, &|_| None);
/// assert_eq!(code[0].text, "xor rax,rax");
/// assert_eq!(code[1].address, 0x1003);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Disassembler {
    bits: u32,
    syntax: Syntax,
}

/// Width of the code of an architecture that can be read.
///
/// # Errors
/// [`CodeError::Architecture`] for anything but x86-64 and i386.
pub(crate) fn bits_of(architecture: Architecture) -> Result<u32, CodeError> {
    match architecture {
        Architecture::X86_64 | Architecture::X86_64_X32 => Ok(64),
        Architecture::I386 => Ok(32),
        other => Err(CodeError::Architecture {
            arch: format!("{other:?}"),
        }),
    }
}

impl Disassembler {
    /// A disassembler of x86-64 code.
    #[must_use]
    pub fn x86_64(syntax: Syntax) -> Self {
        Self { bits: 64, syntax }
    }

    /// A disassembler for the architecture of a binary.
    ///
    /// # Errors
    /// [`CodeError::Architecture`] for anything but x86-64 and i386.
    pub fn new(architecture: Architecture, syntax: Syntax) -> Result<Self, CodeError> {
        let bits = bits_of(architecture)?;
        Ok(Self { bits, syntax })
    }

    /// All instructions of `bytes`, which lie at `address`, in address order and without gaps:
    /// bytes that are not an instruction come out as `(bad)`, a byte each.
    ///
    /// `resolve` names the targets of branches and of relative addresses (`name+0x10`); see
    /// [`Binary::name_address`].
    #[must_use]
    pub fn disassemble(
        &self,
        bytes: &[u8],
        address: u64,
        resolve: &dyn Fn(u64) -> Option<String>,
    ) -> Vec<Instruction> {
        // Instructions average a little over four bytes.
        let mut out = Vec::with_capacity(bytes.len() / 4 + 1);
        x86_64::disassemble(self.bits, self.syntax, bytes, address, resolve, &mut out);
        out
    }
}

/// The instructions of a range of addresses of a binary, operands named by its symbols.
///
/// # Errors
/// [`CodeError::Architecture`] if the code is not of a known architecture.
pub fn disassemble(
    binary: &Binary,
    begin: u64,
    end: u64,
    syntax: Syntax,
) -> Result<Vec<Instruction>, CodeError> {
    let disassembler = Disassembler::new(binary.architecture(), syntax)?;
    let bytes = binary.bytes_at(begin, end.saturating_sub(begin));
    Ok(
        disassembler.disassemble(bytes.unwrap_or(&[]), begin, &|address| {
            binary.name_address(address)
        }),
    )
}
