//! Thread slots: each has a state ([`crate::thread_state`]), a stack for the engine's code, and
//! counters in the count file.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::count_file_layout::{COUNTERS, SLOT_CAPACITY, SLOT_SIZE, SLOT_VFORK, SLOTS};
use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State};

use super::context_switch::label;
use super::count_file::CountFile;
use super::duet::SIDE_AS_IS;
use super::{burst_timer, memory_changes, replica, syscall_interception, writable_code};

/// Bytes of a slot before its counters, which are private to the process.
const PRIVATE_BYTES: u64 = COUNTERS;

/// 1 for a slot in use. A thread that ends sets it to 0 as the last thing it does.
static IN_USE: [AtomicU32; SLOT_CAPACITY as usize] =
    [const { AtomicU32::new(0) }; SLOT_CAPACITY as usize];

/// From this many slots on, children of `vfork` share slots.
const MAX_SEPARATE_VFORK_SLOTS: u32 = SLOT_CAPACITY / 2;

/// The slots of a process.
pub struct ThreadSlots {
    shared: CountFile,
    used: u32,
    class: [u8; SLOT_CAPACITY as usize],
    /// Whether children of `vfork` are counted, each in a slot of its own.
    vfork_apart: bool,
    /// Whether the engine sees the system calls that may change code in files.
    watching: bool,
    /// Lowest address of write-protected code, and bytes to its highest.
    code: (u64, u64),
    /// Addresses of both sides of the blocks that are laid down twice.
    selectors: Vec<[u64; 2]>,
}

impl ThreadSlots {
    /// Returns a process without slots in use.
    #[must_use]
    pub fn new(shared: CountFile, vfork_apart: bool) -> Self {
        Self {
            shared,
            vfork_apart,
            watching: false,
            code: (0, 0),
            selectors: Vec::new(),
            used: 0,
            class: [0; SLOT_CAPACITY as usize],
        }
    }

    /// Returns the state of a slot.
    #[must_use]
    pub fn state(&self, slot: u32) -> State {
        State((self.shared.0 as u64 + SLOTS + u64::from(slot) * SLOT_SIZE) as usize)
    }

    /// Takes a slot for a new thread, that of an ended thread if there is one; its state.
    pub fn take(&mut self, class: u8) -> Option<State> {
        let fresh = self.vfork_apart && class == SLOT_VFORK && self.used < MAX_SEPARATE_VFORK_SLOTS;
        let free = (0..self.used).find(|&slot| {
            !fresh
                && self.class[slot as usize] == class
                && IN_USE[slot as usize].load(Ordering::Acquire) == 0
        });
        let slot = match free {
            Some(slot) => slot,
            None => {
                if self.used == SLOT_CAPACITY {
                    return None;
                }
                let slot = self.used;
                let state = self.state(slot);
                // SAFETY: over our own mapping of the file, where nothing is in use.
                unsafe {
                    raw_syscall::mmap(
                        state.0,
                        PRIVATE_BYTES as usize,
                        raw_syscall::READ_WRITE,
                        raw_syscall::PRIVATE | raw_syscall::FIXED,
                        -1,
                    )?;
                }
                // SAFETY: as above.
                unsafe { raw_syscall::exclude_from_core_dumps(state.0, PRIVATE_BYTES as usize) };
                self.used += 1;
                self.class[slot as usize] = class;
                self.shared.slot_class(slot, class);
                self.shared
                    .control()
                    .slots
                    .store(self.used, Ordering::Release);
                slot
            }
        };
        IN_USE[slot as usize].store(1, Ordering::Relaxed);
        let state = self.state(slot);
        // SAFETY: mapped, and nobody's.
        unsafe {
            initialise(state, slot, self.watching, self.code);
            self.set_side(state, SIDE_AS_IS);
        }
        Some(state)
    }

    /// Makes the engine see system calls that may change code in files.
    pub fn watch(&mut self) {
        self.watching = true;
        for slot in 0..self.used {
            // SAFETY: mapped; a thread that reads a byte of it meanwhile sees the old or the new.
            unsafe { special_calls(self.state(slot), true, self.code.1 > 0) };
        }
    }

    /// Makes the engine see system calls that may write to memory from `low` on, where code is
    /// write-protected.
    pub fn watch_arguments(&mut self, low: u64, bytes: u64) {
        if self.code == (low, bytes) {
            return;
        }
        self.code = (low, bytes);
        for slot in 0..self.used {
            let state = self.state(slot);
            // SAFETY: mapped; a thread that reads them meanwhile sees the old or the new.
            unsafe {
                state.set(thread_state::CODE_LOW, low);
                state.set(thread_state::CODE_BYTES, bytes);
                special_calls(state, self.watching, bytes > 0);
            }
        }
    }

