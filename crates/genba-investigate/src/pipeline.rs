//! The pipeline of an investigation: noise check, runs, counters, samples, profile, annotations,
//! findings, page.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use genba_case::{Case, Phase, Store};
use genba_code::SourceCache;
use genba_explain::RunFacts;
use genba_host::NoiseWatch;
use genba_model::{
    ExitKind, HostFingerprint, Investigation, Metric, RunRecord, RunSummary, Stat, Waits, Workload,
};
use genba_observe::Observations;
use genba_profile::perf_stat;
use genba_run::{Cancel, CommandSpec, Executor, Finished, Launcher, RunError};
use genba_stats::StopRule;

use crate::event_counters::CounterOptions;
use crate::findings::explain_script;
use crate::repeat_runs::{self, Repeat};
use crate::sampling::BeforeSampling;
use crate::time_limit::{
    MIN_SHARE_OF_LIMIT_OF_LONG_RUN, SHARE_OF_LIMIT_FOR_FIRST_RUN, budget_within, shortest_part,
};
use crate::{InvestigateError, Options, Progress, event_counters, run_summary};

/// The result of an investigation.
#[derive(Debug)]
pub struct Outcome {
    /// The document.
    pub investigation: Investigation,
    /// Path of the page.
    pub page: PathBuf,
}

/// Duration of the noise check before the first run.
const NOISE_CHECK_DURATION: Duration = Duration::from_millis(200);

/// Relative spread of the times of a fixed workload from which the machine is called noisy.
const MIN_SPREAD_OF_NOISY_MACHINE: f64 = 0.05;

/// Share of [`Options::answer_within`] for the repeated runs.
const SHARE_OF_TIME_FOR_RUNS: f64 = 0.4;

/// Share of [`Options::answer_within`] from which a run is too long to be made only for its counters.
const MIN_SHARE_OF_LONG_RUN: f64 = 0.1;

/// Returns what machine this is, with a note where it is noisy.
pub(crate) fn check_machine(progress: &mut dyn Progress) -> (HostFingerprint, Vec<String>) {
    progress.update("checking the machine", None);
    let hardware = genba_profile::sampler::hardware_cycles_work();
    let host = genba_host::fingerprint(hardware.is_ok());
    let check = genba_host::noise_check(NOISE_CHECK_DURATION);
    let noisy = (check.spread > MIN_SPREAD_OF_NOISY_MACHINE).then(|| {
        format!(
            "the machine is noisy: the time of a fixed workload varies by {:.0} %",
            check.spread * 100.0
        )
    });
    (host, noisy.into_iter().collect())
}

/// Investigates a command. Measurements are stored in the case at once; a cancelled case retains
/// them and is marked as interrupted.
///
/// # Errors
/// When the command cannot be started or fails, when the case cannot be written, or when it
/// was cancelled.
pub fn investigate(
    store: &Store,
    workload: &Workload,
    spec: &CommandSpec,
    options: &Options,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Outcome, InvestigateError> {
    let mut launcher = Launcher::new()?;
    let (host, notes) = check_machine(progress);
    // A missing command must not leave a case behind.
    let program = spec
        .argv
        .first()
        .map_or_else(Default::default, Clone::clone);
    let path = spec.environment.get(OsStr::new("PATH"));
    genba_run::resolve_program(&program, path.as_deref(), spec.directory.as_deref())?;
    let mut case = store.create(workload, &host)?;
    let mut pipeline = Pipeline {
        started: Instant::now(),
        launcher: &mut launcher,
        spec,
        options,
        cancel,
        case: &mut case,
        notes,
        skipped: Vec::new(),
        cut_short: false,
        observations: None,
        has_counters: host.hardware_counters,
    };
    let result = pipeline.run(workload, host, progress);
    match result {
        Ok(outcome) => {
            case.finish()?;
            Ok(outcome)
        }
        Err(error) => {
            // The first error is reported, not an error while the case is closed.
            if case.runs(Phase::Measure).is_ok_and(|runs| runs.is_empty()) {
                let _ = store.discard(case);
                return Err(match cancel.is_triggered() {
                    true => InvestigateError::nothing_measured(),
                    false => error,
                });
            }
            let _ = case.interrupt();
            if cancel.is_triggered() {
                let kept = format!("; what was measured is in case {}", case.id());
                return Err(InvestigateError::Interrupted { kept });
            }
            Err(error)
        }
    }
}

pub(crate) struct Pipeline<'a> {
    started: Instant,
    pub(crate) launcher: &'a mut Launcher,
    pub(crate) spec: &'a CommandSpec,
    pub(crate) options: &'a Options,
    pub(crate) cancel: &'a Cancel,
    pub(crate) case: &'a mut Case,
    pub(crate) notes: Vec<String>,
    /// Follow-up runs for which there was no time.
    pub(crate) skipped: Vec<&'static str>,
    /// Whether runs are ended before the command ends.
    pub(crate) cut_short: bool,
    /// What bursts of the counted run showed.
    pub(crate) observations: Option<Observations>,
    /// Whether the processor's event counters can be read.
    pub(crate) has_counters: bool,
}

