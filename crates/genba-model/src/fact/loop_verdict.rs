//! Which bound explains the cycles of a loop, with the figures that it rests on.
//!
//! Cycles are core cycles per iteration; shares are of the loop's own time.

use serde::{Deserialize, Serialize};

use crate::{Estimate, LoopBound};

/// What the loop model concludes of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoopVerdict {
    /// No time was measured in the loop.
    NotMeasured {
        /// What the model gives.
        model: LoopModelFigures,
    },
    /// Too few samples for a verdict.
    FewSamples {
        /// Samples in the loop.
        samples: f64,
        /// What the model gives.
        model: LoopModelFigures,
    },
    /// The modelled chain takes more than was measured: the model does not hold.
    ChainAboveMeasured {
        /// The chain.
        chain: LoopChain,
        /// Measured cycles.
        measured: Estimate,
    },
    /// The modelled throughput takes more than was measured: the model does not hold.
    ThroughputAboveMeasured {
        /// The throughput.
        throughput: LoopThroughput,
        /// Measured cycles.
        measured: Estimate,
    },
    /// Each iteration waits for the previous one.
    Latency {
        /// The chain.
        chain: LoopChain,
        /// Measured cycles.
        measured: Estimate,
        /// The throughput, where it also comes near the measured cycles.
        throughput: Option<LoopThroughput>,
    },
    /// Instructions, or those of one unit, fill the cycles.
    Throughput {
        /// The throughput.
        throughput: LoopThroughput,
        /// Measured cycles.
        measured: Estimate,
        /// The chain, where there is one.
        chain_cycles: Option<Estimate>,
    },
    /// Loads wait for memory beyond L1d.
    Memory {
        /// Measured cycles.
        measured: Estimate,
        /// The load with most time.
        load: InstructionPlace,
        /// Share of the time at it.
        share: f64,
        /// Measured cycles of each execution.
        cycles_each: f64,
        /// Cycles of an execution that hits L1d.
        l1d_hit_cycles: f64,
        /// Latencies of the host's memory levels by name, cycles.
        levels: Vec<(String, f64)>,
    },
    /// The time is at a branch with varying outcome.
    Branch {
        /// Measured cycles.
        measured: Estimate,
        /// The branch, and how often it is taken.
        branch: BranchOutcome,
        /// Share of the time at it.
        share: f64,
    },
    /// Mispredictions of a branch would suffice for all unexplained cycles.
    MispredictionsSuffice {
        /// Measured cycles.
        measured: Estimate,
        /// The branch, and how often it is taken.
        branch: BranchOutcome,
        /// Share of its executions that would be mispredicted.
        mispredicted: f64,
        /// Cycles that the model does not explain.
        unexplained: f64,
    },
    /// The time is at loads and at branches alike.
    LoadsAndBranches {
        /// Measured cycles.
        measured: Estimate,
        /// Share at loads that wait.
        loads: f64,
        /// Share at branches with varying outcome.
        branches: f64,
    },
    /// The loop is left after few iterations: it has no steady state.
    FewIterations {
        /// Iterations per entry.
        trips: f64,
        /// What the model gives.
        model: LoopModelFigures,
    },
    /// Nothing that the model knows explains the measured cycles.
    Unexplained {
        /// Measured cycles.
        measured: Estimate,
        /// What the model gives.
        model: LoopModelFigures,
        /// A form of the chain that the host table does not have.
        unknown_form: Option<String>,
        /// Whether the paths of the iterations have different chains.
        paths_differ: bool,
        /// Whether a load overlaps a part of an earlier store.
        forwarding_fails: bool,
        /// Share of the time at loads that wait, where that is much.
        at_loads: Option<f64>,
        /// Share of the time at branches with varying outcome, where that is much.
        at_branches: Option<f64>,
    },
    /// Most of the time is in one inner loop.
    InnerLoop {
        /// Address of that loop's first instruction.
        address: u64,
        /// Share of the time in it.
        share: f64,
        /// Its bound, where that is the outer loop's as well.
        bound: Option<LoopBound>,
    },
    /// The time is in several inner loops.
    InnerLoops {
        /// Share of the time in all of them.
        share: f64,
    },
}

