//! What can go wrong when code is read.

use std::path::PathBuf;

/// An error about a file of code; says which file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The file could not be opened, mapped or read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no ELF file, or one that is damaged in its headers.
    #[error("{name} is not a usable ELF file: {reason}; check it with `readelf -h`")]
    NotElf {
        /// Name of the file or image.
        name: String,
        /// What the parser says.
        reason: String,
    },
    /// The debug information cannot be used; symbols still can.
    #[error(
        "the debug information of {name} is unusable: {reason}; \
         rebuild with -g or reinstall its debug package"
    )]
    Dwarf {
        /// Name of the file.
        name: String,
        /// What the parser says.
        reason: String,
    },
    /// The machine's code is not one that this build can disassemble.
    #[error("cannot disassemble {arch} code; genba decodes x86-64 and i386")]
    Architecture {
        /// Name of the architecture.
        arch: String,
    },
    /// A list of kernel symbols that cannot be used.
    #[error("{0}")]
    Kallsyms(String),
}
