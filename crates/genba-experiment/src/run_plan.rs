//! Runs a plan: set-up, warm-up, one interleaved block after another, clean-up.

use std::time::{Duration, Instant};

use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, ErrorKind, Finished, RunError};

use crate::measurement::{End, Measurement};
use crate::output_check::OutputCheck;
use crate::output_streams::{capture_errors, command_line, discard_stderr_of_short_runs, specs};
use crate::random_schedule::{PADDING_VARIABLE, Schedule};
use crate::runner::Runner;
use crate::sequential_judges::{SequentialJudges, State};
use crate::{
    ExperimentError, FinishedRun, Observer, Plan, Progress, Stage, Stop, exclusion_reason,
};

/// Shortest time between two progress reports, seconds.
const PROGRESS_SECONDS: f64 = 0.1;
/// Shortest measurement that may end with a verdict, seconds: a disturbance can last for a few
/// hundredths of a second and look like an effect.
const MIN_MEASURING_SECONDS: f64 = 0.3;
/// Time-out of the run that repeats a failure to capture its error output, seconds.
const REPEATED_FAILURE_SECONDS: u64 = 10;
/// Time-out of each clean-up command after an interruption, seconds.
const CLEAN_UP_SECONDS: u64 = 60;

/// Runs a plan. After an interruption it returns what was measured.
///
/// # Errors
/// An invalid plan, a failure of every variant or of the launcher, a run that cannot be stored, an
/// interruption before anything was measured.
pub fn run(
    plan: &Plan,
    runner: &mut dyn Runner,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<Measurement, ExperimentError> {
    let started = Instant::now();
    run_with_clock(plan, runner, cancel, observer, &mut || {
        started.elapsed().as_secs_f64()
    })
}

/// As [`run`] with a clock of the caller, in seconds: for simulations and resumed experiments.
///
/// # Errors
/// As [`run`].
pub fn run_with_clock(
    plan: &Plan,
    runner: &mut dyn Runner,
    cancel: &Cancel,
    observer: &mut dyn Observer,
    clock: &mut dyn FnMut() -> f64,
) -> Result<Measurement, ExperimentError> {
    plan.check()?;
    let specs = specs(plan)?;
    let mut driver = Driver {
        plan,
        specs,
        runner,
        cancel,
        observer,
        clock,
        measurement: Measurement::new(plan),
        check: plan.check_output.then(OutputCheck::default),
        schedule: Schedule::new(plan.seed),
        stderr_discarded: false,
        unstarted: 0,
        last_progress: f64::NEG_INFINITY,
    };
    let begun = driver.set_up();
    let result = begun.1.and_then(|()| driver.measure());
    driver.clean_up(begun.0);
    result?;
    driver.finish()
}

struct Driver<'a> {
    plan: &'a Plan,
    specs: Vec<CommandSpec>,
    runner: &'a mut dyn Runner,
    cancel: &'a Cancel,
    observer: &'a mut dyn Observer,
    clock: &'a mut dyn FnMut() -> f64,
    measurement: Measurement,
    check: Option<OutputCheck>,
    schedule: Schedule,
    /// Whether the error output of the variants is discarded.
    stderr_discarded: bool,
    /// Number of variants that could not be started.
    unstarted: usize,
    /// Time of the last progress report.
    last_progress: f64,
}

/// Outcome of a single run.
enum Ran {
    Measured,
    /// The variant was excluded.
    Excluded,
    /// The user interrupted it.
    Interrupted,
}

