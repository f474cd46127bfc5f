//! Errors of decoding code.

/// Why code cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The architecture is not one that genba disassembles.
    #[error("cannot disassemble {arch} code; genba decodes x86-64 and i386")]
    Architecture {
        /// Name of the architecture.
        arch: String,
    },
}
