//! What memory delivers at most to a loop that reads through it.

use genba_model::Estimate;

use super::frame::Frame;
use super::hot_loops::HotLoop;
use super::steps::{Step, address_step};

/// Peak memory above which what a loop reads through may come from beyond the caches, bytes.
const LARGE: f64 = 24e6;

/// Reading alone is quicker than copying, of which tables know the speed.
const READING: f64 = 1.3;

/// What stays of a loop's time if what it reads through may have to come from memory: the
/// interval is opened so far, and the value put halfway.
pub(super) fn bounded(frame: &Frame, one: &HotLoop<'_>, remains: Estimate) -> Estimate {
    let Some(floor) = floor(frame, one) else {
        return remains;
    };
    let floor = (floor / one.cycles.value).min(0.95);
    if floor <= remains.value {
        return remains;
    }
    Estimate {
        value: (remains.value + floor) / 2.0,
        low: remains.low,
        high: remains.high.max(floor),
    }
}

/// Cycles a round for the widest stream of a loop, if it came from memory.
fn floor(frame: &Frame, one: &HotLoop<'_>) -> Option<f64> {
    let program = &frame.program;
    program.max_rss_bytes.filter(|&bytes| bytes >= LARGE)?;
    let table = program.costs.table.as_ref()?;
    let speed = table.entry("memcpy [memory]")?.bytes_per_second?.value;
    let bytes_a_cycle = READING * speed / program.clock_hz.filter(|&hz| hz > 0.0)?;
    let function = one.frame;
    let mut most = 0u64;
    for at in one.usual() {
        for address in function.values.addresses(at).iter().flatten() {
            if let Some(Step::Constant(step)) = address_step(function, one.index, address) {
                most = most.max(step.unsigned_abs().min(64));
            }
        }
    }
    (most > 0 && bytes_a_cycle > 0.0).then(|| most as f64 / bytes_a_cycle)
}
