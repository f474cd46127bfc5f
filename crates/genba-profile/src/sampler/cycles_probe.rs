//! Whether hardware cycles can be sampled here, and how much that slows a program.

use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::time::Duration;

use perf_event_open_sys::bindings::perf_event_attr;

use super::host_description::thread_cpu_time;
use super::ring_buffer::{RingBuffer, SampleCounts};
use super::sampling_rate::Rate;
use super::syscalls;

/// Multiplications in the probe's work: some 5 ms.
const PROBE_STEPS: u64 = 5_000_000;

/// How often the probe's work is timed with and without sampling. One more run comes before, in
/// which the kernel finds the period that gives the frequency.
const PROBE_RUNS: usize = 3;

/// Pages of the probe's ring buffer.
const PROBE_RING_PAGES: usize = 8;

/// CPU time of a fixed amount of work: a chain of dependent multiplications, each of 3 cycles or
/// more on any x86-64. Includes interrupts, excludes other processes.
fn work() -> Duration {
    let started = thread_cpu_time();
    let mut x = 3u64;
    for _ in 0..PROBE_STEPS {
        x = black_box(x.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    black_box(x);
    thread_cpu_time().saturating_sub(started)
}

/// The share by which sampling cycles at this rate slows a program (0.01 is 1 %).
///
/// # Errors
/// The reason, as a sentence without a full stop, where cycles cannot be sampled.
pub fn cycles_slowdown(rate: Rate) -> Result<f64, String> {
    let mut attr = perf_event_attr::default(); // hardware, cycles
    rate.set(&mut attr);
    attr.sample_type = 1;
    attr.read_format = 3; // time enabled, time running
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_guest(1);
    let fd = syscalls::open(&mut attr, 0, -1).map_err(|e| match e.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no cycle counter".to_owned()
        }
        _ => format!("the cycle counter cannot be opened: {e}"),
    })?;
    let mut ring = RingBuffer::map(&fd, PROBE_RING_PAGES)
        .map_err(|e| format!("the cycle counter's ring buffer cannot be mapped: {e}"))?;
    let sampled_work = || -> Result<Duration, String> {
        syscalls::enable(&fd).map_err(|e| format!("the cycle counter does not start: {e}"))?;
        let time = work();
        syscalls::disable(&fd).map_err(|e| format!("the cycle counter does not stop: {e}"))?;
        Ok(time)
    };
    sampled_work()?;
    let (mut plain, mut sampled) = (Duration::MAX, Duration::MAX);
    for _ in 0..PROBE_RUNS {
        plain = plain.min(work());
        sampled = sampled.min(sampled_work()?);
    }
    let mut values = [0u64; 3];
    // SAFETY: reads at most the 24 bytes that `values` has.
    let n = unsafe { libc::read(fd.as_raw_fd(), values.as_mut_ptr().cast(), 24) };
    if n != 24 {
        return Err("the cycle counter cannot be read".to_owned());
    }
    let mut counts = SampleCounts::default();
    let drained = ring.drain(&mut counts, &mut |_| Ok(()));
    // A period longer than all of the probe's work gives no sample, which is not an error.
    let few = matches!(rate, Rate::Period(cycles) if cycles > PROBE_STEPS)
        || matches!(rate, Rate::Frequency(hz) if hz < 1000);
    match (values[0], values[2], counts.samples) {
        (_, 0, _) => Err("the cycle counter is never scheduled (other events hold it)".to_owned()),
        // Fewer cycles than multiplications: it does not count.
        (cycles, ..) if cycles < PROBE_STEPS => Err(format!(
            "the cycle counter counted {cycles} cycles where millions were expected"
        )),
        (_, _, 0) if !few => Err("the cycle counter counts but never interrupts".to_owned()),
        _ if drained.is_err() => Err("the cycle counter's ring buffer cannot be read".to_owned()),
        _ => Ok((sampled.as_secs_f64() / plain.as_secs_f64().max(1e-9) - 1.0).max(0.0)),
    }
}

/// Whether cycles can be counted *and* sampled in hardware: opens the counter, runs a fixed
/// amount of work (some 50 ms) and checks the count and the samples.
///
/// # Errors
/// The reason, as a sentence without a full stop, where cycles cannot be sampled.
pub fn hardware_cycles_work() -> Result<(), String> {
    cycles_slowdown(Rate::default()).map(drop)
}
