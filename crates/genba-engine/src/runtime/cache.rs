//! Memory for translations: zones within reach of the code that is translated into them.

use alloc::vec::Vec;

use crate::sys;

/// Bytes of a zone.
const ZONE: u64 = 32 << 20;
/// Distance between places that are tried.
const STEP: u64 = 64 << 20;
/// How far a zone may be from code: addresses relative to the instruction reach 2 GiB, and data
/// may be on the other side.
const REACH: u64 = 1 << 30;
/// Bytes that must be left for a fragment.
const ROOM: u64 = 64 << 10;
/// Bytes of translations at most.
const LIMIT: u64 = 1 << 30;

/// Some memory for translations.
struct Zone {
    low: u64,
    next: u64,
    end: u64,
}

/// All zones.
#[derive(Default)]
pub struct Cache {
    zones: Vec<Zone>,
}

impl Cache {
    /// Index of a zone for code at this address.
    fn zone(&mut self, pc: u64) -> Option<usize> {
        let near = |zone: &Zone| zone.low.abs_diff(pc) < REACH && zone.end - zone.next > ROOM;
        if let Some(index) = self.zones.iter().position(near) {
            return Some(index);
        }
        if self.zones.len() as u64 * ZONE >= LIMIT {
            return None;
        }
        let middle = pc & !0xF_FFFF;
        for step in 1..(REACH / STEP) {
            // Below first: the program's heap grows upwards.
            for hint in [
                middle.checked_sub(step * STEP),
                middle.checked_add(step * STEP),
            ] {
                let Some(hint) = hint.filter(|&hint| hint >= 1 << 20) else {
                    continue;
                };
                if let Some(zone) = reserve(hint) {
                    self.zones.push(zone);
                    return Some(self.zones.len() - 1);
                }
            }
        }
        None
    }

    /// Where the next fragment for code at this address will be.
    pub fn place(&mut self, pc: u64) -> Option<u64> {
        let index = self.zone(pc)?;
        Some((self.zones[index].next + 15) & !15)
    }

    /// Puts code where [`Self::place`] said; the number of the zone.
    pub fn put(&mut self, base: u64, code: &[u8]) -> usize {
        let Some(index) = self.zone_of(base) else {
            super::fatal("a translation has no place");
        };
        let zone = &mut self.zones[index];
        debug_assert!(base >= zone.next && base + code.len() as u64 <= zone.end);
        // SAFETY: the zone's memory from `next` on is nobody's yet.
        unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), base as *mut u8, code.len()) };
        zone.next = base + code.len() as u64;
        index
    }

    /// Number of the zone that an address is in.
    #[must_use]
    pub fn zone_of(&self, address: u64) -> Option<usize> {
        let mut zones = self.zones.iter();
        zones.position(|zone| (zone.low..zone.end).contains(&address))
    }

    /// Unmaps all.
    ///
    /// # Safety
    /// Nobody may be in a translation, or go into one.
    pub unsafe fn unmap(&self) {
        for zone in &self.zones {
            // SAFETY: a mapping of ours, and the caller's promise.
            unsafe { sys::munmap(zone.low as usize, (zone.end - zone.low) as usize) };
        }
    }

    /// Bytes of translations.
    pub fn used(&self) -> u64 {
        self.zones.iter().map(|zone| zone.next - zone.low).sum()
    }
}

fn reserve(hint: u64) -> Option<Zone> {
    // SAFETY: replaces nothing.
    let got = unsafe {
        sys::mmap(
            hint as usize,
            ZONE as usize,
            sys::READ_WRITE_EXECUTE,
            sys::PRIVATE | sys::FIXED_NOREPLACE,
            -1,
        )
    }? as u64;
    if got != hint {
        // A kernel that does not know the flag.
        // SAFETY: our own new mapping.
        unsafe { sys::munmap(got as usize, ZONE as usize) };
        return None;
    }
    // SAFETY: our own new mapping.
    unsafe { sys::leave_out_of_cores(got as usize, ZONE as usize) };
    Some(Zone {
        low: got,
        next: got,
        end: got + ZONE,
    })
}
