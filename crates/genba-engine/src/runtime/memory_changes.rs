//! System calls that change memory: fragments of code that is unmapped or may change are
//! invalidated.

use core::sync::atomic::Ordering;

use crate::count_file_layout::STATUS_CODE_CHANGES_UNSEEN;
use crate::raw_syscall::{self, nr};

use super::engine::Engine;
use super::signal_delivery;
use super::syscall_interception::Call;

const ENOMEM: isize = -12;
const PROT_WRITE: usize = 2;
const PROT_EXEC: usize = 4;
/// `MAP_ANONYMOUS`.
const ANONYMOUS: usize = 0x20;
/// Mask of a file's access mode, which is 0 for read-only.
const ACCESS: usize = 3;
/// `madvise` advice that discards contents: `MADV_DONTNEED`, `FREE`, `REMOVE`, `DONTNEED_LOCKED`.
const DISCARD: [usize; 4] = [4, 8, 9, 24];

/// Makes the system call, and invalidates what it changed; its result.
///
/// # Safety
/// The call must be the program's.
pub unsafe fn call(engine: &mut Engine, call: &Call) -> isize {
    let [address, length, third, ..] = call.arguments.map(|argument| argument as u64);
    let end = page_end(address, length);
    if call.number == nr::MREMAP {
        // The kernel moves pages with their protection.
        engine.release_range(address, end);
    }
    // SAFETY: the caller's promise.
    let result = unsafe { raw_syscall::call(call.number, call.arguments) };
    // A call that fails may have had part of its effect.
    let partly = matches!(call.number, nr::MPROTECT | nr::PKEY_MPROTECT | nr::MADVISE);
    let failed = result < 0 && result > -4096;
    if failed && !partly {
        return result;
    }
    match call.number {
        nr::MMAP => engine.forget_protection(result as u64, page_end(result as u64, length)),
        nr::MADVISE => {
            if DISCARD.contains(&call.arguments[2]) {
                engine.release_range(address, end);
            }
        }
        _ if failed => engine.release_range(address, end),
        _ => engine.forget_protection(address, end),
    }
    match call.number {
        // What was mapped there before is gone.
        nr::MMAP => {
            engine.forget(result as u64, length);
            // SAFETY: the call has succeeded.
            unsafe { engine.mapped(call) };
        }
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
        nr::MADVISE if DISCARD.contains(&call.arguments[2]) => engine.forget(address, length),
        nr::SHMAT => engine.forget(result as u64, 1),
        nr::SHMDT | nr::REMAP_FILE_PAGES => engine.forget(address, length.max(1)),
        _ => {}
    }
    result
}

/// `mlockall`, except that pages are locked when they are first used: locking all at once would
/// fill the count file, many gigabytes of holes. Refused where that fails for want of a higher limit,
/// since the engine's memory counts against it.
///
/// # Safety
/// The call must be the program's.
pub unsafe fn lock_all(call: &Call) -> isize {
    const CURRENT_OR_FUTURE: usize = 3;
    const ON_FAULT: usize = 4;
    let [flags, ..] = call.arguments;
    let on_fault = match flags & CURRENT_OR_FUTURE {
        0 => 0,
        _ => ON_FAULT,
    };
    // SAFETY: the caller's promise.
    let result = unsafe { raw_syscall::call(call.number, [flags | on_fault, 0, 0, 0, 0, 0]) };
    if result == ENOMEM {
        super::refuse(
            "it locks its memory (mlockall), and the engine's memory would count against the limit \
             (RLIMIT_MEMLOCK, ulimit -l)",
        );
    }
    result
}

/// Whether a system call writes to the file of its first or third argument.
#[must_use]
pub fn writes(number: usize) -> bool {
    matches!(
        number,
        nr::WRITE
            | nr::PWRITE64
            | nr::WRITEV
            | nr::PWRITEV
            | nr::PWRITEV2
            | nr::SENDFILE
            | nr::FTRUNCATE
            | nr::FALLOCATE
            | nr::SPLICE
            | nr::COPY_FILE_RANGE
    )
}

