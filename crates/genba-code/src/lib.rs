//! Code that is not measured: ELF files, symbols, DWARF lines and inlined frames, demangling,
//! kernel symbols, source text, disassembly, control flow and loops.
//!
//! **Scope.** Given an address in a module, say what is there: the function, the chain of
//! inlined functions, file and line, the instruction and what kind of cost it has, the block
//! and the loop it belongs to. Reads files; runs nothing.
//!
//! **Not here.** Samples, counts, processes and their memory maps, and what any of it costs on
//! this host.
//!
//! **Trust.** All input is hostile: every parser here is bounded in memory and time, does not
//! recurse on what a file says, and gives errors or less information instead of a panic.
//! Files are mapped, so a file that is truncated by someone else while it is read can end the
//! process with SIGBUS, as in every tool that maps files.

mod binary;
mod data;
mod dataflow;
mod demangle;
mod disassembler;
mod dwarf;
mod elf;
mod error;
mod flow;
mod instruction;
mod kallsyms;
mod plt;
mod separate;
mod source;
mod symbols;
mod symtab;
mod unwind_ranges;
mod vdso;
mod x86_64;

pub use binary::{Binary, FramesIn};
pub use dataflow::{
    DataFlow, Location, Locations, MemoryAccess, Opaque, STACK_POINTER, Shortcut, Sum, X87_TOP,
    data_flow, data_flow_of,
};
pub use demangle::{
    MAX_DEMANGLED, MAX_MANGLED, cut_name, demangle, demangle_brief, without_parameters,
};
pub use disassembler::Disassembler;
pub use dwarf::{CodeFrame, CompileUnit, FunctionInfo, SourceLocation};
pub use elf::{Section, Segment};
pub use error::CodeError;
pub use flow::{Block, BlockId, ControlFlow, Loop};
pub use instruction::{CostClass, Flow, Instruction, RegisterSet, Syntax};
pub use kallsyms::{Kallsyms, KernelSymbol};
pub use object::Architecture;
pub use separate::{DebugSearch, hex};
pub use source::SourceCache;
pub use symbols::{Symbol, SymbolSource, word_of};
pub use symtab::Binding;
