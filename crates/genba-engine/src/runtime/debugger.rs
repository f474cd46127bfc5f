//! What a debugger that attaches is told: where the copies are, and how to find from a place in
//! one the program's own. A debugger reads the image of the shared object that the kernel supplies
//! (vDSO) from the target's memory, where the kernel's copy of the auxiliary vector says it is
//! (`/proc/PID/auxv`). That copy is made to name an image of ours; the one on the program's stack
//! stays.
//!
//! What must hold: nothing that the program or its libraries look at changes; cores, and what is
//! left of a process that leaves the engine, have the kernel's own again. Where the kernel does not
//! let us (no checkpoint/restore), all stays as it is.

mod dwarf;
mod image;
mod rules;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::maps;
use crate::sys::{self, nr};

use super::book::read_maps;
use super::entry::label;
use super::slots::Slots;
use image::{BYTES, Image, LIST_OF_ZONES, LISTS};
use rules::Lists;

const PR_SET_MM: usize = 35;
const PR_SET_MM_MAP: usize = 14;
const AT_SYSINFO_EHDR: u64 = 33;
/// A page on each side, so that what the kernel lists is the image alone.
const GUARD: usize = 4096;
const NO_ACCESS: usize = 0;
/// Words of an auxiliary vector at most.
const MOST_WORDS: usize = 256;

/// A list that a debugger may read at any time.
#[derive(Clone, Copy)]
pub enum List {
    /// Fragments.
    Fragments = 0,
    /// Blocks.
    Blocks = 1,
    /// Exits.
    Exits = 2,
}

/// What there is for debuggers.
#[derive(Default)]
pub struct Debugger {
    /// Address of the image; 0 for none.
    base: usize,
    image: Option<Image>,
    /// Numbers of zones that are listed.
    zones: Vec<usize>,
    /// The auxiliary vector as the kernel made it.
    original: Vec<u64>,
}

/// `struct prctl_mm_map` (`linux/prctl.h`).
#[repr(C)]
struct Map {
    places: [u64; 11],
    auxv: u64,
    auxv_size: u32,
    exe_fd: u32,
}

impl Debugger {
    /// Maps the image, if that can be; lists nothing yet.
    #[must_use]
    pub fn new(shared: usize) -> Self {
        let mut debugger = Self::default();
        // SAFETY: a new mapping; its inner part becomes writable.
        let base = unsafe {
            let Some(at) = sys::mmap(0, BYTES + 2 * GUARD, NO_ACCESS, sys::PRIVATE, -1) else {
                return debugger;
            };
            let arguments = [at + GUARD, BYTES, sys::READ_WRITE, 0, 0, 0];
            if sys::call(nr::MPROTECT, arguments) != 0 {
                return debugger;
            }
            sys::leave_out_of_cores(at, BYTES + 2 * GUARD);
            at + GUARD
        };
        let list = |list: List| (base + LISTS + 8 * list as usize) as u64;
        let lists = Lists {
            fragments: list(List::Fragments),
            blocks: list(List::Blocks),
            exits: list(List::Exits),
            zones: (base + LIST_OF_ZONES) as u64,
            shared: shared as u64,
            in_use: Slots::flag(0) as u64,
        };
        // SAFETY: mapped above.
        debugger.image = unsafe { Image::new(base, &lists) };
        if debugger.image.is_some() {
            debugger.base = base;
        }
        debugger
    }

    /// Tells debuggers where the image is, and of the engine's own code.
    pub fn announce(&mut self) {
        if let Some(image) = &mut self.image {
            let maps = read_maps();
            let code = label::genba_dispatch as *const () as u64;
            if let Some(mapping) = maps::find(&maps, code) {
                image.zone(mapping.start, mapping.end, true);
            }
            self.original = read_auxv();
            let mut changed = self.original.clone();
            for pair in changed.chunks_exact_mut(2) {
                if pair[0] == AT_SYSINFO_EHDR {
                    pair[1] = self.base as u64;
                }
            }
            set_auxv(&changed);
        }
    }

    /// The kernel's copy of the auxiliary vector becomes what it was at first.
    pub fn give_back(&self) {
        if !self.original.is_empty() {
            set_auxv(&self.original);
        }
    }

    fn word(&self, offset: usize, value: u64) {
        if self.base != 0 {
            compiler_fence(Ordering::SeqCst);
            // SAFETY: within the image.
            unsafe { ((self.base + offset) as *mut u64).write_volatile(value) };
            compiler_fence(Ordering::SeqCst);
        }
    }

