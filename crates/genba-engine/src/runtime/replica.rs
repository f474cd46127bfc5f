//! Replicas: forked copies of the process that each execute one window of a duet and end. What they compute
//! is thrown away, so side 1 may compute something else than the program ([`super::replica_confinement`] keeps it
//! in). Both windows of a pair start from the same state.
//!
//! With a *log*, a first replica (the *scout*) finds how many entries the program writes within a window; then
//! one replica executes side 0, which writes them again, and another side 1, which reads them. Both end
//! where the last entry was, at a page that cannot be accessed, so both have done the same work.
//!
//! What must hold: the process itself goes on as if there were no replicas. They are children without an exit
//! signal, which only `__WALL` waits for, and are gone before the process continues.

use core::num::NonZeroU64;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::duet_layout::{MAX_LOG_ENTRY, Window};
use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State};

use super::dispatch::NextAction;
use super::engine::Engine;
use super::signal_delivery::{SIGSEGV, context};
use super::signal_recovery::InterruptedState;
use super::{burst_timer, bursts, duet, replica_confinement};

const PAGE: usize = 4096;
/// Bytes of the log: it fits a second-level cache.
const LOG_BYTES: usize = 1 << 20;
/// Entries below which a window says nothing.
const MIN_ENTRIES: u64 = 64;
/// How much longer than the scout a replica may take, which ends at the log's end.
const MAX_SLOWDOWN: u64 = 8;
/// Signals that instructions raise, and the timer's.
const UNBLOCKED: u64 =
    1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30 | 1 << (burst_timer::SIGNAL - 1);

/// [`crate::count_file_layout::Control::replica_notes`]: a replica could not be confined.
pub const NOTE_UNCONFINED: u32 = 1;
/// The same: there was more than one thread.
pub const NOTE_THREADS: u32 = 2;
/// The same: the kernel created no process.
pub const NOTE_NO_FORK: u32 = 4;

static IS_REPLICA: AtomicBool = AtomicBool::new(false);
/// Address of the area: the result's page, a page that the process itself writes entries to, the log, and a
/// page that cannot be accessed. 0 for none.
static AREA: AtomicUsize = AtomicUsize::new(0);

/// How a replica ended: it has not said so.
const END_NONE: u32 = 0;
/// How a replica ended: at the end of the log.
const END_LOG: u32 = 1;
/// How a replica ended: its time was up, or an instruction raised a signal.
const END_OTHER: u32 = 2;
/// How a replica ended: it could not be confined, and has executed nothing.
const END_UNCONFINED: u32 = 3;
/// How a replica ended: it was about to make a system call.
const END_SYSCALL: u32 = 4;

/// What a replica reports.
#[repr(C)]
struct Report {
    end: AtomicU32,
    cpu_nanoseconds: u64,
    rounds: u64,
    page_faults: u64,
    /// Address of the next entry of the log.
    log: u64,
    /// Hash of the program's place and registers.
    state: u64,
}

/// The window of a replica, in the replica.
static START: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// What became of a replica, in the process that made it; or that the caller is the replica.
enum Outcome {
    IsReplica,
    Ended {
        end: u32,
        cpu_nanoseconds: u64,
        rounds: u64,
        page_faults: u64,
        log: u64,
        state: u64,
    },
    Failed,
}

/// Whether this process is a replica.
#[must_use]
pub fn is_one() -> bool {
    IS_REPLICA.load(Ordering::Relaxed)
}

fn report() -> *mut Report {
    AREA.load(Ordering::Relaxed) as *mut Report
}

fn scratch() -> usize {
    AREA.load(Ordering::Relaxed) + PAGE
}

fn log_begin() -> usize {
    AREA.load(Ordering::Relaxed) + 2 * PAGE
}

fn log_end() -> usize {
    log_begin() + LOG_BYTES
}

