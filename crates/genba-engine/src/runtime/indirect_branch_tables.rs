//! The tables in which indirect branches look up their landing pads: one by the low 16 bits of the
//! target, which translated code reads, and behind it one of all targets. Jumps and calls have
//! tables of their own, and so have returns, because their landing pads differ.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::fragment::{LandingPad, TABLE_BYTES};
use crate::raw_syscall;

use super::context_switch::{LOOKUP, RETURNS, TABLE, label};
use super::engine::Engine;

impl Engine {
    /// Replaces a table of all targets by a larger one. The old one stays for threads that are
    /// reading it.
    pub fn new_lookup(&mut self, kind: LandingPad, bits: u32) {
        let (table, used) = (lookup(kind), &mut self.lookup_entries[kind as usize]);
        let bytes = 4096 + (16usize << bits);
        // SAFETY: a new mapping.
        let Some(memory) = (unsafe {
            raw_syscall::mmap(0, bytes, raw_syscall::READ_WRITE, raw_syscall::PRIVATE, -1)
        }) else {
            super::refuse("there is no memory for the table of indirect branches");
        };
        // SAFETY: our own.
        unsafe { raw_syscall::exclude_from_core_dumps(memory, bytes) };
        let base = memory as u64 + 4096;
        // SAFETY: in the new mapping.
        unsafe { *((base - 8) as *mut u64) = (1u64 << bits) - 1 };
        let old = table.load(Ordering::Relaxed);
        *used = 0;
        if old != 0 {
            // SAFETY: made here before; never unmapped, as threads may be reading it.
            let count = unsafe { *((old - 8) as *const u64) } + 1;
            for index in 0..count {
                let entry = (old + index * 16) as *const u64;
                // SAFETY: within the old table.
                let (pc, code) = unsafe { (*entry, *entry.add(1)) };
                if pc != 0 && code != 0 {
                    *used += u64::from(lookup_insert(base, pc, code));
                }
            }
        }
        table.store(base, Ordering::Release);
    }

    /// Returns the landing pad of indirect branches to `pc` in the table of all targets.
    pub(super) fn looked_up(&self, pc: u64, kind: LandingPad) -> Option<u64> {
        let base = lookup(kind).load(Ordering::Relaxed);
        // SAFETY: the table's mask, and entries within it; never full.
        unsafe {
            let mask = *((base - 8) as *const u64);
            let mut index = home(pc) & mask;
            loop {
                let entry = (base + index * 16) as *const u64;
                match *entry {
                    0 => return None,
                    found if found == pc => return Some(*entry.add(1)),
                    _ => index = (index + 1) & mask,
                }
            }
        }
    }

    /// Enters the landing pad of indirect branches to `pc`; 0 for none.
    pub fn enter_lookup(&mut self, pc: u64, kind: LandingPad, code: u64) {
        let base = lookup(kind).load(Ordering::Relaxed);
        // SAFETY: the table's mask.
        let mask = unsafe { *((base - 8) as *const u64) };
        let used = &mut self.lookup_entries[kind as usize];
        *used += u64::from(lookup_insert(base, pc, code));
        if *used * 2 > mask {
            self.new_lookup(kind, (mask + 1).trailing_zeros() + 1);
        }
    }
}

/// Index of a target's entry, before the mask.
fn home(pc: u64) -> u64 {
    (pc as i64).wrapping_mul(0x1E37_79B1) as u64 >> 16
}

fn lookup(kind: LandingPad) -> &'static AtomicU64 {
    match kind {
        LandingPad::Jump => &LOOKUP,
        LandingPad::Return => &RETURNS,
    }
}

/// Inserts or replaces an entry; whether it is new. Other threads read meanwhile, so the value is
/// written before the key.
fn lookup_insert(base: u64, pc: u64, code: u64) -> bool {
    // SAFETY: the table's mask, and entries within it; never full.
    unsafe {
        let mask = *((base - 8) as *const u64);
        let mut index = home(pc) & mask;
        loop {
            let entry = (base + index * 16) as *mut u64;
            let key = &*entry.cast::<AtomicU64>();
            let value = &*entry.add(1).cast::<AtomicU64>();
            let found = key.load(Ordering::Relaxed);
            if found == 0 || found == pc {
                value.store(code, Ordering::Release);
                key.store(pc, Ordering::Release);
                return found == 0;
            }
            index = (index + 1) & mask;
        }
    }
}

/// Returns the entry of `pc` in a table by the low 16 bits.
pub fn table_entry(pc: u64, kind: LandingPad) -> &'static AtomicU64 {
    let base = TABLE.load(Ordering::Relaxed) + kind as usize * TABLE_BYTES as usize;
    // SAFETY: each of the two tables has 65536 entries.
    unsafe { &*((base + (pc as usize & 0xFFFF) * 8) as *const AtomicU64) }
}

/// Returns the content of an empty entry: the address of the lookup.
#[must_use]
pub fn miss(kind: LandingPad) -> u64 {
    match kind {
        LandingPad::Jump => label::genba_jump_lookup as *const () as u64,
        LandingPad::Return => label::genba_return_lookup as *const () as u64,
    }
}
