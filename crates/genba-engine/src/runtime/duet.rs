//! A duet at run time: blocks with edits exist twice, and the timer of each thread leads it from side
//! to side. The time that a thread has spent on a side, and how often it executed such blocks meanwhile,
//! is a window of the count file.
//!
//! In a duet of replicas, windows are those of forked copies ([`super::replica`]).
//!
//! What must hold: windows of a thread come in pairs, one of each side, in random order, so that what
//! drifts is the same on both. A side can change between any two instructions, so edits compute the same
//! whatever the other side did before.

use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use crate::duet_layout::{
    DUET_CAPACITY, DuetParameters, EDIT_CAPACITY, EDITS, Edit, WINDOW_CAPACITY, WINDOWS, Window,
    slot_offset,
};
use crate::random_numbers::next_random;
use crate::thread_state::{self, State};

use super::count_file::CountFile;
use super::dispatch::NextAction;
use super::engine::Engine;
use super::signal_delivery::context;
use super::{burst_timer, bursts, replica};

/// The side as the program is.
pub const SIDE_AS_IS: u64 = 0;

/// A register that is restored where a signal interrupts an edit.
#[derive(Clone, Copy, Debug)]
struct PlacedRestore {
    begin: u64,
    end: u64,
    register: u8,
    slot: u8,
}

/// The duet of a process, and the edits that it is about.
#[derive(Default)]
pub struct Duet {
    parameters: DuetParameters,
    edits: Vec<Edit>,
    /// Addresses of edited instructions that are mapped, and the number of their edit; in order.
    placed: Vec<(u64, u32)>,
    /// Number of blocks that were laid down twice.
    blocks: u32,
    /// Their counters.
    counters: Vec<u32>,
    restores: Vec<PlacedRestore>,
    /// Blocks that branch to themselves: where both their sides begin and end.
    loops: Vec<(u64, u64)>,
    random: u64,
    threads: u64,
    /// Whether all threads stay on the side as it is from now on.
    stopped: bool,
}

impl Duet {
    /// Returns the duet that was requested of a process.
    #[must_use]
    pub fn new(parameters: DuetParameters, shared: CountFile) -> Self {
        let count = shared.control().edits.load(Ordering::Relaxed);
        let from = (shared.0 as u64 + EDITS) as *const Edit;
        let count = count.min(EDIT_CAPACITY) as usize;
        // SAFETY: within the table, which genba filled before the start; plain numbers.
        let edits = unsafe { core::slice::from_raw_parts(from, count) }.to_vec();
        if parameters.window_nanoseconds > 0 {
            burst_timer::use_signal();
        }
        if parameters.replicas != 0 {
            replica::create_area();
        }
        Self {
            parameters,
            edits,
            random: parameters.seed ^ 0x9E37_79B9_7F4A_7C15,
            ..Self::default()
        }
    }

