//! What memory delivers at most to a loop that reads through it.

use genba_model::Estimate;

use crate::constants::counts::MIN_RESIDENT_BYTES_BEYOND_CACHES;
use crate::constants::gains::MAX_LOOP_RESIDUAL;
use crate::constants::processor::{CACHE_LINE_BYTES, READ_TO_COPY_BANDWIDTH};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, address_step};

/// What stays of a loop's time if what it reads through may have to come from memory: the
/// interval is opened so far, and the value put halfway.
pub(crate) fn bounded(
    input: &AnalysisInput,
    one: &HotLoop<'_>,
    residual_fraction: Estimate,
) -> Estimate {
    let Some(floor) = floor(input, one) else {
        return residual_fraction;
    };
    let floor = (floor / one.cycles.value).min(MAX_LOOP_RESIDUAL);
    if floor <= residual_fraction.value {
        return residual_fraction;
    }
    Estimate {
        value: (residual_fraction.value + floor) / 2.0,
        low: residual_fraction.low,
        high: residual_fraction.high.max(floor),
    }
}

/// Cycles per iteration for the widest stream of a loop, if it came from memory.
fn floor(input: &AnalysisInput, one: &HotLoop<'_>) -> Option<f64> {
    let program = &input.program;
    program
        .max_rss_bytes
        .filter(|&bytes| bytes >= MIN_RESIDENT_BYTES_BEYOND_CACHES)?;
    let table = program.costs.table.as_ref()?;
    let speed = table.entry("memcpy [memory]")?.bytes_per_second?.value;
    let bytes_a_cycle = READ_TO_COPY_BANDWIDTH * speed / program.clock_hz.filter(|&hz| hz > 0.0)?;
    let function = one.input;
    let mut most = 0u64;
    for at in one.usual() {
        for address in function.values.addresses(at).iter().flatten() {
            if let Some(Step::Constant(step)) = address_step(function, one.index, address) {
                most = most.max(step.unsigned_abs().min(CACHE_LINE_BYTES));
            }
        }
    }
    (most > 0 && bytes_a_cycle > 0.0).then(|| most as f64 / bytes_a_cycle)
}
