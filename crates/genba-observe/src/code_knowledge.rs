//! What must be known of the code beside what bursts recorded.

use genba_model::{BurstEvent, CodePoint, Observed};

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

/// What decides whether anybody asks for the result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A branch behind the call: the result is dropped where it goes this way.
    Branch {
        /// The branch.
        at: CodePoint,
        /// Whether the result is dropped where it is taken; else where it is not.
        dropped_if_taken: bool,
    },
    /// A conditional move, by a value that is loaded behind the call.
    Value {
        /// The conditional move.
        at: CodePoint,
        /// The load.
        load: CodePoint,
        /// The result is asked for if the value is equal to the constant; else if it is not.
        equal: bool,
        /// The constant.
        constant: u64,
    },
}

impl Asked {
    /// The branch or move.
    pub(crate) fn test(&self) -> CodePoint {
        match *self {
            Self::Branch { at, .. } | Self::Value { at, .. } => at,
        }
    }

    /// Whether the result is asked for, if an event decides it.
    pub(crate) fn decided(&self, event: &BurstEvent) -> Option<bool> {
        match (*self, event.what) {
            (
                Self::Branch {
                    at,
                    dropped_if_taken,
                },
                Observed::Branch { taken },
            ) if at == event.at => Some(taken != dropped_if_taken),
            (
                Self::Value {
                    load,
                    equal,
                    constant,
                    ..
                },
                Observed::Load { size, value, .. },
            ) if load == event.at => {
                let bits = u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8)));
                Some((value & bits == constant & bits) == equal)
            }
            _ => None,
        }
    }
}

/// Answers about code; modules are indices into [`crate::Observations::modules`].
pub trait CodeKnowledge {
    /// Whether the user of genba may change this module's code: not a system library's.
    fn is_own(&self, module: u32) -> bool;

    /// From which registers the function with this entry takes arguments; `None` if unknown.
    fn arguments(&self, entry: CodePoint) -> Option<ArgumentRegisters>;

    /// Whether the function with this entry allocates memory, and how its size is given.
    fn allocation(&self, entry: CodePoint) -> Option<Allocation>;

    /// Whether the function with this entry gives memory back whose address is its first argument: `free`.
    fn frees(&self, entry: CodePoint) -> bool;

    /// Which integer argument of the function with this entry is a format as `printf` takes it.
    fn format_argument(&self, entry: CodePoint) -> Option<u8>;

    /// Whether the function with this entry is a library's that compares texts or memory, as `memcmp`: what it loads and how it
    /// branches depends on where its operands lie in their pages, so that its result alone tells what it found.
    fn compares(&self, entry: CodePoint) -> bool;

    /// The first instructions of the heads of the loops that this instruction is in, inside out; none
    /// for code of libraries.
    fn loops_around(&self, at: CodePoint) -> &[CodePoint];

    /// Where the variable begins that a module has at this address.
    fn variable(&self, at: CodePoint) -> Option<u64>;

    /// What decides whether the result of a call is asked for; `None` if it always may be, and for code of libraries.
    fn asked_if(&self, call: CodePoint) -> Option<Asked>;
}