    /// Whether only blocks with edits are counted.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.parameters.plain != 0
    }

    /// Whether side 1 is edited; if not, it is a second copy of side 0.
    #[must_use]
    pub fn makes_edits(&self) -> bool {
        self.parameters.edited != 0
    }

    /// Whether threads change sides.
    #[must_use]
    pub fn has_windows(&self) -> bool {
        self.parameters.window_nanoseconds > 0
    }

    /// Bytes of an entry of the log; 0 for no log.
    #[must_use]
    pub fn log_entry(&self) -> u64 {
        self.parameters.log_entry
    }

    /// Bits that edits of branches rotate.
    #[must_use]
    pub fn pattern(&self) -> u64 {
        self.parameters.pattern
    }

    /// What may differ where both replicas of a pair end, as bits.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.parameters.ignored
    }

    /// Returns one of both sides at random.
    pub fn random_side(&mut self) -> u64 {
        next_random(&mut self.random) & 1
    }

    /// Places the edits of a file of which a part is mapped: from `offset` on, at `start` to `end`.
    pub fn place_edits(&mut self, start: u64, end: u64, offset: u64, path: u64) {
        self.placed.retain(|&(pc, _)| !(start..end).contains(&pc));
        for (number, edit) in (0..).zip(&self.edits) {
            let pc = start.wrapping_add(edit.offset.wrapping_sub(offset));
            let inside = edit.offset >= offset && edit.offset - offset < end - start;
            if edit.path == path && inside {
                self.placed.push((pc, number));
            }
        }
        self.placed.sort_unstable();
    }

    /// Whether there is an edit for an instruction in this range.
    #[must_use]
    pub fn edits_within(&self, begin: u64, end: u64) -> bool {
        let at = self.placed.partition_point(|&(pc, _)| pc < begin);
        self.placed.get(at).is_some_and(|&(pc, _)| pc < end)
    }

    /// Returns the edit of the instruction at an address, on a side.
    #[must_use]
    pub fn edit(&self, pc: u64, side: u8) -> Option<&Edit> {
        let first = self.placed.partition_point(|&(at, _)| at < pc);
        let here = self.placed[first..].iter().take_while(|&&(at, _)| at == pc);
        let mut edits = here.filter_map(|&(_, number)| self.edits.get(number as usize));
        edits.find(|edit| edit.side == side)
    }

    /// Returns the number of a new block that is laid down twice; `None` if there are too many.
    pub fn new_block(&mut self) -> Option<u32> {
        let number = self.blocks;
        (number < DUET_CAPACITY).then(|| {
            self.blocks += 1;
            number
        })
    }

    /// Notes the counter of a block that is laid down twice.
    pub fn note_counter(&mut self, counter: u32) {
        self.counters.push(counter);
    }

    /// Notes a part of the code cache that a thread may not leave by itself.
    pub fn note_loop(&mut self, begin: u64, end: u64) {
        self.loops.push((begin, end));
    }

    /// Whether a place is in code that a thread does not leave by itself.
    #[must_use]
    pub fn in_loop(&self, rip: u64) -> bool {
        self.loops
            .iter()
            .any(|&(begin, end)| (begin..end).contains(&rip))
    }

    /// Notes that a register is to be restored while a thread is in this part of the code cache.
    pub fn note_restore(&mut self, begin: u64, end: u64, register: u8, slot: u8) {
        self.restores.push(PlacedRestore {
            begin,
            end,
            register,
            slot,
        });
    }

    /// Returns the program's registers at a place in the code cache, where those of edits may differ.
    ///
    /// # Safety
    /// The state must be the caller's own.
    #[must_use]
    pub unsafe fn restored(&self, state: State, rip: u64, mut registers: [u64; 16]) -> [u64; 16] {
        for restore in &self.restores {
            if (restore.begin..restore.end).contains(&rip) {
                // SAFETY: the caller's promise; a word of edits.
                let value = unsafe { state.get(slot_offset(restore.slot)) };
                registers[usize::from(restore.register) & 15] = value;
            }
        }
        registers
    }

    /// Returns the length of a window: half to one and a half times the mean, nanoseconds. Zero if
    /// there are none.
    pub fn interval(&mut self) -> u64 {
        let mean = self.parameters.window_nanoseconds;
        let random = next_random(&mut self.random) >> 32;
        mean / 2 + ((mean * random) >> 32)
    }

    /// Returns how often a thread has executed blocks with edits.
    ///
    /// # Safety
    /// The state must be the caller's own.
    pub unsafe fn rounds(&self, state: State) -> u64 {
        let counters = self.counters.iter();
        counters.fold(0u64, |sum, &counter| {
            // SAFETY: the caller's own state, which has a counter for each.
            sum.wrapping_add(unsafe { state.get(thread_state::counter(counter)) })
        })
    }

    /// Returns the side on which a thread begins.
    fn first_side(&mut self) -> u64 {
        match (self.stopped, self.has_windows()) {
            _ if self.parameters.replicas != 0 => SIDE_AS_IS,
            (true, _) => SIDE_AS_IS,
            (_, true) => next_random(&mut self.random) & 1,
            (_, false) => self.parameters.seed & 1,
        }
    }
}

/// Begins the first window of the calling thread.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn begin_thread(engine: &mut Engine, state: State) {
    let duet = &mut engine.code_map.duet;
    // SAFETY: the caller's promise.
    unsafe {
        state.set(thread_state::DUET_THREAD, duet.threads);
        state.set(thread_state::DUET_STEP, 0);
        duet.threads += 1;
        let side = duet.first_side();
        engine.slots.set_side(state, side);
        begin_window(engine, state);
    }
}

/// Ends the duet before there is a second thread, or another process with the same memory, if the edits
/// are right for one thread only.
///
/// # Safety
/// The state must be the caller's own, and it the only thread so far.
pub unsafe fn stop_before_second_thread(engine: &mut Engine, state: State) {
    let duet = &mut engine.code_map.duet;
    if duet.parameters.single_thread != 0 {
        duet.stopped = true;
        // SAFETY: the caller's promise.
        unsafe { engine.slots.set_side(state, SIDE_AS_IS) };
    }
}

