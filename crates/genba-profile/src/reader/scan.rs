//! One pass over a recording: follows processes and their mappings, and locates samples.

mod mappings;
mod sample_stack;
#[cfg(test)]
mod tests;

use super::FastMap;
use super::address_space::AddressSpace;
use super::event_lookup::EventLookup;
use super::generated_code::GeneratedMappings;
use super::sample_tables::{
    LocationId, Module, ModuleId, ModuleKind, Sample, StackId, Tables, ThreadId,
};
use super::stack_unwinder::{ModuleCache, ProcessUnwinder};
use super::time_order::TimeOrderedRecords;
use crate::error::ReadError;
use crate::jit::JitArtifacts;
use crate::perfdata::attr::sample;
use crate::perfdata::file_header::Structure;
use crate::perfdata::record::{self, Raw, kind};

/// Most mappings that exist at once. No real recording has more: such a file is malformed and would
/// fill the memory.
const MAX_MAPPINGS: usize = 4 << 20;

/// What to read of a recording.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The event, by name or number; the first if `None`.
    pub event: Option<String>,
    /// Whether call stacks are read; without them every stack has its innermost frame only.
    pub stacks: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            event: None,
            stacks: true,
        }
    }
}

/// The address of a frame, and whether it is a return address.
type Address = (u64, bool);

#[derive(Default)]
struct Process {
    space: AddressSpace,
    threads: u32,
    unwinder: Option<ProcessUnwinder>,
    anonymous: Option<ModuleId>,
    /// Saved generated code, opened with the first mapping that may contain some.
    generated: Option<Option<GeneratedMappings>>,
    unknown: Option<ModuleId>,
}

struct ThreadState {
    pid: i32,
    comm: String,
    id: ThreadId,
    /// The last stack, outermost first: the next one shares most of it.
    last: Vec<(u64, bool, StackId)>,
    last_generation: u64,
}

/// Number of threads in the cache of recent ones.
const RECENT_THREADS: usize = 8;

/// Number of addresses in the cache of stacks, as a power of two.
const STACK_CACHE_BITS: u32 = 13;

/// The stack that has an address only.
#[derive(Clone, Copy, Default)]
struct CachedStack {
    address: u64,
    pid: i32,
    /// The generation for which it holds; 0 for none.
    generation: u64,
    stack: Option<StackId>,
}

struct Scan<'k> {
    artifacts: &'k JitArtifacts,
    /// Time at which generated code changes next, ns.
    next_change: u64,
    tables: Tables,
    /// Whether call stacks are read.
    stacks: bool,
    build_ids: FastMap<String, Vec<u8>>,
    processes: FastMap<i32, Process>,
    threads: FastMap<i32, ThreadState>,
    modules: std::collections::HashMap<(String, u64, Option<Vec<u8>>), ModuleId>,
    kernel: AddressSpace,
    kernel_module: Option<ModuleId>,
    files: ModuleCache,
    maps: usize,
    regs_mask: u64,
    chain: Vec<Address>,
    unwound: Vec<u64>,
    /// Threads of the last samples, until another record may have changed them.
    recent: [Option<((i32, i32), ThreadId)>; RECENT_THREADS],
    /// Without stacks: those of recent addresses, in this generation.
    stack_cache: Vec<CachedStack>,
    /// Changes with every record that may change mappings or threads.
    generation: u64,
    /// Without stacks: the frame of each location.
    flat: Vec<Option<StackId>>,
}

/// A recording to be scanned.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its records, one after the other.
    pub records: &'a [u8],
    /// Index of the event whose samples are wanted.
    pub event: usize,
    /// The events and features that its header describes.
    pub structure: &'a Structure,
    /// Its name in messages.
    pub name: &'a str,
    /// The artifacts saved with the recording.
    pub artifacts: &'a JitArtifacts,
    /// Told how many bytes of the records are not read again, every [`PASSED_STEP_BYTES`].
    pub passed: &'a dyn Fn(usize),
}

/// Bytes of records after which [`Source::passed`] is called again: few calls, little memory. Chosen.
const PASSED_STEP_BYTES: usize = 16 << 20;

/// See [`super::Recording::scan`].
pub fn scan(
    source: &Source<'_>,
    stacks: bool,
    sink: &mut dyn FnMut(&Sample, &Tables),
) -> Result<Tables, ReadError> {
    let &Source {
        structure, name, ..
    } = source;
    let mut scan = Scan::new(structure, source.artifacts, source.event, stacks);
    let events = EventLookup::new(&structure.events);
    let mut records = TimeOrderedRecords::new(source.records, &events);
    let mut told = 0;
    while let Some((event, layout, raw)) = records.next() {
        if records.passed.saturating_sub(told) >= PASSED_STEP_BYTES {
            told = records.passed;
            (source.passed)(told);
        }
        let understood = match raw.kind {
            kind::SAMPLE if event != source.event => Some(()),
            kind::SAMPLE => layout.sample(raw.body).map(|record| {
                let sample = scan.sample(&record, raw.misc);
                sink(&sample, &scan.tables);
            }),
            _ => scan.other(&raw),
        };
        if understood.is_none() {
            scan.tables.totals.damaged += 1;
        }
        if scan.maps > MAX_MAPPINGS {
            return Err(ReadError::TooMuch(name.to_owned(), MAX_MAPPINGS));
        }
    }
    if records.compressed {
        return Err(ReadError::Compressed(name.to_owned()));
    }
    scan.tables.totals.cut_short = records.cut_short;
    Ok(scan.tables)
}

