//! Places that take most of the time, whether a cause is known or not.

use serde::{Deserialize, Serialize};

use crate::{Estimate, FindingSite, LoopBound, SourceLine};

/// What a [`TimePlace`] is, and thereby what its executions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimePlaceKind {
    /// An innermost loop that carries time; executions are its iterations.
    Loop,
    /// A function, without those of its loops that are places themselves; executions are its calls.
    Function,
    /// A line of the user's code that calls libraries or asks the kernel, with the time spent there
    /// for it; executions are those of the call.
    LibraryCall,
    /// Functions of libraries whose callers are not known; executions are their calls.
    Library,
    /// The kernel; executions are not known.
    Kernel,
    /// A line of a script, with the C functions that the interpreter calls for its function.
    ScriptLine,
    /// A function with what it calls, where the time is spread over many functions; executions are
    /// its calls. Its time is in the other places, too, and divided by counted calls as if each call
    /// of a function took the same time (model).
    WithCallees,
}

/// A place with much of the time and what is known of it. It predicts no gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimePlace {
    /// What it is.
    pub kind: TimePlaceKind,
    /// The place in the code; of a loop or function the line with most time.
    pub site: FindingSite,
    /// Share of all samples.
    pub share: Estimate,
    /// Counted: executions; `kind` says of what.
    pub executions: Option<u64>,
    /// Measured ÷ counted: time per execution, seconds.
    pub cost_seconds: Option<Estimate>,
    /// The same in core cycles.
    pub cost_cycles: Option<Estimate>,
    /// Counted, loops: entries from outside.
    pub entries: Option<u64>,
    /// Counted, innermost loops: share of the iterations that change nothing but positions, where
    /// these are nearly all.
    #[serde(default)]
    pub idle_iterations: Option<f64>,
    /// Counted, loops and functions: calls of the function that it is in.
    pub calls: Option<u64>,
    /// Counted, loops and functions: calls of the function that it makes itself.
    #[serde(default)]
    pub recursive_calls: Option<u64>,
    /// Who calls the function, most calls first: lines of the user's code, through whatever
    /// libraries.
    pub callers: Vec<PlaceCaller>,
    /// Model, loops: what bounds an iteration.
    pub bound: Option<LoopBound>,
    /// Model, loops: cycles per iteration of that bound, the longer one of critical chain and
    /// throughput. Above it, `cost_cycles` has time that the model does not explain.
    pub bound_cycles: Option<Estimate>,
    /// Functions of libraries or of the kernel in which its time was spent, most first.
    pub spent_in: Vec<PlaceFunction>,
    /// Executions ÷ bytes of the files that the command line names.
    pub executions_per_input_byte: Option<f64>,
    /// Number of the finding (from 1) that is about this place.
    pub finding: Option<u32>,
    /// Lines of source, where the file was found.
    #[serde(default)]
    pub source: Vec<SourceLine>,
}

impl TimePlace {
    /// A place of which nothing but its share is known.
    #[must_use]
    pub fn of(kind: TimePlaceKind, site: FindingSite, share: Estimate) -> Self {
        Self {
            kind,
            site,
            share,
            executions: None,
            cost_seconds: None,
            cost_cycles: None,
            entries: None,
            idle_iterations: None,
            calls: None,
            recursive_calls: None,
            callers: Vec::new(),
            bound: None,
            bound_cycles: None,
            spent_in: Vec::new(),
            executions_per_input_byte: None,
            finding: None,
            source: Vec::new(),
        }
    }
}

/// A line that calls the function of a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceCaller {
    /// The line.
    pub site: FindingSite,
    /// Counted: calls that come from there.
    pub calls: f64,
    /// Their share of all calls of the function.
    pub share: f64,
    /// Counted: calls of the function that the line is in.
    pub caller_calls: Option<u64>,
    /// Functions of libraries in between, inside out.
    pub through: Vec<String>,
}

/// A function with its part of a place's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceFunction {
    /// Demangled name.
    pub function: String,
    /// Path of its module.
    pub module: String,
    /// Share of all samples.
    pub share: f64,
    /// Counted: calls for this place.
    pub calls: Option<f64>,
}
