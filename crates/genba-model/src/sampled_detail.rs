//! Samples one by one, with names, lines and threads: what exports for other programs are made of,
//! and what the profiles of other programs are read into.

use std::collections::HashMap;
use std::hash::Hash;

use crate::{DetailModule, Event, WaitReason};

/// Unit of the weights of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SampleUnit {
    /// Time, of a clock.
    #[default]
    Nanoseconds,
    /// Events of a counter, or samples.
    Count,
    /// Memory.
    Bytes,
}

/// Kind of the code of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CodeKind {
    /// Code of the program and its libraries.
    #[default]
    User,
    /// Code of the kernel.
    Kernel,
    /// Code that a JIT compiled, or interpreted code.
    Generated,
    /// Not code: what a thread waits for, as the innermost frame of its stack.
    Wait(WaitReason),
}

/// A thread under one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampledThread {
    /// Process id; 0 if unknown.
    pub pid: i32,
    /// Thread id; 0 for several threads of one name.
    pub tid: i32,
    /// Name of the thread.
    pub name: String,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampledFunction {
    /// Demangled name.
    pub name: String,
    /// Index into [`SampledDetail::modules`].
    pub module: Option<u32>,
    /// Source file: index into [`SampledDetail::files`].
    pub file: Option<u32>,
    /// Its first line.
    pub line: Option<u32>,
    /// Kind of its code.
    pub kind: CodeKind,
}

/// A place in a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampledFrame {
    /// Index into [`SampledDetail::functions`].
    pub function: u32,
    /// Address in the module; that of the surrounding function's code for an inlined one.
    pub address: Option<u64>,
    /// Source file: index into [`SampledDetail::files`].
    pub file: Option<u32>,
    /// Source line, that of the call for a caller.
    pub line: Option<u32>,
    /// Whether the function was inlined into the one of the parent.
    pub inlined: bool,
}

/// A node of the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampledStack {
    /// The caller: index into [`SampledDetail::stacks`], smaller than this node's.
    pub parent: Option<u32>,
    /// Index into [`SampledDetail::frames`].
    pub frame: u32,
}

/// A sample, or several of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Index into [`SampledDetail::threads`].
    pub thread: u32,
    /// Its innermost frame: index into [`SampledDetail::stacks`].
    pub stack: u32,
    /// When it was taken, nanoseconds after the first; `None` if unknown.
    pub time_ns: Option<u64>,
    /// Sum of weights in [`SampledDetail::unit`].
    pub weight: u64,
    /// Number of samples.
    pub samples: u64,
}

/// What a thread did for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledSpan {
    /// Index into [`SampledDetail::threads`].
    pub thread: u32,
    /// Start, nanoseconds.
    pub from_ns: u64,
    /// End, nanoseconds.
    pub to_ns: u64,
    /// What it did.
    pub state: WaitReason,
}

/// A thread that ended the wait of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledWakeUp {
    /// When, nanoseconds.
    pub at_ns: u64,
    /// The one that waited: index into [`SampledDetail::threads`].
    pub woken: u32,
    /// The one that was waited for.
    pub waker: u32,
}

/// Samples with all that is known of each.
#[derive(Clone, Debug)]
pub struct SampledDetail {
    /// The sampled event.
    pub event: Event,
    /// Unit of the weights.
    pub unit: SampleUnit,
    /// Program and arguments, if known.
    pub command: Vec<String>,
    /// Samples that were lost.
    pub lost: u64,
    /// Whether the samples have callers.
    pub has_callers: bool,
    /// All threads.
    pub threads: Vec<SampledThread>,
    /// All modules.
    pub modules: Vec<DetailModule>,
    /// All source files.
    pub files: Vec<String>,
    /// All functions.
    pub functions: Vec<SampledFunction>,
    /// All places.
    pub frames: Vec<SampledFrame>,
    /// The call tree, parents before children.
    pub stacks: Vec<SampledStack>,
    /// The samples, in the order of time where it is known.
    pub samples: Vec<Sampled>,
    /// What threads did over time.
    pub spans: Vec<SampledSpan>,
    /// Ends of waits.
    pub wake_ups: Vec<SampledWakeUp>,
    /// Notes on the samples, a sentence each.
    pub notes: Vec<String>,
}

impl SampledDetail {
    /// Returns the frames of a stack, innermost first.
    pub fn frames_of(&self, stack: u32) -> impl Iterator<Item = &SampledFrame> + '_ {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let node = self.stacks.get(next? as usize)?;
            next = node.parent;
            self.frames.get(node.frame as usize)
        })
    }

    /// Returns the function of a frame.
    #[must_use]
    pub fn function(&self, frame: &SampledFrame) -> &SampledFunction {
        &self.functions[frame.function as usize]
    }

    /// Returns the sum of all weights.
    #[must_use]
    pub fn total_weight(&self) -> u64 {
        (self.samples.iter()).fold(0, |sum, one| sum.saturating_add(one.weight))
    }

    /// Returns the number of all samples.
    #[must_use]
    pub fn total_samples(&self) -> u64 {
        (self.samples.iter()).fold(0, |sum, one| sum.saturating_add(one.samples))
    }

    /// Returns whether all samples have a time.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.samples.iter().all(|one| one.time_ns.is_some())
    }
}

