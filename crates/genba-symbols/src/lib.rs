//! From addresses to names: ELF files, their symbols and debug information wherever those are
//! kept, the kernel's symbols, perf maps, and the mappings of processes.
//!
//! **Scope.** Given a module and an address in it, say what is there: the function, the chain of
//! inlined functions, file and line. [`Symbolizer`] does so for all modules of a recording, and
//! refuses what is not what was recorded: a file with another build id, symbols of another kernel
//! or of another boot.
//!
//! **Not here.** Instructions, control flow, samples, counts.
//!
//! **Trust.** All input is hostile: every parser here is bounded in memory and time, does not
//! recurse on what a file says, and gives errors or less information instead of a panic.
//! Files are mapped, so a file that is truncated by another process while it is read can end this
//! process with SIGBUS, as in every tool that maps files.

mod binary;
mod build_id;
mod data_symbols;
mod debuginfod;
mod demangle;
mod dwarf;
mod elf;
mod elf_symbol_entries;
mod error;
mod file_bytes;
mod kallsyms;
mod kernel_symbols;
mod mini_debug_info;
mod module;
mod own_code;
mod perf_map;
mod plt;
mod proc_maps;
mod regular_file;
mod separate_debug_file;
mod symbol_table;
mod symbolizer;
mod unwind_ranges;
mod vdso;

pub use binary::{Binary, FramesIn};
pub use build_id::{build_id_from_hex, hex, same_build_id};
pub use data_symbols::DataSymbol;
pub use debuginfod::Debuginfod;
pub use demangle::{MAX_DEMANGLED, MAX_MANGLED, cut_name, demangle, demangle_brief};
pub use dwarf::{CodeFrame, CompileUnit, FunctionInfo, SourceLocation};
pub use elf::{Section, Segment};
pub use elf_symbol_entries::Binding;
pub use error::SymbolsError;
pub use file_bytes::FileBytes;
pub use kallsyms::{Kallsyms, KernelSymbol};
pub use kernel_symbols::{KernelSymbols, RecordedKernel};
pub use module::{Module, ModuleId, ModuleKind};
pub use object::Architecture;
pub use own_code::{
    is_library_name, is_runtime_library, is_script_runtime, is_system_module, is_toolchain_file,
};
pub use perf_map::{JitSymbol, PerfMap, perf_map_path};
pub use proc_maps::{Mapping, mappings_of_process, own_mappings, parse_mappings};
pub use regular_file::{open_regular, open_regular_nofollow};
pub use separate_debug_file::DebugSearch;
pub use symbol_table::{Symbol, SymbolSource, word_of};
pub use symbolizer::{FunctionSymbol, ModuleCode, Symbolizer};
pub use vdso::vdso_image;
