//! The code cache: memory for fragments, in zones within reach of the code that is translated into
//! them.

use alloc::vec::Vec;

use crate::raw_syscall;

/// Bytes of a zone.
const ZONE_BYTES: u64 = 32 << 20;
/// Bytes at the beginning of a zone that have small pages: more than small programs fill, which
/// would only have the memory of huge ones. Beyond, translated code is spread over so much memory
/// that address translation takes time.
const SMALL_PAGES_BYTES: u64 = 1 << 20;
/// Distance between the places that are tried for a zone, bytes.
const SEARCH_STEP: u64 = 64 << 20;
/// The same between the program's code and its heap, where there may be little room.
const SMALL_SEARCH_STEP: u64 = 4 << 20;
/// Maximum distance of a zone from the code. Operands relative to rip reach 2 GiB, and data may be
/// on the other side of the code.
const MAX_DISTANCE: u64 = 1 << 30;
/// Bytes that a zone must have left for a fragment.
const MIN_ROOM_BYTES: u64 = 64 << 10;
/// Maximum size of all zones, bytes.
const MAX_BYTES: u64 = 1 << 30;

/// Some memory for fragments.
struct Zone {
    low: u64,
    next: u64,
    end: u64,
}

/// The code cache of a process.
pub struct Cache {
    zones: Vec<Zone>,
    /// Address at which the program's heap (`brk`) began.
    heap: u64,
}

/// Places to try for a zone for the code at `pc`, the best first. What must hold: the program's
/// heap can grow as far as natively, or, if only addresses above it are left, as far as possible.
/// So the order is: below the code; between the code and the start of the heap (the kernel leaves
/// up to 1 GiB there at random); above, from far to near if the heap is above the code, too.
fn places(pc: u64, heap: u64) -> impl Iterator<Item = u64> {
    let middle = pc & !0xF_FFFF;
    let steps = 1..MAX_DISTANCE / SEARCH_STEP;
    let below = (steps.clone()).filter_map(move |step| middle.checked_sub(step * SEARCH_STEP));
    let heap = Some(heap & !0xFFF).filter(|heap| (pc..pc + MAX_DISTANCE).contains(heap));
    let highest = heap.and_then(|heap| heap.checked_sub(ZONE_BYTES));
    let between = (0..MAX_DISTANCE / SMALL_SEARCH_STEP)
        .map_while(move |step| highest?.checked_sub(step * SMALL_SEARCH_STEP))
        .take_while(move |&place| place > pc);
    let above = steps.map(move |step| match heap {
        Some(_) => MAX_DISTANCE / SEARCH_STEP - step,
        None => step,
    });
    let above = above.filter_map(move |step| middle.checked_add(step * SEARCH_STEP));
    below
        .chain(between)
        .chain(above)
        .filter(|&place| place >= 1 << 20)
}

impl Cache {
    /// Returns an empty cache, in a process whose heap (`brk`) begins at `heap`.
    #[must_use]
    pub fn new(heap: u64) -> Self {
        Self {
            zones: Vec::new(),
            heap,
        }
    }

    /// Returns the index of a zone with room for the code at this address; reserves one if there is
    /// none.
    fn zone(&mut self, pc: u64) -> Option<usize> {
        let near = |zone: &Zone| {
            zone.low.abs_diff(pc) < MAX_DISTANCE && zone.end - zone.next > MIN_ROOM_BYTES
        };
        if let Some(index) = self.zones.iter().position(near) {
            return Some(index);
        }
        if self.zones.len() as u64 * ZONE_BYTES >= MAX_BYTES {
            return None;
        }
        for place in places(pc, self.heap) {
            if let Some(zone) = reserve(place) {
                self.zones.push(zone);
                return Some(self.zones.len() - 1);
            }
        }
        None
    }

    /// Returns the address of the next fragment for code at this address.
    pub fn place(&mut self, pc: u64) -> Option<u64> {
        let index = self.zone(pc)?;
        Some((self.zones[index].next + 15) & !15)
    }