    /// Adds to a list; if that moves it, a debugger finds the new one before the old one goes.
    pub fn push<T>(&self, which: List, list: &mut Vec<T>, item: T) {
        self.grow(list, |address| {
            self.word(LISTS + 8 * which as usize, address);
        });
        list.push(item);
    }

    fn grow<T>(&self, list: &mut Vec<T>, publish: impl FnOnce(u64)) {
        if list.len() < list.capacity() {
            return;
        }
        let mut new = Vec::with_capacity((list.len() * 2).max(64));
        // Both stay whole until the old one is given back.
        // SAFETY: there is room, and the old one's items are forgotten.
        unsafe {
            core::ptr::copy_nonoverlapping(list.as_ptr(), new.as_mut_ptr(), list.len());
            new.set_len(list.len());
            publish(new.as_ptr() as u64);
            list.set_len(0);
        }
        *list = new;
    }

    /// Adds a fragment's number to those of a zone, which is at these addresses.
    pub fn push_in_zone(
        &mut self,
        zone: usize,
        (low, end): (u64, u64),
        list: &mut Vec<u32>,
        number: u32,
    ) {
        let index = match self.zones.iter().position(|&other| other == zone) {
            Some(index) => index,
            None => {
                self.zones.push(zone);
                self.zones.len() - 1
            }
        };
        if index >= image::ZONES - 1 {
            return list.push(number);
        }
        let at = LIST_OF_ZONES + 32 * index;
        self.grow(list, |address| self.word(at + 16, address));
        list.push(number);
        self.word(at + 24, list.len() as u64);
        if list.len() == 1 {
            self.word(at + 8, end);
            self.word(at, low);
            if let Some(image) = &mut self.image {
                image.zone(low, end, false);
            }
        }
    }
}

/// A small file, as far as there is room.
fn read_file(path: &core::ffi::CStr, to: &mut [u8]) -> usize {
    let mut used = 0;
    // SAFETY: reads into the slice.
    unsafe {
        // O_RDONLY | O_CLOEXEC
        let fd = sys::call(nr::OPEN, [path.as_ptr() as usize, 0o2_000_000, 0, 0, 0, 0]);
        if fd < 0 {
            return 0;
        }
        while used < to.len() {
            let at = to.as_mut_ptr() as usize + used;
            let read = sys::call(nr::READ, [fd as usize, at, to.len() - used, 0, 0, 0]);
            if read <= 0 {
                break;
            }
            used += read as usize;
        }
        sys::call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
    }
    used
}

fn read_auxv() -> Vec<u64> {
    let mut bytes = [0u8; MOST_WORDS * 8];
    let used = read_file(c"/proc/self/auxv", &mut bytes);
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    bytes[..used].chunks_exact(8).map(word).collect()
}

/// Sets the kernel's copy of the auxiliary vector; the rest of what can only be set with it stays
/// as it is.
fn set_auxv(auxv: &[u64]) {
    let mut text = [0u8; 4096];
    let used = read_file(c"/proc/self/stat", &mut text);
    let Some(map) = places(&text[..used]) else {
        return;
    };
    let map = Map {
        places: map,
        auxv: auxv.as_ptr() as u64,
        auxv_size: size_of_val(auxv) as u32,
        exe_fd: u32::MAX,
    };
    let arguments = [
        PR_SET_MM,
        PR_SET_MM_MAP,
        &raw const map as usize,
        size_of::<Map>(),
        0,
        0,
    ];
    // SAFETY: changes what the kernel shows, and nothing else.
    unsafe { sys::call(nr::PRCTL, arguments) };
}

/// Where code, data, heap, stack, arguments and environment are, from `/proc/self/stat` (proc(5)).
fn places(stat: &[u8]) -> Option<[u64; 11]> {
    let behind = stat.iter().rposition(|&byte| byte == b')')? + 2;
    // The first is field 3.
    let mut fields = stat
        .get(behind..)?
        .split(|&byte| byte == b' ' || byte == b'\n');
    let mut numbers = [0u64; 52];
    for number in numbers.iter_mut().skip(3) {
        let field = fields.next()?;
        *number = field
            .iter()
            .filter(|byte| byte.is_ascii_digit())
            .fold(0, |value, &byte| {
                value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'))
            });
    }
    let n = numbers;
    let heap = sys::program_break();
    (heap != 0).then_some([
        n[26], n[27], n[45], n[46], n[47], heap, n[28], n[48], n[49], n[50], n[51],
    ])
}
