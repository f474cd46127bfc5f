//! Two profiles of the same work, side by side: the document of `genba diff`.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Event};

/// One of the two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffSide {
    /// Name: of a variant, a case or a file.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// What was sampled, if anything was.
    pub event: Option<Event>,
    /// Samples.
    pub samples: u64,
    /// Runs that the samples are of.
    pub runs: f64,
    /// CPU time of one run, seconds, where samples say so.
    pub seconds: Option<f64>,
    /// Instructions executed in one run, where they were counted.
    pub instructions: Option<u64>,
}

/// Where code that was a function on one side went on the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The function that it was inlined into, or that took its name.
    pub into: String,
    /// How that is known: `inlined` by debug information, `likely` by what was lost here and
    /// gained there, `cloned` by its name (`.constprop`, `.isra`, `.part`, `.cold`).
    pub how: MovedHow,
    /// Time spent in its code there, seconds of one run, where debug information tells it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// How a move is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovedHow {
    /// Debug information names it as inlined there.
    Inlined,
    /// What vanished here is gained there, and nothing else explains it.
    Likely,
    /// A copy under a name that compilers make.
    Cloned,
}

/// A function on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionDiff {
    /// Demangled name.
    pub function: String,
    /// File name of its module.
    pub module: String,
    /// Source file, where known.
    pub file: Option<String>,
    /// First line.
    pub line: Option<u32>,
    /// Self time of one run before, seconds; `None` where it is no function of its own.
    pub before: Option<Estimate>,
    /// After.
    pub after: Option<Estimate>,
    /// After − before, seconds of one run; negative is a gain.
    pub change: Estimate,
    /// Calls before and after, where counted.
    pub calls: Option<(u64, u64)>,
    /// Instructions before and after, where counted.
    pub instructions: Option<(u64, u64)>,
    /// Where its code went, if it is no function of its own afterwards.
    #[serde(default)]
    pub moved: Vec<Moved>,
    /// Functions whose code is now inside of this one.
    #[serde(default, alias = "took_in")]
    pub inlined_here: Vec<String>,
}

/// A source line on both sides, in whatever function its code now is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineDiff {
    /// Source file.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// The (innermost, possibly inlined) function of the line.
    pub function: String,
    /// The function that its code is in, before.
    pub inside_before: Option<String>,
    /// And after.
    pub inside_after: Option<String>,
    /// Time of one run before, seconds.
    pub before: f64,
    /// After.
    pub after: f64,
    /// Executions of its most executed instruction before and after, where counted.
    pub executions: Option<(u64, u64)>,
    /// Its text, where the source was found.
    pub text: Option<String>,
}

/// An instruction of a function on one or both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructionDiff {
    /// Function.
    pub function: String,
    /// Address before, if it is there.
    pub address_before: Option<u64>,
    /// Address after.
    pub address_after: Option<u64>,
    /// Its text (after, else before).
    pub text: String,
    /// Time of one run before, seconds.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
    /// Executions of one run before.
    pub count_before: Option<u64>,
    /// After.
    pub count_after: Option<u64>,
}

/// Two profiles side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileDiff {
    /// The one.
    pub before: DiffSide,
    /// The other.
    pub after: DiffSide,
    /// Functions, largest change first.
    pub functions: Vec<FunctionDiff>,
    /// Source lines, largest change first.
    pub lines: Vec<LineDiff>,
    /// Instructions of the functions that changed most, in the order of their addresses.
    pub instructions: Vec<InstructionDiff>,
    /// What the reader must know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}