impl Driver<'_> {
    fn active(&self) -> Vec<usize> {
        let variants = self.measurement.variants.iter().enumerate();
        variants
            .filter(|(_, data)| data.excluded.is_none())
            .map(|(index, _)| index)
            .collect()
    }

    fn exclude(&mut self, variant: usize, reason: String) {
        self.measurement.variants[variant].excluded = Some(reason);
    }

    /// Runs the set-up commands; returns the number of variants for which it started them.
    fn set_up(&mut self) -> (usize, Result<(), ExperimentError>) {
        if (self.plan.variants.iter()).any(|variant| !variant.setup.is_empty()) {
            self.report_progress(Stage::SetUp, None, None);
        }
        for index in 0..self.plan.variants.len() {
            if self.cancel.is_triggered() {
                return (index, Ok(()));
            }
            let variant = &self.plan.variants[index];
            if let Err(error) = self.steps(index, "setup", &variant.setup, true) {
                return (index + 1, Err(error));
            }
        }
        (self.plan.variants.len(), Ok(()))
    }

    /// Runs commands before or after a run; the first failure excludes the variant. Returns their
    /// duration, seconds.
    fn steps(
        &mut self,
        variant: usize,
        step: &str,
        commands: &[CommandSpec],
        stays: bool,
    ) -> Result<f64, ExperimentError> {
        let mut seconds = 0.0;
        for command in commands {
            let mut spec = command.clone();
            spec.leave_running |= stays;
            capture_errors(&mut spec);
            let reason = match self.runner.command(&spec, self.cancel) {
                Ok(finished) => {
                    seconds += finished.record.wall_seconds;
                    exclusion_reason::of_step(step, &command_line(command), &finished)
                }
                Err(RunError::Cancelled) => return Ok(seconds),
                Err(error) => Some(format!("its {step} command: {}", refusal(error)?)),
            };
            if let Some(reason) = reason {
                if self.measurement.variants[variant].excluded.is_none() {
                    self.exclude(variant, reason);
                }
                break;
            }
        }
        Ok(seconds)
    }

    fn measure(&mut self) -> Result<(), ExperimentError> {
        for _ in 0..self.plan.warmup {
            self.report_progress(Stage::WarmUp, None, None);
            let active = self.active();
            for variant in self.schedule.block(&active) {
                if let Ran::Interrupted = self.run_one(variant, false)? {
                    return Ok(());
                }
            }
        }
        let began = (self.clock)();
        let result = self.blocks(began);
        self.measurement.elapsed_seconds = ((self.clock)() - began).max(0.0);
        result
    }

    fn blocks(&mut self, began: f64) -> Result<(), ExperimentError> {
        let mut live = SequentialJudges::new(self.plan, &self.measurement);
        loop {
            let active = self.active();
            let Some(judges) = &mut live else {
                return Ok(());
            };
            let spent = (self.clock)() - began;
            let state = judges.state(self.plan, &self.measurement);
            if let Some(end) = self.ended(state, spent) {
                self.measurement.end = end;
                return Ok(());
            }
            self.report_progress(Stage::Measure, Some(judges), Some((state, spent)));
            for variant in self.schedule.block(&active) {
                if let Ran::Interrupted = self.run_one(variant, true)? {
                    self.measurement.end = End::Interrupted;
                    return Ok(());
                }
            }
            self.measurement.blocks += 1;
            if self.measurement.blocks == 1 {
                self.stderr_discarded =
                    discard_stderr_of_short_runs(self.plan, &self.measurement, &mut self.specs);
            }
            self.check_outputs(false);
            if self.active().len() == active.len() {
                judges.take_in(&self.measurement);
            } else {
                // The baseline may have changed: the judges start again with the runs so far.
                live = SequentialJudges::new(self.plan, &self.measurement);
            }
        }
    }

    fn ended(&self, state: State, spent: f64) -> Option<End> {
        let blocks = self.measurement.blocks;
        if self.cancel.is_triggered() {
            return Some(End::Interrupted);
        }
        // More than half of the next block must fit.
        let spends = |seconds: f64| spent + spent / f64::from(blocks) / 2.0 > seconds;
        match self.plan.stop {
            Stop::Blocks(count) => (blocks >= count).then_some(End::Counted),
            _ if blocks == 0 => None,
            _ if self.plan.max_runs.is_some_and(|most| blocks >= most) => Some(End::BudgetSpent),
            Stop::Time { seconds } => spends(seconds).then_some(End::BudgetSpent),
            Stop::Budget {
                seconds,
                min_blocks,
            } => match state {
                State::Decided
                    if spent >= MIN_MEASURING_SECONDS.min(seconds / 4.0)
                        && blocks >= self.plan.min_runs =>
                {
                    Some(End::Decided)
                }
                State::Unusable => Some(End::Unusable),
                _ if blocks >= min_blocks && spends(seconds) => Some(End::BudgetSpent),
                _ => None,
            },
        }
    }

    /// Excludes variants whose output differs from that of the baseline.
    fn check_outputs(&mut self, last: bool) {
        let Some(check) = &self.check else { return };
        for (variant, reason) in check.wrong(self.plan, &self.measurement, last) {
            self.exclude(variant, reason);
        }
    }

    /// Runs a variant once with its prepare and conclude commands.
    fn run_one(&mut self, variant: usize, measured: bool) -> Result<Ran, ExperimentError> {
        let plan = &self.plan.variants[variant];
        let recalled = self.runner.begin(&plan.name);
        let (prepare, conclude): (&[_], &[_]) = match recalled {
            true => (&[], &[]),
            false => (&plan.prepare, &plan.conclude),
        };
        let prepare_seconds = self.steps(variant, "prepare", prepare, false)?;
        if self.measurement.variants[variant].excluded.is_some() {
            return Ok(Ran::Excluded);
        }
        if self.cancel.is_triggered() {
            return Ok(Ran::Interrupted);
        }
        if self.plan.vary_environment {
            let padding = "x".repeat(self.schedule.padding());
            self.specs[variant]
                .environment
                .set(PADDING_VARIABLE, padding);
        }
        let run = match self.runner.measure(&self.specs[variant], self.cancel) {
            Ok(run) if run.finished.record.exit == ExitKind::Cancelled => {
                self.steps(variant, "conclude", conclude, false)?;
                return Ok(Ran::Interrupted);
            }
            Err(RunError::Cancelled) => return Ok(Ran::Interrupted),
            Err(error) => {
                let reason = refusal(error)?;
                self.unstarted += 1;
                self.exclude(variant, reason);
                return Ok(Ran::Excluded);
            }
            Ok(run) => run,
        };
        let failed = failure(self.plan, &run.finished);
        if let Some(reason) = failed {
            let reason = self.repeat_failure(variant, reason)?;
            self.exclude(variant, reason);
            self.steps(variant, "conclude", conclude, false)?;
            return Ok(Ran::Excluded);
        }
        if measured {
            self.measurement.add(self.plan, variant, &run);
            self.measurement.variants[variant].prepare_seconds += prepare_seconds;
            if let Some(check) = &mut self.check {
                check.record(variant, &run.finished.stdout);
            }
            let kept = FinishedRun {
                variant: &plan.name,
                block: self.measurement.blocks,
                record: &run.finished.record,
                own: self.measurement.last_own(variant),
            };
            (self.observer.keep(&kept)).map_err(|what| ExperimentError::Keep { what })?;
        }
        self.steps(variant, "conclude", conclude, false)?;
        Ok(Ran::Measured)
    }

    /// Repeats a failed run to capture its error output, if that was discarded.
    fn repeat_failure(
        &mut self,
        variant: usize,
        reason: String,
    ) -> Result<String, ExperimentError> {
        if !self.stderr_discarded || self.cancel.is_triggered() {
            return Ok(reason);
        }
        let plan = &self.plan.variants[variant];
        self.steps(variant, "prepare", &plan.prepare, false)?;
        let mut spec = self.specs[variant].clone();
        capture_errors(&mut spec);
        let most = Duration::from_secs(REPEATED_FAILURE_SECONDS);
        spec.timeout = Some(spec.timeout.map_or(most, |limit| limit.min(most)));
        let again = match self.runner.command(&spec, self.cancel) {
            Ok(finished) => failure(self.plan, &finished),
            Err(RunError::Cancelled) => return Ok(reason),
            Err(error) => Some(refusal(error)?),
        };
        Ok(match again {
            // The same failure, with its error output.
            Some(again) if again.starts_with(&reason) => again,
            Some(again) => format!("{reason}; repeated, it {again}"),
            None => format!("{reason}; repeated, it succeeded"),
        })
    }

    /// Runs the clean-up commands of the variants whose set-up was started, even after Ctrl-C.
    fn clean_up(&mut self, begun: usize) {
        if (self.plan.variants.iter()).any(|variant| !variant.cleanup.is_empty()) {
            self.report_progress(Stage::CleanUp, None, None);
        }
        // They take the time that they need, up to a limit of their own.
        let _protected = self.cancel.protect();
        for index in 0..begun {
            for command in &self.plan.variants[index].cleanup {
                let mut spec = command.clone();
                capture_errors(&mut spec);
                let fresh = if self.cancel.is_triggered() {
                    let most = Duration::from_secs(CLEAN_UP_SECONDS);
                    spec.timeout = Some(spec.timeout.map_or(most, |limit| limit.min(most)));
                    Cancel::new().ok()
                } else {
                    None
                };
                let token = fresh.as_ref().unwrap_or(self.cancel);
                let trouble = match self.runner.command(&spec, token) {
                    Ok(finished) => {
                        exclusion_reason::of_step("cleanup", &command_line(command), &finished)
                    }
                    Err(error) => Some(format!("its cleanup command: {error}")),
                };
                if let Some(trouble) = trouble {
                    let name = &self.plan.variants[index].name;
                    self.measurement.notes.push(format!("{name}: {trouble}"));
                }
            }
        }
    }

    fn finish(mut self) -> Result<Measurement, ExperimentError> {
        self.check_outputs(true);
        let measured = &self.measurement;
        if measured.compared(self.plan).is_empty() {
            let reasons = (self.plan.variants.iter().zip(&measured.variants))
                .filter_map(|(plan, data)| {
                    Some(format!("{}: {}", plan.name, data.excluded.as_ref()?))
                })
                .collect();
            return Err(ExperimentError::NothingLeft {
                reasons,
                usage: self.unstarted == self.plan.variants.len(),
            });
        }
        if measured.variants.iter().all(|data| data.exits.is_empty()) {
            return Err(ExperimentError::Interrupted);
        }
        let notes = self.runner.notes().to_vec();
        self.measurement.notes.extend(notes);
        if let (Some(check), Some(baseline)) =
            (&self.check, self.measurement.compared(self.plan).first())
        {
            let note = check.note(self.plan, *baseline);
            self.measurement.baseline_output_varies = check.varies(*baseline);
            self.measurement.notes.extend(note);
        }
        Ok(self.measurement)
    }

    fn report_progress(
        &mut self,
        stage: Stage,
        live: Option<&SequentialJudges>,
        state: Option<(State, f64)>,
    ) {
        let now = (self.clock)();
        if stage == Stage::Measure && now - self.last_progress < PROGRESS_SECONDS {
            return;
        }
        self.last_progress = now;
        let blocks = self.measurement.blocks;
        let planned = match self.plan.stop {
            Stop::Blocks(count) => Some(count),
            Stop::Budget { .. } | Stop::Time { .. } => None,
        };
        let left_seconds = state.and_then(|(state, spent)| {
            let each = spent / f64::from(blocks);
            let (more, most) = match (self.plan.stop, state) {
                (Stop::Blocks(count), _) => {
                    (Some(count.saturating_sub(blocks) as usize), f64::INFINITY)
                }
                (Stop::Budget { seconds, .. }, State::Open(more)) => (more, seconds - spent),
                (Stop::Budget { seconds, .. } | Stop::Time { seconds }, _) => {
                    (None, seconds - spent)
                }
            };
            let most = most.max(0.0);
            let left = more.map_or(most, |more| (more as f64 * each).min(most));
            left.is_finite().then_some(left)
        });
        let current = live.and_then(SequentialJudges::current);
        self.observer.progress(&Progress {
            stage,
            blocks,
            planned,
            undecided: live.map_or(0, SequentialJudges::undecided),
            current: current
                .map(|(variant, ratio)| (self.plan.variants[variant].name.as_str(), ratio)),
            left_seconds,
        });
    }
}

/// Why the variant of this run is excluded; `None` if the run is measured.
fn failure(plan: &Plan, finished: &Finished) -> Option<String> {
    exclusion_reason::of_run(finished, plan.tolerates(finished.record.exit))
}

/// The message of an error of the variant itself; an error of the launcher ends the measurement.
fn refusal(error: RunError) -> Result<String, ExperimentError> {
    match error.kind() {
        ErrorKind::Usage => Ok(error.to_string()),
        _ => Err(error.into()),
    }
}
