//! Which further runs would decide what a frame suspects.

use super::frame::Frame;
use super::sizes::can_be_tallied;
use super::written_lines::fixed_writes;
use super::{
    false_sharing, first_touch, lock_contention, malloc_churn, memory_bound_copy, realloc_growth,
    slow_loads, unpredictable_branch,
};

/// Whether it would help to know where page faults are taken.
#[must_use]
pub fn fault_places(frame: &Frame) -> bool {
    frame.program.tried.faults.is_empty() && first_touch::is_suspected(frame)
}

/// Whether it would help to know to which cache lines threads write.
#[must_use]
pub fn shared_lines(frame: &Frame) -> bool {
    let program = &frame.program;
    program.threads >= 2 && program.tried.shared_lines.is_none() && !fixed_writes(frame).is_empty()
}

/// Whether it would help to know the CPU time of the same work on one CPU.
#[must_use]
pub fn one_cpu(frame: &Frame) -> bool {
    frame.program.tried.one_cpu_seconds.is_none()
        && (false_sharing::is_suspected(frame) || lock_contention::is_suspected(frame))
}

/// Whether it would help to know where branches are guessed wrongly.
#[must_use]
pub fn wrong_guesses(frame: &Frame) -> bool {
    frame.program.tried.wrong_guesses.is_none()
        && (unpredictable_branch::is_suspected(frame) || slow_loads::is_suspected(frame))
}

/// Whether it would help to know which loads the first cache did not have.
#[must_use]
pub fn cache_misses(frame: &Frame) -> bool {
    frame.program.tried.cache_misses.is_none() && slow_loads::is_suspected(frame)
}

/// Whether it would help to know which lines the copies are made for that take the time.
#[must_use]
pub fn copy_places(frame: &Frame) -> bool {
    frame.program.tried.copies.is_empty() && memory_bound_copy::is_suspected(frame)
}

/// Whether it would help to know for which sizes memory and copies are asked.
#[must_use]
pub fn sizes(frame: &Frame) -> bool {
    let asks = || {
        memory_bound_copy::wants_sizes(frame)
            || malloc_churn::wants_sizes(frame)
            || !realloc_growth::detect(frame).is_empty()
    };
    frame.program.tried.sizes.is_none() && can_be_tallied(frame) && asks()
}
