//! Which further runs would decide what a input suspects.

use crate::causes::false_sharing;
use crate::causes::first_touch;
use crate::causes::lock_contention;
use crate::causes::malloc_churn;
use crate::causes::memory_bound_copy;
use crate::causes::realloc_growth;
use crate::causes::redundant_computation::files_may_come_again;
use crate::causes::unpredictable_branch;
use crate::input::analysis_input::AnalysisInput;
use crate::input::request_sizes::can_be_tallied;
use crate::input::written_cache_lines::fixed_writes;
use crate::patterns::slow_loads;

/// Whether it would help to know where page faults are taken.
#[must_use]
pub fn fault_places(input: &AnalysisInput) -> bool {
    input.program.follow_up.faults.is_empty() && first_touch::is_suspected(input)
}

/// Whether it would help to know to which cache lines threads write.
#[must_use]
pub fn shared_lines(input: &AnalysisInput) -> bool {
    let program = &input.program;
    program.threads >= 2
        && program.follow_up.shared_lines.is_none()
        && !fixed_writes(input).is_empty()
}

/// Whether it would help to know the CPU time of the same work on one CPU.
#[must_use]
pub fn one_cpu(input: &AnalysisInput) -> bool {
    input.program.follow_up.one_cpu_seconds.is_none()
        && (false_sharing::is_suspected(input) || lock_contention::is_suspected(input))
}

/// Whether it would help to know which branches are mispredicted.
#[must_use]
pub fn mispredictions(input: &AnalysisInput) -> bool {
    input.program.follow_up.mispredictions.is_none()
        && (unpredictable_branch::is_suspected(input) || slow_loads::is_suspected(input))
}

/// Whether it would help to know which loads miss L1d.
#[must_use]
pub fn cache_misses(input: &AnalysisInput) -> bool {
    input.program.follow_up.cache_misses.is_none() && slow_loads::is_suspected(input)
}

/// Whether it would help to know which lines the copies are made for that take the time.
#[must_use]
pub fn copy_places(input: &AnalysisInput) -> bool {
    input.program.follow_up.copies.is_empty() && memory_bound_copy::is_suspected(input)
}

/// Whether it would help to know for which sizes memory and copies are asked.
#[must_use]
pub fn sizes(input: &AnalysisInput) -> bool {
    let asks = || {
        memory_bound_copy::wants_sizes(input)
            || malloc_churn::wants_sizes(input)
            || !realloc_growth::detect(input).is_empty()
    };
    input.program.follow_up.sizes.is_none() && can_be_tallied(input) && asks()
}

/// Whether it would help to know which files the calls name that open them or ask about them.
#[must_use]
pub fn named_files(input: &AnalysisInput) -> bool {
    input.program.follow_up.files.is_none() && can_be_tallied(input) && files_may_come_again(input)
}
