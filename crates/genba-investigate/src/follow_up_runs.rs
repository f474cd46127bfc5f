//! Follow-up runs: short runs that confirm or exclude suspected causes (page faults, cache lines
//! shared by threads, sizes of allocations, branch mispredictions, cache misses, copies, the time
//! on one CPU).

use std::path::Path;
use std::time::Duration;

use genba_attribution::{ResolveOptions, ResolvedProfile};
use genba_explain::follow_up_runs;
use genba_explain::input::analysis_input::{AnalysisInput, EventCounts};
use genba_explain::input::event_places::event_counts;
use genba_explain::input::observed_events;
use genba_explain::input::shared_cache_lines::shared_lines;
use genba_explain::input::user_places::{copy_places, user_places};
use genba_model::{EvidenceSource, ExitKind};
use genba_profile::RecordOutcome;
use genba_profile::event::EventSpec;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions};
use genba_run::Output;

use crate::pipeline::Pipeline;
use crate::{InvestigateError, Progress, callgrind_simulation, library_requests};

/// Number of page faults to sample.
const FAULT_SAMPLES: u64 = 2000;

/// Bytes of stack copied with a sample.
const STACK_COPY_BYTES: u32 = 8 << 10;

/// Bytes of stack copied where only registers are needed; registers come with stack copies.
const MIN_STACK_COPY_BYTES: u32 = 8;

/// Sampling rate with stacks of copies of memory, Hz.
const COPY_SAMPLING_HZ: u64 = 999;

/// Number of samples that are enough to attribute copies of memory.
const COPY_SAMPLES: u64 = 300;

/// Sampling rate with registers, Hz.
const REGISTER_SAMPLING_HZ: u64 = 1999;

/// Sampling rate of hardware events, Hz.
const EVENT_SAMPLING_HZ: u64 = 2999;

/// Number of runs on one CPU.
const ONE_CPU_RUNS: usize = 2;

/// Maximum slowdown of a run whose allocations and copies are counted by size.
const MAX_SIZE_COUNTING_SLOWDOWN: f64 = 2.0;

/// Maximum time of a simulation. Simulation is about fifty times slower than the command; this part
/// of a run is enough for rates.
const MAX_SIMULATION: Duration = Duration::from_secs(20);

/// Minimum time for a simulation; a shorter one is not started.
const MIN_SIMULATION: Duration = Duration::from_secs(2);

/// Maximum time of a run on one CPU, as a multiple of the CPU or wall time of the usual run.
const MAX_ONE_CPU_SLOWDOWN: f64 = 4.0;

/// Simulated part of the run from which rates count as those of the whole run.
const WHOLE_RUN: f64 = 0.95;

