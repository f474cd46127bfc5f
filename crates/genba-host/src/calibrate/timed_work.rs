//! What is run repeatedly: machine code, page faults, copies.

use super::executable_memory::{Data, PAGE};
use super::x86_64::Entry;

/// Something whose time is taken.
pub(super) enum Work {
    /// A kernel and the address of its data.
    Code { entry: Entry, data: *mut u8 },
    /// The first touch of each page.
    Faults(Data),
    /// Copies by the C library's `memcpy`, window after window.
    Copy(Copy),
}

/// Copies between two buffers.
pub(super) struct Copy {
    pub(super) from: *const u8,
    pub(super) from_length: usize,
    pub(super) to: Data,
    pub(super) window: usize,
    pub(super) place: usize,
}

/// Pages whose first touch is timed at once.
pub(super) const FAULTS: usize = 64;

impl Work {
    /// What must be done before each repetition and is not timed.
    pub(super) fn prepare(&mut self) {
        if let Self::Faults(data) = self {
            let _ = data.discard();
        }
    }

    /// Brings the data into the caches as far as it fits, before a batch.
    pub(super) fn warm(&self, data: Option<&Data>) {
        if let (Self::Code { .. }, Some(data)) = (self, data) {
            let sum = data
                .bytes()
                .iter()
                .step_by(64)
                .fold(0_u64, |sum, &byte| sum + u64::from(byte));
            std::hint::black_box(sum);
        }
    }

    /// Executes it this many times.
    pub(super) fn run(&mut self, rounds: u64) {
        match self {
            Self::Code { entry, data } => {
                // SAFETY: the kernel was assembled for this region (`Regions::data`), reads and
                // writes only within it and its own stack frame, uses instructions that CPUID
                // has, and keeps the registers that the ABI says.
                unsafe { entry(rounds, *data) };
            }
            Self::Faults(data) => {
                for page in data.bytes_mut().chunks_mut(PAGE) {
                    // SAFETY: a reference to a byte is valid to write.
                    unsafe { std::ptr::from_mut(&mut page[0]).write_volatile(1) };
                }
            }
            Self::Copy(copy) => (0..rounds).for_each(|_| copy.once()),
        }
    }
}

impl Copy {
    fn once(&mut self) {
        let window = self.window;
        let from = self.place % (self.from_length / window) * window;
        let length = self.to.bytes().len();
        let to = self.place % (length / window) * window;
        self.place = self.place.wrapping_add(1);
        // SAFETY: `from + window` is within the source region, which the caller keeps mapped
        // and changes only by kernels of its own between calls; `to + window` is within `to`,
        // another mapping.
        unsafe {
            let source = std::hint::black_box(self.from.add(from));
            source.copy_to_nonoverlapping(self.to.start().add(to), window);
        }
    }
}
