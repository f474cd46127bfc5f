//! The ring buffer into which the kernel writes the records of one event.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;

use super::overwritten;
use crate::perfdata::record::{HEADER_SIZE, kind};

/// Samples that went through ring buffers, and those that did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples that went through.
    pub samples: u64,
    /// Samples that the kernel reports as lost.
    pub lost: u64,
    /// How often the kernel throttled sampling.
    pub throttled: u64,
}

/// The mapped ring buffer of one event.
pub struct RingBuffer {
    base: NonNull<u8>,
    mapped: usize,
    data: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for RingBuffer {}

impl RingBuffer {
    /// Maps the ring buffer of an event with `pages` pages of data, a power of two.
    pub fn map(fd: &OwnedFd, pages: usize) -> io::Result<Self> {
        Self::map_as(fd, pages, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Maps the ring buffer of an event whose records go from its end to its begin and overwrite the oldest ones: the
    /// kernel does so where the reader cannot write to it.
    pub fn map_overwritten(fd: &OwnedFd, pages: usize) -> io::Result<Self> {
        Self::map_as(fd, pages, libc::PROT_READ)
    }

    fn map_as(fd: &OwnedFd, pages: usize, protection: i32) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let mapped = (pages + 1) * page;
        // SAFETY: a new shared mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                protection,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            base,
            mapped,
            data: pages * page,
        })
    }

    fn page(&self) -> *mut perf_event_mmap_page {
        self.base.as_ptr().cast()
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the control page is mapped as long as `self` lives and the field is aligned;
        // the kernel writes it while we read, hence the atomic.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as for `head`; only we write it.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page()).data_tail) }
    }

    /// A copy of an overwritten buffer's bytes from the newest record on, for [`overwritten::records`](super::overwritten::records). The event's
    /// output must be paused.
    pub fn copy_overwritten(&self) -> Vec<u8> {
        let before = self.head().load(Ordering::Acquire);
        // SAFETY: the data pages follow the control page. The kernel may be completing a record that it began before the
        // pause: its bytes are cut off below.
        let data = unsafe {
            let pages = self.base.as_ptr().add(self.mapped - self.data);
            std::slice::from_raw_parts(pages, self.data)
        };
        let mut copy = overwritten::unwrap(data, before);
        let written_meanwhile = before.wrapping_sub(self.head().load(Ordering::Acquire));
        copy.truncate(copy.len().saturating_sub(written_meanwhile as usize));
        copy
    }

    /// Passes all records in the buffer to `take`, in two parts where they wrap around, counts them
    /// and frees their space.
    pub fn drain(
        &mut self,
        counts: &mut SampleCounts,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let head = self.head().load(Ordering::Acquire);
        let tail = self.tail().load(Ordering::Relaxed);
        let length = (head.wrapping_sub(tail) as usize).min(self.data);
        if length == 0 {
            return Ok(());
        }
        let start = tail as usize & (self.data - 1);
        // SAFETY: the data pages follow the control page; the kernel does not write between
        // tail and head until we move the tail.
        let data = unsafe {
            let pages = self.base.as_ptr().add(self.mapped - self.data);
            std::slice::from_raw_parts(pages, self.data)
        };
        let first = &data[start..self.data.min(start + length)];
        let second = &data[..length - first.len()];
        count(first, second, counts);
        take(first)?;
        if !second.is_empty() {
            take(second)?;
        }
        self.tail().store(head, Ordering::Release);
        Ok(())
    }
}

impl Drop for RingBuffer {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

/// Counts the records of two parts that follow one another. Records and parts are multiples of 8
/// bytes, so no field of 8 bytes is split.
pub(super) fn count(first: &[u8], second: &[u8], counts: &mut SampleCounts) {
    let word = |at: usize| -> Option<u64> {
        let bytes = if at < first.len() {
            first.get(at..at + 8)?
        } else {
            second.get(at - first.len()..at - first.len() + 8)?
        };
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut at = 0;
    while let Some(header) = word(at) {
        let size = (header >> 48) as usize;
        if size < HEADER_SIZE {
            return;
        }
        match header as u32 {
            kind::SAMPLE => counts.samples += 1,
            kind::THROTTLE => counts.throttled += 1,
            kind::LOST => counts.lost += word(at + 16).unwrap_or(0),
            kind::LOST_SAMPLES => counts.lost += word(at + 8).unwrap_or(0),
            _ => {}
        }
        at += size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = (8 + body.len() * 8) as u64;
        let mut out = (u64::from(kind) | size << 48).to_le_bytes().to_vec();
        out.extend(body.iter().flat_map(|n| n.to_le_bytes()));
        out
    }

    #[test]
    fn records_are_counted_across_the_wrap() {
        let mut all = record(kind::SAMPLE, &[1, 2]);
        all.extend(record(kind::LOST, &[9, 40]));
        all.extend(record(kind::THROTTLE, &[1, 1, 1]));
        all.extend(record(kind::LOST_SAMPLES, &[2]));
        for cut in (0..=all.len()).step_by(8) {
            let mut counts = SampleCounts::default();
            count(&all[..cut], &all[cut..], &mut counts);
            assert_eq!(
                counts,
                SampleCounts {
                    samples: 1,
                    lost: 42,
                    throttled: 1
                }
            );
        }
    }
}
