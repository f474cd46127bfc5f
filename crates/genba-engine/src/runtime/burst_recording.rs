//! Keeps bursts in the count file: those that are kept are spread over the run.

use core::sync::atomic::Ordering;

use alloc::vec::Vec;

use crate::burst_layout::{
    BURST_COMPLETE, BURSTS, BurstRecord, DATA, DATA_BYTES, DESCRIPTOR_CAPACITY, DESCRIPTORS, MAPS,
    MAPS_CAPACITY,
};

use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State};

use super::code_map::read_maps;
use super::count_file::CountFile;

/// A burst that has ended.
pub struct FinishedBurst {
    /// Number of its thread.
    pub thread: u32,
    /// Address of its words.
    pub words_at: usize,
    /// Number of its words.
    pub words: u32,
    /// Number of the burst, counting those that are not kept.
    pub number: u64,
    /// CPU time of the thread at its beginning, nanoseconds.
    pub cpu_nanoseconds: u64,
    /// Time since the start of the process, nanoseconds.
    pub wall_nanoseconds: u64,
    /// Address of the instruction after its last.
    pub end_pc: u64,
    /// Instructions that the thread's slot had counted at its beginning.
    pub instructions_before: u64,
}

/// The places of the bursts that are kept.
#[derive(Default)]
pub struct KeptBursts {
    /// Indices of their records, in the order in which they ended.
    order: Vec<u32>,
    /// Indices of records that are free again.
    free: Vec<u32>,
    used: u32,
}

impl KeptBursts {
    /// Writes a burst to the count file, in place of others if there are `capacity` of them; returns
    /// whether every other one was dropped, so that those to come should be half as frequent.
    pub fn keep(&mut self, shared: CountFile, burst: &FinishedBurst, capacity: u32) -> bool {
        let mut thinned = false;
        if self.order.len() as u32 >= capacity {
            thinned = true;
            let order = core::mem::take(&mut self.order);
            for (place, index) in order.into_iter().enumerate() {
                if place % 2 == 0 {
                    self.order.push(index);
                } else {
                    record(shared, index).state.store(0, Ordering::Release);
                    self.free.push(index);
                }
            }
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.used += 1;
                self.used - 1
            }
        };
        self.order.push(index);
        let to = record(shared, index);
        let data = shared.0 as u64 + DATA + u64::from(index) * DATA_BYTES;
        // SAFETY: a place in the file that is this burst's alone, under the engine's lock.
        unsafe {
            core::ptr::copy_nonoverlapping(
                burst.words_at as *const u64,
                data as *mut u64,
                burst.words as usize,
            );
        }
        to.thread = burst.thread;
        to.words = burst.words;
        to.number = burst.number;
        to.cpu_nanoseconds = burst.cpu_nanoseconds;
        to.wall_nanoseconds = burst.wall_nanoseconds;
        to.end_pc = burst.end_pc;
        to.instructions_before = burst.instructions_before;
        to.state.store(BURST_COMPLETE, Ordering::Release);
        shared.control().bursts.store(self.used, Ordering::Release);
        thinned
    }
}

fn record(shared: CountFile, index: u32) -> &'static mut BurstRecord {
    let at = shared.0 as u64 + BURSTS + u64::from(index) * size_of::<BurstRecord>() as u64;
    // SAFETY: within the table, and used under the engine's lock only.
    unsafe { &mut *(at as *mut BurstRecord) }
}

/// Gives back the memory of a recording, from one offset to another.
///
/// # Safety
/// The state must be the caller's own, and not in a burst.
pub unsafe fn discard_recording(state: State, first: u64, end: u64) {
    const REMOVE: usize = 9;
    let base = state.0 as u64 + u64::from(thread_state::RECORDING);
    let from = (base + first) & !4095;
    let length = ((base + end + 4095) & !4095) - from;
    let arguments = [from as usize, length as usize, REMOVE, 0, 0, 0];
    // SAFETY: the recording begins and ends with a page, and the caller's promise.
    unsafe { raw_syscall::call(nr::MADVISE, arguments) };
}

/// Writes the memory map, by which genba names the addresses that bursts saw.
pub fn write_maps(shared: CountFile) {
    let text = read_maps();
    let length = text.len().min(MAPS_CAPACITY as usize);
    let maps = &shared.control().maps;
    maps.store(0, Ordering::Release);
    let to = (shared.0 as u64 + MAPS) as *mut u8;
    // SAFETY: within its part of the file, under the engine's lock.
    unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), to, length) };
    maps.store(length as u32, Ordering::Release);
}

/// Appends a descriptor; its offset, or `None` if there is no room.
#[must_use]
pub fn add_descriptor(shared: CountFile, descriptor: &[u32]) -> Option<u32> {
    let used = &shared.control().descriptors;
    let at = used.load(Ordering::Relaxed);
    let end = at.checked_add(u32::try_from(descriptor.len()).ok()?)?;
    if end > DESCRIPTOR_CAPACITY {
        return None;
    }
    let to = (shared.0 as u64 + DESCRIPTORS + u64::from(at) * 4) as *mut u32;
    // SAFETY: within the table, and under the engine's lock.
    unsafe { core::ptr::copy_nonoverlapping(descriptor.as_ptr(), to, descriptor.len()) };
    used.store(end, Ordering::Release);
    Some(at)
}

/// Whether the descriptor at an offset is this one.
#[must_use]
pub fn is_descriptor(shared: CountFile, at: u32, descriptor: &[u32]) -> bool {
    let used = shared.control().descriptors.load(Ordering::Relaxed);
    let end = u64::from(at) + descriptor.len() as u64;
    let from = (shared.0 as u64 + DESCRIPTORS + u64::from(at) * 4) as *const u32;
    // SAFETY: within the part in use; never changed.
    end <= u64::from(used)
        && unsafe { core::slice::from_raw_parts(from, descriptor.len()) } == descriptor
}

/// Returns the number of the counter of the block with this descriptor.
#[must_use]
pub fn counter_of(shared: CountFile, descriptor: u64) -> Option<u32> {
    let used = shared.control().descriptors.load(Ordering::Relaxed);
    let from = (shared.0 as u64 + DESCRIPTORS) as *const u32;
    // SAFETY: within the part in use; never changed.
    (descriptor < u64::from(used)).then(|| unsafe { from.add(descriptor as usize).read() })
}
