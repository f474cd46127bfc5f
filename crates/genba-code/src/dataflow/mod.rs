//! What each instruction needs and makes: the raw material of dependency chains.
//!
//! **Scope.** For every instruction of a range its *form* (mnemonic with the kinds of its
//! operands, the name under which a host's instruction table lists it), the registers and flags
//! that it reads as data and as parts of addresses, those that it writes, its memory operands,
//! and what processors do without executing anything: copies that are renamed away, idioms
//! whose result does not depend on their operands, stack-pointer updates of `push` and `call`.
//!
//! **Not here.** What any of it costs, and chains through several instructions.
//!
//! The instructions are the same, one for one, as those of
//! [`disassemble`](crate::disassemble) over the same range.

mod x86_64;

use object::Architecture;
use smallvec::SmallVec;

use crate::disassembler::bits_of;
use crate::error::CodeError;
use crate::instruction::RegisterSet;
use genba_symbols::Binary;

/// Registers and flags that carry data, a bit for each; parts of one register share a bit. Bit
/// numbers are [`Location`]s.
pub type Locations = RegisterSet;

/// A register or flag: its bit in [`Locations`]. On x86: general registers 0…15 in encoding
/// order, vectors 16…47, masks 48…55, x87 registers *relative to the top of their stack*
/// 56…63, carry, parity, adjust, zero, sign, overflow and direction flag 64…70, MMX registers
/// 72…79.
pub type Location = u8;

/// The location of the stack pointer.
pub const STACK_POINTER: Location = 4;

/// First of the x87 registers, which are numbered from the top of their stack.
pub const X87_TOP: Location = 56;

/// What one instruction needs and makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFlow {
    /// Address in the module.
    pub address: u64,
    /// Mnemonic and kinds of operands, the name of a table entry: `add r64, m64`,
    /// `vaddpd ymm, ymm, m256`, `jne`, `lock add m64, r64`, `rep movsb`. Kinds: `r8`…`r64`, `xmm`,
    /// `ymm`, `zmm`, `k`, `mm`, `st`, memory `m8`…`m512` by its size in bits (`m` where it has
    /// none), `i` for immediates; other registers `sr`, `cr`, `dr`, `tmm`, `bnd`. Direct branches,
    /// no-operations and string instructions have no operands. `lea` says what it adds up:
    /// `lea r64, m [base + index]`, `[base + displacement]`, `[base + scaled index]`,
    /// `[3 components]`. `(bad)` for no instruction.
    pub form: String,
    /// The same with the register kinds of a memory operand in its place (`add r64, r64`):
    /// what the instruction does apart from its memory access. `None` where nothing is left
    /// (loads, stores), or where there is no memory operand.
    pub without_memory: Option<String>,
    /// Registers that addresses of memory accesses are made of.
    pub address_reads: Locations,
    /// Registers and flags whose value goes into the result: explicit and implied operands,
    /// what `lea` adds up, the rest of a register of which a part is written.
    pub data_reads: Locations,
    /// Of these, the registers of which only a part goes into the result, unchanged: what a scalar instruction leaves of its
    /// destination (`movhlps`, `cvtsi2sd`, `sqrtsd`), and one that writes a byte of it (`setne`).
    pub kept: Locations,
    /// Registers and flags that it changes.
    pub writes: Locations,
    /// Accesses to memory; `lea`, prefetches and long no-operations have none.
    pub memory: SmallVec<[MemoryAccess; 1]>,
    /// What processors make of it without executing it.
    pub shortcut: Shortcut,
    /// Its result, if that is another register or nothing plus a constant.
    pub sum: Option<Sum>,
    /// What `lea` adds up.
    pub components: Option<Components>,
    /// By how much it moves the stack pointer besides its data (`push`, `pop`, `call`,
    /// `ret`): no wait for the stack pointer's value, so that it is not in
    /// [`Self::data_reads`] nor in [`Self::writes`].
    pub stack_delta: i32,
    /// By how much it moves the top of the x87 stack: −1 for a push, 1 for a pop.
    pub x87_delta: i8,
    /// What its time depends on beside its operands' readiness, if anything.
    pub opaque: Option<Opaque>,
}

/// Base, index times factor, and a constant, as `lea` adds them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Components {
    /// Base register.
    pub base: Option<Location>,
    /// Index register.
    pub index: Option<Location>,
    /// Factor of the index: 1, 2, 4, 8.
    pub scale: u8,
    /// What is added.
    pub displacement: i64,
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// Base register.
    pub base: Option<Location>,
    /// Index register, a vector for gathers and scatters.
    pub index: Option<Location>,
    /// Factor of the index: 1, 2, 4, 8.
    pub scale: u8,
    /// Constant part; the whole address where it is relative to the instruction.
    pub displacement: i64,
    /// Size in bytes, 0 where it is not fixed.
    pub bytes: u16,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is relative to the thread's segment (`fs`, `gs`).
    pub segment: bool,
    /// Whether it is the implied access of `push`, `pop`, `call`, `ret`.
    pub stack: bool,
}

/// What happens in a processor's renaming already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// Nothing: it is executed.
    None,
    /// A copy between registers of one kind, whole: most processors rename it.
    Copy,
    /// The result does not depend on the operands (`xor eax, eax`, `pcmpeqd xmm0, xmm0`).
    Constant,
    /// Nothing is executed (no-operations, branch-target markers).
    Nothing,
}

/// A result that is `source + addend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Register written.
    pub to: Location,
    /// Register read, or nothing.
    pub source: Option<Location>,
    /// Constant added.
    pub addend: i64,
}

/// Why the time of an instruction is not that of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opaque {
    /// Other code runs before the next instruction.
    Call,
    /// The kernel runs.
    Kernel,
    /// Repeated, as many times as a register says.
    Repeated,
    /// Waits for everything before it, or for other processors.
    Serialising,
    /// Leaves the function, or is not an instruction.
    Exit,
}

impl DataFlow {
    /// All that it must wait for, memory apart.
    #[must_use]
    pub fn reads(&self) -> Locations {
        self.address_reads | self.data_reads
    }

    /// Whether it reads memory.
    #[must_use]
    pub fn loads(&self) -> bool {
        self.memory.iter().any(|m| m.reads)
    }

    /// Whether it writes memory.
    #[must_use]
    pub fn stores(&self) -> bool {
        self.memory.iter().any(|m| m.writes)
    }
}

/// The data flow of `bytes`, which lie at `address`: an entry for each instruction, as
/// [`Disassembler::disassemble`](crate::Disassembler::disassemble) has them.
///
/// # Errors
/// [`CodeError::Architecture`] for anything but x86-64 and i386.
pub fn data_flow(
    architecture: Architecture,
    bytes: &[u8],
    address: u64,
) -> Result<Vec<DataFlow>, CodeError> {
    let bits = bits_of(architecture)?;
    Ok(x86_64::data_flow(bits, bytes, address))
}

/// The data flow of a range of addresses, an entry for each instruction of
/// [`disassemble`](crate::disassemble).
///
/// # Errors
/// As [`data_flow`].
pub fn data_flow_of(binary: &Binary, begin: u64, end: u64) -> Result<Vec<DataFlow>, CodeError> {
    let bytes = binary
        .bytes_at(begin, end.saturating_sub(begin))
        .unwrap_or(&[]);
    data_flow(binary.architecture(), bytes, begin)
}
