//! Event counters over one or more runs.

use std::time::Duration;

use genba_model::{Estimate, ExitKind, Metric, RunRecord, Stat};
use genba_profile::count::{self, Reading};
use genba_profile::event::EventSpec;
use genba_run::{Cancel, CommandSpec, Launcher, RunError};

use crate::observe::check;
use crate::{InvestigateError, Progress};

/// What to count and how often.
#[derive(Clone, Debug)]
pub struct CountOptions {
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
    options: &CountOptions,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Stat, InvestigateError> {
    let mut readings: Vec<Vec<Reading>> = Vec::new();
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for index in 0..options.runs.max(1) {
        let left = runs.last().map(|run| {
            let more = f64::from(options.runs.saturating_sub(index));
            Duration::try_from_secs_f64(run.wall_seconds * more).unwrap_or(Duration::MAX)
        });
        progress.update(
            &format!("counting: run {} of {}", index + 1, options.runs.max(1)),
            left,
        );
        if cancel.is_triggered() {
            break;
        }
        let gated = launcher.prepare(spec)?;
        let counters = count::open(gated.pid(), &options.events);
        for note in &counters.notes {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let finished = gated.release()?.wait(cancel)?;
        if finished.record.exit == ExitKind::Cancelled && !runs.is_empty() {
            break;
        }
        if finished.record.exit != ExitKind::Cancelled {
            check(&finished, options.ignore_failure)?;
        }
        readings.push(counters.read());
        runs.push(finished.record);
    }
    let Some(last) = runs.last() else {
        return Err(RunError::Cancelled.into());
    };
    let exit = last.exit;
    let mean = |metric: Metric| -> Estimate {
        let values: Vec<f64> = runs.iter().map(|run| run.metric(metric)).collect();
        count::mean(&values)
    };
    let wall = mean(Metric::Wall);
    Ok(Stat {
        command: command.to_vec(),
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        counters: count::summarise(&readings, wall.value),
        wall,
        user: mean(Metric::User),
        system: mean(Metric::System),
        exit,
        notes,
    })
}
