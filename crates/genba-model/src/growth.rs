//! How counts grow with the size of the input: the document of `genba grow`.

use serde::{Deserialize, Serialize};

use crate::{CountEngine, Estimate};

/// A size at which the command was counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizedCount {
    /// Value of the parameter.
    pub size: u64,
    /// Instructions executed by all counted processes.
    pub instructions: u64,
    /// Wall time under the count engine, seconds.
    pub seconds: f64,
}

/// A law with what it says of a count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedLaw {
    /// `constant`, `log`, `linear`, `n log n`, `quadratic`, `cubic`, `exponential` or `unknown`.
    pub law: String,
    /// Slope of log count over log size at the large sizes; the interval has the slopes between
    /// neighbouring sizes.
    pub exponent: Estimate,
    /// Counts for each unit of the leading term (N, N log₂ N, N², …); the interval is what leaving
    /// out any one size makes of it.
    pub coefficient: Option<Estimate>,
    /// Typical distance of the counts from the law, a share.
    pub residual: f64,
}

/// How the executions of a function grow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionGrowth {
    /// Demangled name; an address in brackets where there is no symbol.
    pub function: String,
    /// Path of its module.
    pub module: String,
    /// Source file of its most executed line, else of the function.
    pub file: Option<String>,
    /// Its most executed line at the largest size, else its first.
    pub line: Option<u32>,
    /// Law of the instructions executed in the function itself.
    #[serde(flatten)]
    pub growth: FittedLaw,
    /// Instructions executed in the function itself at each size, in the order of the sizes.
    pub instructions: Vec<u64>,
    /// Share of all instructions at the largest size.
    pub share: f64,
    /// Model: instructions at the size asked for; `None` if the growth is too irregular.
    pub extrapolated: Option<Estimate>,
    /// Model: share of all extrapolated instructions at that size.
    pub extrapolated_share: Option<f64>,
    /// Number of calls at each size.
    pub calls: Vec<u64>,
    /// Law of the number of calls, if it is known.
    pub calls_growth: Option<FittedLaw>,
    /// Law of the instructions for each call, if it is known.
    pub per_call_growth: Option<FittedLaw>,
}

/// Result of `genba grow`: exact counts at several sizes, with the law of each function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Program and arguments, with the parameter's name in braces.
    pub command: Vec<String>,
    /// Name of the parameter.
    pub parameter: String,
    /// The engine that counted.
    pub engine: CountEngine,
    /// The sizes, smallest first.
    pub sizes: Vec<SizedCount>,
    /// The size to which counts are extrapolated.
    pub at: f64,
    /// Law of all instructions.
    pub total: Option<FittedLaw>,
    /// Model: all instructions at the size asked for, the sum over the functions that are
    /// extrapolated.
    pub extrapolated: Estimate,
    /// Functions executed at enough sizes, the largest share, then or now, first.
    pub functions: Vec<FunctionGrowth>,
    /// Notes on the result, a sentence each.
    pub notes: Vec<String>,
}
