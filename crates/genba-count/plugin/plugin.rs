//! The plugin that counts within qemu-user: executions of each translated block, and of
//! control-flow edges between blocks.
//!
//! Built by `build.rs`. What must hold: counters are incremented atomically, so that threads lose
//! none; what cannot be recorded is counted as lost; nothing is written to the target's streams,
//! and no descriptor stays open in its process.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

mod block_ending;
mod counter_store;
#[allow(dead_code)]
mod plugin_file_layout;
mod proc_maps;
mod qemu_api;
mod system_calls;

use block_ending::Ending;
use counter_store::{Counter, Store};
use plugin_file_layout::{NO_FILE, block, edge, header, kind};
use qemu_api::{Arguments, Id, Info, Insn, Tb};
use system_calls::{after_fork_in_child, before_fork_in_parent, system_call, system_call_returned};

/// A translated block. Never freed, because QEMU may run it at any time.
struct Block {
    count: Counter,
    iterations: Counter,
    place: u64,
    address: u64,
    end: u64,
    last: u64,
    ending: Ending,
    /// Whether it is a PLT stub.
    stub: bool,
    /// Whether it is where a stub leads that is not bound yet.
    pushes: bool,
    /// Whether it ends with ld.so's jump to a function that it has bound.
    resolves: bool,
    /// Two of its outgoing edges, for quick access.
    likely: [AtomicPtr<Edge>; 2],
}

/// A control-flow edge between blocks.
struct Edge {
    from: *const Block,
    to: *const Block,
    count: Counter,
}

struct State {
    store: Store,
    maps: proc_maps::Maps,
    /// Blocks by what makes a block the same when it is translated again.
    blocks: HashMap<Key, &'static Block>,
    edges: HashMap<(usize, usize), &'static Edge>,
}

// SAFETY: the edges' pointers are to blocks that live for ever.
unsafe impl Send for Edge {}
// SAFETY: as above; nothing in them changes.
unsafe impl Sync for Edge {}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    address: u64,
    file: u32,
    offset: u64,
    instructions: u32,
    code: u64,
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();
/// Whether the mappings may have changed.
static MAPPINGS_CHANGED: AtomicBool = AtomicBool::new(true);
static TRANSFERS: AtomicBool = AtomicBool::new(false);
/// Number of the target's threads so far, up to two. A second one is announced while the first is
/// in the system call that creates it, not in a callback; from then on both count with locked
/// instructions, for good.
static THREADS: AtomicU64 = AtomicU64::new(0);
static PARENT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The block that this thread ran last. Each of the emulator's threads is one of the target's.
    static LAST: Cell<*const Block> = const { Cell::new(null()) };
    /// Stubs that ld.so is binding, the innermost last: binding may call functions that are not
    /// bound yet.
    static BINDING: Cell<[*const Block; 4]> = const { Cell::new([null(); 4]) };
}

fn with<T>(work: impl FnOnce(&mut State) -> T) -> Option<T> {
    let state = STATE.get()?;
    Some(work(
        &mut state.lock().unwrap_or_else(PoisonError::into_inner),
    ))
}

/// Number of edges that a thread caches, for branches with many targets.
const EDGE_CACHE_SIZE: usize = 1024;

thread_local! {
    static CACHED_EDGES: [Cell<*const Edge>; EDGE_CACHE_SIZE] =
        const { [const { Cell::new(null()) }; EDGE_CACHE_SIZE] };
}

/// Index in a thread's cache of edges.
fn slot(from: &Block, to: &Block) -> usize {
    // Offsets of records are multiples of eight.
    let mixed = (from.place >> 3).wrapping_mul(31) ^ (to.place >> 3);
    (mixed ^ (mixed >> 10)) as usize % EDGE_CACHE_SIZE
}

