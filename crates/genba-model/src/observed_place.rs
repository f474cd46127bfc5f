//! What bursts showed of one place in the code: the document of `genba observe`.

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// Result of `genba observe`: what a function or line did; within an investigation, what the lines with
/// most time did. All shares are observed in bursts, with
/// intervals over bursts; executions are counted exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedPlace {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The function or line that was asked for; empty within an investigation.
    pub place: String,
    /// Number of bursts in the whole run.
    pub bursts: u32,
    /// Instructions executed in all bursts.
    pub observed_instructions: u64,
    /// Threads with a burst.
    pub threads: u32,
    /// The instructions of the place of which bursts showed something, by module and address.
    pub instructions: Vec<ObservedInstruction>,
    /// Notes on the result, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What bursts showed of one instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedInstruction {
    /// Address in the module.
    pub address: u64,
    /// Path of the module.
    pub module: String,
    /// Its function.
    pub function: Option<String>,
    /// Disassembly in Intel syntax.
    pub text: String,
    /// Source file.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// Executions in the whole run, counted; `None` if unknown.
    pub executions: Option<u64>,
    /// Executions in bursts.
    pub seen: u64,
    /// Which level of the memory hierarchy serves it, if it loads.
    pub loads: Option<ObservedLoads>,
    /// Outcomes, if it is a conditional branch.
    pub branch: Option<ObservedBranch>,
    /// The most frequent values that it loads or stores, most frequent first; hashes of values
    /// above eight bytes.
    pub values: Vec<ObservedValue>,
    /// Shares of its executions that did nothing new.
    pub redundant: ObservedRedundancy,
    /// The data that it works on, most accesses first.
    pub data: Vec<ObservedData>,
}

/// Shares of a load's executions by the level that serves them. Of all levels but the first they
/// are rough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedLoads {
    /// Share served by the first level.
    pub l1: Estimate,
    /// Share served by the second level.
    pub l2: Estimate,
    /// Share served by the third level.
    pub l3: Estimate,
    /// Share served by memory.
    pub memory: Estimate,
    /// Share whose page the TLB does not map, were all pages small.
    pub tlb: Estimate,
    /// The most frequent step of the address, bytes, if one step is in most executions.
    pub stride_bytes: Option<i64>,
}

/// Outcomes of a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedBranch {
    /// Share of the executions in which it is taken.
    pub taken: Estimate,
    /// Share that a model of a modern predictor misses; `None` if too little was seen.
    pub mispredicted: Option<Estimate>,
    /// Share that goes the way of the execution before.
    pub repeated: Option<Estimate>,
    /// Share in activations of the function in which it only went one way.
    pub one_way: Option<Estimate>,
}

/// A value with its share of the executions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedValue {
    /// The value, as a number without sign.
    pub value: u64,
    /// Whether it is stored; else it is loaded.
    pub stored: bool,
    /// Share of the executions.
    pub share: Estimate,
}

/// Shares of executions that did nothing new; `None` where that was not seen at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedRedundancy {
    /// Share of stores that are overwritten before they are read.
    pub dead_store: Option<Estimate>,
    /// Share of stores of which it was not seen whether they are read: the interval of
    /// `dead_store` includes what they may be.
    #[serde(default)]
    pub dead_store_unknown: Option<f64>,
    /// Share of stores of what is in memory already.
    pub silent_store: Option<Estimate>,
    /// Share of loads with the address and the value of the execution before.
    pub same_load: Option<Estimate>,
    /// Share of calls with the inputs and the result of an earlier one from here.
    pub repeated_call: Option<Estimate>,
    /// Share of the bytes filled by the call that are overwritten before they are read.
    pub overwritten_buffer: Option<Estimate>,
    /// Share of these bytes of which it was not seen whether they are read: the interval of
    /// `overwritten_buffer` includes what they may be.
    #[serde(default)]
    pub overwritten_buffer_unknown: Option<f64>,
    /// Share of the bytes copied here that had been copied before.
    pub copied_again: Option<Estimate>,
}

/// Data that an instruction works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedData {
    /// A variable, `stack`, `heap`, where a block was allocated, or a file.
    pub name: String,
    /// Share of the accesses.
    pub share: Estimate,
}
