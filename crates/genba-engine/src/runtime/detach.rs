//! A forked child's counts are not its parent's: it gets a file of its own. Where children are not
//! counted it leaves ([`super::leave`]).

use core::sync::atomic::Ordering;

use crate::layout::{self, MAIL_FORK};
use crate::sys::{self, nr};

use super::engine::Engine;
use super::mail;
use super::shared::Shared;

/// Tables, with how much of each is in use.
fn tables(shared: Shared) -> [(u64, usize); 5] {
    let control = shared.control();
    let used = |word: &core::sync::atomic::AtomicU32| word.load(Ordering::Relaxed) as usize;
    [
        (0, layout::MODULES as usize),
        (
            layout::MODULES,
            used(&control.modules) * size_of::<layout::ModuleRecord>(),
        ),
        (layout::NAMES, used(&control.names)),
        (
            layout::RECORDS,
            used(&control.records) * size_of::<layout::Record>(),
        ),
        (layout::LENGTHS, used(&control.lengths)),
    ]
}

/// In a forked child, its only thread: gives it counts of its own. Whether that could be done.
pub fn detach(engine: &mut Engine) -> bool {
    let shared = engine.book.shared;
    let Some(fd) = own_file(shared) else {
        return false;
    };
    super::set_shared(shared);
    let used = engine.slots.used() as usize;
    // SAFETY: all is mapped anew, what the engine reads again being in the file already, except
    // the private parts of slots, one of which we stand on.
    unsafe {
        let base = shared.0;
        let slots = layout::SLOTS as usize;
        let slot = layout::SLOT_SIZE as usize;
        replace(base, fd, 0, slots);
        for index in 0..used {
            let start = slots + index * slot;
            replace(base, fd, start + layout::COUNTERS as usize, start + slot);
        }
        replace(base, fd, slots + used * slot, layout::FILE_SIZE as usize);
        sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
        let pid = sys::call(nr::GETPID, [0; 6]);
        shared.control().pid.store(pid as u32, Ordering::Relaxed);
    }
    true
}

/// Maps a part of the file in the place of the parent's.
unsafe fn replace(base: usize, fd: usize, start: usize, end: usize) {
    let flags = sys::SHARED | 0x4000 | sys::FIXED;
    let arguments = [base + start, end - start, sys::READ_WRITE, flags, fd, start];
    // SAFETY: the caller's promise: our own memory.
    if unsafe { sys::call(nr::MMAP, arguments) } < 0 {
        super::fatal("there is no memory");
    }
    // SAFETY: our own mapping.
    unsafe { sys::leave_out_of_cores(base + start, end - start) };
}

/// Makes a file with what is in the parent's tables, and no counts; gives it to genba.
fn own_file(shared: Shared) -> Option<usize> {
    // SAFETY: system calls on a new descriptor, and a mapping that is gone at the end.
    unsafe {
        let name = c"genba-counts".as_ptr() as usize;
        let fd = sys::call(nr::MEMFD_CREATE, [name, 1, 0, 0, 0, 0]);
        let lost = || {
            shared.control().uncounted.fetch_add(1, Ordering::Relaxed);
        };
        if fd < 0 {
            lost();
            return None;
        }
        let fd = fd as usize;
        let close = || {
            sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
            None
        };
        let size = layout::FILE_SIZE as usize;
        if sys::call(nr::FTRUNCATE, [fd, size, 0, 0, 0, 0]) < 0 {
            lost();
            return close();
        }
        let length = layout::SLOTS as usize;
        let flags = sys::SHARED | 0x4000;
        let arguments = [0, length, sys::READ_WRITE, flags, fd, 0];
        let new = sys::call(nr::MMAP, arguments);
        if new < 0 {
            lost();
            return close();
        }
        for (offset, size) in tables(shared) {
            let from = (shared.0 + offset as usize) as *const u8;
            let to = (new as usize + offset as usize) as *mut u8;
            core::ptr::copy_nonoverlapping(from, to, size);
        }
        let control = Shared(new as usize).control();
        control.mail.store(layout::MAIL_NONE, Ordering::Relaxed);
        control.mail_lock.store(0, Ordering::Relaxed);
        control.uncounted.store(0, Ordering::Relaxed);
        sys::munmap(new as usize, length);
        if mail::ask(shared, MAIL_FORK, fd as u32, &[]) {
            Some(fd)
        } else {
            close()
        }
    }
}
