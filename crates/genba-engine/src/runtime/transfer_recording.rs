//! Records the targets of indirect jumps and calls, and jumps that a signal has interrupted before
//! they were recorded.

use core::sync::atomic::{AtomicU64, Ordering};

use iced_x86::{Decoder, DecoderOptions, FlowControl};

use crate::count_file_layout::KIND_BINDING;
use crate::fragment::{BuildContext, Error};
use crate::liveness::ProgramCode;
use crate::raw_syscall;
use crate::thread_state::{self, State};

use super::context_switch::TRANSFERS;
use super::engine::Engine;

/// The table of recorded transfers, which assembly reads ([`TRANSFERS`]).
#[derive(Default)]
pub struct Transfers {
    used: u64,
}

fn hash(site: u32, target: u64) -> u64 {
    let target = (target as i64).wrapping_mul(0x1E37_79B1) as u64;
    (target ^ u64::from(site).wrapping_mul(0x2C1B_3C6D)) >> 16
}

/// # Safety
/// `base` must be the address of a table that is not full.
unsafe fn entry(base: u64, site: u32, target: u64) -> Result<u32, *mut u64> {
    // SAFETY: the table's mask, and entries within it.
    unsafe {
        let mask = *((base - 8) as *const u64);
        let mut index = hash(site, target) & mask;
        loop {
            let entry = (base + index * 16) as *mut u64;
            let found = *entry;
            let value = *entry.add(1);
            if found == 0 {
                return Err(entry);
            }
            if found == target && value as u32 == site {
                return Ok((value >> 32) as u32);
            }
            index = (index + 1) & mask;
        }
    }
}

/// # Safety
/// The entry must be an empty one that [`entry`] returned.
unsafe fn fill(entry: *mut u64, site: u32, target: u64, counter: u32) {
    // SAFETY: other threads read: the target comes last.
    unsafe {
        let value = &*entry.add(1).cast::<AtomicU64>();
        value.store(
            u64::from(site) | u64::from(counter) << 32,
            Ordering::Release,
        );
        (*entry.cast::<AtomicU64>()).store(target, Ordering::Release);
    }
}

impl Transfers {
    /// Replaces the table by one of twice the size. The old one stays for threads that are reading
    /// it.
    pub fn grow(&mut self) {
        let old = TRANSFERS.load(Ordering::Relaxed);
        let count = if old == 0 {
            1 << 11
        } else {
            // SAFETY: the old table's mask.
            unsafe { *((old - 8) as *const u64) + 1 }
        };
        let bytes = 4096 + count as usize * 2 * 16;
        // SAFETY: a new mapping.
        let Some(memory) = (unsafe {
            raw_syscall::mmap(0, bytes, raw_syscall::READ_WRITE, raw_syscall::PRIVATE, -1)
        }) else {
            super::refuse("there is no memory for the table of transfers");
        };
        let base = memory as u64 + 4096;
        // SAFETY: within the new and the old table.
        unsafe {
            *((base - 8) as *mut u64) = count * 2 - 1;
            for index in 0..if old == 0 { 0 } else { count } {
                let from = (old + index * 16) as *const u64;
                let (target, value) = (*from, *from.add(1));
                if target != 0
                    && let Err(to) = entry(base, value as u32, target)
                {
                    fill(to, value as u32, target, (value >> 32) as u32);
                }
            }
        }
        TRANSFERS.store(base, Ordering::Release);
    }

    fn find(&self, site: u32, target: u64) -> Option<u32> {
        // SAFETY: the current table.
        unsafe { entry(TRANSFERS.load(Ordering::Relaxed), site, target).ok() }
    }

    fn insert(&mut self, site: u32, target: u64, counter: u32) {
        let base = TRANSFERS.load(Ordering::Relaxed);
        // SAFETY: the current table, at most half full.
        unsafe {
            if let Err(to) = entry(base, site, target) {
                fill(to, site, target, counter);
                self.used += 1;
            }
            if self.used * 2 > *((base - 8) as *const u64) {
                self.grow();
            }
        }
    }
}

