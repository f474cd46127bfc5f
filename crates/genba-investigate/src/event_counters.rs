//! Event counters over one or more runs.

use std::time::Duration;

use genba_model::{ExitKind, Stat};
use genba_profile::event::EventSpec;
use genba_profile::perf_stat::{self, CountedRun};
use genba_run::{Cancel, CommandSpec, Launcher, RunError};

use crate::repeat_runs::check;
use crate::{InvestigateError, Progress};

/// What to count and how often.
#[derive(Clone, Debug)]
pub struct CounterOptions {
    /// Events.
    pub events: Vec<EventSpec>,
    /// Runs.
    pub runs: u32,
    /// Count a target that fails.
    pub ignore_failure: bool,
}

/// Counts the events of a command. Cancelled, it returns the runs that ended, if any.
///
/// # Errors
/// When the command cannot be started, fails, or was cancelled before a run ended.
pub fn count(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    command: &[String],
    options: &CounterOptions,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Stat, InvestigateError> {
    let mut runs: Vec<CountedRun> = Vec::new();
    for index in 0..options.runs.max(1) {
        let left = runs.last().map(|run| {
            let more = f64::from(options.runs.saturating_sub(index));
            let seconds = run.finished.record.wall_seconds * more;
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        });
        progress.update(
            &format!("counting: run {} of {}", index + 1, options.runs.max(1)),
            left,
        );
        if cancel.is_triggered() {
            break;
        }
        let run = perf_stat::once(launcher, spec, &options.events, cancel)?;
        if run.finished.record.exit == ExitKind::Cancelled {
            // A run that was cut short says nothing beside whole ones, yet more than nothing.
            if runs.is_empty() {
                runs.push(run);
            }
            break;
        }
        check(&run.finished, options.ignore_failure)?;
        runs.push(run);
    }
    if runs.is_empty() {
        return Err(RunError::Cancelled.into());
    }
    Ok(perf_stat::stat_of(command, runs))
}