/// Builds a [`SampledDetail`]: everything is stored once, and indices are valid.
#[derive(Debug)]
pub struct SampledDetailBuilder {
    /// What has been built.
    pub detail: SampledDetail,
    /// Index of each thread.
    threads: HashMap<SampledThread, u32>,
    /// Index of each module.
    modules: HashMap<DetailModule, u32>,
    /// Index of each source file.
    files: HashMap<String, u32>,
    /// Index of each function.
    functions: HashMap<SampledFunction, u32>,
    /// Index of each frame.
    frames: HashMap<SampledFrame, u32>,
    /// Index of each stack.
    stacks: HashMap<SampledStack, u32>,
}

fn intern<T: Clone + Eq + Hash>(ids: &mut HashMap<T, u32>, all: &mut Vec<T>, one: T) -> u32 {
    *ids.entry(one).or_insert_with_key(|one| {
        all.push(one.clone());
        all.len() as u32 - 1
    })
}

impl SampledDetailBuilder {
    /// Starts an empty one.
    #[must_use]
    pub fn new(event: Event, unit: SampleUnit, command: Vec<String>) -> Self {
        Self {
            detail: SampledDetail {
                event,
                unit,
                command,
                lost: 0,
                has_callers: false,
                threads: Vec::new(),
                modules: Vec::new(),
                files: Vec::new(),
                functions: Vec::new(),
                frames: Vec::new(),
                stacks: Vec::new(),
                samples: Vec::new(),
                spans: Vec::new(),
                wake_ups: Vec::new(),
                notes: Vec::new(),
            },
            threads: HashMap::new(),
            modules: HashMap::new(),
            files: HashMap::new(),
            functions: HashMap::new(),
            frames: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    /// Returns the index of a thread.
    pub fn thread(&mut self, thread: SampledThread) -> u32 {
        intern(&mut self.threads, &mut self.detail.threads, thread)
    }

    /// Returns the index of a module.
    pub fn module(&mut self, path: &str, build_id: Option<String>) -> u32 {
        let module = DetailModule {
            path: path.to_owned(),
            build_id,
        };
        intern(&mut self.modules, &mut self.detail.modules, module)
    }

    /// Returns the index of a source file.
    pub fn file(&mut self, path: &str) -> u32 {
        if let Some(&known) = self.files.get(path) {
            return known;
        }
        intern(&mut self.files, &mut self.detail.files, path.to_owned())
    }

    /// Returns the index of a function.
    pub fn function(&mut self, function: SampledFunction) -> u32 {
        intern(&mut self.functions, &mut self.detail.functions, function)
    }

    /// Returns the index of a frame; its function must exist.
    pub fn frame(&mut self, frame: SampledFrame) -> u32 {
        debug_assert!((frame.function as usize) < self.detail.functions.len());
        intern(&mut self.frames, &mut self.detail.frames, frame)
    }

    /// Returns the index of the frame of a name alone.
    pub fn named_frame(&mut self, name: &str, kind: CodeKind) -> u32 {
        let function = self.function(SampledFunction {
            name: name.to_owned(),
            kind,
            ..SampledFunction::default()
        });
        self.frame(SampledFrame {
            function,
            ..SampledFrame::default()
        })
    }

    /// Returns the index of a stack; parent and frame must exist.
    pub fn stack(&mut self, parent: Option<u32>, frame: u32) -> u32 {
        self.detail.has_callers |= parent.is_some() && !self.detail.frames[frame as usize].inlined;
        let stack = SampledStack { parent, frame };
        intern(&mut self.stacks, &mut self.detail.stacks, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Precision;

    #[test]
    fn equal_parts_are_stored_once() {
        let event = Event {
            name: "cpu-clock".to_owned(),
            hardware: false,
            frequency_hz: 99,
            kernel: false,
            precision: Precision::Skid,
        };
        let mut builder = SampledDetailBuilder::new(event, SampleUnit::Nanoseconds, Vec::new());
        let main = builder.named_frame("main", CodeKind::User);
        let outer = builder.stack(None, main);
        assert!(!builder.detail.has_callers);
        let inner = builder.named_frame("f", CodeKind::User);
        let leaf = builder.stack(Some(outer), inner);
        assert_eq!(builder.stack(Some(outer), inner), leaf);
        assert_eq!(builder.named_frame("main", CodeKind::User), main);
        assert_eq!(builder.file("a.c"), builder.file("a.c"));
        let detail = builder.detail;
        assert!(detail.has_callers);
        let names: Vec<&str> = (detail.frames_of(leaf))
            .map(|frame| detail.function(frame).name.as_str())
            .collect();
        assert_eq!(names, ["f", "main"]);
    }
}
