//! Gives a forked child a count file of its own, so that its counts are not added to its parent's.
//! Where children are not counted, the child leaves the engine instead
//! ([`super::uncounted_child`]).

use core::sync::atomic::Ordering;

use crate::burst_layout;
use crate::count_file_layout::{self, Control, REQUEST_FORK};
use crate::raw_syscall::{self, nr};

use super::count_file::CountFile;
use super::engine::Engine;
use super::request_channel;

/// Tables of the count file: offset, and bytes in use. Of the control page all but the request: genba
/// looks for one in the new file already.
fn tables(shared: CountFile) -> [(usize, usize); 7] {
    let control = shared.control();
    let used = |word: &core::sync::atomic::AtomicU32| word.load(Ordering::Relaxed) as usize;
    let request = core::mem::offset_of!(Control, request);
    let after = request + size_of_val(&control.request);
    let modules = count_file_layout::MODULES as usize;
    [
        (0, request),
        (after, modules - after),
        (
            modules,
            used(&control.modules) * size_of::<count_file_layout::ModuleRecord>(),
        ),
        (count_file_layout::NAMES as usize, used(&control.names)),
        (
            count_file_layout::RECORDS as usize,
            used(&control.records) * size_of::<count_file_layout::Record>(),
        ),
        (count_file_layout::LENGTHS as usize, used(&control.lengths)),
        (
            burst_layout::DESCRIPTORS as usize,
            used(&control.descriptors) * 4,
        ),
    ]
}

/// Gives the forked child, of which this is the only thread, a count file of its own; whether that
/// succeeded.
pub fn give_own_count_file(engine: &mut Engine) -> bool {
    let shared = engine.code_map.shared;
    let Some(fd) = own_file(shared) else {
        return false;
    };
    super::set_count_file(shared);
    let used = engine.slots.used() as usize;
    // SAFETY: all is mapped anew, what the engine reads again being in the file already, except
    // the private parts of slots, one of which we stand on.
    unsafe {
        let base = shared.0;
        let slots = count_file_layout::SLOTS as usize;
        let slot = count_file_layout::SLOT_SIZE as usize;
        replace(base, fd, 0, slots);
        for index in 0..used {
            let start = slots + index * slot;
            replace(
                base,
                fd,
                start + count_file_layout::COUNTERS as usize,
                start + slot,
            );
        }
        replace(
            base,
            fd,
            slots + used * slot,
            count_file_layout::FILE_SIZE as usize,
        );
        raw_syscall::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
        let pid = raw_syscall::call(nr::GETPID, [0; 6]);
        shared.control().pid.store(pid as u32, Ordering::Relaxed);
    }
    true
}

/// Maps a part of the file over the parent's.
unsafe fn replace(base: usize, fd: usize, start: usize, end: usize) {
    let flags = raw_syscall::SHARED | 0x4000 | raw_syscall::FIXED;
    let arguments = [
        base + start,
        end - start,
        raw_syscall::READ_WRITE,
        flags,
        fd,
        start,
    ];
    // SAFETY: the caller's promise: our own memory.
    if unsafe { raw_syscall::call(nr::MMAP, arguments) } < 0 {
        super::fatal("there is no memory");
    }
    // SAFETY: our own mapping.
    unsafe { raw_syscall::exclude_from_core_dumps(base + start, end - start) };
}

/// Creates a file with the contents of the parent's tables and no counts. genba gives it its size: the
/// program's limit of file sizes does not hold for it.
fn own_file(shared: CountFile) -> Option<usize> {
    // SAFETY: system calls on a new descriptor, and a mapping that is gone at the end.
    unsafe {
        let name = c"genba-counts".as_ptr() as usize;
        let fd = raw_syscall::call(nr::MEMFD_CREATE, [name, 1, 0, 0, 0, 0]);
        let lost = || {
            shared.control().uncounted.fetch_add(1, Ordering::Relaxed);
        };
        if fd < 0 {
            lost();
            return None;
        }
        let fd = fd as usize;
        let close = || {
            raw_syscall::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
            None
        };
        if !request_channel::send_request(shared, REQUEST_FORK, fd as u32, &[]) {
            return close();
        }
        let length = count_file_layout::SLOTS as usize;
        let flags = raw_syscall::SHARED | 0x4000;
        let arguments = [0, length, raw_syscall::READ_WRITE, flags, fd, 0];
        let new = raw_syscall::call(nr::MMAP, arguments);
        if new < 0 {
            lost();
            return close();
        }
        for (offset, size) in tables(shared) {
            let from = (shared.0 + offset) as *const u8;
            let to = (new as usize + offset) as *mut u8;
            core::ptr::copy_nonoverlapping(from, to, size);
        }
        let control = CountFile(new as usize).control();
        control.request_lock.store(0, Ordering::Relaxed);
        control.uncounted.store(0, Ordering::Relaxed);
        control.bursts.store(0, Ordering::Relaxed);
        control.pid.store(0, Ordering::Relaxed);
        raw_syscall::munmap(new as usize, length);
        Some(fd)
    }
}