/// Entry point, called by QEMU first. Arguments: `dir=`, `children=`, `transfers=`.
///
/// # Safety
/// Called by QEMU with `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    _info: *const Info,
    argc: c_int,
    argv: Arguments,
) -> c_int {
    let mut directory = None;
    let (mut children, mut transfers) = (false, false);
    for index in 0..usize::try_from(argc).unwrap_or(0) {
        // SAFETY: QEMU gives `argc` strings that end in zero.
        let argument = unsafe { CStr::from_ptr(*argv.add(index)) };
        let Ok(argument) = argument.to_str() else {
            return 1;
        };
        match argument.split_once('=') {
            Some(("dir", path)) => directory = Some(PathBuf::from(path)),
            Some(("children", value)) => children = value == "1",
            Some(("transfers", value)) => transfers = value == "1",
            _ => return 1,
        }
    }
    let Some(store) = directory.and_then(|directory| Store::create(directory, children)) else {
        return 1;
    };
    let state = State {
        store,
        maps: proc_maps::Maps::default(),
        blocks: HashMap::new(),
        edges: HashMap::new(),
    };
    TRANSFERS.store(transfers, Ordering::Relaxed);
    PARENT.store(u64::from(std::process::id()), Ordering::Relaxed);
    if STATE.set(Mutex::new(state)).is_err() {
        return 1;
    }
    // SAFETY: registers functions of the right types, that live as long as the process.
    unsafe {
        // If a core file is allowed, QEMU leaves one in the target's directory and says so on the
        // target's standard error.
        qemu_api::setrlimit(qemu_api::RLIMIT_CORE, &[0, 0]);
        qemu_api::qemu_plugin_register_vcpu_init_cb(id, thread_begins);
        qemu_api::qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        qemu_api::qemu_plugin_register_vcpu_syscall_cb(id, system_call);
        qemu_api::qemu_plugin_register_vcpu_syscall_ret_cb(id, system_call_returned);
        qemu_api::pthread_atfork(None, Some(before_fork_in_parent), Some(after_fork_in_child));
    }
    0
}

extern "C" fn thread_begins(_: Id, _: c_uint) {
    THREADS.fetch_add(1, Ordering::SeqCst);
}

fn is_single_threaded() -> bool {
    THREADS.load(Ordering::Relaxed) <= 1
}

/// One instruction of a block being translated.
struct Instruction<'a> {
    bytes: &'a [u8],
    host: u64,
}

/// # Safety
/// `tb` must be the block that QEMU is translating, `index` less than its number of instructions.
unsafe fn instruction<'a>(tb: *mut Tb, index: usize) -> Instruction<'a> {
    // SAFETY: as the caller says; the bytes live until the translation's end.
    unsafe {
        let insn: *mut Insn = qemu_api::qemu_plugin_tb_get_insn(tb, index);
        let size = qemu_api::qemu_plugin_insn_size(insn);
        let data: *const u8 = qemu_api::qemu_plugin_insn_data(insn).cast();
        let host = qemu_api::qemu_plugin_insn_haddr(insn) as u64;
        let bytes = std::slice::from_raw_parts(data, size);
        Instruction { bytes, host }
    }
}

/// Called when QEMU has decoded a block: registers what is called whenever it runs.
extern "C" fn translated(_: Id, tb: *mut Tb) {
    // SAFETY: QEMU's own block.
    let (count, address) = unsafe {
        (
            qemu_api::qemu_plugin_tb_n_insns(tb),
            qemu_api::qemu_plugin_tb_vaddr(tb),
        )
    };
    if count == 0 {
        return;
    }
    // SAFETY: indices below the number of instructions.
    let instructions: Vec<Instruction<'_>> = (0..count)
        .map(|index| unsafe { instruction(tb, index) })
        .collect();
    let block = with(|state| state.block(address, &instructions)).flatten();
    let data: *const Block = match block {
        Some(block) => block,
        None => null(),
    };
    let callback = match block {
        None => lost,
        Some(_) if TRANSFERS.load(Ordering::Relaxed) => executed_with_edges,
        Some(_) => executed,
    };
    // SAFETY: the block lives for ever.
    unsafe {
        qemu_api::qemu_plugin_register_vcpu_tb_exec_cb(
            tb,
            callback,
            qemu_api::NO_REGS,
            data as *mut c_void,
        );
    }
}

