//! Recording a command from end to end.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use genba_model::{Event, Precision};
use genba_run::{Cancel, CommandSpec, Finished, Launcher, resolve_program};

use crate::TIMER_SIGNAL;
use crate::error::ProfileError;
use crate::jit::JitArtifactRecorder;
use crate::sampler::{
    CallGraph, EventChoice, Rate, RecordOptions, RecordingSession, SampleCounts, Target,
    choose_event,
};
use crate::timer_signal::{TimerSampler, preload_obstacle};

/// The result of a recording.
#[derive(Clone, Debug)]
pub struct RecordOutcome {
    /// The event that was sampled.
    pub event: Event,
    /// Why this event was chosen, for the user: follows "sampled by EVENT:".
    pub reason: String,
    /// Samples in the file.
    pub samples: u64,
    /// Samples that the kernel reports as lost.
    pub lost: u64,
    /// How often the kernel throttled sampling.
    pub throttled: u64,
    /// Duration of the recording, seconds.
    pub duration_seconds: f64,
    /// The runs of the command in order; empty where processes were attached to
    /// without one.
    pub runs: Vec<Finished>,
    /// What was requested and could not be had, each with the command that allows it.
    pub notes: Vec<String>,
}

pub(crate) fn event_of(choice: &EventChoice) -> Event {
    Event {
        name: choice.name(),
        hardware: choice.event.hardware(),
        frequency_hz: match choice.rate {
            Rate::Frequency(hz) => hz,
            Rate::Period(_) => 0,
        },
        kernel: choice.kernel,
        precision: if choice.precise_ip > 0 {
            Precision::Precise
        } else {
            Precision::Skid
        },
    }
}

fn internal(error: impl std::fmt::Display) -> ProfileError {
    ProfileError::Internal(error.to_string())
}

pub(crate) fn stop_pipe() -> Result<(io::PipeReader, io::PipeWriter), ProfileError> {
    io::pipe().map_err(internal)
}

pub(crate) fn panicked<T>(_: T) -> ProfileError {
    ProfileError::Internal("the recording thread ended unexpectedly".to_owned())
}

/// Starts the thread that records, unless the limit of processes and threads is reached.
pub(crate) fn recording_thread<'scope, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    record: impl FnOnce() -> T + Send + 'scope,
) -> Result<std::thread::ScopedJoinHandle<'scope, T>, ProfileError> {
    std::thread::Builder::new()
        .spawn_scoped(scope, record)
        .map_err(|error| {
            internal(format!(
                "there is no thread for recording (ulimit -u): {error}"
            ))
        })
}

/// An observer of the processes that are recorded, started and stopped with the recording.
pub trait Companion {
    /// Called before a target starts, or when a running one is attached to.
    fn begin(&mut self, target: Target);
    /// Called when the target has ended or is recorded no longer. Returns notes for the user.
    fn end(&mut self) -> Vec<String>;
}

/// Observes nothing.
impl Companion for () {
    fn begin(&mut self, _target: Target) {}

