//! genba's own engine: a translator in the target's process (genba-engine), injected by ptrace
//! before the target's first instruction. From then on the target runs untraced.
//!
//! **What must hold.** The target is not traced any more when its first instruction runs. It either
//! counts, or is ended before it has done anything that a second run would not repeat.

mod burst_words;
mod bursts_to_observation;
mod count_file;
mod counters_to_executions;
mod duet_run;
mod duet_windows;
mod engine_binary;
mod executions_by_address;
mod inject;
mod process_follower;
mod ptrace;
mod refused_before_run;
mod resource_limits;
mod transfer_options;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use genba_engine::count_file_layout::{STATUS_CODE_CHANGES_UNSEEN, STATUS_FAILED, STATUS_REFUSED};
use genba_model::{CountEngine, ExitKind, ProcessCounts, RawCounts};
use genba_run::{Cancel, Finished, Launcher, RunError};

use crate::run_end::{CountedProcesses, cut_short, raw_counts, words};
use crate::{CountError, CountRequest, Engine, Transfers};
use burst_words::BurstFile;
use count_file::Counts;
use inject::EngineOptions;
use process_follower::{Followed, Process};

pub use count_file::Source;
pub use duet_run::{
    CodeEdit, DuetRequest, DuetRun, EditedBranch, LOG_OFFSET, LOG_STEP_OFFSET, NoReplicas,
    PATTERN_OFFSET, Replicas, SavedRegister, Side, run_duet,
};
pub use duet_windows::{DuetFile, DuetWindow};
pub use genba_engine::duet_layout::slot_offset;

/// Name of the engine.
pub const NAME: &str = "genba";

/// Time between checks whether the run was cancelled while the engine is injected.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The engine in the target's own process.
#[derive(Debug, Default)]
pub struct Native;

fn refuse(request: &CountRequest, reason: impl Into<String>) -> CountError {
    CountError::unable(NAME, request, reason)
}

fn failed(request: &CountRequest, reason: impl Into<String>) -> CountError {
    CountError::failed(NAME, request, reason)
}

impl Engine for Native {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> Result<CountEngine, CountError> {
        Ok(CountEngine {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            gaps: [
                "user mode only",
                "programs that execute code in memory shared with others, or on the stack, are refused",
                "restartable sequences (rseq) are disabled in the target",
            ]
            .map(str::to_owned)
            .to_vec(),
        })
    }

    fn usual_slowdown(&self) -> std::ops::RangeInclusive<f64> {
        1.0..=3.5
    }

    fn check(&self, request: &CountRequest) -> Result<(), CountError> {
        refused_before_run::machine().map_err(|reason| refuse(request, reason))?;
        refused_before_run::program(&request.spec)?.map_err(|reason| refuse(request, reason))
    }