    /// Copies code to the address that [`Self::place`] returned; the number of the zone.
    pub fn put(&mut self, base: u64, code: &[u8]) -> usize {
        let Some(index) = self.zone_of(base) else {
            super::fatal("a fragment is outside of the code cache");
        };
        let zone = &mut self.zones[index];
        debug_assert!(base >= zone.next && base + code.len() as u64 <= zone.end);
        // SAFETY: the zone's memory from `next` on is nobody's yet.
        unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), base as *mut u8, code.len()) };
        zone.next = base + code.len() as u64;
        index
    }

    /// Returns the number of the zone that contains an address.
    #[must_use]
    pub fn zone_of(&self, address: u64) -> Option<usize> {
        let mut zones = self.zones.iter();
        zones.position(|zone| (zone.low..zone.end).contains(&address))
    }

    /// Unmaps all zones.
    ///
    /// # Safety
    /// No thread may be in a fragment, or enter one.
    pub unsafe fn unmap(&self) {
        for zone in &self.zones {
            // SAFETY: a mapping of ours, and the caller's promise.
            unsafe { raw_syscall::munmap(zone.low as usize, (zone.end - zone.low) as usize) };
        }
    }

    /// Bytes of the cache that are in use.
    pub fn used(&self) -> u64 {
        self.zones.iter().map(|zone| zone.next - zone.low).sum()
    }
}

fn reserve(hint: u64) -> Option<Zone> {
    // SAFETY: replaces nothing.
    let got = unsafe {
        raw_syscall::mmap(
            hint as usize,
            ZONE_BYTES as usize,
            raw_syscall::READ_WRITE_EXECUTE,
            raw_syscall::PRIVATE | raw_syscall::FIXED_NOREPLACE,
            -1,
        )
    }? as u64;
    if got != hint {
        // A kernel before 4.17, which ignores MAP_FIXED_NOREPLACE.
        // SAFETY: our own new mapping.
        unsafe { raw_syscall::munmap(got as usize, ZONE_BYTES as usize) };
        return None;
    }
    // SAFETY: our own new mapping.
    unsafe {
        raw_syscall::exclude_from_core_dumps(got as usize, ZONE_BYTES as usize);
        let large = (got + SMALL_PAGES_BYTES) as usize;
        raw_syscall::prefer_huge_pages(large, (ZONE_BYTES - SMALL_PAGES_BYTES) as usize);
    }
    Some(Zone {
        low: got,
        next: got,
        end: got + ZONE_BYTES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(pc: u64, heap: u64) -> Vec<u64> {
        places(pc, heap).collect()
    }

    #[test]
    fn places_in_the_way_of_the_heap_are_tried_last() {
        // Below a program at a fixed low address there is nothing. The place just below its heap is
        // tried first; places in the way of the heap are tried last, from far to near.
        let (pc, heap) = (0x40_1000, 0x40_1000 + 200 * MIB);
        let places = of(pc, heap);
        assert_eq!(places[0] + ZONE_BYTES, heap & !0xFFF);
        let first_above = places.iter().position(|&place| place + ZONE_BYTES > heap);
        let first_above = first_above.expect("above, too");
        let (between, above) = places.split_at(first_above);
        assert!(
            between
                .iter()
                .all(|&place| place > pc && place + ZONE_BYTES <= heap)
        );
        assert!(above.windows(2).all(|pair| pair[0] > pair[1]));
        assert!(above[0] >= pc + MAX_DISTANCE - 2 * SEARCH_STEP);
    }

    #[test]
    fn a_heap_next_to_the_program_can_grow_by_800_mib() {
        for gap in [0, 1, 31, 63] {
            let heap = 0x60_0000 + gap * MIB;
            let first = of(0x40_1000, heap)
                .into_iter()
                .find(|place| *place >= 0x60_0000);
            let first = first.expect("a place");
            assert!(
                first + ZONE_BYTES <= heap || first - heap > 800 * MIB,
                "{gap}"
            );
        }
    }

    #[test]
    fn places_below_a_library_are_tried_first_and_all_are_within_reach() {
        let pc = 0x7fff_f7d0_1234;
        let places = of(pc, 0x5555_5555_9000);
        assert_eq!(places[0], (pc & !0xF_FFFF) - SEARCH_STEP);
        assert!(places.iter().all(|place| place.abs_diff(pc) < MAX_DISTANCE));
        assert_eq!(places.len() as u64, 2 * (MAX_DISTANCE / SEARCH_STEP - 1));
        assert!(of(0x40_1000, 0).iter().all(|&place| place >= MIB));
    }
}
