//! Errors of reading symbols.

use std::path::PathBuf;

/// An error about a file of code or a list of symbols; says which one and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SymbolsError {
    /// The file could not be opened, mapped or read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Reason of the operating system.
        source: std::io::Error,
    },
    /// The file is not an ELF file, or its headers are damaged.
    #[error("{name} is not a usable ELF file: {reason}; check it with `readelf -h`")]
    NotElf {
        /// Name of the file or image.
        name: String,
        /// Message of the parser.
        reason: String,
    },
    /// A program or library of Windows, or of .NET.
    #[error("{name} is a PE file (.NET, Windows), whose symbols genba does not read")]
    Pe {
        /// Name of the file or image.
        name: String,
    },
    /// The debug information cannot be used; symbols still can.
    #[error(
        "the debug information of {name} is unusable: {reason}; \
         rebuild with -g or reinstall its debug package"
    )]
    Dwarf {
        /// Name of the file.
        name: String,
        /// Message of the parser.
        reason: String,
    },
    /// The list of kernel symbols cannot be used.
    #[error("{0}")]
    Kallsyms(String),
}