impl Engine {
    /// Returns the address of the indirect jump that a thread is recording.
    ///
    /// # Safety
    /// The state must be the caller's own.
    #[must_use]
    pub unsafe fn site(&self, state: State) -> u64 {
        // SAFETY: the caller's promise.
        let site = unsafe { state.get(thread_state::SITE) } as usize;
        self.code_map.site_pcs.get(site).copied().unwrap_or(0)
    }

    /// Follows lazy binding: the jump of a PLT stub that leads to a `push` asks ld.so to look the
    /// function up, and ld.so then jumps to it through r11 (the x86-64 psABI's resolver). Returns
    /// whether the jump at `from` is ld.so's: such a jump must always come here, and is not entered
    /// into the table.
    unsafe fn bind(&mut self, state: State, from: u64, to: u64) -> bool {
        const JUMP_R11: [u8; 3] = [0x41, 0xFF, 0xE3];
        let code = |pc| self.code_map.bytes(pc);
        let through_slot = |code: &[u8]| {
            let code = code.strip_prefix(&[0xF2]).unwrap_or(code);
            code.starts_with(&[0xFF, 0x25])
        };
        let pushes = |code: &[u8]| {
            const ENDBR64: [u8; 4] = [0xF3, 0x0F, 0x1E, 0xFA];
            code.strip_prefix(&ENDBR64)
                .unwrap_or(code)
                .starts_with(&[0x68])
        };
        let resolver = {
            let code = code(from);
            let code = code.strip_prefix(&[0xF2]).unwrap_or(code);
            code.starts_with(&JUMP_R11)
        };
        // SAFETY: the caller's own state.
        unsafe {
            let stub = state.get(thread_state::BINDING);
            if through_slot(code(from)) && pushes(code(to)) {
                state.set(thread_state::BINDING, from);
            } else if resolver && stub != 0 {
                state.set(thread_state::BINDING, 0);
                self.resolvers.insert(from, 1);
                if let Ok(number) = self.code_map.recorded(KIND_BINDING, stub, to) {
                    state.set(thread_state::counter(number), 1);
                }
            }
        }
        self.resolvers.get(from).is_some()
    }

    /// Whether a jump is among those that are recorded.
    fn recorded(&self, from: u64, to: u64) -> bool {
        let mut decoder =
            Decoder::with_ip(64, self.code_map.bytes(from), from, DecoderOptions::NONE);
        let conditional = decoder.decode().flow_control() == FlowControl::ConditionalBranch;
        self.code_map.records(from, conditional.then_some(to))
    }

    /// Records that the jump at `from` went to `to` once.
    ///
    /// # Safety
    /// The state must be the caller's own.
    pub unsafe fn record_transfer(&mut self, state: State, from: u64, to: u64) {
        if to == 0 || !self.recorded(from, to) {
            return;
        }
        let site = self.code_map.site(from);
        // The target may be in memory that has not been looked up yet.
        let _ = self.code_map.find(to);
        // SAFETY: the caller's promise.
        let resolver = unsafe { self.bind(state, from, to) };
        // If only jumps to entries are recorded, there is no table until a signal interrupts one.
        if TRANSFERS.load(Ordering::Relaxed) == 0 {
            self.transfers.grow();
        }
        let counter = match self.transfers.find(site, to) {
            Some(counter) => counter,
            None => {
                let counter = match self.code_map.transfer(from, to) {
                    Ok(counter) => counter,
                    Err(Error::Full(reason) | Error::Refused(reason)) => super::refuse(reason),
                };
                if !resolver {
                    self.transfers.insert(site, to, counter);
                }
                counter
            }
        };
        let offset = thread_state::counter(counter);
        // SAFETY: a counter of the caller's.
        unsafe { state.set(offset, state.get(offset).wrapping_add(1)) };
    }
}
