//! An investigation of processes that run already: counters, samples, stacks and waits, but no repeated
//! runs and no exact counts.

use std::path::Path;
use std::time::{Duration, Instant};

use genba_attribution::{ProfileOptions, ResolveOptions, ResolvedProfile};
use genba_case::{Case, Store};
use genba_host::NoiseWatch;
use genba_model::{
    AttachedProcesses, HostFingerprint, Investigation, Profile, RunSummary, ScriptProfile, Waits,
    Workload,
};
use genba_profile::perf_stat;
use genba_profile::sampler::{CallGraph, Rate, RecordOptions};
use genba_profile::{Attach, Companion, RecordOutcome, attach_with};
use genba_run::Cancel;
use genba_runtime::script::{self, DEFAULT_SCRIPT_RATE_HZ, ScriptSampler};

use crate::pipeline::{check_machine, write_page};
use crate::sampling::{Located, locate_recording};
use crate::script_sampling::{new_notes, remove_recording, with_heaviest_stacks};
use crate::{InvestigateError, Options, Outcome, Progress, waits};

/// Sampling rate with stack copies, Hz: a server may have many threads. Chosen.
const STACK_RATE_HZ: u64 = 499;

/// Investigates processes that run already, with those that they started, for about `time`: a third
/// each for samples of instructions, for samples with stacks, and for waits, which have two where nothing ran. Event counters count all
/// the while that instructions are sampled.
///
/// # Errors
/// When there is no such process, it belongs to another user, or the case cannot be written.
pub fn investigate_processes(
    store: &Store,
    pids: &[i32],
    time: Duration,
    options: &Options,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Outcome, InvestigateError> {
    let (host, notes) = check_machine(progress);
    let workload = Workload::in_directory(
        command_line(pids.first().copied().unwrap_or_default()),
        &std::env::current_dir().unwrap_or_default(),
    );
    let case = store.create(&workload, &host)?;
    let mut watched = Watched {
        pids,
        part: time / 3,
        options,
        cancel,
        case,
        notes,
    };
    match watched.investigate(workload, host, progress) {
        Ok(outcome) => {
            let mut case = watched.case;
            if cancel.is_triggered() {
                case.interrupt()?;
            } else {
                case.finish()?;
            }
            Ok(outcome)
        }
        Err(error) => {
            // The first error is reported.
            let _ = store.discard(watched.case);
            Err(error)
        }
    }
}

/// The command line of a process; its number where it is not known, as for a thread of the kernel.
#[must_use]
pub fn command_line(pid: i32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> = bytes
        .split(|&byte| byte == 0)
        .map(|word| String::from_utf8_lossy(word).trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return vec!["process".to_owned(), pid.to_string()];
    }
    words
}

struct Watched<'a> {
    pids: &'a [i32],
    /// Time for each kind of samples.
    part: Duration,
    options: &'a Options,
    cancel: &'a Cancel,
    case: Case,
    notes: Vec<String>,
}

