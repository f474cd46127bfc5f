//! What must be known of the code beside what bursts recorded.

use genba_model::CodePoint;

/// Registers from which a function takes arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentRegisters {
    /// Of rdi, rsi, rdx, rcx, r8, r9, in this order from bit 0: those that are read before they
    /// are written.
    pub integer: u8,
    /// Whether a vector register is read before it is written: bursts do not record its value.
    pub vector: bool,
}

/// A function that hands out memory and returns its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The size is one argument (0: rdi, 1: rsi): `malloc`, `operator new`, `realloc`.
    Size(u8),
    /// The size is the product of two arguments: `calloc`.
    Product(u8, u8),
}

/// Answers about code; modules are indices into [`crate::Observations::modules`].
pub trait CodeKnowledge {
    /// Whether the user of genba may change this module's code: not a system library's.
    fn is_own(&self, module: u32) -> bool;

    /// From which registers the function with this entry takes arguments; `None` if unknown.
    fn arguments(&self, entry: CodePoint) -> Option<ArgumentRegisters>;

    /// Whether the function with this entry allocates memory, and how its size is given.
    fn allocation(&self, entry: CodePoint) -> Option<Allocation>;

    /// The first instructions of the heads of the loops that this instruction is in, inside out; none
    /// for code of libraries.
    fn loops_around(&self, at: CodePoint) -> &[CodePoint];

    /// Where the variable begins that a module has at this address.
    fn variable(&self, at: CodePoint) -> Option<u64>;
}
