//! Runs without profiler, repeated until their time is known.

use std::time::{Duration, Instant};

use genba_model::{ExitKind, RunRecord};
use genba_run::{Cancel, CommandSpec, Executor, Finished, RunError};
use genba_stats::{StopDecision, StopRule};

use crate::{InvestigateError, Progress};

/// When to stop, and whether a failing command is measured.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// Time for all runs together.
    pub budget: Duration,
    /// When the median is known precisely enough.
    pub rule: StopRule,
    /// Measure a command that fails.
    pub ignore_failure: bool,
    /// Minimum number of runs for a noise floor: where the budget is too small for so many, only one
    /// is made, since two would show no noise either and leave less time for what comes after.
    pub runs_for_noise_floor: Option<usize>,
    /// Time after which a run is ended and used as it is; it is the last.
    pub cut: Option<Duration>,
    /// Time for everything that comes with these runs, for an announcement.
    pub whole: Option<Duration>,
}

/// Whether a run was ended by genba's own limit, not by the user's.
pub(crate) fn was_cut(finished: &Finished, spec: &CommandSpec) -> bool {
    finished.record.exit == ExitKind::TimedOut
        && (spec.timeout).is_none_or(|own| finished.record.wall_seconds < own.as_secs_f64())
}

/// The command with this limit, unless its own is shorter.
pub(crate) fn limited(spec: &CommandSpec, limit: Option<Duration>) -> CommandSpec {
    let own = spec.timeout;
    CommandSpec {
        timeout: limit.map_or(own, |limit| Some(own.map_or(limit, |own| own.min(limit)))),
        ..spec.clone()
    }
}

/// Shortest run that an announcement is made for, seconds.
const MIN_ANNOUNCED_RUN: f64 = 4.0;

/// How long an investigation of a command takes whose run takes so long: the runs, one to sample it, one
/// with stacks, and a count, within the limit.
fn estimate(run: f64, budget: Duration, whole: Duration) -> String {
    let runs = budget.as_secs_f64().max(run);
    let all = (runs + run * (2.0 + USUAL_COUNT_SLOWDOWN)).min(whole.as_secs_f64());
    format!(
        "a run takes {}: about {} in all, at most {} (--limit)",
        genba_units::format::rough_duration(run),
        genba_units::format::rough_duration(all),
        genba_units::format::rough_duration(whole.as_secs_f64()),
    )
}

/// Usual slowdown of a run whose executions are counted.
const USUAL_COUNT_SLOWDOWN: f64 = 1.7;

/// Repeats a command until the interval of its median wall time is narrow enough or the budget is
/// spent. Each run is passed to `store` as soon as it ends. If it is cancelled, it returns the runs so
/// far; the caller checks the token.
///
/// # Errors
/// When the command cannot be started, fails and that is not ignored, or when `store` fails.
pub fn repeat(
    executor: &mut dyn Executor,
    spec: &CommandSpec,
    options: &Repeat,
    cancel: &Cancel,
    progress: &mut dyn Progress,
    store: &mut dyn FnMut(&RunRecord) -> Result<(), InvestigateError>,
) -> Result<Vec<RunRecord>, InvestigateError> {
    let started = Instant::now();
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut walls: Vec<f64> = Vec::new();
    let limited = limited(spec, options.cut);
    loop {
        let spent = started.elapsed();
        let each = if runs.is_empty() {
            0.0
        } else {
            spent.as_secs_f64() / runs.len() as f64
        };
        let decision = options.rule.decide(
            &walls,
            spent.as_secs_f64(),
            each,
            options.budget.as_secs_f64(),
        );
        // Wall times are finite: the rule cannot refuse them.
        let Ok(StopDecision::Continue {
            half_width,
            more_runs,
        }) = decision
        else {
            break;
        };
        let room = options
            .runs_for_noise_floor
            .is_none_or(|runs| runs as f64 * each <= options.budget.as_secs_f64());
        if !runs.is_empty() && !room {
            break;
        }
        announce(
            progress,
            options,
            spent,
            each,
            runs.len(),
            half_width,
            more_runs,
        );
        let finished = match executor.execute(&limited, cancel) {
            Ok(finished) if finished.record.exit == ExitKind::Cancelled => break,
            Err(RunError::Cancelled) => break,
            other => other?,
        };
        let cut = options.cut.is_some() && was_cut(&finished, spec);
        if !cut {
            check(&finished, options.ignore_failure)?;
        }
        store(&finished.record)?;
        let wall = finished.record.wall_seconds;
        if let Some(whole) = options
            .whole
            .filter(|_| runs.is_empty() && wall >= MIN_ANNOUNCED_RUN)
        {
            progress.note(&estimate(wall, options.budget, whole));
        }
        walls.push(finished.record.wall_seconds);
        runs.push(finished.record);
        if cut || cancel.is_triggered() {
            break;
        }
    }
    Ok(runs)
}

/// Returns an error if the command failed, unless failures are ignored.
pub(crate) fn check(finished: &Finished, ignore_failure: bool) -> Result<(), InvestigateError> {
    let fails = !finished.record.exit.success();
    // A run that timed out is never measured.
    if fails && (!ignore_failure || finished.record.exit == ExitKind::TimedOut) {
        return Err(InvestigateError::of(finished));
    }
    Ok(())
}