/// Returns the descriptor that one of [`writes`] writes to.
fn written(call: &Call) -> usize {
    match call.number {
        nr::SPLICE | nr::COPY_FILE_RANGE => call.arguments[2],
        _ => call.arguments[0],
    }
}

/// Whether a descriptor can be written to.
fn is_writable(file: usize) -> bool {
    const FCNTL: usize = 72;
    const GET_FLAGS: usize = 3;
    // SAFETY: touches no memory.
    let opened = unsafe { raw_syscall::call(FCNTL, [file, GET_FLAGS, 0, 0, 0, 0]) };
    opened > 0 && opened as usize & ACCESS != 0
}

/// Returns the inode of a descriptor's file if it is a regular file.
fn inode_of(file: usize) -> Option<u64> {
    const FSTAT: usize = 5;
    let mut data = [0u64; 18];
    let to = data.as_mut_ptr() as usize;
    // SAFETY: writes 144 bytes.
    let found = unsafe { raw_syscall::call(FSTAT, [file, to, 0, 0, 0, 0]) };
    (found == 0 && data[3] as u32 & 0o170_000 == 0o100_000).then_some(data[1])
}

/// Whether a system call opens a file for writing from which code was translated.
///
/// # Safety
/// Its arguments must be those of the caller's program.
pub unsafe fn opens_code_for_writing(engine: &Engine, call: &Call) -> bool {
    const NEWFSTATAT: usize = 262;
    const HERE: usize = -100isize as usize;
    let (directory, path, flags) = match call.number {
        nr::OPEN => (HERE, call.arguments[0], call.arguments[1]),
        nr::OPENAT => (call.arguments[0], call.arguments[1], call.arguments[2]),
        _ => return false,
    };
    if flags & ACCESS == 0 {
        return false;
    }
    // `struct stat`: device, inode, links, mode in the lower half of a word, …
    let mut data = [0u64; 18];
    let to = data.as_mut_ptr() as usize;
    // SAFETY: writes 144 bytes; the kernel reads the path.
    let found = unsafe { raw_syscall::call(NEWFSTATAT, [directory, path, to, 0, 0, 0]) };
    let regular = data[3] as u32 & 0o170_000 == 0o100_000;
    found == 0 && regular && engine.code_map.shared.has_module_of(data[1])
}

/// Whether a system call lets the program write to its own memory whatever its protection.
///
/// # Safety
/// Its arguments must be those of the caller's program.
pub unsafe fn opens_own_memory(call: &Call) -> bool {
    // SAFETY: touches no memory.
    let own = || unsafe { raw_syscall::call(nr::GETPID, [0; 6]) } as usize;
    let (path, flags) = match call.number {
        nr::OPEN => (call.arguments[0], call.arguments[1]),
        nr::OPENAT => (call.arguments[1], call.arguments[2]),
        _ => return call.arguments[0] == own(),
    };
    if flags & ACCESS == 0 {
        return false;
    }
    let mut text = [0u8; 64];
    // SAFETY: the caller's promise; what cannot be read is not.
    let Some(length) = (unsafe { read_text(path, &mut text) }) else {
        return false;
    };
    is_own_memory(&text[..length], own())
}

/// Reads a string of the program's if it ends within the buffer; its length.
unsafe fn read_text(at: usize, text: &mut [u8; 64]) -> Option<usize> {
    let mut checked = usize::MAX;
    for (index, byte) in text.iter_mut().enumerate() {
        let from = at.checked_add(index)?;
        if from & !7 != checked {
            checked = from & !7;
            if !signal_delivery::readable(checked) {
                return None;
            }
        }
        // SAFETY: just found to be readable.
        *byte = unsafe { *(from as *const u8) };
        if *byte == 0 {
            return Some(index);
        }
    }
    None
}