impl Pipeline<'_> {
    fn run(
        &mut self,
        workload: &Workload,
        host: HostFingerprint,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, InvestigateError> {
        let watch = NoiseWatch::start();
        let runs = self.measure(progress)?;
        let measured: f64 = runs.iter().map(|run| run.cpu().total()).sum();
        let hazards = genba_host::current_hazards(watch.stop(measured));
        self.case.put_document("hazards", &hazards)?;
        let noise_floor = run_summary::noise_floors(&runs);
        let runs = run_summary::summarise(runs);
        let usual = runs
            .runs
            .iter()
            .map(|run| run.wall_seconds)
            .fold(0.0, f64::max);
        let stat = match self.options.answer_within {
            Some(limit) if usual > MIN_SHARE_OF_LONG_RUN * limit.as_secs_f64() => None,
            None if self.cut_short || self.is_long(usual) => None,
            _ => self.count(workload, progress)?,
        };
        if let Some(stat) = &stat {
            self.case.put_document("stat", stat)?;
        }
        let waits = self.watch_waits(&runs, progress)?;
        let input_bytes = crate::input_files::size_of_named_files(workload);
        let known = BeforeSampling {
            facts: RunFacts {
                input_bytes,
                ..run_summary::run_facts(&runs)
            },
            stat: stat.as_ref(),
            host: &host,
        };
        let mut located = self.sample(&known, progress)?;
        let script = self.sample_script(located.profile.as_ref(), progress)?;
        if let (Some(script), Some(profile)) = (&script, &located.profile) {
            let omitted = explain_script(
                &mut located.findings,
                &mut located.places,
                script,
                profile,
                &mut SourceCache::new(),
            );
            if omitted > 0 {
                self.notes.push(format!(
                    "findings about the interpreter's own code are omitted ({omitted}): most of the time is in the script; \
                     --no-script shows them"
                ));
            }
        }
        progress.update("writing the page", None);
        let investigation = Investigation {
            case: self.case.id().to_owned(),
            genba: self.options.version.clone(),
            started: self.case.summary()?.started,
            workload: workload.clone(),
            host,
            hazards,
            attached: None,
            runs,
            noise_floor,
            stat,
            profile: located.profile,
            script,
            annotations: located.annotations,
            observed: located.observed,
            waits,
            findings: located.findings,
            places: located.places,
            input_bytes,
            notes: std::mem::take(&mut self.notes),
        };
        self.case.put_investigation(&investigation)?;
        let page = self.case.page_path();
        write_page(&page, &genba_report::page::html(&investigation))?;
        Ok(Outcome {
            investigation,
            page,
        })
    }

    /// Watches what the command waits for, in a run of its own, where it waits or has several threads
    /// or processes.
    fn watch_waits(
        &mut self,
        runs: &RunSummary,
        progress: &mut dyn Progress,
    ) -> Result<Option<Waits>, InvestigateError> {
        let usual = |metric| {
            let found = runs.metrics.iter().find(|one| one.metric == metric);
            found.map_or(0.0, |one| one.median.value)
        };
        let wall = usual(Metric::Wall);
        if !is_worth_watching(wall, usual(Metric::Cpu), usual(Metric::VoluntarySwitches))
            || !self.has_time_for(wall)
            || self.is_long(wall)
        {
            return Ok(None);
        }
        let watched =
            crate::waits::of_command(self.launcher, self.spec, false, self.cancel, progress);
        self.check_cancelled()?;
        match watched {
            Ok((waits, finished)) => {
                self.check_run(&finished)?;
                Ok(Some(waits))
            }
            Err(InvestigateError::Profile(error)) => {
                self.notes.push(format!("waits were not watched: {error}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn measure(&mut self, progress: &mut dyn Progress) -> Result<Vec<RunRecord>, InvestigateError> {
        let budget = match self.options.answer_within {
            Some(limit) => self
                .options
                .budget
                .min(limit.mul_f64(SHARE_OF_TIME_FOR_RUNS)),
            None => self.budget(),
        };
        let repeat = Repeat {
            budget,
            rule: StopRule::default(),
            ignore_failure: self.options.ignore_failure,
            runs_for_noise_floor: self
                .options
                .answer_within
                .map(|_| run_summary::MIN_RUNS_FOR_NOISE_FLOOR),
            cut: (self.options.limit).map(|limit| limit.mul_f64(SHARE_OF_LIMIT_FOR_FIRST_RUN)),
            whole: self.options.limit,
        };
        let case = &*self.case;
        let mut store = |run: &RunRecord| Ok(case.add_run(run, Phase::Measure)?);
        let mut executor = NotingExecutor {
            launcher: self.launcher,
            notes: &mut self.notes,
        };
        let runs = repeat_runs::repeat(
            &mut executor,
            self.spec,
            &repeat,
            self.cancel,
            progress,
            &mut store,
        )?;
        self.check_cancelled()?;
        if let Some(run) = runs.last().filter(|run| run.exit == ExitKind::TimedOut) {
            self.cut_short = true;
            self.notes.push(format!(
                "the command was ended after {} (--limit): this is the first part of a run",
                genba_units::format::rough_duration(run.wall_seconds)
            ));
        } else if runs.iter().any(|run| !run.exit.success()) {
            self.notes.push(
                "the command failed and was measured nevertheless (--ignore-failure)".to_owned(),
            );
        }
        Ok(runs)
    }

    /// The time for repeated runs: a part of [`Options::limit`] at most.
    pub(crate) fn budget(&self) -> Duration {
        budget_within(self.options.budget, self.options.limit)
    }

    /// Returns whether there is time for a run of so many seconds.
    pub(crate) fn has_time_for(&self, seconds: f64) -> bool {
        self.time_left()
            .is_none_or(|left| seconds < left.as_secs_f64())
    }

    /// Returns what is left of [`Options::answer_within`] or [`Options::limit`]; `None` where the time is
    /// not limited.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let limits = [self.options.answer_within, self.options.limit];
        let limit = limits.into_iter().flatten().min()?;
        Some(limit.saturating_sub(self.started.elapsed()))
    }

    /// Whether a run of so many seconds takes so much of [`Options::limit`] that only what is most
    /// important is measured.
    fn is_long(&self, seconds: f64) -> bool {
        let share = |limit: Duration| limit.mul_f64(MIN_SHARE_OF_LIMIT_OF_LONG_RUN);
        (self.options.limit).is_some_and(|limit| seconds > share(limit).as_secs_f64())
    }

    /// Seconds of the shortest part of a run that is sampled.
    pub(crate) fn shortest_part(&self) -> f64 {
        shortest_part(self.options.limit).as_secs_f64()
    }

    /// The command, ended so that this share of the time that is left is enough.
    pub(crate) fn spec_within(&self, share: f64) -> CommandSpec {
        let left = (self.options.limit).map(|limit| limit.saturating_sub(self.started.elapsed()));
        let least = shortest_part(self.options.limit);
        let part = left.map(|left| left.mul_f64(share).max(least));
        repeat_runs::limited(self.spec, part)
    }

    /// Returns an error if the run failed; one that was cut short for [`Options::limit`] is noted.
    pub(crate) fn check_run(&mut self, finished: &Finished) -> Result<(), InvestigateError> {
        if self.options.limit.is_some() && repeat_runs::was_cut(finished, self.spec) {
            if !self.cut_short {
                self.cut_short = true;
                self.notes.push(format!(
                    "runs are sampled for {} and then ended (--limit)",
                    genba_units::format::rough_duration(finished.record.wall_seconds)
                ));
            }
            return Ok(());
        }
        repeat_runs::check(finished, self.options.ignore_failure)
    }

    /// Returns an error if the investigation was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), InvestigateError> {
        if self.cancel.is_triggered() {
            return Err(InvestigateError::Interrupted {
                kept: String::new(),
            });
        }
        Ok(())
    }

    /// Counts the events of one run; where the machine cannot count, the investigation goes on
    /// without.
    fn count(
        &mut self,
        workload: &Workload,
        progress: &mut dyn Progress,
    ) -> Result<Option<Stat>, InvestigateError> {
        let options = CounterOptions {
            events: perf_stat::detailed(),
            runs: 1,
            ignore_failure: self.options.ignore_failure,
        };
        let stat = event_counters::count(
            self.launcher,
            self.spec,
            &workload.command,
            &options,
            self.cancel,
            progress,
        );
        self.check_cancelled()?;
        match stat {
            Ok(stat) => Ok(Some(stat)),
            Err(InvestigateError::Profile(error)) => {
                self.notes.push(format!("no counters: {error}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether a command that takes so many seconds of wall and CPU time, and gives up its CPU so often,
/// may lose wall time by waiting: one that is on one CPU all the time does not.
fn is_worth_watching(wall: f64, cpu: f64, switches: f64) -> bool {
    /// Wall time below which too few snapshots are taken, seconds.
    const MIN_WALL: f64 = 0.02;
    /// Share of one CPU within which a command is on it all the time.
    const ON_ONE_CPU: std::ops::RangeInclusive<f64> = 0.92..=1.02;
    /// Switches per second from which on threads or processes work together.
    const MANY_SWITCHES: f64 = 500.0;
    wall >= MIN_WALL && (!ON_ONE_CPU.contains(&(cpu / wall)) || switches / wall >= MANY_SWITCHES)
}

/// Runs commands, and notes once what they left behind.
struct NotingExecutor<'a> {
    launcher: &'a mut Launcher,
    notes: &'a mut Vec<String>,
}

impl Executor for NotingExecutor<'_> {
    fn execute(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        let finished = self.launcher.execute(spec, cancel)?;
        let note = finished.note();
        self.notes
            .extend(note.filter(|note| !self.notes.contains(note)));
        Ok(finished)
    }
}

/// Writes the page to a temporary file and renames it, so that the page is never incomplete.
pub(crate) fn write_page(path: &Path, html: &str) -> Result<(), InvestigateError> {
    let fail = |source| InvestigateError::Page {
        path: path.display().to_string(),
        source,
    };
    let temporary = path.with_extension("html.tmp");
    std::fs::write(&temporary, html).map_err(fail)?;
    std::fs::rename(&temporary, path).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_one_cpu_all_the_time_is_not_watched() {
        assert!(!is_worth_watching(2.0, 1.98, 30.0));
        assert!(is_worth_watching(2.0, 0.4, 30.0));
        assert!(is_worth_watching(2.0, 3.4, 30.0));
        assert!(is_worth_watching(2.0, 2.0, 9000.0));
        assert!(!is_worth_watching(0.001, 0.0, 30.0));
    }
}
