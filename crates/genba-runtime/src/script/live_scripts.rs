//! Script stacks and interpreter locks of running threads, read without stopping them.
//!
//! A thread that is blocked keeps its frames. One that runs may change them meanwhile: then a pointer leads
//! to something of another type and there is no stack, or the line is that of a moment later.

use std::collections::HashMap;

use genba_profile::wait_sampler::{ScriptFrame, ScriptWait, Scripts};

use super::interpreter_detection::{Detected, Runtime, detect};
use super::script_sampler::unknown_layout_note;
use super::script_stacks::{Stacks, WRITTEN_IN_C};
use super::thread_memory::ProcessMemory;

/// Innermost frames of the user's that a stack has at most.
const MAX_OWN_FRAMES: usize = 8;
/// Looks after which a process is not searched for an interpreter any more.
const MAX_LOOKS_OF_SEARCH: u32 = 4096;
/// Looks at a thread that is not in the interpreter's list until that is read again.
const LOOKS_UNTIL_RETRY: u32 = 64;

/// State of the detection in one process.
enum Process {
    /// No interpreter yet; looks so far.
    Searching(u32),
    /// No interpreter whose memory can be read.
    Nothing,
    Known(Box<Known>),
}

struct Known {
    runtime: Runtime,
    stacks: Stacks,
    /// Thread pointers by thread id.
    pointers: HashMap<i32, u64>,
    /// Looks at threads that the interpreter does not know, since the last search.
    foreign: HashMap<i32, u32>,
}

impl Process {
    /// Nothing is read yet.
    fn known(runtime: Runtime) -> Self {
        Self::Known(Box::new(Known {
            runtime,
            stacks: Stacks::default(),
            pointers: HashMap::new(),
            foreign: HashMap::new(),
        }))
    }
}

/// Reads the scripts of all processes of a target.
#[derive(Default)]
pub struct LiveScripts {
    processes: HashMap<i32, Process>,
    notes: Vec<String>,
}

impl LiveScripts {
    fn known(&mut self, pid: i32) -> Option<&mut Known> {
        let process = self.processes.entry(pid).or_insert(Process::Searching(0));
        if let Process::Searching(looks) = process {
            *looks += 1;
            // Most processes are not interpreters, and many end soon: not at the first look, and then at
            // the 2nd, 4th, 8th …
            if *looks == 1 || !looks.is_power_of_two() {
                return None;
            }
            if *looks >= MAX_LOOKS_OF_SEARCH {
                *process = Process::Nothing;
            } else {
                match detect(pid) {
                    Detected::Nothing => {}
                    Detected::Unknown(name) => {
                        let note = unknown_layout_note(&name);
                        if !self.notes.contains(&note) {
                            self.notes.push(note);
                        }
                        *process = Process::Nothing;
                    }
                    Detected::Known(runtime, _) => *process = Process::known(runtime),
                }
            }
        }
        match process {
            Process::Known(known) => Some(known),
            _ => None,
        }
    }
}

impl Scripts for LiveScripts {
    fn wait(&mut self, pid: i32, tid: i32, word: Option<u64>) -> Option<ScriptWait> {
        let memory = ProcessMemory(pid);
        let lock = |name, global, holder| ScriptWait::Lock {
            name,
            global,
            holder,
        };
        let known = self.known(pid)?;
        match &known.runtime {
            Runtime::Python(python) => {
                if let Some(holder) = python.gil_of_word(&memory, word?) {
                    return Some(lock("the GIL", true, holder));
                }
                python
                    .ends_with_lock(&memory, word?)
                    .filter(|joined| *joined != tid)
                    .map(ScriptWait::Join)
            }
            Runtime::Ruby(ruby) => {
                if let Some(holder) = ruby.waits_for_gvl(&memory, tid, word) {
                    return Some(lock("the GVL", true, holder));
                }
                if let Some(joined) = ruby.joined(&memory, tid, word) {
                    return Some(ScriptWait::Join(joined));
                }
                if let Some(holder) = ruby.mutex_holder(&memory, tid, word) {
                    return Some(lock("a Mutex", false, Some(holder)));
                }
                let pointer = known.pointer(&memory, tid)?;
                let Runtime::Ruby(ruby) = &mut known.runtime else {
                    return None;
                };
                ruby.sleeps(&memory, pointer).then_some(ScriptWait::Sleep)
            }
        }
    }

    fn stack(&mut self, pid: i32, tid: i32) -> Vec<ScriptFrame> {
        let memory = ProcessMemory(pid);
        let Some(known) = self.known(pid) else {
            return Vec::new();
        };
        let Some(pointer) = known.pointer(&memory, tid) else {
            return Vec::new();
        };
        let stacks = &mut known.stacks;
        let read = match &mut known.runtime {
            Runtime::Python(python) => python
                .stack(&memory, pointer, stacks)
                .map(|read| read.map(|read| read.node)),
            Runtime::Ruby(ruby) => ruby.stack(&memory, pointer, stacks),
        };
        match read {
            Ok(Some(node)) => frames(stacks, node),
            _ => Vec::new(),
        }
    }

