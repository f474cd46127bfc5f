//! All constants of the loop model, each with its source.
//!
//! "Chosen" means: neither a publication nor a measurement is behind the value.

use genba_model::Estimate;

/// Misprediction penalty where the host table has none: around the 15 to 20 cycles that A. Fog, "The
/// microarchitecture of Intel, AMD and VIA CPUs", has for processors since 2010; the interval is
/// chosen.
pub(crate) const DEFAULT_MISPREDICTION_CYCLES: Estimate = Estimate {
    value: 16.0,
    low: 11.0,
    high: 22.0,
};

/// Latency of instructions that the table does not have: anything from one cycle to a dozen.
/// Chosen.
pub(crate) const UNKNOWN_CYCLES: Estimate = Estimate {
    value: 3.0,
    low: 1.0,
    high: 12.0,
};

/// Latency of a load that the table does not have: from the fastest L1d to the slowest, vector
/// registers included. Chosen around the 4 to 8 cycles of current processors.
pub(crate) const UNKNOWN_LOAD_CYCLES: Estimate = Estimate {
    value: 5.0,
    low: 3.0,
    high: 9.0,
};

/// Store forwarding that the table does not have. Some processors rename memory operands as they do
/// registers (Zen 2 and later, Golden Cove), so it may take nothing.
pub(crate) const UNKNOWN_FORWARDING_CYCLES: Estimate = Estimate {
    value: 4.0,
    low: 0.0,
    high: 8.0,
};

/// A move between registers: renamed, or a cycle.
pub(crate) const MOVE_CYCLES: Estimate = Estimate {
    value: 0.0,
    low: 0.0,
    high: 1.0,
};

/// Table entries below are not latencies but how many a cycle executes: renamed moves and memory.
pub(crate) const MIN_LATENCY_CYCLES: f64 = 0.75;

/// Costs above are damaged table entries.
pub(crate) const MAX_COST_CYCLES: f64 = 1e9;

/// Width of a memory operand that is not known.
pub(crate) const DEFAULT_OPERAND_BYTES: u16 = 8;

/// Stores after which an earlier one can no longer forward its value: store queues have 44 to 112
/// entries, from Zen to Golden Cove (their manufacturers' optimisation manuals).
pub(crate) const STORE_QUEUE_ENTRIES: u64 = 64;

/// Addresses of stores that are remembered before old ones are dropped. Chosen.
pub(crate) const MAX_REMEMBERED_STORES: usize = 512;

/// Modelled ÷ measured cycles from which the model explains a loop: tables are good for a few
/// percent, samples and clocks for as much again.
pub(crate) const MIN_MODEL_OF_MEASURED: f64 = 0.85;

/// The same for the lower end of a throughput bound, as a part of [`MIN_MODEL_OF_MEASURED`].
/// Chosen.
pub(crate) const MIN_MODEL_LOW_OF_HIGH: f64 = 0.8;

/// Chain ÷ measured cycles that a chain needs where the rest is the misprediction of leaving the
/// loop. Chosen.
pub(crate) const MIN_CHAIN_BESIDE_MISPREDICTION: f64 = 0.7;

/// Lower end of a chain ÷ measured cycles below which it explains nothing. Chosen.
pub(crate) const MIN_CHAIN_LOW: f64 = 0.35;

/// Measured ÷ modelled cycles from which loads or branches are looked at. Chosen.
pub(crate) const MIN_EXCESS: f64 = 1.3;

/// Part of the excess cycles that stands at branches. Chosen.
pub(crate) const MIN_BRANCH_EXCESS: f64 = 0.5;

/// Measured ÷ modelled cycles of short loops, whose misprediction time stands anywhere. Chosen.
pub(crate) const MIN_EXCESS_OF_SHORT_LOOP: f64 = 2.0;

/// Factor by which a penalty may exceed the table's: it depends on what was in flight. Chosen.
pub(crate) const PENALTY_SPREAD: f64 = 1.2;

/// Part of a short loop's time near its branches. Chosen.
pub(crate) const MIN_TIME_NEAR_BRANCHES: f64 = 0.5;

/// Part of the time at loads above which they are named, and mispredictions do not explain a loop.
/// Chosen.
pub(crate) const MAX_TIME_AT_LOADS: f64 = 0.3;

/// Part of a branch's executions with one outcome within which it may be mispredicted as often as
/// not. Chosen.
pub(crate) const UNDECIDED_RANGE: std::ops::RangeInclusive<f64> = 0.2..=0.8;

/// Part of the time at loads from which memory explains a loop. Chosen.
pub(crate) const MIN_TIME_AT_LOADS: f64 = 0.5;

/// Part of the excess cycles at loads. Chosen.
pub(crate) const MIN_LOAD_EXCESS: f64 = 0.6;