/// Gives the words of edits the values that they have at the start of a thread. What runs next may be
/// anything, and finds no half of an update.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn forget_words(engine: &Engine, state: State) {
    if !engine.code_map.duet.edits.is_empty() {
        // SAFETY: the caller's promise.
        unsafe { thread_state::initialise_edit_slots(state) };
    }
}

unsafe fn begin_window(engine: &Engine, state: State) {
    // SAFETY: the caller's own state.
    unsafe {
        let rounds = engine.code_map.duet.rounds(state);
        state.set(thread_state::DUET_ROUNDS, rounds);
        state.set(
            thread_state::DUET_CPU,
            burst_timer::thread_cpu_nanoseconds(),
        );
    }
}

/// Handles a signal of the thread's timer: ends a window, changes the side, begins the next window.
/// `None` for other signals.
///
/// # Safety
/// The state must be the caller's own, with the signal in it.
pub unsafe fn intercept_signal(engine: &mut Engine, state: State) -> Option<NextAction> {
    // SAFETY: the caller's promise.
    unsafe {
        let number = state.get(thread_state::SIGNAL_NUMBER) as usize;
        let info = state.get(thread_state::SIGNAL_INFO) as usize;
        if !engine.code_map.duet.has_windows() || !burst_timer::is_own(state, number, info) {
            return None;
        }
        let cpu = burst_timer::thread_cpu_nanoseconds();
        let duet = &mut engine.code_map.duet;
        let frame = state.get(thread_state::SIGNAL_CONTEXT) as usize;
        if duet.stopped {
            return Some(NextAction::Sigreturn(frame));
        }
        if duet.parameters.replicas != 0 {
            let rip = ((frame + context::RIP) as *const u64).read();
            let next = replica::pair(engine, state, frame, rip);
            if !replica::is_one() {
                let interval = engine.code_map.duet.interval();
                burst_timer::set(state, interval);
            }
            return Some(next);
        }
        let (step, side) = (
            state.get(thread_state::DUET_STEP),
            state.get(thread_state::DUET_SIDE),
        );
        let window = Window {
            thread: state.get(thread_state::DUET_THREAD) as u32,
            step: (step << 1 | side) as u32,
            rounds: duet
                .rounds(state)
                .wrapping_sub(state.get(thread_state::DUET_ROUNDS)),
            cpu_nanoseconds: cpu.wrapping_sub(state.get(thread_state::DUET_CPU)),
            page_faults: 0,
        };
        // The second window of a pair is on the other side.
        let next = match step & 1 {
            0 => side ^ 1,
            _ => next_random(&mut duet.random) & 1,
        };
        let interval = duet.interval();
        record(engine.code_map.shared, window);
        state.set(thread_state::DUET_STEP, step + 1);
        engine.slots.set_side(state, next);
        burst_timer::set(state, interval);
        let rip = ((frame + context::RIP) as *const u64).read();
        if engine.code_map.duet.in_loop(rip) {
            bursts::continue_in_new_code(engine, state, rip, frame);
        }
        begin_window(engine, state);
        Some(NextAction::Sigreturn(frame))
    }
}

/// Notes both windows of a pair of replicas: CPU time, rounds and page faults of each side; which was first.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn note_pair(engine: &Engine, state: State, sides: [(u64, u64, u64); 2], first: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let thread = state.get(thread_state::DUET_THREAD);
        let step = state.get(thread_state::DUET_STEP);
        for (step, side) in [(step, first), (step + 1, first ^ 1)] {
            let window = replica::window(thread, step, side, sides[side as usize & 1]);
            record(engine.code_map.shared, window);
        }
        state.set(thread_state::DUET_STEP, step + 2);
    }
}

/// Appends a window to the count file, if there is room.
fn record(shared: CountFile, window: Window) {
    let used = &shared.control().windows;
    let number = used.load(Ordering::Relaxed);
    if number < WINDOW_CAPACITY {
        let to = (shared.0 as u64 + WINDOWS) as *mut Window;
        // SAFETY: within the table, under the engine's lock.
        unsafe { to.add(number as usize).write(window) };
        used.store(number + 1, Ordering::Release);
    }
}