impl State {
    fn block(&mut self, address: u64, instructions: &[Instruction<'_>]) -> Option<&'static Block> {
        if MAPPINGS_CHANGED.swap(false, Ordering::AcqRel) {
            self.maps.refresh();
        }
        let (first, last) = (instructions.first()?, instructions.last()?);
        let (mut file, mut offset) = (NO_FILE, 0);
        if let Some(place) = self.maps.find(first.host) {
            (file, offset) = (place.file, place.offset);
            if let Some(path) = place.new {
                let mut body = Vec::new();
                body.extend_from_slice(&(path.len() as u32).to_ne_bytes());
                body.extend_from_slice(&[0; 4]);
                body.extend_from_slice(path.as_bytes());
                self.store.append(kind::FILE, &body)?;
            }
        }
        let mut hasher = DefaultHasher::new();
        for instruction in instructions {
            hasher.write(instruction.bytes);
            hasher.write_u8(instruction.bytes.len() as u8);
        }
        let key = Key {
            address,
            file,
            offset,
            instructions: instructions.len() as u32,
            code: hasher.finish(),
        };
        if let Some(block) = self.blocks.get(&key) {
            return Some(block);
        }
        let body = body(&key, instructions, last.bytes);
        let (place, record) = self.store.append(kind::BLOCK, &body)?;
        let first_after_endbr =
            (instructions.iter()).find(|one| one.bytes != block_ending::ENDBR64);
        let size: usize = instructions.iter().map(|one| one.bytes.len()).sum();
        let end = address + size as u64;
        let block: &'static Block = Box::leak(Box::new(Block {
            count: Store::counter(record, block::COUNT),
            iterations: Store::counter(record, block::ITERATIONS),
            place,
            address,
            end,
            last: end - last.bytes.len() as u64,
            ending: block_ending::ending(last.bytes),
            stub: block_ending::is_stub(last.bytes),
            pushes: block_ending::pushes(first_after_endbr.map_or(&[], |one| one.bytes)),
            resolves: block_ending::resolves(last.bytes),
            likely: Default::default(),
        }));
        self.blocks.insert(key, block);
        Some(block)
    }

    fn edge_to(&mut self, from: &Block, to: &'static Block) -> Option<&'static Edge> {
        let key = (from.place as usize, to.place as usize);
        if let Some(edge_to) = self.edges.get(&key) {
            return Some(edge_to);
        }
        let record = self.between(kind::EDGE, from, to)?;
        let edge_to: &'static Edge = Box::leak(Box::new(Edge {
            from,
            to,
            count: Store::counter(record, edge::COUNT),
        }));
        self.edges.insert(key, edge_to);
        for slot in &from.likely {
            if slot.load(Ordering::Relaxed).is_null() {
                slot.store(std::ptr::from_ref(edge_to).cast_mut(), Ordering::Release);
                break;
            }
        }
        Some(edge_to)
    }
}

impl State {
    /// Appends a record about two blocks.
    fn between(&mut self, kind: u32, from: &Block, to: &Block) -> Option<NonNull<u8>> {
        let mut body = [0; edge::SIZE - plugin_file_layout::RECORD];
        body[edge::FROM - plugin_file_layout::RECORD..][..8]
            .copy_from_slice(&from.place.to_ne_bytes());
        body[edge::TO - plugin_file_layout::RECORD..][..8].copy_from_slice(&to.place.to_ne_bytes());
        Some(self.store.append(kind, &body)?.1)
    }
}

