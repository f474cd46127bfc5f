//! Exact execution counts of one run: the command without an engine, then under one.

use std::time::Duration;

use genba_count::{BurstPlan, Choice, CountRequest, Transfers};
use genba_model::{ExitKind, RawCounts};
use genba_run::{Cancel, CommandSpec, Finished, Launcher};

use crate::{InvestigateError, Progress, repeat_runs};

/// How to count executions.
#[derive(Clone, Debug)]
pub struct CountPlan {
    /// Name of the engine; the best that can serve if `None`.
    pub engine: Option<String>,
    /// Jumps and calls that are recorded as well.
    pub transfers: Transfers,
    /// Also count in processes that the target starts.
    pub children: bool,
    /// Run the command without the engine first, to know the slowdown and how long the count takes.
    pub native: bool,
    /// Count a command that fails.
    pub ignore_failure: bool,
    /// Watch the run in bursts as well.
    pub observe: bool,
}

/// The result of a count.
#[derive(Debug)]
pub struct CountedRun {
    /// The counts.
    pub raw: RawCounts,
    /// The run without the engine.
    pub native: Option<Finished>,
}

impl CountedRun {
    /// Returns the CPU time of the run without the engine, seconds.
    #[must_use]
    pub fn native_cpu_seconds(&self) -> Option<f64> {
        self.native.as_ref().map(|run| run.record.cpu().total())
    }
}

/// Counts one run of a command.
///
/// # Errors
/// When no engine can serve, the command cannot be started, or it fails and that is not ignored.
pub fn count(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    plan: &CountPlan,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<CountedRun, InvestigateError> {
    let mut request = CountRequest {
        spec: spec.clone(),
        transfers: plan.transfers.clone(),
        children: plan.children,
        observe: plan.observe.then(BurstPlan::default),
        native_exit: None,
    };
    let choice = genba_count::choose(plan.engine.as_deref(), &request)?;
    let native = if plan.native {
        progress.update("running the command without the engine", None);
        let mut quiet = spec.clone();
        // Its output is wanted once: from the counted run.
        quiet.stdout = genba_run::Output::Null;
        quiet.stderr = genba_run::Output::Capture { limit: 64 << 10 };
        let finished = launcher.run(&quiet, cancel)?;
        if !plan.ignore_failure {
            repeat_runs::check(&finished, false)?;
        }
        // A run that timed out does not tell how long a whole one takes.
        (finished.record.exit != ExitKind::TimedOut).then_some(finished)
    } else {
        None
    };
    if cancel.is_triggered() {
        return Err(InvestigateError::Interrupted {
            kept: String::new(),
        });
    }
    let stage = match &native {
        Some(run) => announcement(&choice, run.record.wall_seconds, None),
        None => format!("counting with {}", choice.description.name),
    };
    progress.update(&stage, None);
    request.native_exit = native.as_ref().map(|run| run.record.exit);
    let mut raw = choice.engine.count(&request, launcher, cancel)?;
    raw.notes.splice(0..0, choice.passed_over);
    if let Some(run) = native.as_ref().filter(|_| !cancel.is_triggered()) {
        compare_ends(run.record.exit, &mut raw);
    }
    Ok(CountedRun { raw, native })
}

/// Adds a note if the counted run ended otherwise than the one without the engine.
fn compare_ends(without: ExitKind, raw: &mut RawCounts) {
    let Some(before) = shell_status(without).filter(|status| *status != raw.exit) else {
        return;
    };
    raw.notes.push(format!(
        "the counted run ended with status {}, the one without the engine with {before}: they did not do \
         the same work",
        raw.exit
    ));
}

/// Returns how long the count of a run of `wall` seconds will take, where it ends at a limit until then.
pub(crate) fn announcement(choice: &Choice, wall: f64, limit: Option<Duration>) -> String {
    let usual = choice.engine.usual_slowdown();
    let (least, most) = (wall * usual.start(), wall * usual.end());
    let name = &choice.description.name;
    let limit = limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
    if least > limit {
        let time = rounded(limit);
        return format!("counting the first part of a run with {name}, for {time}");
    }
    format!(
        "counting with {name}, usually {:.0} to {:.0} times slower: {} to {}",
        usual.start(),
        usual.end(),
        rounded(least),
        rounded(most.min(limit)),
    )
}

/// Returns a time in whole seconds or minutes.
fn rounded(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time < Duration::from_secs(1) => "under a second".to_owned(),
        Ok(time) if time < Duration::from_secs(120) => format!("{} s", time.as_secs()),
        Ok(time) => format!("{} min", time.as_secs() / 60),
        Err(_) => "very long".to_owned(),
    }
}

/// Returns the exit status as a shell reports it.
pub(crate) fn shell_status(exit: ExitKind) -> Option<i32> {
    match exit {
        ExitKind::Code(code) => Some(code),
        ExitKind::Signal { signal, .. } => Some(128 + signal),
        ExitKind::TimedOut | ExitKind::Cancelled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_wait_are_round() {
        assert_eq!(rounded(0.3), "under a second");
        assert_eq!(rounded(35.7), "35 s");
        assert_eq!(rounded(600.0), "10 min");
        assert_eq!(rounded(f64::INFINITY), "very long");
    }

    #[test]
    fn exit_status_of_a_signal_is_128_plus_its_number() {
        let killed = ExitKind::Signal {
            signal: 9,
            core: false,
        };
        assert_eq!(shell_status(killed), Some(137));
        assert_eq!(shell_status(ExitKind::TimedOut), None);
    }
}
