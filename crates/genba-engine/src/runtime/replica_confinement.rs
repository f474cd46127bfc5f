//! What keeps a replica from affecting anything but its own memory: it computes with data that may be wrong.
//!
//! * The program's system calls end it before they are made ([`super::syscall_interception`]).
//! * The kernel refuses all but those that the engine needs, by a filter: none that writes, opens for writing,
//!   sends, or creates anything. A forbidden one ends the process.
//! * Memory that is shared with others is read-only, apart from the engine's.
//! * Its death leaves no core dump, and sends its parent no signal.

use crate::count_file_layout::FILE_SIZE;
use crate::proc_maps;
use crate::raw_syscall::{self, nr};

use super::code_map::read_maps;
use super::count_file::CountFile;

const SIGKILL: usize = 9;
const SET_PARENT_DEATH_SIGNAL: usize = 1;
const SET_DUMPABLE: usize = 4;
const SET_SECCOMP: usize = 22;
const SET_NO_NEW_PRIVILEGES: usize = 38;
/// `SECCOMP_MODE_FILTER`.
const FILTER: usize = 2;

/// `AUDIT_ARCH_X86_64`.
const ARCHITECTURE: u32 = 0xC000_003E;
/// `SECCOMP_RET_ALLOW`.
const ALLOW: u32 = 0x7FFF_0000;
/// `SECCOMP_RET_KILL_PROCESS`.
const KILL: u32 = 0x8000_0000;
/// `O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE`.
const OPENS_FOR_WRITING: u32 = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20_000_000;

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Operation {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    operations: *const Operation,
}

const fn load(offset: u32) -> Operation {
    Operation {
        code: 0x20,
        if_true: 0,
        if_false: 0,
        value: offset,
    }
}

const fn if_equal(value: u32, if_true: u8, if_false: u8) -> Operation {
    Operation {
        code: 0x15,
        if_true,
        if_false,
        value,
    }
}

const fn if_any_bit(value: u32, if_true: u8, if_false: u8) -> Operation {
    Operation {
        code: 0x45,
        if_true,
        if_false,
        value,
    }
}

const fn answer(value: u32) -> Operation {
    Operation {
        code: 0x06,
        if_true: 0,
        if_false: 0,
        value,
    }
}

/// Offset in `struct seccomp_data` of the lower half of an argument.
const fn argument(number: u32) -> u32 {
    16 + number * 8
}

/// System calls that the engine makes in a replica.
const ALLOWED: [usize; 15] = [
    nr::READ,
    nr::CLOSE,
    nr::MPROTECT,
    nr::MUNMAP,
    nr::RT_SIGPROCMASK,
    nr::RT_SIGRETURN,
    nr::MADVISE,
    nr::GETPID,
    nr::GETTID,
    nr::FUTEX,
    nr::CLOCK_GETTIME,
    nr::GETRUSAGE,
    nr::TIMER_SETTIME,
    nr::TIMER_GETTIME,
    nr::EXIT_GROUP,
];

const OPERATIONS: usize = 3 + ALLOWED.len() + 3 + 1 + 3 * 2 + 2;

/// The filter.
const fn operations() -> [Operation; OPERATIONS] {
    let mut all = [answer(KILL); OPERATIONS];
    let kill = OPERATIONS as u8 - 2;
    let allow = OPERATIONS as u8 - 1;
    let checks = (3 + ALLOWED.len() + 3 + 1) as u8;
    all[0] = load(4);
    all[1] = if_equal(ARCHITECTURE, 0, kill - 2);
    all[2] = load(0);
    let mut at = 3;
    while at < 3 + ALLOWED.len() {
        all[at] = if_equal(ALLOWED[at - 3] as u32, allow - at as u8 - 1, 0);
        at += 1;
    }
    all[at] = if_equal(nr::OPEN as u32, checks - at as u8 - 1, 0);
    all[at + 1] = if_equal(nr::OPENAT as u32, checks + 2 - at as u8 - 2, 0);
    all[at + 2] = if_equal(nr::MMAP as u32, checks + 4 - at as u8 - 3, 0);
    all[at + 3] = answer(KILL);
    let at = checks as usize;
    all[at] = load(argument(1));
    all[at + 1] = if_any_bit(OPENS_FOR_WRITING, kill - checks - 2, allow - checks - 2);
    all[at + 2] = load(argument(2));
    all[at + 3] = if_any_bit(OPENS_FOR_WRITING, kill - checks - 4, allow - checks - 4);
    // Only memory that is not a file's.
    all[at + 4] = load(argument(4));
    all[at + 5] = if_equal(u32::MAX, allow - checks - 6, kill - checks - 6);
    all[kill as usize] = answer(KILL);
    all[allow as usize] = answer(ALLOW);
    all
}