    fn end(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Runs a command once and records it into `path`: by perf events, or by timer signals where the
/// kernel refuses all perf events (unless the options say otherwise).
///
/// # Errors
/// When the command cannot be started, nothing can be sampled, or the file cannot be written.
pub fn record(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
) -> Result<RecordOutcome, ProfileError> {
    record_until(launcher, spec, options, path, cancel, &mut |_, _| true)
}

/// As [`record`], with a companion. Recordings by timer signals have none.
///
/// # Errors
/// As [`record`].
pub fn record_with(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
    companion: &mut dyn Companion,
) -> Result<RecordOutcome, ProfileError> {
    let once: &mut dyn FnMut(&Finished, &SampleCounts) -> bool = &mut |_, _| true;
    record_runs(launcher, spec, options, path, cancel, (once, companion))
}

/// Runs a command repeatedly and records all runs into one file, until `enough` returns true for
/// the last run and the counts over all runs: a short command gives few samples per run. A
/// cancelled run is the last; by timer signals the first run is.
///
/// # Errors
/// As [`record`].
pub fn record_until(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
    enough: &mut dyn FnMut(&Finished, &SampleCounts) -> bool,
) -> Result<RecordOutcome, ProfileError> {
    record_runs(launcher, spec, options, path, cancel, (enough, &mut ()))
}

type Until<'a> = (
    &'a mut dyn FnMut(&Finished, &SampleCounts) -> bool,
    &'a mut dyn Companion,
);

fn record_runs(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
    (enough, companion): Until<'_>,
) -> Result<RecordOutcome, ProfileError> {
    if options.force_timer {
        let reason = "requested".to_owned();
        return record_by_timer(launcher, spec, options, path, cancel, reason);
    }
    let choice = match choose_event(options) {
        Ok(choice) => choice,
        // The fallback samples CPU time: only where no other event was requested.
        Err(ProfileError::Forbidden(refusal))
            if !options.no_timer_fallback
                && options
                    .event
                    .as_ref()
                    .is_none_or(crate::event::EventSpec::is_clock) =>
        {
            let reason = refusal.to_string();
            return record_by_timer(launcher, spec, options, path, cancel, reason);
        }
        Err(e) => return Err(e),
    };
    JitArtifactRecorder::remove_old(path);
    let mut gated = launcher.prepare(spec)?;
    let mut session =
        RecordingSession::open(Target::BeforeExec(gated.pid()), &choice, options, path)?;
    let mut runs = Vec::new();
    let mut jit_notes = Vec::new();
    let counts = loop {
        let (stop, stopper) = stop_pipe()?;
        let jit_recorder = JitArtifactRecorder::start(&[gated.pid()], path, true);
        companion.begin(Target::BeforeExec(gated.pid()));
        let recording = &mut session;
        let ran = std::thread::scope(|scope| {
            let recorder = recording_thread(scope, move || recording.run(stop.as_fd()))?;
            let finished = gated.release().and_then(|running| running.wait(cancel));
            drop(stopper);
            Ok::<_, ProfileError>((finished, recorder.join()))
        });
        jit_notes.extend(jit_recorder.and_then(JitArtifactRecorder::finish));
        jit_notes.extend(companion.end());
        let (finished, recorded) = ran?;
        let counts = recorded.map_err(panicked)??;
        let finished = finished?;
        let last = enough(&finished, &counts) || cancel.is_triggered();
        runs.push(finished);
        if last {
            break counts;
        }
        gated = launcher.prepare(spec)?;
        session.attach_next(Target::BeforeExec(gated.pid()), &choice, options)?;
    };
    let mut notes = choice.notes.clone();
    notes.append(&mut session.notes);
    notes.append(&mut jit_notes);
    let duration = session.close()?;
    Ok(outcome(
        event_of(&choice),
        choice.reason,
        counts,
        duration,
        runs,
        notes,
    ))
}

pub(crate) fn outcome(
    event: Event,
    reason: String,
    counts: SampleCounts,
    duration_ns: u64,
    runs: Vec<Finished>,
    mut notes: Vec<String>,
) -> RecordOutcome {
    for note in runs.iter().filter_map(Finished::note) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    RecordOutcome {
        event,
        reason,
        samples: counts.samples,
        lost: counts.lost,
        throttled: counts.throttled,
        duration_seconds: duration_ns as f64 / 1e9,
        runs,
        notes,
    }
}

fn record_by_timer(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    options: &RecordOptions,
    path: &Path,
    cancel: &Cancel,
    reason: String,
) -> Result<RecordOutcome, ProfileError> {
    let target = spec
        .argv
        .first()
        .map_or_else(String::new, |a| a.to_string_lossy().into_owned());
    let failed = |why: String| ProfileError::Timer {
        target: target.clone(),
        why,
    };
    if let Some(program) = spec.argv.first() {
        let search = spec.environment.get("PATH".as_ref());
        let found = resolve_program(program, search.as_deref(), spec.directory.as_deref())?;
        if let Some(why) = preload_obstacle(&spec.directory.clone().unwrap_or_default().join(found))
        {
            return Err(failed(why));
        }
    }
    let hz = match options.rate {
        Rate::Frequency(hz) => hz,
        Rate::Period(ns) => 1_000_000_000 / ns.max(1),
    };
    let mut notes = vec![
        "timer signals sample user code only, at the kernel's tick rate; samples are weighted by \
         the time since the last one"
            .to_owned(),
    ];
    let stacks = match options.call_graph {
        CallGraph::None => false,
        CallGraph::FramePointer => true,
        CallGraph::Dwarf(_) => {
            notes.push(
                "timer signals cannot copy stacks: call stacks follow frame pointers".to_owned(),
            );
            true
        }
    };
    let sampler = TimerSampler::new(hz, stacks).map_err(|e| failed(e.to_string()))?;
    let mut spec = spec.clone();
    spec.environment.add_preload(sampler.library())?;
    for (name, value) in sampler.environment() {
        spec.environment.set(name, value);
    }
    JitArtifactRecorder::remove_old(path);
    let (stop, stopper) = stop_pipe()?;
    let (finished, recorded) = std::thread::scope(|scope| {
        let sample = || sampler.run(path, &options.command_line, stop.as_fd());
        let recorder = recording_thread(scope, sample)?;
        let finished = launcher.run(&spec, cancel);
        drop(stopper);
        Ok::<_, ProfileError>((finished, recorder.join()))
    })?;
    let (counts, duration, loaded) = recorded.map_err(panicked)??;
    let finished = finished?;
    if !loaded {
        return Err(failed(
            "it did not load the sampling library (LD_PRELOAD)".to_owned(),
        ));
    }
    let event = Event {
        name: TIMER_SIGNAL.to_owned(),
        hardware: false,
        frequency_hz: hz,
        kernel: false,
        precision: Precision::Skid,
    };
    Ok(outcome(
        event,
        reason,
        counts,
        duration,
        vec![finished],
        notes,
    ))
}
