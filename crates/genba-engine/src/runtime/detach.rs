//! A forked child's counts are not its parent's: it gets a file of its own, or, where children
//! are not counted, memory that nobody reads.

use core::sync::atomic::Ordering;

use crate::layout::{self, MAIL_FORK};
use crate::sys::{self, nr};

use super::engine::Engine;
use super::mail;
use super::shared::Shared;

fn page(bytes: usize) -> usize {
    (bytes + 4095) & !4095
}

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

/// In a forked child, its only thread.
pub fn detach(engine: &mut Engine) {
    let shared = engine.book.shared;
    let fd = if engine.children {
        own_file(shared)
    } else {
        None
    };
    // Where it complains: to its parent, whose counts then are not those of the whole run.
    if fd.is_some() {
        super::set_shared(shared);
    } else if engine.followed {
        let arguments = [shared.0, 0, layout::MODULES as usize, 1, 0, 0];
        // SAFETY: of size 0 and shared, it is mapped a second time (mremap(2)).
        let second = unsafe { sys::call(nr::MREMAP, arguments) };
        if second > 0 {
            super::set_shared(Shared(second as usize));
        }
    }
    engine.followed = fd.is_some();
    let used = engine.slots.used() as usize;
    // SAFETY: what the engine reads again is put aside, all is mapped anew except the private
    // parts of slots, one of which we stand on, and put back. With a file it is there already.
    unsafe {
        let tables = tables(shared);
        let size: usize = tables.iter().map(|&(_, size)| page(size)).sum();
        let aside = match fd {
            Some(_) => 0,
            None => match sys::mmap(0, size, sys::READ_WRITE, sys::PRIVATE, -1) {
                Some(aside) => aside,
                None => super::fatal("there is no memory"),
            },
        };
        let base = shared.0;
        if aside != 0 {
            copy(&tables, base, aside, false);
        }
        let slots = layout::SLOTS as usize;
        let slot = layout::SLOT_SIZE as usize;
        replace(base, fd, 0, slots);
        for index in 0..used {
            let start = slots + index * slot;
            replace(base, fd, start + layout::COUNTERS as usize, start + slot);
        }
        replace(base, fd, slots + used * slot, layout::FILE_SIZE as usize);
        if aside != 0 {
            copy(&tables, base, aside, true);
            sys::munmap(aside, size);
        }
        if let Some(fd) = fd {
            sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
            let pid = sys::call(nr::GETPID, [0; 6]);
            shared.control().pid.store(pid as u32, Ordering::Relaxed);
        }
    }
}

/// Copies tables to where they lie one behind the other, or back.
unsafe fn copy(tables: &[(u64, usize)], base: usize, packed: usize, back: bool) {
    let mut at = packed;
    for &(offset, size) in tables {
        let place = base + offset as usize;
        let (from, to) = if back { (at, place) } else { (place, at) };
        // SAFETY: the caller's promise: both are mapped and large enough.
        unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, size) };
        at += page(size);
    }
}

unsafe fn replace(base: usize, fd: Option<usize>, start: usize, end: usize) {
    let (flags, fd) = match fd {
        Some(fd) => (sys::SHARED | 0x4000 | sys::FIXED, fd),
        None => (sys::PRIVATE | sys::FIXED, usize::MAX),
    };
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
        if fd < 0 {
            return None;
        }
        let fd = fd as usize;
        let close = || {
            sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
            None
        };
        let size = layout::FILE_SIZE as usize;
        if sys::call(nr::FTRUNCATE, [fd, size, 0, 0, 0, 0]) < 0 {
            return close();
        }
        let length = layout::SLOTS as usize;
        let flags = sys::SHARED | 0x4000;
        let arguments = [0, length, sys::READ_WRITE, flags, fd, 0];
        let new = sys::call(nr::MMAP, arguments);
        if new < 0 {
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
        sys::munmap(new as usize, length);
        if mail::ask(shared, MAIL_FORK, fd as u32, &[]) {
            Some(fd)
        } else {
            close()
        }
    }
}