    fn runs_in(&self, pid: i32) -> bool {
        matches!(self.processes.get(&pid), Some(Process::Known(_)))
    }

    fn forked(&mut self, parent: i32, child: i32) {
        if let Some(Process::Known(known)) = self.processes.get(&parent) {
            let runtime = match &known.runtime {
                Runtime::Python(python) => Runtime::Python(Box::new(python.of_fork())),
                Runtime::Ruby(ruby) => Runtime::Ruby(Box::new(ruby.of_fork())),
            };
            self.processes.insert(child, Process::known(runtime));
        }
    }

    fn executed(&mut self, pid: i32) {
        self.processes.remove(&pid);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Known {
    fn pointer(&mut self, memory: &ProcessMemory, tid: i32) -> Option<u64> {
        if let Some(pointer) = self.pointers.get(&tid) {
            return Some(*pointer);
        }
        let looks = self.foreign.entry(tid).or_insert(0);
        *looks += 1;
        if !looks.is_power_of_two() && !looks.is_multiple_of(LOOKS_UNTIL_RETRY) {
            return None;
        }
        self.pointers = match &mut self.runtime {
            Runtime::Python(python) => python.thread_pointers(memory),
            Runtime::Ruby(ruby) => ruby.thread_pointers(memory),
        };
        self.pointers.get(&tid).copied()
    }
}

/// From the innermost frame on until some of the user's were passed, and the outermost of them: it tells
/// what a thread is for.
fn frames(stacks: &Stacks, node: u32) -> Vec<ScriptFrame> {
    let all = stacks.frames(node).filter_map(|node| {
        let function = stacks.functions.get(node.function as usize)?;
        Some(ScriptFrame {
            function: function.name.clone(),
            file: function.file.clone(),
            line: node.line,
            own: !is_library(&function.file),
        })
    });
    let mut taken: Vec<ScriptFrame> = Vec::new();
    let mut own = 0;
    let mut outermost = None;
    for frame in all {
        if own < MAX_OWN_FRAMES {
            own += usize::from(frame.own);
            taken.push(frame);
        } else if frame.own {
            outermost = Some(frame);
        }
    }
    taken.extend(outermost);
    taken
}

/// Whether a file comes with the language: `/usr/lib/python3.11/threading.py`,
/// `/usr/lib/ruby/3.1.0/json/common.rb`, `<frozen importlib._bootstrap>`, `<internal:kernel>`. Packages that were
/// installed beside it do not.
fn is_library(file: &str) -> bool {
    if file == WRITTEN_IN_C || file.starts_with("<frozen") || file.starts_with("<internal:") {
        return true;
    }
    let installed = [
        "/site-packages/",
        "/dist-packages/",
        "/gems/",
        "/site_ruby/",
    ];
    if installed.iter().any(|part| file.contains(part)) {
        return false;
    }
    file.contains("/lib/python3") || file.contains("/lib/ruby/")
}

#[cfg(test)]
mod tests {
    use super::super::script_stacks::{Function, Node};
    use super::*;

    #[test]
    fn files_of_the_language_are_told_from_the_users() {
        for file in [
            "/usr/lib/python3.11/threading.py",
            "<frozen importlib._bootstrap>",
            "/usr/lib/ruby/3.1.0/json/common.rb",
            "<internal:kernel>",
        ] {
            assert!(is_library(file), "{file}");
        }
        for file in [
            "/srv/app/threading.py",
            "<string>",
            "-e",
            "/usr/lib/python3/dist-packages/requests/api.py",
            "/usr/lib/ruby/gems/3.1.0/gems/rack-2.2/lib/rack.rb",
            "lib/ruby_counter.rb",
        ] {
            assert!(!is_library(file), "{file}");
        }
    }

    #[test]
    fn deep_stacks_keep_the_innermost_frames_and_the_outermost_of_the_user() {
        let mut stacks = Stacks::default();
        let mut parent = None;
        for line in 1..100 {
            let library = line == 1 || line == 99;
            let function = stacks.function(Function {
                name: "f".to_owned(),
                file: if library { "<frozen x>" } else { "a.py" }.to_owned(),
                line: 1,
            });
            parent = Some(stacks.node(Node {
                parent,
                function,
                line,
            }));
        }
        let lines: Vec<u32> = frames(&stacks, parent.unwrap())
            .iter()
            .map(|frame| frame.line)
            .collect();
        assert_eq!(lines, [99, 98, 97, 96, 95, 94, 93, 92, 91, 2]);
    }
}
