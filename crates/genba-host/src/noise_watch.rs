//! Watching the machine over the window of a measurement.

use std::time::Instant;

use rustix::param::clock_ticks_per_second;

use crate::procfs::{CpuTicks, parse_proc_stat, parse_swap_pages};
use crate::{affinity, small_files};

/// What the machine did between the start and the stop of a [`NoiseWatch`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Length, seconds.
    pub seconds: f64,
    /// CPUs online: the capacity is `seconds × cpus`.
    pub cpus: f64,
    /// Share of the capacity that was stolen by the hypervisor, of what CPUs wanted to run
    /// (stolen ÷ (busy + stolen)).
    pub steal_share: f64,
    /// CPU seconds that others than the measurement used.
    pub others_cpu_seconds: f64,
    /// Pages swapped in or out.
    pub swapped_pages: u64,
    /// Thermal throttling events.
    pub throttle_events: u64,
}

impl Window {
    /// CPUs that other processes used on average.
    #[must_use]
    pub fn others_cpus(&self) -> f64 {
        if self.seconds > 0.0 {
            self.others_cpu_seconds / self.seconds
        } else {
            0.0
        }
    }

    /// The window between two readings of the ticks; `own_cpu_seconds` is what the measurement
    /// itself used. `None` for a window too short for the ticks' resolution (under 5 ticks in
    /// all).
    #[must_use]
    pub(crate) fn from_ticks(
        seconds: f64,
        passed: CpuTicks,
        ticks_per_second: f64,
        own_cpu_seconds: f64,
    ) -> Option<Self> {
        if passed.total() < 5 || !(seconds > 0.0 && ticks_per_second > 0.0) {
            return None;
        }
        let busy = passed.busy as f64 / ticks_per_second;
        let wanted = (passed.busy + passed.steal) as f64;
        Some(Self {
            seconds,
            cpus: (passed.total() as f64 / ticks_per_second / seconds)
                .round()
                .max(1.0),
            steal_share: if wanted > 0.0 {
                passed.steal as f64 / wanted
            } else {
                0.0
            },
            others_cpu_seconds: (busy - own_cpu_seconds.max(0.0)).max(0.0),
            swapped_pages: 0,
            throttle_events: 0,
        })
    }
}

/// Takes the kernel's counters round a measurement.
#[derive(Debug)]
pub struct NoiseWatch {
    started: Instant,
    ticks: Option<CpuTicks>,
    own_seconds: f64,
    swapped: Option<u64>,
    throttled: u64,
}

impl NoiseWatch {
    /// Takes the first reading.
    #[must_use]
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            ticks: ticks(),
            own_seconds: own_cpu_seconds(),
            swapped: swapped(),
            throttled: throttle_count(),
        }
    }

    /// Takes the second reading. `measured_cpu_seconds` is the CPU time of the runs measured in
    /// the window (user and system, added over the runs); this process's own is known here, that
    /// of other processes is what is left.
    ///
    /// `None` where `/proc/stat` cannot be read or the window is too short to say anything
    /// (its counters advance by 10 ms).
    #[must_use]
    pub fn stop(self, measured_cpu_seconds: f64) -> Option<Window> {
        let own = own_cpu_seconds() - self.own_seconds + measured_cpu_seconds.max(0.0);
        let passed = ticks()?.since(&self.ticks?);
        let seconds = self.started.elapsed().as_secs_f64();
        let mut window = Window::from_ticks(seconds, passed, clock_ticks_per_second() as f64, own)?;
        window.swapped_pages = match (self.swapped, swapped()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => 0,
        };
        window.throttle_events = throttle_count().saturating_sub(self.throttled);
        Some(window)
    }
}

fn ticks() -> Option<CpuTicks> {
    parse_proc_stat(&small_files::text("/proc/stat")?)
}

fn swapped() -> Option<u64> {
    parse_swap_pages(&small_files::text("/proc/vmstat")?)
}

/// CPU time of this process (all threads), seconds.
fn own_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Thermal throttling events since boot over the allowed CPUs (Intel's drivers count them).
fn throttle_count() -> u64 {
    affinity::allowed_cpus()
        .into_iter()
        .filter_map(|cpu| {
            small_files::number(format!(
                "/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"
            ))
        })
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_what_wanted_to_run() {
        let passed = CpuTicks {
            busy: 80,
            idle: 100,
            steal: 20,
        };
        let window = Window::from_ticks(1.0, passed, 100.0, 0.3).unwrap();
        assert_eq!(window.cpus, 2.0);
        assert!((window.steal_share - 0.2).abs() < 1e-12);
        assert!((window.others_cpus() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn own_time_above_all_ticks_leaves_none_to_others() {
        let passed = CpuTicks {
            busy: 10,
            idle: 10,
            steal: 0,
        };
        let window = Window::from_ticks(0.1, passed, 100.0, 5.0).unwrap();
        assert_eq!(window.others_cpu_seconds, 0.0);
    }

    #[test]
    fn too_short_window_gives_no_figures() {
        let passed = CpuTicks {
            busy: 1,
            idle: 2,
            steal: 0,
        };
        assert_eq!(Window::from_ticks(0.01, passed, 100.0, 0.0), None);
        assert_eq!(
            Window::from_ticks(0.0, CpuTicks::default(), 100.0, 0.0),
            None
        );
    }

    #[test]
    fn watches_this_machine() {
        let watch = NoiseWatch::start();
        let _ = crate::noise_check(std::time::Duration::from_millis(60));
        if let Some(window) = watch.stop(0.0) {
            assert!((0.0..=1.0).contains(&window.steal_share));
            assert!(window.others_cpu_seconds >= 0.0);
            eprintln!("{window:?}");
        }
    }
}