/// Maps the area.
pub fn create_area() {
    let bytes = LOG_BYTES + 3 * PAGE;
    let flags = raw_syscall::SHARED | 0x20 | 0x4000;
    // SAFETY: new memory, shared with replicas alone.
    unsafe {
        let Some(area) = raw_syscall::mmap(0, bytes, raw_syscall::READ_WRITE, flags, -1) else {
            super::refuse("there is no memory for the log of a proof");
        };
        raw_syscall::exclude_from_core_dumps(area, bytes);
        raw_syscall::call(nr::MPROTECT, [area + bytes - PAGE, PAGE, 0, 0, 0, 0]);
        AREA.store(area, Ordering::Relaxed);
    }
}

/// Leads entries of the log of a thread that is not one of a replica to a page of no interest.
///
/// # Safety
/// The state must be mapped, and the caller's own or at rest.
pub unsafe fn initialise_log(state: State) {
    let area = AREA.load(Ordering::Relaxed);
    let at = if area == 0 { 0 } else { scratch() };
    // SAFETY: the caller's promise.
    unsafe {
        state.set(thread_state::DUET_LOG, at as u64);
        state.set(thread_state::DUET_LOG_STEP, 0);
    }
}

/// Executes a pair of windows in replicas, notes them, and lets the process continue; in a replica, lets that begin.
///
/// # Safety
/// The state must be the caller's own, with a signal of its timer in it.
pub unsafe fn pair(engine: &mut Engine, state: State, frame: usize, rip: u64) -> NextAction {
    let go_on = NextAction::Sigreturn(frame);
    let note = |engine: &Engine, note| {
        let notes = &engine.code_map.shared.control().replica_notes;
        notes.fetch_or(note, Ordering::Relaxed);
    };
    if engine.slots.in_use() > 1 {
        note(engine, NOTE_THREADS);
        return go_on;
    }
    let entry = engine.code_map.duet.log_entry().min(MAX_LOG_ENTRY);
    let limit = engine.code_map.duet.interval();
    let first = engine.code_map.duet.random_side();
    let (mut log, mut entries, mut longest) = (scratch() as u64, 0, limit);
    // CPU time from the beginning to the system call that ended the window.
    let mut to_syscall = 0;
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(entry) = NonZeroU64::new(entry) {
            let begin = log_begin() as u64;
            match run(engine, state, frame, rip, 0, begin, limit) {
                Outcome::IsReplica => return go_on,
                Outcome::Ended { end, .. } if end == END_UNCONFINED => {
                    note(engine, NOTE_UNCONFINED);
                    return go_on;
                }
                Outcome::Ended {
                    end,
                    log: to,
                    cpu_nanoseconds,
                    ..
                } => {
                    if end == END_SYSCALL {
                        to_syscall = cpu_nanoseconds;
                    }
                    // One less: copies end where they want the entry behind the last, which the program may not come to
                    // before the system call that ended this one.
                    let noted = to.saturating_sub(begin).min(LOG_BYTES as u64) / entry;
                    entries = noted.saturating_sub(1);
                    if entries < MIN_ENTRIES {
                        duet::note_pair(
                            engine,
                            state,
                            [cpu_nanoseconds; 2].map(|cpu| (cpu, 0, 0)),
                            0,
                        );
                        return go_on;
                    }
                    let bytes = entries * entry.get();
                    log = log_end() as u64 - bytes;
                    core::ptr::copy(begin as *const u8, log as *mut u8, bytes as usize);
                    longest = cpu_nanoseconds.max(limit) * MAX_SLOWDOWN;
                }
                Outcome::Failed => {
                    count_failure(engine);
                    return go_on;
                }
            }
        }
        let mut sides = [(0, 0, 0); 2];
        let mut states = [0; 2];
        for side in [first, first ^ 1] {
            let outcome = run(engine, state, frame, rip, side, log, longest);
            let Outcome::Ended {
                end,
                cpu_nanoseconds,
                rounds,
                page_faults,
                state: hash,
                ..
            } = outcome
            else {
                if matches!(outcome, Outcome::Failed) {
                    count_failure(engine);
                }
                return go_on;
            };
            if end == END_UNCONFINED {
                note(engine, NOTE_UNCONFINED);
                return go_on;
            }
            if entry > 0 && end != END_LOG {
                count_failure(engine);
                return go_on;
            }
            let rounds = if entry > 0 { entries } else { rounds };
            sides[side as usize] = (cpu_nanoseconds, rounds, page_faults);
            states[side as usize] = hash;
        }
        if states[0] != states[1] {
            count_failure(engine);
            return go_on;
        }
        // What the program does between the last entry and the system call is in both sides: without it the
        // windows would end where the work does, and show too much of it.
        let rest = to_syscall.saturating_sub(sides[0].0);
        let sides = sides.map(|(cpu, rounds, faults)| (cpu + rest, rounds, faults));
        duet::note_pair(engine, state, sides, first);
    }
    go_on
}

