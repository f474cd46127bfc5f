//! Instructions in terms that hold for every architecture.

/// Where control goes after an instruction. Targets are addresses in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// Always to the target.
    Jump(u64),
    /// To the target or to the next instruction.
    CondJump(u64),
    /// Into a function, and back to the next instruction.
    Call(u64),
    /// To an address computed at run time (switch table, tail call, PLT).
    IndirectJump,
    /// Into a function whose address is computed at run time, and back.
    IndirectCall,
    /// Back to the caller.
    Return,
    /// Into the kernel and back.
    Syscall,
    /// Nowhere: a trap that is not expected to come back (`ud2`, `hlt`, `int3`).
    Trap,
    /// Bytes that are not an instruction.
    Invalid,
}

impl Flow {
    /// Whether control can come to the next instruction in address order; after a call it
    /// does by way of the callee.
    #[must_use]
    pub fn falls_through(self) -> bool {
        matches!(
            self,
            Self::Next | Self::CondJump(_) | Self::Call(_) | Self::IndirectCall | Self::Syscall
        )
    }

    /// The target of a jump, conditional or not (not of a call).
    #[must_use]
    pub fn jump_target(self) -> Option<u64> {
        match self {
            Self::Jump(target) | Self::CondJump(target) => Some(target),
            _ => None,
        }
    }

    /// Whether a basic block ends after the instruction. Calls do not end blocks: what is
    /// after a call runs as often as what is before it, `longjmp` and exceptions apart.
    #[must_use]
    pub fn ends_block(self) -> bool {
        !matches!(
            self,
            Self::Next | Self::Call(_) | Self::IndirectCall | Self::Syscall
        )
    }
}

/// What an instruction costs, by kind: the coarse classes that explanations and cost models
/// start from. An instruction that does several things has the class that costs most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CostClass {
    /// Integer arithmetic, logic, moves between registers: one cycle or none.
    Simple,
    /// Reads memory and does nothing dearer.
    Load,
    /// Writes memory (and may read it).
    Store,
    /// Integer multiplication.
    Mul,
    /// Integer division.
    Div,
    /// Square root.
    Sqrt,
    /// Floating-point division.
    FpDiv,
    /// Scalar floating-point arithmetic, conversion, comparison.
    FpArith,
    /// Vector arithmetic, logic, shuffles.
    VectorArith,
    /// Gathers and scatters.
    Gather,
    /// Locked or implicitly locked read-modify-write.
    Atomic,
    /// Jumps, conditional or not, direct or not.
    Branch,
    /// Calls.
    Call,
    /// Returns.
    Return,
    /// No operation, of any length; branch-target markers.
    Nop,
    /// Waits for all that is before it (`cpuid`, fences, `rdtscp`, `xgetbv`).
    Serialising,
    /// Repeated string operation; its time depends on a count.
    RepString,
    /// Enters the kernel.
    Syscall,
    /// Address computation only (`lea`).
    Address,
    /// Stack push or pop.
    Stack,
    /// Traps and bytes that are not an instruction.
    Trap,
    /// Cryptography, random numbers and other rarities.
    Other,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Address in the module, as `objdump` prints it.
    pub address: u64,
    /// Length in bytes.
    pub length: u8,
    /// Disassembly; `(bad)` for bytes that are not an instruction.
    pub text: String,
    /// Where control goes.
    pub flow: Flow,
    /// What it costs, roughly.
    pub class: CostClass,
    /// Mnemonic without prefixes or operands, lower case, the same in either syntax.
    pub mnemonic: &'static str,
    /// Whether it reads memory (stack reads of `pop` and `ret` included).
    pub reads_memory: bool,
    /// Whether it writes memory (stack writes of `push` and `call` included).
    pub writes_memory: bool,
    /// Whether it carries a lock prefix or locks the bus without one (`xchg` with memory).
    pub is_lock: bool,
    /// Address that it refers to relative to itself: a global, a constant, a GOT slot.
    pub data_target: Option<u64>,
    /// Registers whose value it needs, those in addresses among them.
    pub reads_registers: RegisterSet,
    /// Registers that it may change.
    pub writes_registers: RegisterSet,
}

/// A set of registers, a bit for each. Which bit is whose is up to the architecture; parts of
/// one register (`al`, `eax`, `xmm0`, `zmm0`) share a bit.
pub type RegisterSet = u128;

impl Instruction {
    /// Address of the byte after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.length))
    }

    /// The number that is its last operand in Intel syntax: a constant, a distance, a mask.
    #[must_use]
    pub fn last_number(&self) -> Option<u64> {
        let operand = self.text.rsplit([',', ' ']).next()?;
        match operand.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => operand.parse().ok(),
        }
    }
}

/// How instructions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// Destination first, as in vendors' manuals.
    #[default]
    Intel,
    /// Source first, `%` before registers: the GNU tools' default.
    Att,
}

#[cfg(test)]
mod tests {
    use crate::{Disassembler, Syntax};

    #[test]
    fn last_number_is_a_constant_operand() {
        let number = |bytes: &[u8]| {
            let disassembler = Disassembler::x86_64(Syntax::Intel);
            disassembler.disassemble(bytes, 0x1000, &|_| None)[0].last_number()
        };
        // shr rdx,0x2f; and eax,15; imul r9d,edx,65521; add rax,rcx; ret
        assert_eq!(number(&[0x48, 0xC1, 0xEA, 0x2F]), Some(0x2F));
        assert_eq!(number(&[0x83, 0xE0, 0x0F]), Some(15));
        assert_eq!(number(&[0x44, 0x69, 0xCA, 0xF1, 0xFF, 0, 0]), Some(65521));
        assert_eq!(number(&[0x48, 0x01, 0xC8]), None);
        assert_eq!(number(&[0xC3]), None);
    }
}
