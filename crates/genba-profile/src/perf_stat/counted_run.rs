//! Counting events over one run of a command, and the statistics of several runs.

use genba_model::{ExitKind, Stat};
use genba_run::{Cancel, CommandSpec, Finished, Launcher};

use super::counter_summary::mean;
use super::intervals::{self, Intervals};
use super::{Reading, open, summarise};
use crate::error::ProfileError;
use crate::event::EventSpec;

/// One run with its counters.
#[derive(Clone, Debug)]
pub struct CountedRun {
    /// How the run ended, and its times.
    pub finished: Finished,
    /// The counters.
    pub readings: Vec<Reading>,
    /// What was requested and cannot be had, each with the command that allows it.
    pub notes: Vec<String>,
}

/// Runs a command once and counts `events` over the run.
///
/// # Errors
/// When the command cannot be started. Events that cannot be counted are not an error.
pub fn once(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    events: &[EventSpec],
    cancel: &Cancel,
) -> Result<CountedRun, ProfileError> {
    once_at_intervals(launcher, spec, events, cancel, None)
}

/// The same, with the counters read at intervals as well.
///
/// # Errors
/// As [`once`].
pub fn once_at_intervals(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    events: &[EventSpec],
    cancel: &Cancel,
    intervals: Option<Intervals<'_>>,
) -> Result<CountedRun, ProfileError> {
    let gated = launcher.prepare(spec)?;
    let counters = open(gated.pid(), events);
    let finished = intervals::during(&counters, intervals, || {
        gated.release().and_then(|running| running.wait(cancel))
    })?;
    let readings = counters.read();
    Ok(CountedRun {
        finished,
        readings,
        notes: counters.notes,
    })
}

/// The counters of all runs of `command`, with intervals over the runs.
#[must_use]
pub fn stat_of(command: &[String], runs: Vec<CountedRun>) -> Stat {
    let over = |value: fn(&Finished) -> f64| {
        mean(
            &runs
                .iter()
                .map(|run| value(&run.finished))
                .collect::<Vec<_>>(),
        )
    };
    let wall = over(|f| f.record.wall_seconds);
    let user = over(|f| f.record.cpu().user);
    let system = over(|f| f.record.cpu().system);
    let exit = runs
        .last()
        .map_or(ExitKind::Cancelled, |run| run.finished.record.exit);
    let mut notes: Vec<String> = Vec::new();
    let mut readings = Vec::with_capacity(runs.len());
    for run in runs {
        readings.push(run.readings);
        notes.extend(run.notes);
        notes.extend(run.finished.note());
    }
    notes.sort();
    notes.dedup();
    Stat {
        command: command.to_vec(),
        runs: u32::try_from(readings.len()).unwrap_or(u32::MAX),
        counters: summarise(&readings, wall.value),
        wall,
        user,
        system,
        exit,
        threads: Vec::new(),
        intervals: Vec::new(),
        topdown: None,
        notes,
    }
}