impl Watched<'_> {
    fn investigate(
        &mut self,
        workload: Workload,
        host: HostFingerprint,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, InvestigateError> {
        let began = Instant::now();
        let noise = NoiseWatch::start();
        let path = self.case.recording_path();
        progress.update("sampling", Some(self.part * 3));
        let (stat, recorded) = std::thread::scope(|scope| {
            let (attach, cancel) = (self.attach(), self.cancel);
            // Without counters the investigation goes on.
            let counting = scope.spawn(move || {
                let counted = perf_stat::Watched::default();
                perf_stat::of_processes(attach, &perf_stat::detailed(), counted, cancel).ok()
            });
            let recorded = self.record(&self.options.record, &path, &mut ());
            (counting.join().ok().flatten(), recorded)
        });
        let recorded = recorded?;
        let hazards = genba_host::current_hazards(
            noise.stop(
                stat.as_ref()
                    .map_or(0.0, |stat| stat.user.value + stat.system.value),
            ),
        );
        let mut located = Located::default();
        if recorded.samples == 0 {
            self.notes
                .push("nothing of this ran on a CPU meanwhile".to_owned());
        } else {
            self.notes.push(
                "a running process: no repeated runs, and executions are not counted; only causes that samples and \
                 waits alone show were searched"
                    .to_owned(),
            );
            if !recorded.event.hardware {
                self.notes.push(format!(
                    "sampled with {}: {}",
                    recorded.event.name, recorded.reason
                ));
            }
            self.notes.extend(recorded.notes);
            progress.update("reading symbols", None);
            located = locate_recording(&self.case, &path, self.options, recorded.duration_seconds)?;
        }
        let mut script = None;
        // What never ran has no stacks: their time is for its waits.
        let time_for_waits = match &located.profile {
            Some(_) => self.part,
            None => self.part * 2,
        };
        if let Some(flat) = located.profile.take() {
            let (stacked, functions) = self.stacks(&flat, progress);
            script = functions;
            located.profile = Some(match stacked {
                Some(stacked) => genba_attribution::with_stacks_of(flat, stacked),
                None => flat,
            });
        }
        let waits = self.waits(time_for_waits, progress);
        progress.update("writing the page", None);
        let investigation = Investigation {
            case: self.case.id().to_owned(),
            genba: self.options.version.clone(),
            started: self.case.summary()?.started,
            workload,
            host,
            hazards,
            attached: Some(AttachedProcesses {
                pids: self.pids.to_vec(),
                seconds: began.elapsed().min(self.part * 3).as_secs_f64(),
            }),
            runs: RunSummary {
                runs: Vec::new(),
                metrics: Vec::new(),
                outliers: Vec::new(),
            },
            noise_floor: Vec::new(),
            stat,
            profile: located.profile,
            script,
            annotations: located.annotations,
            observed: None,
            waits,
            findings: located.findings,
            places: located.places,
            input_bytes: None,
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

    fn attach(&self) -> Attach<'_> {
        Attach {
            pids: self.pids,
            timeout: Some(self.part),
            command: None,
        }
    }

    fn record(
        &self,
        options: &RecordOptions,
        path: &Path,
        companion: &mut dyn Companion,
    ) -> Result<RecordOutcome, InvestigateError> {
        Ok(attach_with(
            self.attach(),
            options,
            path,
            self.cancel,
            companion,
        )?)
    }

    /// Samples with stacks, and those of Python's and Ruby's functions where the process is one of
    /// these interpreters. The recording is not stored.
    fn stacks(
        &mut self,
        flat: &Profile,
        progress: &mut dyn Progress,
    ) -> (Option<Profile>, Option<ScriptProfile>) {
        let record = RecordOptions {
            call_graph: CallGraph::Dwarf(CallGraph::DWARF_BYTES),
            rate: Rate::Frequency(STACK_RATE_HZ),
            ..self.options.record.clone()
        };
        if self.cancel.is_triggered() {
            return (None, None);
        }
        progress.update("sampling stacks", Some(self.part * 2));
        let path = self.case.directory().join("stacks.data");
        let interpreter = (flat.modules.iter()).any(|one| script::may_be_interpreter(&one.module));
        let mut sampler = (self.options.script && interpreter && self.pids.len() == 1).then(|| {
            ScriptSampler::new(&path, DEFAULT_SCRIPT_RATE_HZ, record.command_line.clone())
        });
        let mut alone = ();
        let companion: &mut dyn Companion = match &mut sampler {
            Some(sampler) => sampler,
            None => &mut alone,
        };
        let recorded = self.record(&record, &path, companion);
        if let Ok(recorded) = &recorded {
            self.notes.extend(new_notes(&recorded.notes, &self.notes));
        }
        progress.update("unwinding stacks", None);
        let stacked = recorded.ok().and_then(|_| {
            let resolved = ResolvedProfile::open(&path, &ResolveOptions::default()).ok()?;
            Some(resolved.profile(&ProfileOptions {
                raw: false,
                lines: false,
                collapsed: true,
            }))
        });
        let functions = sampler
            .and_then(|_| script::profile(&path).ok())
            .filter(|read| !read.functions.is_empty())
            .map(with_heaviest_stacks);
        remove_recording(&path);
        (stacked, functions)
    }

    /// What the first process waits for; `None` where this user may not look.
    fn waits(&mut self, time: Duration, progress: &mut dyn Progress) -> Option<Waits> {
        let &pid = self.pids.first()?;
        if self.cancel.is_triggered() {
            return None;
        }
        let seconds = time.as_secs_f64();
        match waits::of_process(pid, Some(seconds), false, self.cancel, progress) {
            Ok(waits) => Some(waits),
            Err(error) => {
                self.notes.push(format!("waits were not watched: {error}"));
                None
            }
        }
    }
}