impl Pipeline<'_> {
    /// Makes the follow-up runs that decide on the causes suspected in `input`, and adds their
    /// results to it. Runs that fail or for which there is no time are skipped, the latter with a
    /// note.
    pub(crate) fn follow_up_runs(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let run = input.program.wall_seconds;
        if follow_up_runs::fault_places(input) && self.may_take(run, "places of page faults") {
            self.fault_places(input, progress)?;
        }
        if follow_up_runs::shared_lines(input)
            && self.may_take(run, "cache lines shared by threads")
        {
            self.shared_lines(input, progress)?;
        }
        let asked = follow_up_runs::sizes(input) || follow_up_runs::named_files(input);
        if asked && self.may_take(run, "sizes of allocations and copies, and named files") {
            self.library_requests(input, progress)?;
        }
        if self.has_counters
            && follow_up_runs::mispredictions(input)
            && self.may_take(run, "places of branch mispredictions")
        {
            let stage = "sampling branch mispredictions";
            let counts = self.events(input, "branch-misses", stage, progress)?;
            input.program.follow_up.mispredictions = counts;
        }
        // After mispredictions: time that they explain is not attributed to cache misses.
        if self.has_counters
            && follow_up_runs::cache_misses(input)
            && self.may_take(run, "places of cache misses")
        {
            let stage = "sampling cache misses";
            let counts = self.events(input, "L1-dcache-load-misses", stage, progress)?;
            input.program.follow_up.cache_misses = counts;
        }
        self.observed_events(input);
        if follow_up_runs::mispredictions(input) || follow_up_runs::cache_misses(input) {
            self.simulate(input, progress)?;
        }
        if follow_up_runs::copy_places(input) && self.may_take(run, "callers of memory copies") {
            self.copy_places(input, progress)?;
        }
        let one_cpu = ONE_CPU_RUNS as f64 * input.program.cpu_seconds;
        if follow_up_runs::one_cpu(input) && self.may_take(one_cpu, "the time on one CPU") {
            self.one_cpu(input, progress)?;
        }
        if !self.skipped.is_empty() {
            let skipped = self.skipped.join(", ");
            self.notes.push(match self.options.limit {
                None => format!(
                    "skipped to answer within half a minute: {skipped}; explain a smaller run, or increase --count-limit"
                ),
                Some(_) => format!(
                    "skipped because no time was left: {skipped}; investigate a smaller run, or give more (--limit)"
                ),
            });
        }
        Ok(())
    }

    /// Returns whether a run of so many seconds may still be made; if not, it is noted as skipped.
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
            // The period is odd because programs take faults in step with powers of two.
            rate: Rate::Period((faults as u64 / FAULT_SAMPLES).max(1) | 1),
            call_graph: CallGraph::Dwarf(STACK_COPY_BYTES),
            ..self.follow_up_options()
        };
        let places =
            self.read_recording(&record, "sampling page faults", 1, progress, |path, _| {
                let resolved = ResolvedProfile::open(path, &ResolveOptions::default()).ok()?;
                Some(user_places(&resolved))
            })?;
        if let Some(places) = places {
            input.program.follow_up.faults = places;
        }
        Ok(())
    }

    /// Attributes copies of memory to their callers by samples with stacks.
    fn copy_places(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let record = RecordOptions {
            rate: Rate::Frequency(COPY_SAMPLING_HZ),
            call_graph: CallGraph::Dwarf(STACK_COPY_BYTES),
            ..self.follow_up_options()
        };
        let stage = "sampling callers of memory copies";
        let places = self.read_recording(&record, stage, COPY_SAMPLES, progress, |path, _| {
            let resolved = ResolvedProfile::open(path, &ResolveOptions::default()).ok()?;
            Some(copy_places(&resolved))
        })?;
        if let Some(places) = places {
            input.program.follow_up.copies = places;
        }
        Ok(())
    }

    /// Finds cache lines that threads share: registers of samples give the addresses of stores.
    fn shared_lines(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let record = RecordOptions {
            rate: Rate::Frequency(REGISTER_SAMPLING_HZ),
            call_graph: CallGraph::Dwarf(MIN_STACK_COPY_BYTES),
            ..self.follow_up_options()
        };
        let lines =
            self.read_recording(&record, "sampling registers", 1, progress, |path, _| {
                shared_lines(path, input).ok()
            })?;
        if let Some(lines) = lines {
            input.program.follow_up.shared_lines = lines;
        }
        Ok(())
    }

    /// Samples a hardware event and returns its counts by instruction; `None` where the machine
    /// cannot count it.
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
            rate: Rate::Frequency(EVENT_SAMPLING_HZ),
            ..self.follow_up_options()
        };
        let without_stacks = ResolveOptions {
            stacks: false,
            ..ResolveOptions::default()
        };
        self.read_recording(&record, stage, 1, progress, |path, recorded| {
            // A recording without a single sample cannot be opened: the event never occurred.
            Some(match ResolvedProfile::open(path, &without_stacks) {
                Ok(resolved) => event_counts(&resolved, input, recorded.runs.len()),
                Err(_) => EventCounts {
                    event: event.to_owned(),
                    source: EvidenceSource::Measured,
                    period: 0.0,
                    places: Vec::new(),
                },
            })
        })
    }

    /// Returns what the recordings of follow-up runs have in common: user code only, with the kernel's
    /// sampler.
    fn follow_up_options(&self) -> RecordOptions {
        RecordOptions {
            user_only: true,
            no_timer_fallback: true,
            command_line: self.options.record.command_line.clone(),
            ..RecordOptions::default()
        }
    }

    /// Makes a recording, reads it and removes it; `None` where it cannot be made or read.
    fn read_recording<T>(
        &mut self,
        record: &RecordOptions,
        stage: &str,
        wanted: u64,
        progress: &mut dyn Progress,
        read: impl FnOnce(&Path, &RecordOutcome) -> Option<T>,
    ) -> Result<Option<T>, InvestigateError> {
        let path = self.case.directory().join("follow-up.data");
        let notes = self.notes.len();
        let recorded = self.record(record, &path, stage, wanted, progress)?;
        // The user did not ask for this recording: why it failed is not reported.
        self.notes.truncate(notes);
        let found = recorded.and_then(|recorded| read(&path, &recorded));
        // A file that cannot be removed does no harm.
        let _ = std::fs::remove_file(&path);
        Ok(found)
    }

    /// Takes mispredictions and cache misses from bursts where the processor did not count them.
    fn observed_events(&mut self, input: &mut AnalysisInput) {
        let mut taken = false;
        if follow_up_runs::mispredictions(input) {
            let events = observed_events::mispredictions(input);
            taken |= events.is_some();
            input.program.follow_up.mispredictions = events;
        }
        if follow_up_runs::cache_misses(input) {
            let events = observed_events::cache_misses(input);
            taken |= events.is_some();
            input.program.follow_up.cache_misses = events;
        }
        if let Some(observed) = input.observed.as_ref().filter(|_| taken) {
            self.notes.push(format!(
                "no hardware counters: branch mispredictions and cache misses are observed in {}",
                genba_units::format::plural(u64::from(observed.bursts), "burst")
            ));
        }
    }

    /// Simulates mispredictions and cache misses where the processor counts neither, for the run or
    /// for as much of it as there is time for.
    fn simulate(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let Some(valgrind) = callgrind_simulation::valgrind() else {
            return Ok(());
        };
        let limit = self.time_left().unwrap_or(MAX_SIMULATION);
        if limit < MIN_SIMULATION {
            return Ok(());
        }
        let limit = limit.min(MAX_SIMULATION);
        progress.update("simulating caches and branch prediction", Some(limit));
        let simulated = callgrind_simulation::simulate(
            self.launcher,
            &valgrind,
            self.spec,
            input,
            limit,
            self.cancel,
        );
        self.check_cancelled()?;
        let Some(simulated) = simulated else {
            return Ok(());
        };
        self.notes.push(format!(
            "no hardware counters: branch mispredictions and cache misses are simulated{}",
            match simulated.share_of_run {
                share if share > WHOLE_RUN => String::new(),
                share => format!(" (first {:.0} % of the run)", (100.0 * share).max(1.0)),
            }
        ));
        let follow_up = &mut input.program.follow_up;
        follow_up
            .mispredictions
            .get_or_insert(simulated.mispredictions);
        follow_up.cache_misses.get_or_insert(simulated.cache_misses);
        Ok(())
    }

    fn library_requests(
        &mut self,
        input: &mut AnalysisInput,
        progress: &mut dyn Progress,
    ) -> Result<(), InvestigateError> {
        let usual = Duration::try_from_secs_f64(input.program.wall_seconds).ok();
        progress.update("counting allocations, copies and named files", usual);
        let limit = usual
            .unwrap_or_default()
            .mul_f64(2.0 * MAX_SIZE_COUNTING_SLOWDOWN)
            + Duration::from_secs(1);
        let limit = limit.min(self.time_left().unwrap_or(limit));
        let found = library_requests::count(self.launcher, self.spec, limit, self.cancel);
        let (sizes, files) = found.map(|one| (one.sizes, one.files)).unzip();
        let follow_up = &mut input.program.follow_up;
        follow_up.sizes = follow_up.sizes.take().or(sizes);
        follow_up.files = files;
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
        let limit = Duration::try_from_secs_f64(MAX_ONE_CPU_SLOWDOWN * usual + 1.0)
            .unwrap_or(Duration::MAX);
        let limit = limit.min(self.time_left().unwrap_or(limit));
        spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
        progress.update(
            "running on one CPU",
            Duration::try_from_secs_f64(usual).ok(),
        );
        let mut largest: Option<f64> = None;
        for _ in 0..ONE_CPU_RUNS {
            let finished = self.launcher.run(&spec, self.cancel);
            self.check_cancelled()?;
            // Without permission for the CPU, or without an end there, the time is unknown.
            let Ok(finished) = finished else {
                return Ok(());
            };
            let exit = finished.record.exit;
            if exit == ExitKind::TimedOut || !exit.success() && !self.options.ignore_failure {
                return Ok(());
            }
            // The largest time is the conservative one: it predicts the smallest gain.
            let cpu = finished.record.cpu().total();
            largest = Some(largest.map_or(cpu, |most| most.max(cpu))).filter(|&cpu| cpu > 0.0);
        }
        input.program.follow_up.one_cpu_seconds = largest;
        Ok(())
    }
}
