//! Code that is not measured: disassembly, control flow, loops, data flow, source text.
//!
//! **Scope.** Given a range of a [`Binary`](genba_symbols::Binary), say what its instructions are,
//! what kind of cost each has, which registers and memory it reads and writes, and which blocks
//! and loops they form. Reads files; runs nothing.
//!
//! **Not here.** Symbols and debug information (`genba-symbols`); samples, counts, processes;
//! what any of it costs on this host.
//!
//! **Trust.** All input is hostile: bytes that are not instructions come out as `(bad)`, and no
//! analysis recurses on what the code says.

mod argument_registers;
mod dataflow;
mod disassembler;
mod error;
mod flow;
mod instruction;
mod ran_before;
mod result_use;
mod source;
mod x86_64;

pub use argument_registers::{EntryReads, entry_reads};
pub use dataflow::{
    Components, DataFlow, Location, Locations, MemoryAccess, Opaque, STACK_POINTER, Shortcut, Sum,
    X87_TOP, data_flow, data_flow_of,
};
pub use disassembler::{Disassembler, disassemble};
pub use error::CodeError;
pub use flow::{Block, BlockId, ControlFlow, Loop};
pub use instruction::{CostClass, Flow, Instruction, RegisterSet, Syntax};
pub use ran_before::RanBefore;
pub use result_use::{AskedIf, Comparison, Returned, asked_if, first_readers};
pub use source::{SourceCache, confine_sources};
