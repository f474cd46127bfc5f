//! The result of a scan: samples, and the tables to which their ids refer.

use std::collections::HashMap;

use super::FastMap;
use crate::data_source::DataAccess;
pub use genba_symbols::{Module, ModuleId, ModuleKind};

/// Index into [`Tables::locations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(pub u32);

/// Index into [`Tables::frames`]: the innermost frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// Index into [`Tables::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// A location in a module. What `offset` is relative to depends on the [`ModuleKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The module.
    pub module: ModuleId,
    /// Offset in the module.
    pub offset: u64,
}

/// A node of the call tree: a location with the stack of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The caller's frame; `None` at the outermost.
    pub parent: Option<StackId>,
    /// The frame's location.
    pub location: LocationId,
    /// Whether the location is a return address: the call is *before* it, at `offset - 1`.
    pub is_return_address: bool,
}

/// A thread under one of its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Name (comm); a thread that changes its name has an entry for each.
    pub comm: String,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time in the recording's clock, ns.
    pub time: u64,
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Events since the previous sample: nanoseconds for a clock.
    pub weight: u64,
    /// Whether it is in kernel code.
    pub kernel: bool,
    /// The sampled location.
    pub location: LocationId,
    /// The stack; its innermost frame is `location`.
    pub stack: StackId,
    /// The thread under the name that it had then.
    pub thread: ThreadId,
    /// The general registers in user mode if all were recorded, by their number in instruction
    /// encodings: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … r15.
    pub registers: Option<[u64; 16]>,
    /// The data that was accessed, where the event says.
    pub data: Option<DataAccess>,
}

/// Totals over a whole scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Samples of the chosen event.
    pub samples: u64,
    /// Sum of the samples' weights.
    pub weight: u64,
    /// Samples in kernel code.
    pub kernel: u64,
    /// Samples of all events that the kernel reports as lost.
    pub lost: u64,
    /// How often the kernel throttled sampling.
    pub throttled: u64,
    /// Samples with a stack copy.
    pub copied_stacks: u64,
    /// Stack copies that could not be unwound to the outermost frame.
    pub truncated: u64,
    /// Malformed records, which were skipped.
    pub damaged: u64,
    /// Time of the first sample, ns.
    pub first: u64,
    /// Time of the last sample, ns.
    pub last: u64,
    /// Whether samples carry call stacks.
    pub stacks: bool,
    /// Whether the file ends in the middle of a record.
    pub cut_short: bool,
}

/// The tables to which ids refer. They grow during a scan; ids stay valid.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// All modules.
    pub modules: Vec<Module>,
    /// Locations, each once.
    pub locations: Vec<Location>,
    /// The call tree, each node once, parents before children.
    pub frames: Vec<Frame>,
    /// All threads under each of their names.
    pub threads: Vec<Thread>,
    /// Totals of the scan so far.
    pub totals: Totals,
    /// A kernel symbol and its address when it was recorded. If it has another address now, the
    /// machine was rebooted since, and the kernel's symbols have moved.
    pub kernel_reference: Option<(String, u64)>,
    location_ids: FastMap<(u32, u64), LocationId>,
    frame_ids: FastMap<(u32, u32), StackId>,
    thread_ids: HashMap<Thread, ThreadId>,
}

/// A whole recording in memory.
#[derive(Clone, Debug)]
pub struct Samples {
    /// In time order.
    pub samples: Vec<Sample>,
    /// The tables to which their ids refer.
    pub tables: Tables,
}

impl Tables {
    /// The module of this id.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// The location of this id.
    #[must_use]
    pub fn location(&self, id: LocationId) -> Location {
        self.locations[id.0 as usize]
    }

    /// The frame of this id.
    #[must_use]
    pub fn frame(&self, id: StackId) -> Frame {
        self.frames[id.0 as usize]
    }

    /// The thread of this id.
    #[must_use]
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.0 as usize]
    }

    /// The frames of a stack, innermost first.
    pub fn stack(&self, id: StackId) -> impl Iterator<Item = Frame> + '_ {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let frame = self.frame(next?);
            next = frame.parent;
            Some(frame)
        })
    }

    pub(super) fn add_module(&mut self, module: Module) -> ModuleId {
        self.modules.push(module);
        ModuleId(self.modules.len() as u32 - 1)
    }

    pub(super) fn intern_location(&mut self, module: ModuleId, offset: u64) -> LocationId {
        *self
            .location_ids
            .entry((module.0, offset))
            .or_insert_with(|| {
                self.locations.push(Location { module, offset });
                LocationId(self.locations.len() as u32 - 1)
            })
    }

    pub(super) fn intern_frame(&mut self, frame: Frame) -> StackId {
        // The location's upper bit is free: there are fewer than 2^31 locations in a file.
        let parent = frame.parent.map_or(u32::MAX, |p| p.0);
        let place = frame.location.0 << 1 | u32::from(frame.is_return_address);
        *self.frame_ids.entry((parent, place)).or_insert_with(|| {
            self.frames.push(frame);
            StackId(self.frames.len() as u32 - 1)
        })
    }

    pub(super) fn intern_thread(&mut self, pid: i32, tid: i32, comm: &str) -> ThreadId {
        let thread = Thread {
            pid,
            tid,
            comm: comm.to_owned(),
        };
        *self.thread_ids.entry(thread).or_insert_with_key(|thread| {
            self.threads.push(thread.clone());
            ThreadId(self.threads.len() as u32 - 1)
        })
    }
}
