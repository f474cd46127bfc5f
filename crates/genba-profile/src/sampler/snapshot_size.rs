//! How large the ring buffers of snapshots are.

use std::time::Duration;

use super::event_attr::USER_REGS;
use super::record_options::CallGraph;
use super::sampling_rate::{DEFAULT_RATE_HZ, Rate};

/// Most memory for the ring buffers of all CPUs together, bytes. Chosen: what a server can spare.
const MAX_BYTES: usize = 512 << 20;

/// Least pages of a ring buffer.
const MIN_PAGES: usize = 16;

/// Frames of a call chain that room is made for: deeper stacks shorten the time that fits. Chosen.
const FRAMES: usize = 32;

/// Bytes of a sample: header, address, thread, time, CPU and period, and the stack.
fn sample_bytes(call_graph: CallGraph) -> usize {
    const PLAIN: usize = 6 * 8;
    let chain = 8 + FRAMES * 8;
    match call_graph {
        CallGraph::None => PLAIN,
        CallGraph::FramePointer => PLAIN + chain,
        CallGraph::Dwarf(bytes) => {
            let registers = 8 + USER_REGS.count_ones() as usize * 8;
            PLAIN + chain + registers + 16 + bytes as usize
        }
    }
}

/// Pages of each CPU's ring buffer, a power of two, which hold the samples of a CPU that is busy for all of the
/// window, or fewer where that were too much memory. A rate that is not known, as that of every N events, is taken
/// for the default one.
pub fn ring_pages(
    window: Duration,
    rate: Rate,
    call_graph: CallGraph,
    cpus: usize,
    page_bytes: usize,
) -> usize {
    let hz = match rate {
        Rate::Frequency(hz) => hz,
        Rate::Period(_) => DEFAULT_RATE_HZ,
    };
    let samples = window.as_secs_f64() * hz as f64;
    let pages = (samples * sample_bytes(call_graph) as f64 / page_bytes as f64).ceil();
    let most = (MAX_BYTES / page_bytes / cpus.max(1)).max(MIN_PAGES);
    // As a number of pages it fits, as it is at most `most`.
    let pages = pages.min(most as f64) as usize;
    let rounded = pages.max(MIN_PAGES).next_power_of_two();
    if rounded > most { rounded / 2 } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS_10: Duration = Duration::from_secs(10);

    fn kib(rate: Rate, call_graph: CallGraph, cpus: usize) -> usize {
        ring_pages(SECONDS_10, rate, call_graph, cpus, 4096) * 4
    }

    #[test]
    fn ring_holds_the_window_and_memory_is_bounded() {
        let default = Rate::default();
        // 49,990 samples of 48 bytes: 2,344 KiB.
        assert_eq!(kib(default, CallGraph::None, 2), 4096);
        // And of 312 bytes: 15,232 KiB.
        assert_eq!(kib(default, CallGraph::FramePointer, 2), 16384);
        // 16 KiB of stack at this rate are 800 MB.
        let dwarf = CallGraph::Dwarf(CallGraph::DWARF_BYTES);
        assert_eq!(kib(default, dwarf, 2), 256 << 10);
        assert_eq!(kib(default, dwarf, 3), 128 << 10);
        assert_eq!(kib(Rate::Frequency(99), dwarf, 2), 16384);
        assert_eq!(kib(Rate::Period(1000), CallGraph::None, 2), 4096);
        assert_eq!(kib(Rate::Frequency(1), CallGraph::None, 2), 64);
        let year = Duration::from_secs(31_536_000);
        assert_eq!(ring_pages(year, default, dwarf, 1, 4096), MAX_BYTES / 4096);
    }
}
