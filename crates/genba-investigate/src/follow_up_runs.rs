//! Short runs that findings about memory and threads need: where pages are faulted in, and what
//! the work costs on one CPU alone.

use std::time::Duration;

use genba_attribution::{ResolveOptions, ResolvedProfile};
use genba_explain::follow_up_runs;
use genba_explain::input::analysis_input::{AnalysisInput, EventCounts};
use genba_explain::input::event_places::event_counts;
use genba_explain::input::shared_cache_lines::shared_lines;
use genba_explain::input::user_places::{copy_places, user_places};
use genba_model::ExitKind;
use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions};
use genba_run::Output;

use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress, allocation_sizes, callgrind_simulation};

/// Page faults to sample.
const FAULTS: u64 = 2000;

/// Stack to copy with each, bytes.
const STACK: u32 = 8 << 10;

/// Samples with stacks, a second.
const COPIES: u64 = 999;

/// Of these so many are enough.
const WHO: u64 = 300;

/// Samples with registers, a second.
const REGISTERS: u64 = 1999;

/// Samples of events of the processor, a second.
const EVENTS: u64 = 2999;

/// Runs on one CPU.
const ALONE: usize = 2;

/// A run whose allocations and copies are tallied takes so many times longer, at the most.
const TALLIED: f64 = 2.0;

/// Simulations take some fifty times longer: this much of a run tells the rates.
const LONGEST_SIMULATION: Duration = Duration::from_secs(20);

/// Less is not worth beginning.
const SHORTEST_SIMULATION: Duration = Duration::from_secs(2);

/// A run on one CPU may take so many times longer than the usual one: all threads' work, and more.
const LONGEST: f64 = 4.0;

