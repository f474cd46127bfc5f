//! The memory that holds a thread's frames.

use super::super::python_layout::FRAME_SIZE;
use super::super::thread_memory::{Memory, word_at};

/// A chunk of frames (`_PyStackChunk`).
mod chunk {
    pub const PREVIOUS: usize = 0;
    pub const SIZE: usize = 8;
    pub const HEADER: usize = 24;
}

/// Chunks of frames, and bytes of one that are read.
const MAX_CHUNKS: usize = 4096;
const MAX_CHUNK: usize = 1 << 20;

/// The chunks of memory that hold a thread's frames, read as they are needed.
pub struct Chunks<'m, M> {
    memory: &'m M,
    /// Address and bytes of chunks that were read.
    read: Vec<(u64, Vec<u8>)>,
    next: u64,
    /// End of what is used of the newest chunk.
    top: u64,
}

impl<'m, M: Memory> Chunks<'m, M> {
    /// Of a thread whose newest chunk is at `newest`, used up to `top`; 0 where there are none.
    pub fn new(memory: &'m M, newest: u64, top: u64) -> Self {
        Self {
            memory,
            read: Vec::new(),
            next: newest,
            top,
        }
    }

    /// The bytes of the frame at an address.
    pub fn frame(&mut self, at: u64) -> Option<[u8; FRAME_SIZE]> {
        // Older frames are in older chunks: the last one read is the likeliest.
        if let Some(found) = self.read.iter().rev().find_map(|c| part(c, at)) {
            return Some(found);
        }
        // A frame of a generator is in the generator; others are in the next chunks.
        if let Some(newer) = self.newest_may_hold(at) {
            return Some(newer);
        }
        self.memory.bytes(at)
    }

    /// Reads the next chunk if the frame is in it.
    fn newest_may_hold(&mut self, at: u64) -> Option<[u8; FRAME_SIZE]> {
        if self.next == 0 || self.read.len() >= MAX_CHUNKS {
            return None;
        }
        let header: [u8; chunk::HEADER] = self.memory.bytes(self.next)?;
        let size = word_at(&header, chunk::SIZE);
        if at < self.next || at - self.next >= size {
            return None;
        }
        let used = match self.top.checked_sub(self.next) {
            Some(used) if used <= size => used,
            _ => size,
        };
        let bytes = self.memory.some(self.next, (used as usize).min(MAX_CHUNK));
        self.read.push((self.next, bytes));
        self.next = word_at(&header, chunk::PREVIOUS);
        self.top = 0;
        self.read.last().and_then(|c| part(c, at))
    }
}

fn part((start, bytes): &(u64, Vec<u8>), at: u64) -> Option<[u8; FRAME_SIZE]> {
    let from = usize::try_from(at.checked_sub(*start)?).ok()?;
    bytes
        .get(from..from.checked_add(FRAME_SIZE)?)?
        .try_into()
        .ok()
}
