//! Changes of memory: translations of what is no longer there, or may change, go out of use.

use crate::sys::{self, nr};

use super::engine::Engine;
use super::syscall::Call;

const PROT_WRITE: usize = 2;
const PROT_EXEC: usize = 4;

/// Does the call, and what follows from it.
///
/// # Safety
/// The program asked for it.
pub unsafe fn call(engine: &mut Engine, call: &Call) -> isize {
    // SAFETY: the caller's promise.
    let result = unsafe { sys::call(call.number, call.arguments) };
    if result < 0 && result > -4096 {
        return result;
    }
    let [address, length, third, ..] = call.arguments.map(|argument| argument as u64);
    match call.number {
        // What was there before is gone.
        nr::MMAP => engine.forget(result as u64, length),
        nr::MUNMAP => engine.forget(address, length),
        nr::MREMAP => {
            engine.forget(address, length);
            engine.forget(result as u64, third);
        }
        nr::MPROTECT | nr::PKEY_MPROTECT => {
            let protection = call.arguments[2];
            if protection & PROT_EXEC == 0 || protection & PROT_WRITE != 0 {
                engine.forget(address, length);
            } else {
                engine.forget_region(address, length);
            }
        }
        nr::SHMAT => engine.forget(result as u64, 1),
        nr::SHMDT | nr::REMAP_FILE_PAGES => engine.forget(address, length.max(1)),
        _ => {}
    }
    result
}

impl Engine {
    /// Code in a range is not what it was.
    pub fn forget(&mut self, start: u64, length: u64) {
        if self.forget_region(start, length) {
            let end = start.saturating_add(length).saturating_add(4095) & !4095;
            self.invalidate(start, end);
        }
    }

    /// What is known of memory in a range is no longer true; whether anything was known.
    pub fn forget_region(&mut self, start: u64, length: u64) -> bool {
        let end = start.saturating_add(length).saturating_add(4095) & !4095;
        let before = self.book.regions.len();
        let touches = |region: &super::book::Region| region.start < end && start < region.end;
        self.book.regions.retain(|region| !touches(region));
        self.book.regions.len() != before
    }
}