/// What the model gives without regard to the measured cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopModelFigures {
    /// The longest dependency chain, or why there is none.
    pub chain: Result<LoopChain, NoLoopChain>,
    /// Cycles if all instructions were independent.
    pub throughput: Option<LoopThroughput>,
}

/// The longest loop-carried dependency chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopChain {
    /// Cycles of the chain.
    pub cycles: Estimate,
    /// Mnemonics along it; moves from memory are `load`. Empty: iterations are independent.
    pub mnemonics: Vec<String>,
    /// Which iterations it is of.
    pub paths: ChainPaths,
}

/// Iterations that a chain is of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ChainPaths {
    /// All of them.
    All,
    /// Those on the most frequent path.
    Dominant {
        /// Share of the iterations on it, at least.
        share: f64,
    },
    /// Those on several paths, in the order in which they were drawn.
    Several {
        /// Number of paths.
        paths: usize,
    },
}

/// Why a loop has no modelled chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoLoopChain {
    /// It is entered in more than one place.
    Irreducible,
    /// It contains other loops.
    ContainsLoops,
    /// Its iterations are too long.
    TooLong,
    /// The paths of its iterations were not counted.
    PathsNotCounted,
    /// Its iterations execute an instruction that the model cannot see through.
    Opaque {
        /// The instruction.
        instruction: String,
        /// What hides the chain.
        reason: OpaqueReason,
    },
}

/// Why an instruction hides a dependency chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpaqueReason {
    /// It calls other code.
    Call,
    /// It enters the kernel.
    Kernel,
    /// Its time depends on a repeat count.
    Repeated,
    /// It waits for all instructions before it.
    Serialising,
    /// It leaves the function, or is not an instruction.
    Exit,
}

/// Cycles of an iteration if all its instructions were independent, and what sets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopThroughput {
    /// The cycles.
    pub cycles: Estimate,
    /// What takes them.
    pub limit: ThroughputLimit,
}

/// What a processor executes only so much of in a cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ThroughputLimit {
    /// Instructions of any kind.
    Width {
        /// Instructions of an iteration.
        instructions: f64,
        /// Instructions of the cheapest kind in a cycle, at most.
        per_cycle: f64,
    },
    /// Taken branches.
    TakenBranches,
    /// Locked operations.
    LockedOperations,
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// Integer additions, comparisons, logic and moves.
    IntegerOperations,
    /// Integer multiplications.
    Multiplications,
    /// Integer divisions.
    Divisions,
    /// Shifts and rotations.
    Shifts,
    /// Floating-point additions.
    FloatAdditions,
    /// Floating-point multiplications.
    FloatMultiplications,
    /// Floating-point divisions and square roots.
    FloatDivisions,
    /// Floating-point multiply-adds.
    FloatMultiplyAdds,
    /// Instructions of one mnemonic.
    Mnemonic(String),
}

/// An instruction and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionPlace {
    /// Its disassembly.
    pub text: String,
    /// Its address in the module.
    pub address: u64,
}

/// A conditional jump and its outcomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchOutcome {
    /// The jump.
    pub instruction: InstructionPlace,
    /// Share of its executions in which it is taken.
    pub taken: f64,
    /// Cycles that a misprediction costs on this host.
    pub penalty_cycles: f64,
}

impl LoopVerdict {
    /// The bound that the verdict names.
    #[must_use]
    pub fn bound(&self) -> LoopBound {
        match self {
            Self::Latency { .. } => LoopBound::Latency,
            Self::Throughput { .. } => LoopBound::Throughput,
            Self::Memory { .. } => LoopBound::Memory,
            Self::Branch { .. } | Self::MispredictionsSuffice { .. } => LoopBound::FrontEnd,
            Self::InnerLoop { bound, .. } => bound.unwrap_or(LoopBound::Unexplained),
            Self::NotMeasured { .. }
            | Self::FewSamples { .. }
            | Self::ChainAboveMeasured { .. }
            | Self::ThroughputAboveMeasured { .. }
            | Self::LoadsAndBranches { .. }
            | Self::FewIterations { .. }
            | Self::Unexplained { .. }
            | Self::InnerLoops { .. } => LoopBound::Unexplained,
        }
    }
}
