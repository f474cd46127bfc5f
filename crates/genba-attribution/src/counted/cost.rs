//! Cost per execution: measured time ÷ exact counts.
//!
//! Samples may be of several runs of the command, counts are of one: time is taken for a run on
//! average. Cycles come from the samples themselves where those count cycles, else from
//! seconds and the core clock.

use genba_model::{Counted, Estimate, Event, HostTable, RawCounts};

use super::counts_index::{CountIndex, ModuleIndex};
use super::document::slowdown;

/// The core clock while the samples were taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// Cycles a second.
    pub hz: Estimate,
    /// Where it comes from: `counters`, `host table`.
    pub source: String,
}

/// Execution counts with all that turns shares of time into costs per execution.
#[derive(Debug)]
pub struct Joined {
    /// Counts by module and address.
    pub index: CountIndex,
    /// How the counts were made: engine, slowdown, clock.
    pub counted: Counted,
    /// Instruction costs of this host.
    pub host: Option<HostTable>,
    /// Processes of the counted run, the target among them.
    pub processes: u32,
}

/// What counts are joined with.
#[derive(Clone, Debug, Default)]
pub struct JoinOptions {
    /// Runs that the samples are of.
    pub runs: f64,
    /// CPU time of one run without the engine, seconds, where it is known.
    pub native_cpu_seconds: Option<f64>,
    /// What the counts are multiplied with: 1 unless a smaller workload was counted.
    pub scale: f64,
    /// The core clock, where it is known.
    pub clock: Option<Clock>,
    /// What instructions cost here, where it is known.
    pub host: Option<HostTable>,
}

impl Joined {
    /// Indexes the counts.
    #[must_use]
    pub fn new(raw: &RawCounts, options: JoinOptions) -> Self {
        let scale = if options.scale.is_finite() && options.scale > 0.0 {
            options.scale
        } else {
            1.0
        };
        let (clock_hz, clock_source) = match options.clock {
            Some(clock) => (Some(clock.hz), clock.source),
            None => (None, String::new()),
        };
        let cut_short = raw.processes.iter().find_map(|one| one.cut_short.clone());
        Self {
            index: CountIndex::new(raw),
            counted: Counted {
                engine: raw.engine.clone(),
                slowdown: slowdown(raw.cpu_seconds, options.native_cpu_seconds),
                command: raw.command.clone(),
                scale,
                cut_short,
                runs: options.runs.max(1.0),
                clock_hz,
                clock_source,
            },
            host: options.host,
            processes: raw.processes.len() as u32,
        }
    }

    /// A count multiplied by [`JoinOptions::scale`].
    pub fn scaled(&self, count: u64) -> u64 {
        if self.counted.scale == 1.0 {
            return count;
        }
        // The conversion saturates.
        (count as f64 * self.counted.scale).round() as u64
    }

    /// The executions of an instruction.
    pub fn count(&self, module: ModuleIndex, address: u64) -> u64 {
        self.scaled(self.index.count(module, address))
    }

    /// Seconds and cycles of one run for a share of `weight`, which is that of all runs.
    pub fn time(
        &self,
        event: &Event,
        share: Estimate,
        weight: f64,
    ) -> (Option<Estimate>, Option<Estimate>) {
        let amount = share.scaled(weight / self.counted.runs);
        let hz = self.counted.clock_hz;
        if !event.hardware {
            let seconds = amount.scaled(1e-9);
            return (Some(seconds), hz.map(|hz| product(seconds, hz)));
        }
        if is_cycles(&event.name) {
            let seconds = hz.map(|hz| product(amount, inverse(hz)));
            return (seconds, Some(amount));
        }
        // Other events say nothing about time.
        (None, None)
    }

    /// Seconds and cycles per execution; `None` where `count` is 0.
    pub fn each(
        &self,
        event: &Event,
        share: Estimate,
        weight: f64,
        count: u64,
    ) -> (Option<Estimate>, Option<Estimate>) {
        if count == 0 {
            return (None, None);
        }
        let (seconds, cycles) = self.time(event, share, weight);
        let part = 1.0 / count as f64;
        (
            seconds.map(|time| time.scaled(part)),
            cycles.map(|time| time.scaled(part)),
        )
    }
}

/// Whether an event counts core cycles, whatever its modifiers and its PMU.
fn is_cycles(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or(name);
    name.split('/')
        .any(|part| part == "cycles" || part == "cpu-cycles")
}

/// The product of two independent positive quantities; the interval holds both ends of both.
fn product(a: Estimate, b: Estimate) -> Estimate {
    Estimate {
        value: a.value * b.value,
        low: a.low * b.low,
        high: a.high * b.high,
    }
}

fn inverse(a: Estimate) -> Estimate {
    Estimate {
        value: 1.0 / a.value,
        low: 1.0 / a.high,
        high: 1.0 / a.low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::synthetic::raw;
    use genba_model::Precision;

    fn joined(runs: f64, hz: Option<f64>, scale: f64) -> Joined {
        let raw = RawCounts {
            cpu_seconds: 20.0,
            wall_seconds: 20.0,
            transfers: false,
            ..raw(Vec::new())
        };
        let options = JoinOptions {
            runs,
            native_cpu_seconds: Some(2.0),
            scale,
            clock: hz.map(|hz| Clock {
                hz: Estimate {
                    value: hz,
                    low: hz * 0.9,
                    high: hz * 1.1,
                },
                source: "test".to_owned(),
            }),
            host: None,
        };
        Joined::new(&raw, options)
    }

    fn event(name: &str, hardware: bool) -> Event {
        Event {
            name: name.to_owned(),
            hardware,
            frequency_hz: 4999,
            kernel: false,
            precision: Precision::Skid,
        }
    }

    const HALF: Estimate = Estimate {
        value: 0.5,
        low: 0.4,
        high: 0.6,
    };

    #[test]
    fn clock_samples_of_several_runs_give_seconds_and_cycles_of_one_run() {
        let joined = joined(4.0, Some(4e9), 1.0);
        assert_eq!(joined.counted.slowdown, Some(10.0));
        // Half of 8 s over four runs, a hundred million times.
        let (seconds, cycles) = joined.each(&event("cpu-clock", false), HALF, 8e9, 100_000_000);
        let (seconds, cycles) = (seconds.expect("time"), cycles.expect("cycles"));
        assert!((seconds.value - 10e-9).abs() < 1e-15);
        assert!((cycles.value - 40.0).abs() < 1e-9);
        // The clock's uncertainty is in the interval.
        assert!((cycles.low - 40.0 * 0.8 * 0.9).abs() < 1e-9);
        assert!((cycles.high - 40.0 * 1.2 * 1.1).abs() < 1e-9);
    }

    #[test]
    fn cycle_samples_give_cycles_without_a_known_clock() {
        let joined = joined(1.0, None, 1.0);
        let (seconds, cycles) = joined.each(&event("cycles:u", true), HALF, 1e9, 1000);
        assert_eq!(seconds, None);
        assert!((cycles.expect("cycles").value - 5e5).abs() < 1e-6);
        let other = joined.each(&event("branch-misses", true), HALF, 1e9, 1000);
        assert_eq!(other, (None, None));
        let never = joined.each(&event("cycles", true), HALF, 1e9, 0);
        assert_eq!(never, (None, None));
    }

    #[test]
    fn counts_of_a_smaller_workload_are_scaled() {
        assert_eq!(joined(1.0, None, 2.5).scaled(10), 25);
        assert_eq!(joined(1.0, None, f64::NAN).scaled(10), 10);
    }
}
