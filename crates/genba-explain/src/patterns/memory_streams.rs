//! What memory delivers at most to a loop that reads through it.

use genba_model::Estimate;

use crate::constants::counts::MIN_RESIDENT_BYTES_BEYOND_CACHES;
use crate::constants::gains::MAX_LOOP_RESIDUAL;
use crate::constants::processor::{CACHE_LINE_BYTES, READ_TO_COPY_BANDWIDTH};
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::value_steps::{Step, address_step};

/// What stays of a loop's time if what it reads through may have to come from memory, or comes from a level beyond L1d as
/// bursts show: the interval is opened so far, and the value put halfway.
pub(crate) fn bounded(
    input: &AnalysisInput,
    one: &HotLoop<'_>,
    residual_fraction: Estimate,
) -> Estimate {
    let loads: Vec<usize> = (one.usual())
        .filter(|&at| one.input.data[at].loads())
        .collect();
    let observed = cycles_of_lines(input, one.function, &loads);
    // The level that the lines come from explains all of the time.
    if observed >= one.cycles.value {
        return Estimate {
            value: MAX_LOOP_RESIDUAL,
            low: residual_fraction.low,
            high: MAX_LOOP_RESIDUAL,
        };
    }
    let floor = floor(input, one).unwrap_or(0.0).max(observed);
    opened(residual_fraction, floor / one.cycles.value)
}

/// A residual fraction that memory may not allow: the interval is opened to what it allows, and the value put halfway.
pub(crate) fn opened(residual_fraction: Estimate, floor: f64) -> Estimate {
    let floor = floor.min(MAX_LOOP_RESIDUAL);
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
    if !is_beyond_caches(input) {
        return None;
    }
    let bytes_a_cycle = bytes_a_cycle(input, "memory")?;
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

/// Whether a program is so large that what it reads may come from beyond the caches.
fn is_beyond_caches(input: &AnalysisInput) -> bool {
    let resident = input.program.max_rss_bytes;
    resident.is_some_and(|bytes| bytes >= MIN_RESIDENT_BYTES_BEYOND_CACHES)
}

/// Bytes that a level of memory delivers in a cycle to code that reads through it.
fn bytes_a_cycle(input: &AnalysisInput, level: &str) -> Option<f64> {
    let program = &input.program;
    let table = program.costs.table.as_ref()?;
    let entry = table.entry(&format!("memcpy [{level}]"))?;
    let speed = entry.bytes_per_second?.value;
    let found = READ_TO_COPY_BANDWIDTH * speed / program.clock_hz.filter(|&hz| hz > 0.0)?;
    (found > 0.0).then_some(found)
}

/// Whether the loads of a loop were observed, and hardly ever miss the first cache.
pub(crate) fn loads_hit(input: &AnalysisInput, one: &HotLoop<'_>) -> bool {
    let Some(sites) = ObservedSites::of(input) else {
        return false;
    };
    let mut loads = one.usual().filter(|&at| one.input.data[at].loads());
    loads.all(|at| sites.misses(one.function, at) == Some(false))
}

/// Cycles for each execution of some loads together, if nothing but the bandwidth of the levels counted from which, as
/// bursts show, their cache lines come; 0 where that is not known.
pub(crate) fn cycles_of_lines(input: &AnalysisInput, function: usize, loads: &[usize]) -> f64 {
    let Some(sites) = ObservedSites::of(input) else {
        return 0.0;
    };
    // What a burst meets first is of unknown distance: small programs have it in a cache.
    let farthest = match is_beyond_caches(input) {
        true => "memory",
        false => "L3",
    };
    let of_load = |&at: &usize| {
        let point = sites.point(function, at)?;
        let seen = sites.observed.loads.iter().find(|one| one.at == point)?;
        let levels = [("L2", seen.l2), ("L3", seen.l3), (farthest, seen.memory)];
        let waits = levels.into_iter().filter(|one| one.1.value > 0.0);
        let waits = waits.map(|(level, share)| {
            let bytes = share.value * CACHE_LINE_BYTES as f64;
            bytes_a_cycle(input, level).map_or(0.0, |rate| bytes / rate)
        });
        Some(waits.sum::<f64>())
    };
    loads.iter().filter_map(of_load).sum()
}
