//! What a scan yields: samples and the tables that their ids point into.

use std::collections::HashMap;

use super::fast_hash::FastMap;
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

/// A place in a module; what `offset` counts from is said at [`ModuleKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The module.
    pub module: ModuleId,
    /// Offset in it.
    pub offset: u64,
}

/// A node of the call tree: a location with the stack of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The caller's frame; `None` at the outermost.
    pub parent: Option<StackId>,
    /// Where.
    pub location: LocationId,
    /// The location is a return address: the call is *before* it, so look up `offset - 1`.
    pub is_return_address: bool,
}

/// A thread under one of its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Name (comm); a thread that changes it has an entry for each.
    pub comm: String,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time in the recording's clock, ns.
    pub time: u64,
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// CPU.
    pub cpu: u32,
    /// Events since the sample before: nanoseconds for a clock.
    pub weight: u64,
    /// Whether it hit kernel code.
    pub kernel: bool,
    /// Whether the stack's outermost frame was not reached (DWARF unwinding only).
    pub truncated: bool,
    /// Data address, for events that have one; else 0.
    pub addr: u64,
    /// Where.
    pub location: LocationId,
    /// The stack; its innermost frame is `location`.
    pub stack: StackId,
    /// The thread with the name that it had then.
    pub thread: ThreadId,
    /// The general registers in user mode, where all were recorded, by the number that
    /// instructions give them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … r15.
    pub registers: Option<[u64; 16]>,
}

/// Figures over a whole scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Samples of the chosen event.
    pub samples: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Samples in kernel code.
    pub kernel: u64,
    /// Samples that the kernel says it lost (of all events).
    pub lost: u64,
    /// Times that the kernel throttled sampling.
    pub throttled: u64,
    /// Samples with a stack copy.
    pub copied_stacks: u64,
    /// Those of them that did not lead to the outermost frame.
    pub truncated: u64,
    /// Records that could not be understood and were passed over.
    pub damaged: u64,
    /// Time of the first sample, ns.
    pub first: u64,
    /// Time of the last sample, ns.
    pub last: u64,
    /// Whether samples carry call stacks.
    pub stacks: bool,
    /// The records end in the middle of one.
    pub cut_short: bool,
}

/// Everything that ids point into. Grows while a scan goes on; ids stay valid.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Modules.
    pub modules: Vec<Module>,
    /// Locations, each once.
    pub locations: Vec<Location>,
    /// The call tree, each node once, parents before children.
    pub frames: Vec<Frame>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Totals.
    pub totals: Totals,
    /// A symbol of the kernel with its address when it was recorded: if it has another now, the
    /// machine was started anew since, and the kernel's symbols have moved.
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
    /// What they point into.
    pub tables: Tables,
}

impl Tables {
    /// A module.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// A location.
    #[must_use]
    pub fn location(&self, id: LocationId) -> Location {
        self.locations[id.0 as usize]
    }

    /// A frame.
    #[must_use]
    pub fn frame(&self, id: StackId) -> Frame {
        self.frames[id.0 as usize]
    }

    /// A thread.
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