    /// Adds a block that is laid down twice, with the addresses of its sides.
    pub fn add_selector(&mut self, sides: [u64; 2]) {
        let offset = thread_state::selector(self.selectors.len() as u32);
        self.selectors.push(sides);
        for slot in 0..self.used {
            let state = self.state(slot);
            // SAFETY: mapped; no thread reads the word yet.
            unsafe {
                state.set(
                    offset,
                    sides[state.get(thread_state::DUET_SIDE) as usize & 1],
                )
            };
        }
    }

    /// Leads a thread to a side of all blocks that are laid down twice.
    ///
    /// # Safety
    /// The state must be the caller's own, or at rest.
    pub unsafe fn set_side(&self, state: State, side: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            state.set(thread_state::DUET_SIDE, side);
            for (number, sides) in (0..).zip(&self.selectors) {
                state.set(thread_state::selector(number), sides[side as usize & 1]);
            }
        }
    }

    /// Returns the word that a thread sets to 0 when it does not need its slot any more.
    #[must_use]
    pub fn flag(slot: u32) -> *const u32 {
        IN_USE[slot as usize].as_ptr()
    }

    /// Returns the number of slots ever used.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Returns the number of slots in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        let slots = IN_USE.iter().take(self.used as usize);
        slots
            .filter(|slot| slot.load(Ordering::Acquire) != 0)
            .count()
    }

    /// Frees all slots but one, in a forked child.
    pub fn keep_only(&mut self, slot: u32) {
        for other in 0..self.used {
            if other != slot {
                IN_USE[other as usize].store(0, Ordering::Relaxed);
            }
        }
    }
}

/// Writes the fields of a state that never change.
unsafe fn initialise(state: State, slot: u32, watching: bool, code: (u64, u64)) {
    // SAFETY: the caller's promise; all within the private part.
    unsafe {
        state.set(thread_state::SELF, state.0 as u64);
        state.set(
            thread_state::ENGINE_STACK,
            state.0 as u64 + PRIVATE_BYTES - 64,
        );
        state.set(
            thread_state::DISPATCH,
            label::genba_dispatch as *const () as u64,
        );
        state.set(
            thread_state::JUMP_LOOKUP,
            label::genba_jump_lookup as *const () as u64,
        );
        state.set(
            thread_state::RETURN_LOOKUP,
            label::genba_return_lookup as *const () as u64,
        );
        state.set(
            thread_state::SYSCALL,
            label::genba_syscall as *const () as u64,
        );
        state.set(
            thread_state::RECORD_TRANSFER,
            label::genba_record_transfer as *const () as u64,
        );
        state.set(thread_state::MASK_ALL, u64::MAX);
        state.set(thread_state::SLOT, u64::from(slot));
        state.set(thread_state::AT_SYSCALL, 0);
        state.set(thread_state::BURST, 0);
        state.set(thread_state::BURST_TIMER, 0);
        state.set(thread_state::BURST_THREAD, 0);
        state.set(thread_state::BURST_PAUSED, 0);
        state.set(thread_state::HIDDEN_MASK, 0);
        state.set(thread_state::HELD_SIGNAL, 0);
        state.set(thread_state::CODE_LOW, code.0);
        state.set(thread_state::CODE_BYTES, code.1);
        thread_state::initialise_edit_slots(state);
        replica::initialise_log(state);
        special_calls(state, watching, code.1 > 0);
        fresh_vectors(state);
    }
}

/// Writes which system calls the engine must see.
unsafe fn special_calls(state: State, watching: bool, code: bool) {
    let table = (state.0 + thread_state::SYSCALL_TABLE as usize) as *mut u8;
    for number in 0..thread_state::SYSCALLS as usize {
        let special = syscall_interception::is_special(number)
            || (watching && memory_changes::writes(number))
            || (code && writable_code::concerns_protected_code(number))
            || (number == nr::RT_SIGPROCMASK && burst_timer::in_use());
        // SAFETY: within the private part.
        unsafe { table.add(number).write(u8::from(special)) };
    }
}

/// Sets the vector registers to their values in a new program.
///
/// # Safety
/// The state must be the caller's.
pub unsafe fn fresh_vectors(state: State) {
    // Legacy area: x87 control word and MXCSR. Header: no component is saved, so all have their
    // initial values.
    // SAFETY: within the private part.
    unsafe {
        state.set(thread_state::XSAVE, 0x037F);
        state.set(thread_state::XSAVE + 24, 0x1F80);
        for word in 0..8 {
            state.set(thread_state::XSAVE + 512 + word * 8, 0);
        }
    }
}