/// Follows lazy binding: `last` has led to `block`.
fn follow_binding(last: &'static Block, block: &'static Block) {
    if last.stub && block.pushes {
        let [_, a, b, c] = BINDING.get();
        BINDING.set([a, b, c, last]);
    } else if last.resolves {
        let [a, b, c, stub] = BINDING.get();
        BINDING.set([null(), a, b, c]);
        // SAFETY: null, or a leaked block.
        if let Some(stub) = unsafe { stub.as_ref() } {
            with(|state| state.between(kind::BINDING, stub, block));
        }
    }
}

/// Returns a block's record without kind and size.
fn body(key: &Key, instructions: &[Instruction<'_>], last: &[u8]) -> Vec<u8> {
    let mut body = vec![0; block::LENGTHS - plugin_file_layout::RECORD];
    let mut put = |at: usize, bytes: &[u8]| {
        body[at - plugin_file_layout::RECORD..][..bytes.len()].copy_from_slice(bytes);
    };
    put(block::ADDRESS, &key.address.to_ne_bytes());
    put(block::OFFSET, &key.offset.to_ne_bytes());
    put(block::FILE, &key.file.to_ne_bytes());
    put(block::INSTRUCTIONS, &key.instructions.to_ne_bytes());
    let last = &last[..last.len().min(15)];
    put(block::LAST, last);
    put(block::LAST + 15, &[last.len() as u8]);
    body.extend(instructions.iter().map(|one| one.bytes.len() as u8));
    body
}

/// Called when a block runs that could not be recorded.
extern "C" fn lost(_: c_uint, _: *mut c_void) {
    LAST.set(null());
    with(|state| {
        let lost = state.store.field(header::LOST);
        lost.fetch_add(1, Ordering::Relaxed);
    });
}

/// Counts an execution of a block; a repeated string instruction enters its block anew for each
/// iteration. Returns the block before and this one, unless this is such an iteration.
fn count(data: *mut c_void) -> Option<(&'static Block, &'static Block)> {
    // SAFETY: a leaked block, as registered.
    let block: &'static Block = unsafe { &*data.cast() };
    let last = LAST.replace(block);
    // SAFETY: null, or a leaked block.
    let last: Option<&'static Block> = unsafe { last.as_ref() };
    if let Some(last) = last
        && last.ending == Ending::Repeat
        && last.last == block.address
    {
        block.iterations.increment(is_single_threaded());
        return None;
    }
    block.count.increment(is_single_threaded());
    last.map(|last| (last, block))
}

extern "C" fn executed(_: c_uint, data: *mut c_void) {
    count(data);
}

extern "C" fn executed_with_edges(_: c_uint, data: *mut c_void) {
    let Some((last, block)) = count(data) else {
        return;
    };
    follow_binding(last, block);
    let led = match last.ending {
        Ending::Transfer => true,
        // A conditional branch to the next instruction was not taken.
        Ending::Conditional => block.address != last.end,
        Ending::Repeat | Ending::Other => false,
    };
    if !led {
        return;
    }
    for slot in &last.likely {
        // SAFETY: null, or a leaked edge_to.
        let edge_to = unsafe { slot.load(Ordering::Acquire).as_ref() };
        if let Some(edge_to) = edge_to
            && std::ptr::eq(edge_to.to, block)
        {
            edge_to.count.increment(is_single_threaded());
            return;
        }
    }
    let slot = slot(last, block);
    let cached = CACHED_EDGES.with(|edges| edges[slot].get());
    // SAFETY: null, or a leaked edge_to.
    if let Some(edge_to) = unsafe { cached.as_ref() }
        && std::ptr::eq(edge_to.from, last)
        && std::ptr::eq(edge_to.to, block)
    {
        edge_to.count.increment(is_single_threaded());
        return;
    }
    with(|state| match state.edge_to(last, block) {
        Some(edge_to) => {
            CACHED_EDGES.with(|edges| edges[slot].set(edge_to));
            edge_to.count.increment(is_single_threaded());
        }
        None => {
            let lost = state.store.field(header::LOST);
            lost.fetch_add(1, Ordering::Relaxed);
        }
    });
}