impl<'k> Scan<'k> {
    fn new(
        structure: &Structure,
        artifacts: &'k JitArtifacts,
        wanted: usize,
        stacks: bool,
    ) -> Self {
        let attr = &structure.events[wanted].attr;
        let mut tables = Tables::default();
        tables.totals.stacks =
            attr.sample_type & (sample::CALLCHAIN | sample::STACK_USER) != 0 && stacks;
        Self {
            artifacts,
            next_change: u64::MAX,
            tables,
            stacks,
            build_ids: structure.features.build_ids.iter().cloned().collect(),
            processes: FastMap::default(),
            threads: FastMap::default(),
            modules: std::collections::HashMap::new(),
            kernel: AddressSpace::default(),
            kernel_module: None,
            files: ModuleCache::default(),
            maps: 0,
            regs_mask: attr.regs_user,
            chain: Vec::new(),
            unwound: Vec::new(),
            recent: [None; RECENT_THREADS],
            stack_cache: Vec::new(),
            generation: 1,
            flat: Vec::new(),
        }
    }

    fn other(&mut self, raw: &Raw<'_>) -> Option<()> {
        if matches!(
            raw.kind,
            kind::MMAP | kind::MMAP2 | kind::COMM | kind::FORK | kind::EXIT
        ) {
            self.recent = [None; RECENT_THREADS];
            self.generation += 1;
        }
        match raw.kind {
            kind::MMAP | kind::MMAP2 => self.map(record::mmap(raw)?, raw.misc),
            kind::COMM => {
                let (pid, tid, comm, exec) = record::comm(raw)?;
                if exec {
                    let process = self.processes.entry(pid).or_default();
                    let freed = process.space.clear();
                    self.maps = self.maps.saturating_sub(freed);
                    process.unwinder = None;
                    process.anonymous = None;
                }
                self.name_thread(pid, tid, &comm);
            }
            kind::FORK => self.fork(record::task(raw)?, raw.misc),
            kind::EXIT => self.exit(record::task(raw)?),
            kind::LOST | kind::LOST_SAMPLES => {
                let lost = &mut self.tables.totals.lost;
                *lost = lost.saturating_add(record::lost(raw)?);
            }
            kind::THROTTLE => self.tables.totals.throttled += 1,
            _ => {}
        }
        Some(())
    }

    fn name_thread(&mut self, pid: i32, tid: i32, comm: &str) {
        let id = self.tables.intern_thread(pid, tid, comm);
        let processes = &mut self.processes;
        let state = self.threads.entry(tid).or_insert_with(|| {
            processes.entry(pid).or_default().threads += 1;
            ThreadState {
                pid,
                comm: String::new(),
                id,
                last: Vec::new(),
                last_generation: 0,
            }
        });
        state.pid = pid;
        comm.clone_into(&mut state.comm);
        state.id = id;
        state.last.clear();
    }

    fn fork(&mut self, task: record::TaskRecord, flags: u16) {
        // perf writes such records for processes that ran before; their maps follow (FORK_EXEC).
        const FORK_EXEC: u16 = 1 << 13;
        if task.pid != task.ppid && flags & FORK_EXEC == 0 {
            let space = self.processes.get(&task.ppid).map(|p| p.space.fork());
            let child = Process {
                space: space.unwrap_or_default(),
                ..Process::default()
            };
            self.processes.insert(task.pid, child);
        }
        let parent = self.threads.get(&task.ptid);
        let comm = parent.map_or_else(String::new, |t| t.comm.clone());
        self.threads.remove(&task.tid);
        self.name_thread(task.pid, task.tid, &comm);
    }

    fn exit(&mut self, task: record::TaskRecord) {
        if self.threads.remove(&task.tid).is_none() {
            return;
        }
        if let Some(process) = self.processes.get_mut(&task.pid) {
            process.threads = process.threads.saturating_sub(1);
            if process.threads == 0 {
                let freed = process.space.clear();
                self.maps = self.maps.saturating_sub(freed);
                self.processes.remove(&task.pid);
            }
        }
    }

    fn kernel_location(&mut self, address: u64) -> LocationId {
        let module = match self.kernel.find(address) {
            Some(map) => map.module,
            None => self.kernel_id(),
        };
        self.tables.intern_location(module, address)
    }

    fn user_location(&mut self, pid: i32, address: u64, is_return: bool) -> LocationId {
        let process = self.processes.entry(pid).or_default();
        if let Some(&id) = process.space.cache.get(&address) {
            return id;
        }
        // A call may be the last instruction of a mapping; its return address is then outside.
        let inside = address.wrapping_sub(u64::from(is_return));
        let map = process.space.find(inside);
        let generated = map
            .filter(|map| Some(map.module) == process.anonymous)
            .and_then(|_| process.generated.as_ref()?.as_ref()?.find(inside));
        let (module, offset) = match generated.or(map) {
            Some(map) => (map.module, address.wrapping_add(map.to_offset)),
            None => {
                let tables = &mut self.tables;
                let unknown = *process.unknown.get_or_insert_with(|| {
                    tables.add_module(Module {
                        path: "[unknown]".to_owned(),
                        build_id: None,
                        kind: ModuleKind::Unknown,
                        pid: Some(pid),
                    })
                });
                (unknown, address)
            }
        };
        let id = self.tables.intern_location(module, offset);
        process.space.cache.insert(address, id);
        id
    }

    fn location(&mut self, pid: i32, address: u64, is_return: bool) -> LocationId {
        if is_kernel_address(address) {
            self.kernel_location(address)
        } else {
            self.user_location(pid, address, is_return)
        }
    }
}

/// Upper half of the address space, as on every 64-bit Linux.
fn is_kernel_address(address: u64) -> bool {
    address >> 63 == 1
}
