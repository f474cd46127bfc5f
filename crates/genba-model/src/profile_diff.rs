//! Differential profile: the document of `genba diff`.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Event};

/// One of the two profiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffSide {
    /// Name of the variant, case or file.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The sampled event; `None` for counts alone.
    pub event: Option<Event>,
    /// Number of samples.
    pub samples: u64,
    /// Number of sampled runs.
    pub runs: f64,
    /// CPU time of one run, seconds, if it was sampled.
    pub seconds: Option<f64>,
    /// Counted: instructions executed in one run.
    pub instructions: Option<u64>,
}

/// Where the code of a function moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The function that it was inlined into, or that took its name.
    pub into: String,
    /// How that is known.
    pub how: MovedHow,
    /// Time in its code there per run, seconds, if debug information separates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// How a move of code is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovedHow {
    /// Debug information lists it as inlined there.
    Inlined,
    /// What was lost here was gained there, and nothing else explains it.
    Likely,
    /// The name is that of a clone: `.constprop`, `.isra`, `.part`, `.cold`.
    Cloned,
}

/// Change of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionDiff {
    /// Demangled name.
    pub function: String,
    /// File name of its module.
    pub module: String,
    /// Source file, if it is known.
    pub file: Option<String>,
    /// First line.
    pub line: Option<u32>,
    /// Self time per run before, seconds; `None` if it is not a separate function.
    pub before: Option<Estimate>,
    /// Self time per run after, seconds.
    pub after: Option<Estimate>,
    /// After − before, seconds per run; negative is faster.
    pub change: Estimate,
    /// Counted: calls before and after.
    pub calls: Option<(u64, u64)>,
    /// Counted: instructions before and after.
    pub instructions: Option<(u64, u64)>,
    /// Where its code moved, if it is not a separate function afterwards.
    #[serde(default)]
    pub moved: Vec<Moved>,
    /// Functions whose code is inlined into this one afterwards.
    #[serde(default, alias = "took_in")]
    pub inlined_here: Vec<String>,
}

/// Change of a source line, in whichever function its code is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineDiff {
    /// Source file.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// The innermost, possibly inlined, function of the line.
    pub function: String,
    /// The function that contains its code before.
    pub inside_before: Option<String>,
    /// The function that contains its code after.
    pub inside_after: Option<String>,
    /// Time per run before, seconds.
    pub before: f64,
    /// Time per run after, seconds.
    pub after: f64,
    /// Counted: executions of its most executed instruction before and after.
    pub executions: Option<(u64, u64)>,
    /// Text of the line, if the source was found.
    pub text: Option<String>,
}

/// Change of an instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructionDiff {
    /// Name of the function.
    pub function: String,
    /// Address before, if it exists there.
    pub address_before: Option<u64>,
    /// Address after, if it exists there.
    pub address_after: Option<u64>,
    /// Disassembly after, else before.
    pub text: String,
    /// Time per run before, seconds.
    pub before: Option<f64>,
    /// Time per run after, seconds.
    pub after: Option<f64>,
    /// Counted: executions per run before.
    pub count_before: Option<u64>,
    /// Counted: executions per run after.
    pub count_after: Option<u64>,
}

/// Result of `genba diff`. Where a side has no `seconds`, the times of both are shares of the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileDiff {
    /// The first profile.
    pub before: DiffSide,
    /// The second profile.
    pub after: DiffSide,
    /// Functions, largest change first.
    pub functions: Vec<FunctionDiff>,
    /// Source lines, largest change first.
    pub lines: Vec<LineDiff>,
    /// Instructions of the functions that changed most, in address order.
    pub instructions: Vec<InstructionDiff>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
