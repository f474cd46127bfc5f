//! Runners: the real one counts events, passes the metrics descriptor and watches steal time; any
//! [`Executor`] is a runner without these.

use genba_host::NoiseWatch;
use genba_profile::event::EventSpec;
use genba_profile::perf_stat;
use genba_run::{Cancel, CommandSpec, Executor, Finished, Launcher, RunError};

use crate::ExperimentError;
use crate::metrics_channel::Channel;

/// A measured run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Times, memory, exit code and output.
    pub finished: Finished,
    /// Counts in the order of the plan's events; `None` if the machine could not count.
    pub counters: Vec<Option<f64>>,
    /// What it wrote to `$GENBA_METRICS_FD`.
    pub channel: Vec<u8>,
    /// Steal time as a share of the CPU time wanted, if the run was long enough to measure it.
    pub steal_share: Option<f64>,
}

impl From<Finished> for Measured {
    fn from(finished: Finished) -> Self {
        Self {
            finished,
            counters: Vec::new(),
            channel: Vec::new(),
            steal_share: None,
        }
    }
}

/// Runs commands for a measurement.
pub trait Runner {
    /// Announces the variant of the next measured run. Returns true if that run is replayed from an
    /// earlier session, so that nothing must be prepared for it.
    fn begin(&mut self, _variant: &str) -> bool {
        false
    }

    /// Makes a measured run.
    ///
    /// # Errors
    /// The command cannot be started, or was cancelled before it started.
    fn measure(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Measured, RunError>;

    /// Runs a command that is not measured (prepare, setup, …).
    ///
    /// # Errors
    /// As [`Runner::measure`].
    fn command(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError>;

    /// Notes on what was not possible (events that this machine lacks), a sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
}

impl<E: Executor> Runner for E {
    fn measure(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Measured, RunError> {
        self.execute(spec, cancel).map(Measured::from)
    }

    fn command(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        self.execute(spec, cancel)
    }
}

/// Shortest run whose steal time is measured, seconds: the kernel counts it in steps of 10 ms.
const MIN_STEAL_WATCH_SECONDS: f64 = 0.1;

/// Runner on this host with event counters, metrics channel and steal time.
pub struct HostRunner {
    launcher: Launcher,
    events: Vec<EventSpec>,
    channel: Channel,
    last_seconds: f64,
    notes: Vec<String>,
}

impl HostRunner {
    /// A runner that counts these events in every measured run.
    ///
    /// # Errors
    /// An unknown event, or a launcher that cannot be started.
    pub fn new(counters: &[String]) -> Result<Self, ExperimentError> {
        let events = counters
            .iter()
            .map(|name| {
                EventSpec::parse(name).map_err(|error| ExperimentError::Plan {
                    what: error.to_string(),
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            launcher: Launcher::new()?,
            events,
            channel: Channel::new()?,
            last_seconds: 0.0,
            notes: Vec::new(),
        })
    }

    fn once(
        &mut self,
        spec: &CommandSpec,
        cancel: &Cancel,
    ) -> Result<(Finished, Vec<Option<f64>>), RunError> {
        if self.events.is_empty() {
            return Ok((self.launcher.run(spec, cancel)?, Vec::new()));
        }
        let gated = self.launcher.prepare(spec)?;
        let counters = perf_stat::open(gated.pid(), &self.events);
        let finished = gated.release()?.wait(cancel)?;
        let counted = |reading: &perf_stat::Reading| {
            (reading.state == genba_model::CounterState::Counted).then_some(reading.value)
        };
        let values = counters.read().iter().map(counted).collect();
        for note in counters.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok((finished, values))
    }
}

impl Runner for HostRunner {
    fn measure(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Measured, RunError> {
        let watch = (self.last_seconds >= MIN_STEAL_WATCH_SECONDS).then(NoiseWatch::start);
        let (finished, counters) = if spec.pass_fd.is_none() {
            let mut spec = spec.clone();
            spec.pass_fd = Some(self.channel.pass());
            self.once(&spec, cancel)?
        } else {
            self.once(spec, cancel)?
        };
        self.last_seconds = finished.record.wall_seconds;
        if let Some(note) = finished.note()
            && !self.notes.contains(&note)
        {
            self.notes.push(note);
        }
        let window = watch.and_then(|watch| watch.stop(finished.record.cpu().total()));
        Ok(Measured {
            finished,
            counters,
            channel: self.channel.take(),
            steal_share: window.map(|window| window.steal_share),
        })
    }

    fn command(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        self.launcher.run(spec, cancel)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
