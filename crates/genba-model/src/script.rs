//! Profile of Python and Ruby functions: the document of `genba report --by script`.

use serde::{Deserialize, Serialize};

use crate::{Estimate, StackRow};

/// Result of `genba report --by script`: functions of Python or Ruby by samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptProfile {
    /// Sampled interpreters: `CPython 3.11.2`.
    pub runtimes: Vec<String>,
    /// Program and arguments, if the recording has them.
    pub command: Vec<String>,
    /// Number of samples, with or without a script stack.
    pub samples: u64,
    /// CPU time of the samples, seconds.
    pub cpu_seconds: f64,
    /// Share of the time outside any script function: startup, shutdown, native threads.
    pub outside: Estimate,
    /// Functions, largest self share first.
    pub functions: Vec<ScriptFunction>,
    /// Opcodes that the interpreter loop executed, largest share first, if they are known.
    #[serde(default)]
    pub opcodes: Vec<OpcodeRow>,
    /// Distinct stacks of script functions and the C functions that they called.
    #[serde(default)]
    pub collapsed: Vec<StackRow>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A script function's share of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptFunction {
    /// Name of the function.
    pub function: String,
    /// Source file.
    pub file: String,
    /// First line of the function.
    pub line: u32,
    /// Samples with it as the innermost script function.
    pub self_samples: u64,
    /// Share of the time with it as the innermost script function, including C functions that it
    /// called.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Share of the time with it on the stack.
    pub total: Estimate,
    /// Share of the time in the interpreter loop, executing it.
    pub interpreted: f64,
    /// C functions that it called by self time, largest first.
    pub native: Vec<NativeShare>,
    /// Shares of its lines, in source order.
    pub lines: Vec<ScriptLine>,
}

/// A C function's share, called by a script function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeShare {
    /// Name of the C function.
    pub function: String,
    /// Path of its module.
    pub module: String,
    /// Share of the total time.
    pub share: f64,
}

/// A script line's share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptLine {
    /// Line number; 0 if unknown.
    pub line: u32,
    /// Share of the total time.
    pub share: f64,
}

/// An opcode's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpcodeRow {
    /// Name of the opcode in the runtime.
    pub opcode: String,
    /// Share of the total time.
    pub share: Estimate,
}