fn announce(
    progress: &mut dyn Progress,
    options: &Repeat,
    spent: Duration,
    each: f64,
    done: usize,
    half_width: Option<f64>,
    more_runs: Option<usize>,
) {
    let reached = half_width.map_or(String::new(), |half| format!(", ±{:.1} %", half * 100.0));
    let budget = options.budget.saturating_sub(spent);
    let left = match more_runs {
        Some(more) if each > 0.0 => {
            Duration::try_from_secs_f64(more as f64 * each).map_or(budget, |left| left.min(budget))
        }
        _ => budget,
    };
    progress.update(&format!("measuring: run {}{reached}", done + 1), Some(left));
}

#[cfg(test)]
mod tests {
    use genba_run::MockExecutor;

    use super::*;
    use crate::progress::NoProgress;

    fn options() -> Repeat {
        Repeat {
            budget: Duration::from_secs(60),
            rule: StopRule::default(),
            ignore_failure: false,
            runs_for_noise_floor: None,
            cut: None,
            whole: None,
        }
    }

    fn spec() -> CommandSpec {
        CommandSpec::direct(["mock"])
    }

    #[test]
    fn steady_runs_stop_at_the_minimum_number() {
        let mut mock = MockExecutor::new(|_| Ok(Finished::mock(1.0)));
        let cancel = Cancel::new().unwrap();
        let mut stored = 0;
        let mut store = |_: &RunRecord| {
            stored += 1;
            Ok(())
        };
        let runs = repeat(
            &mut mock,
            &spec(),
            &options(),
            &cancel,
            &mut NoProgress,
            &mut store,
        )
        .unwrap();
        assert_eq!(runs.len(), StopRule::default().min_runs);
        assert_eq!(stored, runs.len());
    }

    #[test]
    fn one_run_is_made_where_the_budget_is_too_small_for_a_noise_floor() {
        let runs_of = |budget: f64| {
            let mut mock = MockExecutor::new(|_| {
                std::thread::sleep(Duration::from_millis(2));
                Ok(Finished::mock(1.0))
            });
            let limited = Repeat {
                budget: Duration::from_secs_f64(budget),
                runs_for_noise_floor: Some(6),
                ..options()
            };
            let cancel = Cancel::new().unwrap();
            let mut store = |_: &RunRecord| Ok(());
            let mut progress = NoProgress;
            let runs = repeat(
                &mut mock,
                &spec(),
                &limited,
                &cancel,
                &mut progress,
                &mut store,
            );
            runs.unwrap().len()
        };
        // Each takes two milliseconds at least: there is no room for six.
        assert_eq!(runs_of(0.011), 1);
        assert!(runs_of(3600.0) >= 6);
    }

    #[test]
    fn run_that_is_too_long_is_cut_and_used() {
        let mut limits = Vec::new();
        let mut mock = MockExecutor::new(|spec| {
            limits.push(spec.timeout);
            let mut finished = Finished::mock(7.0);
            finished.record.exit = ExitKind::TimedOut;
            Ok(finished)
        });
        let cut = Repeat {
            cut: Some(Duration::from_secs(7)),
            ..options()
        };
        let cancel = Cancel::new().unwrap();
        let mut store = |_: &RunRecord| Ok(());
        let mut progress = NoProgress;
        let mut run =
            |spec: &CommandSpec| repeat(&mut mock, spec, &cut, &cancel, &mut progress, &mut store);
        assert_eq!(run(&spec()).unwrap().len(), 1);
        // The user's own limit is an error, as without ours.
        let mut own = spec();
        own.timeout = Some(Duration::from_secs(5));
        assert!(run(&own).is_err());
        assert_eq!(
            limits,
            [Duration::from_secs(7), Duration::from_secs(5)].map(Some)
        );
    }

    #[test]
    fn estimate_says_what_one_run_and_all_of_it_take() {
        let seconds = Duration::from_secs;
        let text = estimate(60.0, seconds(30), seconds(150));
        assert_eq!(
            text,
            "a run takes 60 s: about 3 min in all, at most 3 min (--limit)"
        );
        assert!(estimate(5.0, seconds(30), seconds(150)).contains("about 49 s in all"));
    }

    #[test]
    fn failing_command_is_an_error_unless_ignored() {
        let failing = |_: &CommandSpec| {
            let mut finished = Finished::mock(1.0);
            finished.record.exit = ExitKind::Code(7);
            Ok(finished)
        };
        let cancel = Cancel::new().unwrap();
        let mut store = |_: &RunRecord| Ok(());
        let mut mock = MockExecutor::new(failing);
        let error = repeat(
            &mut mock,
            &spec(),
            &options(),
            &cancel,
            &mut NoProgress,
            &mut store,
        );
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("exited with code 7")
        );
        let ignoring = Repeat {
            ignore_failure: true,
            ..options()
        };
        let mut mock = MockExecutor::new(failing);
        let runs = repeat(
            &mut mock,
            &spec(),
            &ignoring,
            &cancel,
            &mut NoProgress,
            &mut store,
        );
        assert!(!runs.unwrap().is_empty());
    }

    #[test]
    fn finished_runs_are_returned_when_cancelled() {
        let cancel = Cancel::new().unwrap();
        let trigger = cancel.clone();
        let mut count = 0;
        let mut mock = MockExecutor::new(move |_| {
            count += 1;
            let mut finished = Finished::mock(1.0);
            if count == 4 {
                trigger.trigger();
                finished.record.exit = ExitKind::Cancelled;
            }
            Ok(finished)
        });
        let mut store = |_: &RunRecord| Ok(());
        let runs = repeat(
            &mut mock,
            &spec(),
            &options(),
            &cancel,
            &mut NoProgress,
            &mut store,
        )
        .unwrap();
        assert_eq!(runs.len(), 3);
    }
}
