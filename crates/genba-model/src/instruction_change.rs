//! Exact instruction counts of a base and a change: a second opinion beside their times.

use serde::{Deserialize, Serialize};

/// Instructions of the base and of the change, counted once each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstructionChange {
    /// Engine that counted.
    pub engine: String,
    /// Instructions of the base.
    pub base: f64,
    /// Instructions of the change.
    pub change: f64,
    /// Functions whose count differs, the largest growth first.
    pub functions: Vec<FunctionChange>,
}

/// A function of the change, with its instructions in both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionChange {
    /// Name of the function.
    pub function: String,
    /// Source file in the change, if known.
    pub file: Option<String>,
    /// Line of the source file that grew most, or the function's first.
    pub line: Option<u32>,
    /// Instructions in the base.
    pub base: f64,
    /// Instructions in the change.
    pub change: f64,
}