fn count_failure(engine: &Engine) {
    let failed = &engine.code_map.shared.control().replicas_failed;
    failed.fetch_add(1, Ordering::Relaxed);
}

/// Creates a replica that executes a side, and waits for its end.
unsafe fn run(
    engine: &mut Engine,
    state: State,
    frame: usize,
    rip: u64,
    side: u64,
    log: u64,
    limit: u64,
) -> Outcome {
    /// `__WALL`: also children without an exit signal.
    const WALL: usize = 0x4000_0000;
    // SAFETY: the area is mapped; a child without an exit signal has a copy of all memory, this stack included.
    unsafe {
        (*report()).end.store(END_NONE, Ordering::Relaxed);
        let pid = raw_syscall::call(nr::CLONE, [0; 6]);
        if pid == 0 {
            begin(engine, state, frame, rip, side, log, limit);
            return Outcome::IsReplica;
        }
        if pid < 0 {
            let notes = &engine.code_map.shared.control().replica_notes;
            notes.fetch_or(NOTE_NO_FORK, Ordering::Relaxed);
            return Outcome::Failed;
        }
        let mut status = 0u64;
        let to = &raw mut status as usize;
        raw_syscall::call(nr::WAIT4, [pid as usize, to, WALL, 0, 0, 0]);
        let found = &*report();
        match found.end.load(Ordering::Acquire) {
            END_NONE => Outcome::Failed,
            end => Outcome::Ended {
                end,
                cpu_nanoseconds: found.cpu_nanoseconds,
                rounds: found.rounds,
                page_faults: found.page_faults,
                log: found.log,
                state: found.state,
            },
        }
    }
}

/// Makes the calling process a replica, which continues on a side.
unsafe fn begin(
    engine: &mut Engine,
    state: State,
    frame: usize,
    rip: u64,
    side: u64,
    log: u64,
    limit: u64,
) {
    IS_REPLICA.store(true, Ordering::Relaxed);
    // SAFETY: the caller's own state, the only thread of a process of our own.
    unsafe {
        let area = (AREA.load(Ordering::Relaxed), log_end());
        replica_confinement::protect_shared_memory(engine.code_map.shared, area);
        let table = (state.0 + thread_state::SYSCALL_TABLE as usize) as *mut u8;
        core::ptr::write_bytes(table, 1, thread_state::SYSCALLS as usize);
        state.set(thread_state::BURST_TIMER, 0);
        burst_timer::create(state);
        engine.slots.set_side(state, side);
        state.set(thread_state::DUET_LOG, log);
        state.set(
            thread_state::DUET_LOG_STEP,
            engine.code_map.duet.log_entry(),
        );
        state.set(thread_state::DUET_PATTERN, engine.code_map.duet.pattern());
        if engine.code_map.duet.in_loop(rip) {
            bursts::continue_in_new_code(engine, state, rip, frame);
        }
        let mask = (frame + context::MASK) as *mut u64;
        mask.write(!UNBLOCKED);
        burst_timer::set(state, limit);
        if !replica_confinement::confine() {
            (*report()).end.store(END_UNCONFINED, Ordering::Release);
            exit();
        }
        START[0].store(
            engine.code_map.duet.rounds(state) as usize,
            Ordering::Relaxed,
        );
        START[1].store(page_faults() as usize, Ordering::Relaxed);
        START[2].store(
            burst_timer::thread_cpu_nanoseconds() as usize,
            Ordering::Relaxed,
        );
    }
}