static FILTER_OPERATIONS: [Operation; OPERATIONS] = operations();

/// Makes all memory read-only that is shared and not the engine's own: its count file and an area.
///
/// # Safety
/// The process must be a replica.
pub unsafe fn protect_shared_memory(shared: CountFile, area: (usize, usize)) {
    const READ: usize = 1;
    let maps = read_maps();
    let own = |start: u64| {
        let start = start as usize;
        (shared.0..shared.0 + FILE_SIZE as usize).contains(&start)
            || (area.0..area.1).contains(&start)
    };
    let lines = maps.split(|&byte| byte == b'\n');
    for one in lines.filter_map(proc_maps::parse_line) {
        if one.shared && one.writable && !own(one.start) {
            let bytes = (one.end - one.start) as usize;
            // SAFETY: the replica's stores there fault, which ends it.
            let result = unsafe {
                raw_syscall::call(nr::MPROTECT, [one.start as usize, bytes, READ, 0, 0, 0])
            };
            if result != 0 {
                super::replica::exit();
            }
        }
    }
}

/// Confines the calling process for good; whether the kernel can.
///
/// # Safety
/// The process must be a replica.
#[must_use]
pub unsafe fn confine() -> bool {
    let program = Program {
        length: OPERATIONS as u16,
        operations: FILTER_OPERATIONS.as_ptr(),
    };
    let filter = &raw const program as usize;
    // SAFETY: the kernel copies the filter.
    unsafe {
        let control = |option, a, b| raw_syscall::call(nr::PRCTL, [option, a, b, 0, 0, 0]) == 0;
        control(SET_PARENT_DEATH_SIGNAL, SIGKILL, 0)
            && control(SET_DUMPABLE, 0, 0)
            && control(SET_NO_NEW_PRIVILEGES, 1, 0)
            && control(SET_SECCOMP, FILTER, filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executes the filter for a call.
    fn decide(architecture: u32, number: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let one = FILTER_OPERATIONS[at];
            at += 1;
            match one.code {
                0x20 => {
                    value = match one.value {
                        0 => number,
                        4 => architecture,
                        offset => arguments[(offset as usize - 16) / 8],
                    }
                }
                0x15 | 0x45 => {
                    let holds = match one.code {
                        0x15 => value == one.value,
                        _ => value & one.value != 0,
                    };
                    at += usize::from(if holds { one.if_true } else { one.if_false });
                }
                _ => return one.value,
            }
        }
    }

    #[test]
    fn only_calls_of_the_engine_are_allowed() {
        for number in 0..512u32 {
            let decided = decide(ARCHITECTURE, number, [0; 6]);
            let allowed = ALLOWED.contains(&(number as usize))
                || [nr::OPEN, nr::OPENAT].contains(&(number as usize));
            assert_eq!(decided == ALLOW, allowed, "{number}");
        }
        assert_eq!(decide(0x4000_0003, nr::READ as u32, [0; 6]), KILL);
        assert_eq!(decide(ARCHITECTURE, 0x4000_0000, [0; 6]), KILL);
    }

    #[test]
    fn files_are_opened_for_reading_and_mapped_never() {
        let open = |flags| decide(ARCHITECTURE, nr::OPEN as u32, [0, flags, 0, 0, 0, 0]);
        assert_eq!(open(0o2_000_000), ALLOW);
        for flags in [1, 2, 0o100, 0o1001, 0o20_200_001] {
            assert_eq!(open(flags), KILL, "{flags:o}");
            let at = decide(ARCHITECTURE, nr::OPENAT as u32, [0, 0, flags, 0, 0, 0]);
            assert_eq!(at, KILL, "{flags:o}");
        }
        let map = |fd| decide(ARCHITECTURE, nr::MMAP as u32, [0, 0, 3, 1, fd, 0]);
        assert_eq!(map(u32::MAX), ALLOW);
        assert_eq!(map(3), KILL);
    }
}
