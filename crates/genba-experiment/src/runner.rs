//! What the driver needs of the world: runs. The real one counts events, passes the metrics'
//! descriptor and watches the hypervisor; any [`Executor`] will do for less.

use genba_host::NoiseWatch;
use genba_profile::event::EventSpec;
use genba_profile::perf_stat;
use genba_run::{Cancel, CommandSpec, Executor, Finished, Launcher, RunError};

use crate::ExperimentError;
use crate::metrics_channel::Channel;

/// A measured run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its account.
    pub finished: Finished,
    /// Counts in the order of the plan's events; `None` where the machine had none.
    pub counters: Vec<Option<f64>>,
    /// What it wrote to `$GENBA_METRICS_FD`.
    pub channel: Vec<u8>,
    /// Share of the wanted CPU time that the hypervisor took meanwhile, where the run was long
    /// enough to tell.
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

/// Makes runs.
pub trait Runner {
    /// Says of which variant the next measured run is. True if that run was made in an earlier
    /// sitting and will be recalled: nothing need be prepared for it.
    fn begin(&mut self, _variant: &str) -> bool {
        false
    }

    /// A run that is measured.
    ///
    /// # Errors
    /// When it cannot be started, or was cancelled before.
    fn measure(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Measured, RunError>;

    /// A command round the measurement (prepare, setup, …).
    ///
    /// # Errors
    /// As [`Runner::measure`].
    fn command(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError>;

    /// What is less than asked for (events that this machine lacks), a sentence each.
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

/// Runs shorter than this are not watched: the kernel counts stolen time in steps of 10 ms.
const WATCHED_SECONDS: f64 = 0.1;

/// The real runner.
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
    /// An event that is not known, or the launcher cannot be started.
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
        let watch = (self.last_seconds >= WATCHED_SECONDS).then(NoiseWatch::start);
        let (finished, counters) = if spec.pass_fd.is_none() {
            let mut spec = spec.clone();
            spec.pass_fd = Some(self.channel.pass());
            self.once(&spec, cancel)?
        } else {
            self.once(spec, cancel)?
        };
        self.last_seconds = finished.record.wall_seconds;
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