/// Cycles up to which a load may wait for a failed store forwarding: a dozen to twenty, and the
/// load. Chosen.
pub(crate) const MAX_FAILED_FORWARDING_CYCLES: f64 = 25.0;

/// Cycles per iteration at loads that no chain makes. Chosen.
pub(crate) const MIN_FAR_MEMORY_CYCLES: f64 = 20.0;

/// Part of the time at branches from which an unexplained loop's verdict names them. Chosen.
pub(crate) const MIN_REPORTED_BRANCH_TIME: f64 = 0.2;

/// Samples of a loop below which there is no verdict. Chosen.
pub(crate) const MIN_SAMPLES: f64 = 20.0;

/// Iterations per entry below which a loop is not in the steady state that the model is of. Chosen.
pub(crate) const MIN_TRIPS: f64 = 3.0;

/// Factor on the latency and cycles more from which a load waits. Chosen.
pub(crate) const MIN_LOAD_WAIT: (f64, f64) = (2.0, 4.0);

/// Cycles of an instruction that does little but use a loaded value. Chosen.
pub(crate) const MAX_USER_CYCLES: f64 = 4.0;

/// Instructions on either side of a branch at which its misprediction time stands. Chosen; see skid
/// correction.
pub(crate) const INSTRUCTIONS_AFTER_BRANCH: u32 = 3;

/// Part of a branch's executions from which its rarer outcome makes it undecided. Chosen.
pub(crate) const MIN_RARER_OUTCOME: f64 = 0.05;

/// Iterations of an inner loop per iteration up to which it does not shape the loop. Chosen.
pub(crate) const RARE_INNER_LOOP: f64 = 0.01;

/// Part of the time from which it does all the same. Chosen.
pub(crate) const MIN_TIME_OF_RARE_INNER_LOOP: f64 = 0.05;

/// Part of the time in an inner loop whose verdict is the outer loop's. Chosen.
pub(crate) const DOMINANT_INNER_LOOP: f64 = 0.7;

/// Part of the time in inner loops from which the verdict names them. By definition of "most".
pub(crate) const MOST_TIME_IN_INNER_LOOP: f64 = 0.5;

/// Share of the iterations from which one path stands for the loop. Chosen.
pub(crate) const MIN_PATH_SHARE: f64 = 0.6;

/// Share of the iterations from which the path is not mentioned. Chosen.
pub(crate) const ONLY_PATH_SHARE: f64 = 0.95;

/// Paths that fewer than one in so many drawn iterations take may have code that is not modelled.
/// Chosen.
pub(crate) const RARE_PATH_DIVISOR: usize = 50;

/// Factor and cycles within which the paths of a loop take the same. Chosen.
pub(crate) const SAME_PATH_CYCLES: (f64, f64) = (1.25, 0.25);

/// Part of a chain's cycles from which a link is named. Chosen.
pub(crate) const MIN_LINK_OF_CHAIN: f64 = 0.01;

/// Upper end ÷ value of a chain from which an unknown instruction is named. Chosen.
pub(crate) const WIDE_CHAIN: f64 = 1.5;

/// Blocks of a path. Bounds time.
pub(crate) const MAX_PATH_BLOCKS: usize = 4096;

/// Iterations that are drawn of a loop with several paths. Chosen: the rarest of interest, one in
/// fifty, comes ten times.
pub(crate) const DRAWN_ITERATIONS: usize = 480;

/// Mean blocks of a drawn iteration. Bounds time.
pub(crate) const MAX_STEPS_PER_DRAWN_ITERATION: usize = 64;

/// Nesting depth above which loops are not modelled: they would cost the square of the function's
/// size, and no compiler makes them.
pub(crate) const MAX_LOOP_DEPTH: u32 = 64;

/// Instructions of a simulation. Bounds time and memory (16 MB).
pub(crate) const MAX_SIMULATED_INSTRUCTIONS: usize = 1 << 20;

/// Iterations that are simulated: enough for chains to overtake what starts late but grows slowly.
/// Chosen.
pub(crate) const SIMULATED_ITERATIONS: usize = 144;

/// Iterations without which no growth can be told. Chosen.
pub(crate) const MIN_SIMULATED_ITERATIONS: usize = 12;

/// Executions per iteration of an instruction that is a link of the chain. Chosen.
pub(crate) const MIN_EXECUTIONS_IN_CHAIN: f64 = 0.5;

/// Relative uncertainty of the model of code that does not exist yet. Chosen.
pub(crate) const UNCERTAINTY_OF_CHANGED_CODE: f64 = 0.15;

/// Part of the cycles beyond the model that remains after a change. Chosen: between none and all.
pub(crate) const UNEXPLAINED_THAT_REMAINS: f64 = 0.5;