/// Ends a replica that a signal interrupted.
///
/// # Safety
/// The state must be the caller's own, with the signal in it, in a replica.
pub unsafe fn end_by_signal(engine: &mut Engine, state: State, frame: usize, rip: u64) -> ! {
    let cpu = burst_timer::thread_cpu_nanoseconds();
    // SAFETY: the caller's promise; the frame is the kernel's.
    unsafe {
        let number = state.get(thread_state::SIGNAL_NUMBER) as usize;
        let address = ((state.get(thread_state::SIGNAL_INFO) + 16) as *const u64).read() as usize;
        let at_end = number == SIGSEGV && (log_end()..log_end() + PAGE).contains(&address);
        if !at_end {
            end(engine, state, END_OTHER, 0, cpu);
        }
        let word = |offset: usize| ((frame + offset) as *const u64).read();
        let registers = context::REGISTERS.map(word);
        let found = InterruptedState::find(engine, state, rip, registers, word(context::FLAGS));
        let ignored = engine.code_map.duet.ignored();
        let words = found.registers.into_iter().chain([found.pc]);
        let words = (0..)
            .zip(words)
            .map(|(bit, word)| match ignored >> bit & 1 {
                0 => word,
                _ => 0,
            });
        let hash = words.fold(0xCBF2_9CE4_8422_2325u64, |hash, word| {
            (hash ^ word).wrapping_mul(0x100_0000_01B3).rotate_left(23)
        });
        end(engine, state, END_LOG, hash, cpu)
    }
}

/// Ends a replica before a system call.
///
/// # Safety
/// The state must be the caller's own, in a replica.
pub unsafe fn end_by_syscall(engine: &mut Engine, state: State) -> ! {
    let cpu = burst_timer::thread_cpu_nanoseconds();
    // SAFETY: the caller's promise.
    unsafe { end(engine, state, END_SYSCALL, 0, cpu) }
}

unsafe fn end(engine: &Engine, state: State, end: u32, hash: u64, cpu: u64) -> ! {
    let start = |index: usize| START[index].load(Ordering::Relaxed) as u64;
    // SAFETY: the area is mapped, and the process that reads it waits for our end.
    unsafe {
        let report = report();
        (*report).cpu_nanoseconds = cpu.wrapping_sub(start(2));
        (*report).rounds = engine.code_map.duet.rounds(state).wrapping_sub(start(0));
        (*report).page_faults = page_faults().wrapping_sub(start(1));
        (*report).log = state.get(thread_state::DUET_LOG);
        (*report).state = hash;
        (*report).end.store(end, Ordering::Release);
    }
    exit()
}

/// Ends the calling process without effects.
pub fn exit() -> ! {
    loop {
        // SAFETY: touches no memory.
        unsafe { raw_syscall::call(nr::EXIT_GROUP, [0; 6]) };
    }
}

/// Page faults of the calling thread that needed no disk.
fn page_faults() -> u64 {
    const OF_THE_THREAD: usize = 1;
    let mut usage = [0u64; 18];
    let to = usage.as_mut_ptr() as usize;
    // SAFETY: writes `struct rusage`, 144 bytes.
    unsafe { raw_syscall::call(nr::GETRUSAGE, [OF_THE_THREAD, to, 0, 0, 0, 0]) };
    usage[8]
}

/// Returns a window of a replica as the count file has it.
#[must_use]
pub fn window(thread: u64, step: u64, side: u64, of: (u64, u64, u64)) -> Window {
    Window {
        thread: thread as u32,
        step: (step << 1 | side) as u32,
        rounds: of.1,
        cpu_nanoseconds: of.0,
        page_faults: of.2,
    }
}