impl Pipeline<'_> {
    /// Makes the runs that would decide what the input suspects, and puts what they say in. What
    /// cannot be done is left out.
    pub(crate) fn follow_up_runs(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let run = input.program.wall_seconds;
        if follow_up_runs::fault_places(input) && self.may_take(run, "where page faults are taken")
        {
            self.fault_places(input, progress)?;
        }
        if follow_up_runs::shared_lines(input)
            && self.may_take(run, "which cache lines threads share")
        {
            self.shared_lines(input, progress)?;
        }
        if follow_up_runs::sizes(input) && self.may_take(run, "sizes of allocations and copies") {
            self.sizes(input, progress)?;
        }
        if follow_up_runs::mispredictions(input)
            && self.may_take(run, "where branches are guessed wrongly")
        {
            input.program.follow_up.mispredictions =
                self.events(input, "branch-misses", "sampling wrong guesses", progress)?;
        }
        // What wrong guesses explain is no matter of memory: one after the other.
        if follow_up_runs::cache_misses(input) && self.may_take(run, "which loads miss the cache") {
            input.program.follow_up.cache_misses = self.events(
                input,
                "L1-dcache-load-misses",
                "sampling cache misses",
                progress,
            )?;
        }
        if follow_up_runs::mispredictions(input) || follow_up_runs::cache_misses(input) {
            self.simulate(input, progress)?;
        }
        if follow_up_runs::copy_places(input) && self.may_take(run, "for whom memory is copied") {
            self.copy_places(input, progress)?;
        }
        let alone = ALONE as f64 * input.program.cpu_seconds;
        if follow_up_runs::one_cpu(input) && self.may_take(alone, "the time on one CPU") {
            self.one_cpu(input, progress)?;
        }
        if !self.skipped.is_empty() {
            self.notes.push(format!(
                "left out, since an answer is wanted within half a minute: {}; explain a smaller run, or give it more time with --count-limit",
                self.skipped.join(", ")
            ));
        }
        Ok(())
    }

    /// Whether a run of so many seconds may still be made; if not, that will be said.
    fn may_take(&mut self, seconds: f64, what: &'static str) -> bool {
        let may = self.has_time_for(seconds);
        if !may {
            self.skipped.push(what);
        }
        may
    }

    fn fault_places(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let Some(faults) = input.program.minor_faults else {
            return Ok(());
        };
        let Ok(event) = EventSpec::parse("page-faults:u") else {
            return Ok(());
        };
        let record = RecordOptions {
            event: Some(event),
            // An odd period, since programs take faults in step with powers of two.
            rate: Rate::Period((faults as u64 / FAULTS).max(1) | 1),
            call_graph: CallGraph::Dwarf(STACK),
            user_only: true,
            no_timer_fallback: true,
            command_line: self.options.record.command_line.clone(),
            ..RecordOptions::default()
        };
        let resolved = self.scene_of(&record, "sampling page faults", 1, progress)?;
        if let Some(resolved) = resolved {
            input.program.follow_up.faults = user_places(&resolved);
        }
        Ok(())
    }

    /// Samples with stacks, of which those in copies of memory are looked at.
    fn copy_places(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let record = RecordOptions {
            rate: Rate::Frequency(COPIES),
            call_graph: CallGraph::Dwarf(STACK),
            user_only: true,
            no_timer_fallback: true,
            command_line: self.options.record.command_line.clone(),
            ..RecordOptions::default()
        };
        let resolved = self.scene_of(&record, "sampling who copies", WHO, progress)?;
        if let Some(resolved) = resolved {
            input.program.follow_up.copies = copy_places(&resolved);
        }
        Ok(())
    }

    /// A recording for a suspicion alone, that is not kept; `None` where it cannot be had.
    fn scene_of(
        &mut self,
        record: &RecordOptions,
        stage: &str,
        wanted: u64,
        progress: &mut dyn Progress,
    ) -> Result<Option<ResolvedProfile>, InvestigateError> {
        let path = self.case.directory().join("suspicion.data");
        let notes = self.notes.len();
        let recorded = self.record(record, &path, stage, wanted, progress)?;
        // Nobody asked for it: why it cannot be had is of no interest.
        self.notes.truncate(notes);
        let resolved =
            recorded.and_then(|_| ResolvedProfile::open(&path, &ResolveOptions::default()).ok());
        // It was only needed for this; a copy that stays is no harm.
        let _ = std::fs::remove_file(&path);
        Ok(resolved)
    }

    /// Samples with registers, from which addresses of stores follow.
    fn shared_lines(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let record = RecordOptions {
            rate: Rate::Frequency(REGISTERS),
            // Registers come with copies of the stack, however short.
            call_graph: CallGraph::Dwarf(8),
            user_only: true,
            no_timer_fallback: true,
            command_line: self.options.record.command_line.clone(),
            ..RecordOptions::default()
        };
        let path = self.case.directory().join("registers.data");
        let notes = self.notes.len();
        let recorded = self.record(&record, &path, "sampling registers", 1, progress)?;
        if recorded.is_some()
            && let Ok(lines) = shared_lines(&path, input)
        {
            input.program.follow_up.shared_lines = lines;
        }
        self.notes.truncate(notes);
        let _ = std::fs::remove_file(&path);
        Ok(())
    }

    /// Where an event of the processor comes, of a run of its own; `None` where it cannot count it.
    fn events(
        &mut self,
        input: &AnalysisInput,
        event: &str,
        stage: &str,
        progress: &mut dyn Progress,
    ) -> Result<Option<EventCounts>, InvestigateError> {
        let Ok(spec) = EventSpec::parse(&format!("{event}:u")) else {
            return Ok(None);
        };
        let record = RecordOptions {
            event: Some(spec),
            rate: Rate::Frequency(EVENTS),
            user_only: true,
            no_timer_fallback: true,
            command_line: self.options.record.command_line.clone(),
            ..RecordOptions::default()
        };
        let path = self.case.directory().join("events.data");
        let notes = self.notes.len();
        let recorded = self.record(&record, &path, stage, 1, progress)?;
        let flat = ResolveOptions {
            stacks: false,
            ..ResolveOptions::default()
        };
        // A run without a single event leaves nothing to open: that is an answer as well.
        let counts = recorded.map(|recorded| match ResolvedProfile::open(&path, &flat) {
            Ok(resolved) => event_counts(&resolved, input, recorded.runs.len()),
            Err(_) => EventCounts {
                event: event.to_owned(),
                ..EventCounts::default()
            },
        });
        self.notes.truncate(notes);
        let _ = std::fs::remove_file(&path);
        Ok(counts)
    }

    /// Where the processor counts neither wrong guesses nor misses: what a simulator says of the
    /// run, or of as much of it as there is time for.
    fn simulate(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let Some(valgrind) = callgrind_simulation::program() else {
            return Ok(());
        };
        let limit = self.time_left().unwrap_or(LONGEST_SIMULATION);
        if limit < SHORTEST_SIMULATION {
            return Ok(());
        }
        progress.update("simulating caches and guesses of branches", Some(limit));
        let limit = limit.min(LONGEST_SIMULATION);
        let outcome = callgrind_simulation::simulate(
            self.launcher,
            &valgrind,
            self.spec,
            input,
            limit,
            self.cancel,
        );
        self.check_cancelled()?;
        let Some(outcome) = outcome else {
            return Ok(());
        };
        self.notes.push(format!(
            "this processor's counters cannot be read: wrong guesses and cache misses are simulated{}",
            match outcome.part {
                part if part > 0.95 => String::new(),
                part => format!(", of the first {:.0} % of the run", (100.0 * part).max(1.0)),
            }
        ));
        let follow_up = &mut input.program.follow_up;
        if follow_up.mispredictions.is_none() {
            follow_up.mispredictions = Some(outcome.mispredictions);
        }
        if follow_up.cache_misses.is_none() {
            follow_up.cache_misses = Some(outcome.cache_misses);
        }
        Ok(())
    }

    fn sizes(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let usual = Duration::try_from_secs_f64(input.program.wall_seconds).ok();
        progress.update("tallying sizes of allocations and copies", usual);
        let limit = usual.unwrap_or_default().mul_f64(2.0 * TALLIED) + Duration::from_secs(1);
        input.program.follow_up.sizes =
            allocation_sizes::tally(self.launcher, self.spec, limit, self.cancel);
        self.check_cancelled()
    }

    fn one_cpu(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let mut spec = self.spec.clone();
        let first = spec
            .cpus
            .as_ref()
            .and_then(|cpus| cpus.first().copied())
            .unwrap_or(0);
        spec.cpus = Some(vec![first]);
        spec.stdout = Output::Null;
        spec.stderr = Output::Null;
        let usual = input.program.cpu_seconds.max(input.program.wall_seconds);
        let limit = Duration::try_from_secs_f64(LONGEST * usual + 1.0).unwrap_or(Duration::MAX);
        spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
        progress.update(
            "running on one CPU alone",
            Duration::try_from_secs_f64(usual).ok(),
        );
        let mut most: Option<f64> = None;
        for _ in 0..ALONE {
            let finished = self.launcher.run(&spec, self.cancel);
            self.check_cancelled()?;
            // A CPU that may not be used, or a run that does not end there, says nothing.
            let Ok(finished) = finished else {
                return Ok(());
            };
            let exit = finished.record.exit;
            if exit == ExitKind::TimedOut || !exit.success() && !self.options.ignore_failure {
                return Ok(());
            }
            // The larger time is the one that promises less.
            let cpu = finished.record.cpu().total();
            most = Some(most.map_or(cpu, |most| most.max(cpu))).filter(|&cpu| cpu > 0.0);
        }
        input.program.follow_up.one_cpu_seconds = most;
        Ok(())
    }
}
