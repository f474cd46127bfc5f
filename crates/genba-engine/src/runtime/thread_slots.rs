//! Slots for threads: each has a state ([`crate::thread_state`]), a stack in the engine, and counters
//! in the file.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::count_file_layout::{COUNTERS, SLOT_CAPACITY, SLOT_SIZE, SLOT_VFORK, SLOTS};
use crate::raw_syscall;
use crate::thread_state::{self, State};

use super::context_switch::label;
use super::count_file::CountFile;
use super::{memory_changes, syscall_interception};

/// Bytes that the whole state has before its counters.
const PRIVATE: u64 = COUNTERS;

/// 1 where a slot is in use. A thread that ends sets it to 0 as the last thing it does.
static IN_USE: [AtomicU32; SLOT_CAPACITY as usize] =
    [const { AtomicU32::new(0) }; SLOT_CAPACITY as usize];

/// Slots after which children of `vfork` share such.
const MAX_SEPARATE_VFORK_SLOTS: u32 = SLOT_CAPACITY / 2;

/// All slots of the process.
pub struct ThreadSlots {
    shared: CountFile,
    used: u32,
    class: [u8; SLOT_CAPACITY as usize],
    /// Children of `vfork` are counted, each in a slot of its own.
    apart: bool,
    /// System calls that may change code in files are looked at.
    watching: bool,
}

impl ThreadSlots {
    /// None yet.
    #[must_use]
    pub fn new(shared: CountFile, apart: bool) -> Self {
        Self {
            shared,
            apart,
            watching: false,
            used: 0,
            class: [0; SLOT_CAPACITY as usize],
        }
    }

    /// The state of a slot.
    #[must_use]
    pub fn state(&self, slot: u32) -> State {
        State((self.shared.0 as u64 + SLOTS + u64::from(slot) * SLOT_SIZE) as usize)
    }

    /// A slot for a new thread: one of a thread that has ended, or a new one.
    pub fn take(&mut self, class: u8) -> Option<State> {
        let fresh = self.apart && class == SLOT_VFORK && self.used < MAX_SEPARATE_VFORK_SLOTS;
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
                        PRIVATE as usize,
                        raw_syscall::READ_WRITE,
                        raw_syscall::PRIVATE | raw_syscall::FIXED,
                        -1,
                    )?;
                }
                // SAFETY: as above.
                unsafe { raw_syscall::exclude_from_core_dumps(state.0, PRIVATE as usize) };
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
        unsafe { initialise(state, slot, self.watching) };
        Some(state)
    }

    /// From now on the engine sees the system calls that may change code in files.
    pub fn watch(&mut self) {
        self.watching = true;
        for slot in 0..self.used {
            // SAFETY: mapped; a thread that reads a byte of it meanwhile sees the old or the new.
            unsafe { special_calls(self.state(slot), true) };
        }
    }

    /// The word that a thread sets to 0 when it no longer needs its slot.
    #[must_use]
    pub fn flag(slot: u32) -> *const u32 {
        IN_USE[slot as usize].as_ptr()
    }

    /// Number of slots ever used.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// In a forked child: only this slot is in use.
    pub fn only(&mut self, slot: u32) {
        for other in 0..self.used {
            if other != slot {
                IN_USE[other as usize].store(0, Ordering::Relaxed);
            }
        }
    }
}

/// Fills in what never changes.
unsafe fn initialise(state: State, slot: u32, watching: bool) {
    // SAFETY: the caller's promise; all within the private part.
    unsafe {
        state.set(thread_state::SELF, state.0 as u64);
        state.set(thread_state::ENGINE_STACK, state.0 as u64 + PRIVATE - 64);
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
        special_calls(state, watching);
        fresh_vectors(state);
    }
}

/// Writes which system calls the engine must see.
unsafe fn special_calls(state: State, watching: bool) {
    let table = (state.0 + thread_state::SYSCALL_TABLE as usize) as *mut u8;
    for number in 0..thread_state::SYSCALLS as usize {
        let special = syscall_interception::is_special(number)
            || (watching && memory_changes::writes(number));
        // SAFETY: within the private part.
        unsafe { table.add(number).write(u8::from(special)) };
    }
}

/// Makes the vector registers what they are in a new program.
///
/// # Safety
/// The state must be the caller's.
pub unsafe fn fresh_vectors(state: State) {
    // Legacy area: x87 control word, MXCSR; header: nothing saved, so all is as at first.
    // SAFETY: within the private part.
    unsafe {
        state.set(thread_state::XSAVE, 0x037F);
        state.set(thread_state::XSAVE + 24, 0x1F80);
        for word in 0..8 {
            state.set(thread_state::XSAVE + 512 + word * 8, 0);
        }
    }
}
