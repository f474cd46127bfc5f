//! Memory for kernels: data pages that are not huge, and code pages that are never writable
//! and executable at once.

use std::ffi::c_void;
use std::ptr;

use rustix::io;
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
};

/// Anonymous private memory, readable and writable, of small pages.
#[derive(Debug)]
pub(crate) struct Data {
    start: *mut u8,
    length: usize,
}

/// Machine code, readable and executable.
#[derive(Debug)]
pub(crate) struct Code {
    mapping: Data,
}

impl Data {
    /// Maps `length` bytes (at least 1) of zeros; `populated` has them faulted in at once.
    pub(crate) fn new(length: usize, populated: bool) -> io::Result<Self> {
        let (read_write, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), length, read_write, private)? };
        let data = Self {
            start: start.cast(),
            length,
        };
        // A kernel without transparent huge pages refuses this and needs none of it.
        let _ = data.advise(Advice::LinuxNoHugepage);
        if populated && data.advise(Advice::LinuxPopulateWrite).is_err() {
            // Linux before 5.14: touch them.
            for offset in (0..length).step_by(PAGE) {
                // SAFETY: within the mapping, which is writable and which only `data` refers to.
                unsafe { data.start.add(offset).write_volatile(0) };
            }
        }
        Ok(data)
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the whole of an own anonymous mapping; the advices used here free or move no
        // memory that a reference points to.
        unsafe { madvise(self.start.cast::<c_void>(), self.length, advice) }
    }

    /// Gives the pages back: the next touch of each faults.
    pub(crate) fn discard(&mut self) -> io::Result<()> {
        self.advise(Advice::LinuxDontNeed)
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, readable, initialised (zero) memory as long as `self` lives; kernels
        // write it through `start` only while no such reference is held.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// The bytes, to be changed.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }

    /// Turns it to code: no longer writable from here on.
    pub(crate) fn executable(self) -> io::Result<Code> {
        let flags = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: the whole of an own mapping, to which no reference is held (`self` is owned).
        unsafe { mprotect(self.start.cast::<c_void>(), self.length, flags)? };
        Ok(Code { mapping: self })
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: an own mapping that nothing refers to any more.
        let _ = unsafe { munmap(self.start.cast::<c_void>(), self.length) };
    }
}

impl Code {
    /// Its first byte.
    pub(crate) fn start(&self) -> *const u8 {
        self.mapping.start
    }
}

/// Bytes of a small page on x86-64 (and a divisor of the page size elsewhere).
pub(crate) const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discarded_pages_read_as_zero() {
        let mut data = Data::new(3 * PAGE, true).expect("memory");
        data.bytes_mut()[PAGE] = 7;
        assert_eq!(data.bytes()[PAGE], 7);
        data.discard().expect("advice");
        assert_eq!(data.bytes()[PAGE], 0);
    }
}
