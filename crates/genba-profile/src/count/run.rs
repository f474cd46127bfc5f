//! Counting a command from end to end, once or several times.

use genba_model::Stat;
use genba_run::{Cancel, CommandSpec, Finished, Launcher};

use super::summary::mean;
use super::{open, summarise};
use crate::error::ProfileError;
use crate::event::EventSpec;

/// What came of counting.
#[derive(Clone, Debug)]
pub struct CountOutcome {
    /// The counters, with intervals over the runs.
    pub stat: Stat,
    /// Every run.
    pub finished: Vec<Finished>,
}

/// Runs a command `runs` times (at least once) and counts `events` over it. Stops early when
/// cancelled; what was counted till then is given.
///
/// # Errors
/// When the command cannot be started. Events that cannot be counted are no error.
pub fn count(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    events: &[EventSpec],
    runs: u32,
    cancel: &Cancel,
) -> Result<CountOutcome, ProfileError> {
    let mut readings = Vec::new();
    let mut finished: Vec<Finished> = Vec::new();
    let mut notes = Vec::new();
    for _ in 0..runs.max(1) {
        let gated = launcher.prepare(spec)?;
        let counters = open(gated.pid(), events);
        let run = gated.release().and_then(|running| running.wait(cancel))?;
        readings.push(counters.read());
        notes = counters.notes;
        finished.push(run);
        if cancel.is_triggered() {
            break;
        }
    }
    let over = |value: fn(&Finished) -> f64| mean(&finished.iter().map(value).collect::<Vec<_>>());
    let wall = over(|f| f.record.wall_seconds);
    let exit = finished.last().map(|f| f.record.exit);
    let stat = Stat {
        command: spec
            .argv
            .iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect(),
        runs: finished.len() as u32,
        counters: summarise(&readings, wall.value),
        wall,
        user: over(|f| f.record.cpu().user),
        system: over(|f| f.record.cpu().system),
        exit: exit.unwrap_or(genba_model::ExitKind::Cancelled),
        notes,
    };
    Ok(CountOutcome { stat, finished })
}
