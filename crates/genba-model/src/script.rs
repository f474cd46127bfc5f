//! Where the time goes in the functions of an interpreted language.

use serde::{Deserialize, Serialize};

use crate::{Estimate, StackRow};

/// Functions of Python or Ruby by their share of the samples of threads that stood still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptProfile {
    /// Interpreters that were met: `CPython 3.11.2`.
    pub runtimes: Vec<String>,
    /// The command, where the recording names it.
    pub command: Vec<String>,
    /// Samples, with or without a script stack.
    pub samples: u64,
    /// CPU time that they stand for, seconds.
    pub cpu_seconds: f64,
    /// Share of the time outside of any script function: start, end, threads of C.
    pub outside: Estimate,
    /// Functions, largest self share first.
    pub functions: Vec<ScriptFunction>,
    /// What the interpreter's own loop was executing, largest first, where the layout says it;
    /// shares of all the time.
    #[serde(default)]
    pub opcodes: Vec<OpcodeRow>,
    /// Distinct stacks: script functions, and under them the C functions that they called.
    #[serde(default)]
    pub collapsed: Vec<StackRow>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A script function's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptFunction {
    /// Name as the language has it.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Its first line.
    pub line: u32,
    /// Samples in which it is the innermost script function.
    pub self_samples: u64,
    /// Share of the time in which it is the innermost script function, with the C functions
    /// that it called.
    #[serde(rename = "self")]
    pub self_share: Estimate,
    /// Share of the time in which it is on the stack.
    pub total: Estimate,
    /// Share of the time in the interpreter's own loop, on its behalf.
    pub interpreted: f64,
    /// C functions under it by self time, largest first.
    pub native: Vec<NativeShare>,
    /// Its lines by share of the time, in the order of the source.
    pub lines: Vec<ScriptLine>,
}

/// A C function's share under a script function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeShare {
    /// The function that the sample stood in.
    pub function: String,
    /// Its module.
    pub module: String,
    /// Share of all the time.
    pub share: f64,
}

/// A script line's share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptLine {
    /// Number; 0 where it is not known.
    pub line: u32,
    /// Share of all the time.
    pub share: f64,
}

/// An opcode's share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpcodeRow {
    /// The runtime's name of it.
    pub opcode: String,
    /// Share of all the time.
    pub share: Estimate,
}