    fn count(
        &self,
        request: &CountRequest,
        launcher: &mut Launcher,
        cancel: &Cancel,
    ) -> Result<RawCounts, CountError> {
        self.check(request)?;
        let options =
            transfer_options::engine_options(request).map_err(|reason| refuse(request, reason))?;
        let (finished, followed) = run(request, &options, launcher, cancel)?;
        if let Some(reason) = followed.refused {
            return Err(refuse(request, reason));
        }
        let mut processes = Vec::new();
        for (index, process) in followed.processes.iter().enumerate() {
            let counts = Counts::read(&process.file, request.children)
                .map_err(|error| failed(request, error.to_string()))?;
            match counts.status {
                STATUS_REFUSED => return Err(refuse(request, counts.detail)),
                STATUS_FAILED => return Err(failed(request, counts.detail)),
                _ if counts.abandoned && index > 0 => continue,
                _ => {}
            }
            let builder = counters_to_executions::convert(&counts, &request.transfers);
            let mut counted = builder.finish(process.pid, process.command.clone());
            if index == 0 {
                counted.command = words(&request.spec.argv);
            }
            if process.pid == finished.pid {
                counted.cut_short = ended_early(finished.record.exit);
            }
            if request.observe.is_some() {
                let bursts = BurstFile::read(&process.file)
                    .map_err(|error| failed(request, error.to_string()))?;
                let modules = &counts.modules;
                counted.observation = Some(bursts_to_observation::convert(
                    &bursts,
                    modules,
                    process.pid,
                ));
            }
            if counts.status == STATUS_CODE_CHANGES_UNSEEN {
                counted.notes.push(
                    "it can change its code unseen (/proc/self/mem, process_vm_writev, or a mapped file): \
                     code that it changed that way was executed and counted as it was before"
                        .to_owned(),
                );
            }
            if counts.limited {
                counted.notes.push(
                    "its memory is limited (ulimit -v or -d), and some of it was the engine's: if it came \
                     close to the limit, it may have behaved otherwise"
                        .to_owned(),
                );
            }
            if counts.uncounted > 0 {
                counted.notes.push(format!(
                    "{} children or executed programs were not counted: genba did not answer in time, or \
                     no descriptor or memory was left for their counts",
                    counts.uncounted
                ));
            }
            processes.push(counted);
            processes.extend(vfork_children(counts, process, request));
        }
        let counted = CountedProcesses {
            processes,
            notes: followed.notes,
        };
        Ok(RawCounts {
            transfers: request.transfers == Transfers::Everywhere,
            transfers_within: match &request.transfers {
                Transfers::Within(spans) => spans.clone(),
                _ => Vec::new(),
            },
            ..raw_counts(self.describe()?, request, &finished, counted)
        })
    }
}

/// Converts the counts of children of `vfork` until they executed a program, which are other
/// processes' counts.
fn vfork_children<'a>(
    mut counts: Counts,
    parent: &'a Process,
    request: &'a CountRequest,
) -> impl Iterator<Item = ProcessCounts> + 'a {
    let children = std::mem::take(&mut counts.vfork_children);
    children.into_iter().map(move |(pid, counted)| {
        counts.counted = counted;
        let builder = counters_to_executions::convert(&counts, &request.transfers);
        let mut child = builder.finish(pid, parent.command.clone());
        child.notes.push(match pid {
            0 => "several children of vfork are counted together, each until it executed a program"
                .to_owned(),
            pid => format!(
                "process {pid}, a child of vfork, is counted apart until it executed a program"
            ),
        });
        child
    })
}

/// Returns why the counts end before the program did. Unlike with [`cut_short`], no processor is
/// simulated.
fn ended_early(exit: ExitKind) -> Option<String> {
    match exit {
        ExitKind::Signal { signal, .. } => Some(format!("killed by signal {signal}")),
        other => cut_short(other),
    }
}

/// Runs the command, while a thread injects the engine into it.
fn run(
    request: &CountRequest,
    options: &EngineOptions,
    launcher: &mut Launcher,
    cancel: &Cancel,
) -> Result<(Finished, Followed), CountError> {
    let gated = launcher.prepare(&request.spec)?;
    let pid = gated.pid();
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel::<process_follower::Report>();
    let answer = || loop {
        match receiver.recv_timeout(ANSWER_POLL_INTERVAL) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => return Err(refuse(request, error.to_string())),
            Err(RecvTimeoutError::Timeout) if cancel.is_triggered() => {
                return Err(RunError::Cancelled.into());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(request, "the tracing thread has ended"));
            }
        }
    };
    std::thread::scope(|scope| {
        let stop = &stop;
        let follow = move || process_follower::follow(pid, options, &sender, stop);
        let thread = std::thread::Builder::new()
            .spawn_scoped(scope, follow)
            .map_err(|error| failed(request, format!("there is no thread for tracing: {error}")))?;
        let ran = || {
            answer()?;
            let running = gated.release()?;
            answer()?;
            Ok(running.wait(cancel)?)
        };
        let ran: Result<Finished, CountError> = ran();
        stop.store(true, Ordering::Relaxed);
        let followed = thread
            .join()
            .map_err(|_| failed(request, "the tracing thread has panicked"))?;
        Ok((ran?, followed))
    })
}
