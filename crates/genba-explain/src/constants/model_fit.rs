//! How well measured cycles must fit the loop model.

/// Modelled chain ÷ measured cycles from which the chain explains the loop. Chosen.
pub(crate) const MIN_CHAIN_OF_CYCLES: f64 = 0.7;

/// The same of a chain through memory, and at most: store forwarding takes longer than is modelled on some processors, and
/// none where they rename memory. Chosen.
pub(crate) const MIN_CHAIN_IN_MEMORY_OF_CYCLES: f64 = 0.5;
/// See [`MIN_CHAIN_IN_MEMORY_OF_CYCLES`].
pub(crate) const MAX_CHAIN_IN_MEMORY_OF_CYCLES: f64 = 1.2;

/// Modelled ÷ measured cycles up to which the model fits: tables and clocks are that exact. Chosen.
pub(crate) const MAX_MODEL_OF_CYCLES: f64 = 1.2;

/// The same from which the model says where the time of a loop goes. Chosen.
pub(crate) const MIN_MODEL_OF_CYCLES: f64 = 0.8;

/// Cycles that a call's instructions need ÷ its measured ones, below which saving registers runs
/// beside what the call waits for. Chosen.
pub(crate) const MIN_ISSUE_PART_OF_CALL: f64 = 0.5;

/// Chain ÷ throughput from which splitting the chain pays. Chosen.
pub(crate) const MIN_CHAIN_OF_THROUGHPUT: f64 = 1.3;

/// Part of a loop's time at and behind its divisions. Chosen.
pub(crate) const MIN_TIME_AT_DIVISIONS: f64 = 0.3;

/// Measured cycles ÷ scalar model above which vectors are not what is missing. Chosen.
pub(crate) const MAX_CYCLES_OF_SCALAR_MODEL: f64 = 1.8;

/// The same where its loads were observed to hit: another program on the same core takes half of what it executes in
/// a cycle, and the model is a bound from below. Chosen.
pub(crate) const MAX_CYCLES_OF_SCALAR_MODEL_WITH_HITS: f64 = 5.0;

/// Measured ÷ modelled cycles of a loop up to which what is beyond the model may be its stores'. Chosen.
pub(crate) const MAX_CYCLES_OF_STORES: f64 = 2.0;

/// Part of an iteration that mispredictions must take. Chosen.
pub(crate) const MIN_MISPREDICTION_PART: f64 = 0.25;

/// The same for counting them in a run of its own. Chosen.
pub(crate) const MIN_SUSPECTED_MISPREDICTION_PART: f64 = 0.2;

/// Part of the loop's time right behind its branches. Chosen.
pub(crate) const MIN_TIME_AFTER_BRANCHES: f64 = 0.4;

/// Below, nothing is to be gained. Chosen: at 16 cycles, 0.8 cycles per iteration.
pub(crate) const MIN_MISPREDICTIONS_PER_ITERATION: f64 = 0.05;

/// Factor and cycles by which mispredictions may cost more than the counted ones times the penalty.
/// Chosen.
pub(crate) const COUNTED_MISPREDICTION_SLACK: (f64, f64) = (1.5, 2.0);

/// Without counters: excess cycles ÷ those of random outcomes, at least; at most, and cycles more.
/// Chosen.
pub(crate) const UNCOUNTED_MISPREDICTION_FIT: (f64, f64, f64) = (0.3, 4.0, 4.0);

/// Excess cycles ÷ those of the mispredictions that a model of a predictor has: below it the processor predicts
/// what the model does not (it learns patterns of ten thousand outcomes). Chosen.
pub(crate) const MIN_MODELLED_MISPREDICTION_FIT: f64 = 0.5;

/// Excess cycles ÷ those of random outcomes that are counted where loads miss, too. Chosen.
pub(crate) const MISPREDICTIONS_WITH_FAR_LOADS: f64 = 1.2;

/// Part of an iteration beyond its model from which loads are looked at. Chosen.
pub(crate) const MIN_LOAD_EXCESS_PART: f64 = 0.25;

/// Cycles of a chased load ÷ L1d latency from which it misses. Chosen.
pub(crate) const MIN_CHASE_OF_L1D: f64 = 2.0;

/// Cycles of a strided load, and its part of the loop's time. Chosen.
pub(crate) const MIN_STRIDED_LOAD: (f64, f64) = (1.2, 0.2);

/// Cycles of a load that dominates its loop, its part of the time, and the excess over the model.
/// Chosen.
pub(crate) const MIN_DOMINANT_LOAD: (f64, f64, f64) = (4.0, 0.5, 0.4);

/// Cycles of a load that misses L1d, and its part of the time. Chosen.
pub(crate) const MIN_FAR_LOAD: (f64, f64) = (7.0, 0.2);

/// Factor on the L1d latency and cycles more of a load outside of loops. Chosen.
pub(crate) const MIN_FAR_LOAD_OUTSIDE_LOOPS: (f64, f64) = (2.0, 4.0);

/// Cycles above which an instruction before a load has a wait of its own. Chosen.
pub(crate) const MAX_CYCLES_OF_CHEAP_LOAD: f64 = 4.0;

/// Time of the loop around ÷ time of the loop from which that is more than the loop. Chosen.
pub(crate) const MIN_PARENT_OF_LOOP: f64 = 1.1;