/// Whether a path is that of the memory of the process `pid`.
fn is_own_memory(path: &[u8], pid: usize) -> bool {
    let middle = path
        .strip_prefix(b"/proc/")
        .and_then(|rest| rest.strip_suffix(b"/mem"));
    let Some(middle) = middle else {
        return false;
    };
    let process = middle.split(|byte| *byte == b'/').next().unwrap_or(middle);
    let number = process.iter().try_fold(0usize, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| usize::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    });
    matches!(process, b"self" | b"thread-self") || (number == Some(pid) && !process.is_empty())
}

fn page_end(start: u64, length: u64) -> u64 {
    start.saturating_add(length).saturating_add(4095) & !4095
}

impl Engine {
    /// A file was mapped. If its code can change through this mapping or a descriptor, the engine
    /// watches writes from now on, or notes that it cannot see them.
    unsafe fn mapped(&mut self, call: &Call) {
        const SHARED: usize = 1;
        /// Number of descriptors that are checked.
        const CHECKED_DESCRIPTORS: usize = 256;
        let [_, _, protection, flags, file, _] = call.arguments;
        let executable = protection & PROT_EXEC != 0;
        let changes = protection & PROT_WRITE != 0 && flags & SHARED != 0;
        if flags & ANONYMOUS != 0 || !(executable || changes) {
            return;
        }
        let Some(inode) = inode_of(file) else { return };
        let others = || {
            (0..CHECKED_DESCRIPTORS)
                .any(|other| is_writable(other) && inode_of(other) == Some(inode))
        };
        if executable && (is_writable(file) || others()) {
            self.slots.watch();
            let maps = super::code_map::read_maps();
            let mut mappings = maps
                .split(|byte| *byte == b'\n')
                .filter_map(crate::proc_maps::parse_line);
            if mappings.any(|other| other.shared && other.writable && other.inode == inode) {
                self.note_unseen_code_changes();
            }
        }
        if changes && self.code_map.shared.has_module_of(inode) {
            self.note_unseen_code_changes();
        }
    }

    /// Makes one of [`writes`] if it is to a file from which code was translated, and invalidates
    /// that code; its result. `None` if the program can make it itself.
    ///
    /// # Safety
    /// The program asked for it.
    pub unsafe fn write(&mut self, call: &Call) -> Option<isize> {
        let inode = inode_of(written(call))?;
        if !self.code_map.shared.has_module_of(inode) {
            return None;
        }
        // SAFETY: the caller's promise. A regular file does not keep us waiting for anybody.
        let result = unsafe { raw_syscall::call(call.number, call.arguments) };
        for (start, end) in self.code_map.shared.modules_of(inode) {
            self.invalidate(start, end);
        }
        Some(result)
    }

    /// Notes that the program can change its code without the engine seeing it. Debuggers open
    /// their own memory only to see whether they can.
    pub fn note_unseen_code_changes(&self) {
        let status = &self.code_map.shared.control().status;
        status.store(STATUS_CODE_CHANGES_UNSEEN, Ordering::Relaxed);
    }

    /// Forgets memory in a range and invalidates its code, which may have changed.
    pub fn forget(&mut self, start: u64, length: u64) {
        self.forget_region(start, length);
        let end = page_end(start, length);
        // A region that was forgotten before may still have translated code.
        if self.code_map.translated.remove(start, end) {
            self.invalidate(start, end);
        }
    }

    /// Forgets what is known of memory in a range, whose code has not changed.
    pub fn forget_region(&mut self, start: u64, length: u64) {
        self.code_map.forget_region(start, page_end(start, length));
    }
}

#[cfg(test)]
mod tests {
    use super::is_own_memory;

    #[test]
    fn own_memory_file_is_distinguished_from_others() {
        for path in [
            "/proc/self/mem",
            "/proc/thread-self/mem",
            "/proc/42/mem",
            "/proc/42/task/43/mem",
            "/proc/self/task/42/mem",
        ] {
            assert!(is_own_memory(path.as_bytes(), 42), "{path}");
        }
        for path in [
            "/proc/43/mem",
            "/proc/self/maps",
            "/proc//mem",
            "/mem",
            "/dev/mem",
            "",
        ] {
            assert!(!is_own_memory(path.as_bytes(), 42), "{path}");
        }
    }
}
