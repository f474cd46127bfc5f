//! Samples script stacks beside a recording.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use genba_profile::ptrace_sampler::{PtraceSampler, StoppedThread, ThreadVisitor};
use genba_profile::sampler::Target;
use genba_profile::{Companion, jit};

use super::interpreter_detection::{Detected, Runtime, detect};
use super::script_stacks::{Sample, Stacks};
use super::thread_memory::ProcessMemory;

/// File of the native samples of stopped threads, in the directory of JIT artifacts.
pub const SAMPLES: &str = "script.data";
/// File of their script stacks.
pub const STACKS: &str = "script.stacks";

/// Default rate, samples per second of CPU time: a few hundred resolve shares of a percent after
/// some seconds, and stop a thread for less than 2 % of the time.
pub const DEFAULT_SCRIPT_RATE_HZ: u64 = 499;

/// Reads script stacks of all processes of a target that run a known interpreter.
#[derive(Debug)]
pub struct ScriptSampler {
    directory: PathBuf,
    hz: u64,
    command: Vec<String>,
    running: Option<PtraceSampler<Reader>>,
    problem: Option<String>,
}

impl ScriptSampler {
    /// A sampler beside the recording at this path, at `hz` samples per second of CPU time.
    #[must_use]
    pub fn new(recording: &Path, hz: u64, command: Vec<String>) -> Self {
        Self {
            directory: jit::directory_of(recording),
            hz,
            command,
            running: None,
            problem: None,
        }
    }

    fn start(&self, target: Target) -> Result<PtraceSampler<Reader>, String> {
        jit::create_directory(&self.directory).map_err(|e| e.to_string())?;
        let path = self.directory.join(SAMPLES);
        let reader = Reader::default();
        PtraceSampler::start(target, self.hz, &path, &self.command, reader)
            .map_err(|e| e.to_string())
    }
}

impl Companion for ScriptSampler {
    fn begin(&mut self, target: Target) {
        match self.start(target) {
            Ok(sampler) => self.running = Some(sampler),
            Err(error) => self.problem = Some(format!("no script stacks: {error}")),
        }
    }

    fn end(&mut self) -> Vec<String> {
        let mut notes: Vec<String> = self.problem.take().into_iter().collect();
        let Some(sampler) = self.running.take() else {
            return notes;
        };
        let reader = match sampler.finish() {
            Ok((_, reader)) => reader,
            Err(error) => {
                notes.push(format!("no script stacks: {error}"));
                return notes;
            }
        };
        notes.extend(reader.notes());
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.directory.join(STACKS));
        let written = file.and_then(|mut f| f.write_all(reader.stacks.write().as_bytes()));
        if let Err(error) = written {
            notes.push(format!("no script stacks: {error}"));
        }
        notes
    }
}

/// The note about a runtime whose layout is not known.
pub fn unknown_layout_note(name: &str) -> String {
    format!(
        "{name}: its frames cannot be read, native frames only; genba reads CPython 3.8 to 3.14 and \
         CRuby 2.7 to 4.0"
    )
}

/// State of the detection in one process.
enum Process {
    /// No interpreter yet; the number of samples so far.
    Searching(u32),
    /// No interpreter whose frames can be read.
    Nothing,
    Known(Runtime),
}

/// Samples after which a process is not searched for an interpreter any more.
const MAX_SAMPLES_OF_SEARCH: u32 = 4096;

#[derive(Default)]
struct Reader {
    processes: HashMap<i32, Process>,
    stacks: Stacks,
    /// Samples whose script stack was inconsistent.
    unreadable: u64,
    /// Samples of threads that could not be stopped.
    refused: u64,
    /// The note about CPU time without a sample.
    unread: Option<String>,
}

/// Share of CPU time without a sample that is reported.
const MAX_UNREAD_SHARE: f64 = 0.05;

fn missing(read: u64, unread: u64) -> Option<String> {
    let all = (read + unread) as f64;
    (unread as f64 > MAX_UNREAD_SHARE * all).then(|| {
        format!(
            "{:.0} ms of {:.0} ms of CPU time have no script stack: threads ended before their next \
             sample; the shares of short-lived threads are too small",
            unread as f64 / 1e6,
            all / 1e6
        )
    })
}

impl Reader {
    /// The notes of a whole run.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(
            self.stacks
                .unknown
                .iter()
                .map(|name| unknown_layout_note(name)),
        );
        if self.stacks.runtimes.is_empty() && self.stacks.unknown.is_empty() {
            notes.push("no script stacks: no Python or Ruby interpreter was found".to_owned());
        }
        notes.extend(self.unread.clone());
        if self.refused > 0 {
            notes.push(format!(
                "{} samples have no script stack: the thread could not be stopped; another program \
                 traces it, or ptrace is forbidden here",
                self.refused
            ));
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "{} script stacks changed while they were read and are skipped",
                self.unreadable
            ));
        }
        notes
    }

    fn search(&mut self, pid: i32) {
        let process = self.processes.entry(pid).or_insert(Process::Searching(0));
        let Process::Searching(seen) = process else {
            return;
        };
        *seen += 1;
        // At the 1st, 2nd, 4th, 8th … sample: interpreters are mapped early in a process's life.
        if !seen.is_power_of_two() {
            return;
        }
        if *seen >= MAX_SAMPLES_OF_SEARCH {
            *process = Process::Nothing;
            return;
        }
        match detect(pid) {
            Detected::Nothing => {}
            Detected::Unknown(name) => {
                if !self.stacks.unknown.contains(&name) {
                    self.stacks.unknown.push(name);
                }
                *process = Process::Nothing;
            }
            Detected::Known(runtime, name) => {
                if !self.stacks.runtimes.contains(&name) {
                    self.stacks.runtimes.push(name);
                }
                *process = Process::Known(runtime);
            }
        }
    }
}

impl ThreadVisitor for Reader {
    fn prepare(&mut self, pid: i32) -> bool {
        self.search(pid);
        matches!(self.processes.get(&pid), Some(Process::Known(_)))
    }

    fn visit(&mut self, thread: &StoppedThread) -> bool {
        let Some(Process::Known(runtime)) = self.processes.get_mut(&thread.pid) else {
            return false;
        };
        let Some(pointer) = thread.thread_pointer else {
            return true;
        };
        let memory = ProcessMemory(thread.pid);
        let stacks = &mut self.stacks;
        let read = match runtime {
            Runtime::Python(python) => python
                .stack(&memory, pointer, stacks)
                .map(|read| read.map(|r| (r.node, r.opcode))),
            Runtime::Ruby(ruby) => ruby
                .stack(&memory, pointer, stacks)
                .map(|node| node.map(|n| (n, None))),
        };
        match read {
            Ok(Some((node, opcode))) => stacks.add(Sample {
                time: thread.time,
                tid: thread.tid,
                node,
                opcode,
            }),
            Ok(None) => {}
            Err(()) => self.unreadable += 1,
        }
        true
    }

    fn refused(&mut self, _pid: i32) {
        self.refused += 1;
    }

    fn began(&mut self, pid: i32) {
        self.processes.remove(&pid);
    }

    fn ended(&mut self, read: u64, unread: u64) {
        self.unread = missing(read, unread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_sample_is_reported_above_its_share() {
        assert_eq!(missing(100_000_000, 1_000_000), None);
        assert_eq!(missing(0, 0), None);
        let note = missing(206_000_000, 224_000_000).unwrap();
        assert!(note.starts_with("224 ms of 430 ms"), "{note}");
    }
}
