//! DWARF: lines, functions, inlined frames and compile units by address.
//!
//! gimli reads the format; the lookup above it is our own, because it must hold against files
//! that are made to hurt: no recursion on nested entries, no list that two entries can share
//! is expanded for each of them without a budget, names and paths are cut, and file names are
//! put together only when asked for.

mod attributes;
mod functions;
mod line_program;
mod lines;
mod load;
mod lookup;
mod split_units;
mod units;

pub use lookup::{CodeFrame, CompileUnit, FunctionInfo, SourceLocation};

pub(crate) use load::load;
pub(crate) use lookup::{DebugInfo, DebugPart};

/// The bytes that everything in here is read from; see [`load::DwarfFile`] for what the
/// lifetime really is.
type Slice = gimli::EndianSlice<'static, gimli::RunTimeEndian>;
