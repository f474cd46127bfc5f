//! Script stacks along with a recording.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use genba_profile::ptrace_sampler::{PtraceSampler, StoppedThread, ThreadVisitor};
use genba_profile::sampler::Target;
use genba_profile::{Companion, jit};

use super::detect::{Found, Runtime, detect};
use super::memory::ProcessMemory;
use super::stacks::{Sample, Stacks};

/// The native samples of threads that stood still, in the directory of what is kept.
pub const SAMPLES: &str = "script.data";
/// Their script stacks.
pub const STACKS: &str = "script.stacks";

/// Samples a second of CPU time: some hundred a second tell shares of a percent after seconds,
/// and stop a thread for less than a fiftieth of the time.
pub const DEFAULT_HZ: u64 = 499;

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
    /// For the recording at this path.
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
        notes.extend(reader.remarks());
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

/// What is to be said of a runtime whose layout is not known.
pub fn not_known(name: &str) -> String {
    format!(
        "{name}: its frames cannot be read (known are CPython 3.11 and CRuby 3.1); native frames \
         only"
    )
}

/// How far the search in one process is.
enum Process {
    /// Nothing yet, after so many samples.
    Searching(u32),
    /// Nothing that can be read.
    Nothing,
    Known(Runtime),
}

/// After so many samples in vain a process is no interpreter.
const GIVE_UP: u32 = 4096;

#[derive(Default)]
struct Reader {
    processes: HashMap<i32, Process>,
    stacks: Stacks,
    /// Samples whose stack was not what it should be.
    unreadable: u64,
    /// Samples of threads that could not be stopped.
    refused: u64,
    /// What is to be said of time without a sample.
    unread: Option<String>,
}

/// Time without a sample that is more than this part of all must be said.
const MUCH: f64 = 0.05;

fn missing(read: u64, unread: u64) -> Option<String> {
    let all = (read + unread) as f64;
    (unread as f64 > MUCH * all).then(|| {
        format!(
            "{:.0} ms of {:.0} ms of CPU time have no script stack: threads ended before another \
             sample of them was due; those that live shortly have too small a share",
            unread as f64 / 1e6,
            all / 1e6
        )
    })
}

impl Reader {
    /// What must be said, once.
    fn remarks(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.stacks.unknown.iter().map(|name| not_known(name)));
        if self.stacks.runtimes.is_empty() && self.stacks.unknown.is_empty() {
            notes.push("no script stacks: no interpreter of Python or Ruby was seen".to_owned());
        }
        notes.extend(self.unread.clone());
        if self.refused > 0 {
            notes.push(format!(
                "{} times a thread could not be stopped: another program traces it, or ptrace is \
                 forbidden here",
                self.refused
            ));
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "{} script stacks were in the middle of a change and are left out",
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
        // At the 1st, 2nd, 4th, 8th … sample: an interpreter is there soon.
        if !seen.is_power_of_two() {
            return;
        }
        if *seen >= GIVE_UP {
            *process = Process::Nothing;
            return;
        }
        match detect(pid) {
            Found::Nothing => {}
            Found::Unknown(name) => {
                if !self.stacks.unknown.contains(&name) {
                    self.stacks.unknown.push(name);
                }
                *process = Process::Nothing;
            }
            Found::Known(runtime, name) => {
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
    fn time_without_a_sample_is_said_where_it_is_much() {
        assert_eq!(missing(100_000_000, 1_000_000), None);
        assert_eq!(missing(0, 0), None);
        let said = missing(206_000_000, 224_000_000).unwrap();
        assert!(said.starts_with("224 ms of 430 ms"), "{said}");
    }
}
