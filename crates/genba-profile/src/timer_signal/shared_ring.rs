//! The reader's side of the shared ring buffer. The target can write anything into it: nothing read
//! from it is trusted.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout;

/// An entry of the ring buffer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Kind of the entry (`layout::SAMPLE`, …).
    pub kind: u64,
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// Monotonic time, ns.
    pub time: u64,
    /// CPU time that a sample stands for, ns.
    pub weight: u64,
    /// Instruction pointer, or the parent of a fork.
    pub ip: u64,
    /// The payload's length as the target wrote it: not validated.
    pub length: u64,
    /// The whole payload.
    pub payload: [u64; layout::WORDS],
}

/// The mapped ring buffer.
pub struct SharedRing {
    base: NonNull<u8>,
    next: u64,
    waited: u32,
    abandoned: u64,
}

// SAFETY: the mapping belongs to this value; all access is atomic.
unsafe impl Send for SharedRing {}

impl SharedRing {
    /// Creates the file, readable by its owner only, with its sequence numbers.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.set_len(layout::SIZE as u64)?;
        // SAFETY: a new shared mapping of the file that we have just made so long.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                layout::SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        let ring = Self {
            base,
            next: 0,
            waited: 0,
            abandoned: 0,
        };
        for n in 0..layout::SLOTS {
            ring.slot(n, 0).store(n, Ordering::Relaxed);
        }
        ring.at(0).store(layout::MAGIC, Ordering::Release);
        Ok(ring)
    }

    fn at(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= layout::SIZE);
        // SAFETY: offsets are the layout's, inside the mapping and aligned.
        unsafe { self.base.add(offset).cast::<AtomicU64>().as_ref() }
    }

    fn slot(&self, n: u64, word: usize) -> &AtomicU64 {
        self.at(layout::HEAD + (n % layout::SLOTS) as usize * layout::SLOT + word * 8)
    }

    /// Entries that did not fit, and those that their writer did not complete.
    pub fn lost(&self) -> u64 {
        self.at(layout::LOST)
            .load(Ordering::Relaxed)
            .saturating_add(self.abandoned)
    }

    /// Passes the entries that are complete to `take`, each slot at most once.
    pub fn drain(&mut self, take: &mut dyn FnMut(&Entry)) {
        /// Calls for which an incomplete entry is waited for: its writer may be stopped or dead.
        const MAX_WAITS: u32 = 20;
        for _ in 0..layout::SLOTS {
            let n = self.next;
            let state = self.slot(n, 0).load(Ordering::Acquire);
            if state == n.wrapping_add(1) {
                take(&self.entry(n));
            } else {
                let claimed = self.at(layout::CLAIMED).load(Ordering::Relaxed);
                if claimed <= n {
                    return;
                }
                self.waited += 1;
                if self.waited < MAX_WAITS {
                    return;
                }
                self.abandoned += 1;
            }
            self.waited = 0;
            let free = n.wrapping_add(layout::SLOTS);
            // A writer that completes its entry now loses it, see `push`.
            self.slot(n, 0).store(free, Ordering::Release);
            self.next = n.wrapping_add(1);
        }
    }

    fn entry(&self, n: u64) -> Entry {
        let word = |w| self.slot(n, w).load(Ordering::Relaxed);
        let who = word(layout::WHO);
        Entry {
            kind: word(layout::KIND),
            pid: (who >> 32) as i32,
            tid: who as i32,
            time: word(layout::TIME),
            weight: word(layout::WEIGHT),
            ip: word(layout::IP),
            length: word(layout::LENGTH),
            payload: std::array::from_fn(|i| word(layout::PAYLOAD + i)),
        }
    }
}

impl Drop for SharedRing {
    fn drop(&mut self) {
        // SAFETY: exactly what `create` mapped.
        unsafe { libc::munmap(self.base.as_ptr().cast(), layout::SIZE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(ring: &SharedRing, n: u64, ip: u64) {
        ring.at(layout::CLAIMED).store(n + 1, Ordering::Relaxed);
        ring.slot(n, layout::IP).store(ip, Ordering::Relaxed);
        ring.slot(n, 0).store(n + 1, Ordering::Release);
    }

    #[test]
    fn entries_are_read_in_order_across_wraps() {
        let directory = tempfile::tempdir().unwrap();
        let mut ring = SharedRing::create(&directory.path().join("ring")).unwrap();
        let mut got = Vec::new();
        for n in 0..layout::SLOTS * 2 + 3 {
            put(&ring, n, n * 7);
            ring.drain(&mut |e| got.push(e.ip));
        }
        assert!(got.iter().enumerate().all(|(i, &ip)| ip == i as u64 * 7));
        assert_eq!(got.len() as u64, layout::SLOTS * 2 + 3);
    }

    #[test]
    fn incomplete_entry_of_a_dead_writer_does_not_block_later_ones() {
        let directory = tempfile::tempdir().unwrap();
        let mut ring = SharedRing::create(&directory.path().join("ring")).unwrap();
        put(&ring, 1, 5); // entry 0 was claimed and never written
        let mut got = Vec::new();
        for _ in 0..100 {
            ring.drain(&mut |e| got.push(e.ip));
        }
        assert_eq!((got, ring.lost()), (vec![5], 1));
    }
}
