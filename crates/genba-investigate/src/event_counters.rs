//! Event counters of one or more runs.

use std::time::Duration;

use genba_model::{ExitKind, Stat};
use genba_profile::event::EventSpec;
use genba_profile::perf_stat::{self, CountedRun};
use genba_run::{Cancel, CommandSpec, Launcher, RunError};

use crate::repeat_runs::check;
use crate::{InvestigateError, Progress};

/// Events to count and number of runs.
#[derive(Clone, Debug)]
pub struct CounterOptions {
    /// Events to count.
    pub events: Vec<EventSpec>,
    /// Number of runs.
    pub runs: u32,
    /// Count a command that fails.
    pub ignore_failure: bool,
}

/// Counts the events of a command. If it is cancelled, it returns the runs that finished.
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
            // An incomplete run is only used where there is no complete one.
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
