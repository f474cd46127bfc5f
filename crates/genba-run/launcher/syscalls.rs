//! The system calls that the launcher needs, by name. Results are `Err(errno)` on failure.

use crate::arch::{nr, syscall};

pub const SIGKILL: i32 = 9;
pub const SIGTERM: i32 = 15;
pub const SIGCHLD: i32 = 17;
pub const SIGCONT: i32 = 18;

pub const ESRCH: i32 = 3;
pub const EINTR: i32 = 4;
pub const ECHILD: i32 = 10;

pub const CLONE_VM: usize = 0x100;
pub const CLONE_VFORK: usize = 0x4000;
pub const CLONE_CHILD_CLEARTID: usize = 0x0020_0000;

pub const CLOCK_MONOTONIC: i32 = 1;
/// `clockid_t` kinds of another process's CPU clock (include/linux/posix-timers_types.h).
pub const CPUCLOCK_PROF: i32 = 0;
pub const CPUCLOCK_VIRT: i32 = 1;
pub const CPUCLOCK_SCHED: i32 = 2;

pub const PR_SET_PDEATHSIG: usize = 1;
pub const PR_SET_NAME: usize = 15;
pub const PR_SET_CHILD_SUBREAPER: usize = 36;

pub const P_ALL: usize = 0;
pub const P_PID: usize = 1;
pub const WNOHANG: usize = 1;
pub const WEXITED: usize = 4;
pub const WNOWAIT: usize = 0x0100_0000;

pub const O_RDONLY: usize = 0;
pub const O_RDWR: usize = 2;
pub const O_DIRECTORY: usize = 0o200_000;
pub const O_CLOEXEC: usize = 0o2_000_000;
pub const O_NONBLOCK: usize = 0o4_000;

pub const POLLIN: i16 = 1;

const AT_FDCWD: usize = -100isize as usize;
const MSG_WAITALL: usize = 0x100;
const MSG_NOSIGNAL: usize = 0x4000;
const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
const F_SETFD: usize = 2;
const F_DUPFD_CLOEXEC: usize = 1030;

pub type Result<T> = core::result::Result<T, i32>;

fn check(result: isize) -> Result<usize> {
    if result < 0 {
        Err(-result as i32)
    } else {
        Ok(result as usize)
    }
}

/// A call whose arguments are all numbers.
fn plain(number: usize, a: usize, b: usize, c: usize) -> Result<usize> {
    // SAFETY: callers in this file use it only for calls that take no pointers.
    check(unsafe { syscall(number, [a, b, c, 0, 0, 0]) })
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct PollFd {
    pub fd: i32,
    pub events: i16,
    pub revents: i16,
}

/// `struct rusage`: utime, stime (seconds, microseconds), maxrss, ixrss, idrss, isrss, minflt,
/// majflt, nswap, inblock, oublock, msgsnd, msgrcv, nsignals, nvcsw, nivcsw.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Rusage(pub [i64; 18]);

impl Rusage {
    pub fn user_us(&self) -> u64 {
        (self.0[0] * 1_000_000 + self.0[1]) as u64
    }
    pub fn system_us(&self) -> u64 {
        (self.0[2] * 1_000_000 + self.0[3]) as u64
    }
}

/// What `waitid` says of a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub pid: i32,
    pub code: i32,
    pub status: i32,
}

pub fn getpid() -> i32 {
    plain(nr::GETPID, 0, 0, 0).unwrap_or(0) as i32
}

pub fn getppid() -> i32 {
    plain(nr::GETPPID, 0, 0, 0).unwrap_or(0) as i32
}

/// A copy of this process; `Ok(0)` in the copy.
pub fn fork() -> Result<i32> {
    plain(nr::FORK, 0, 0, 0).map(|pid| pid as i32)
}

pub fn exit(code: usize) -> ! {
    loop {
        let _ = plain(nr::EXIT_GROUP, code, 0, 0);
    }
}

pub fn close(fd: i32) {
    let _ = plain(nr::CLOSE, fd as usize, 0, 0);
}

pub fn kill(pid: i32, signal: i32) -> Result<usize> {
    plain(nr::KILL, pid as usize, signal as usize, 0)
}

pub fn pidfd_open(pid: i32) -> Result<i32> {
    plain(nr::PIDFD_OPEN, pid as usize, 0, 0).map(|fd| fd as i32)
}

pub fn pidfd_send_signal(pidfd: i32, signal: i32) -> Result<usize> {
    plain(nr::PIDFD_SEND_SIGNAL, pidfd as usize, signal as usize, 0)
}

pub fn setpgid(group: u32) -> Result<usize> {
    plain(nr::SETPGID, 0, group as usize, 0)
}

pub fn prctl(option: usize, value: usize) -> Result<usize> {
    plain(nr::PRCTL, option, value, 0)
}

pub fn set_name(name: &core::ffi::CStr) {
    // SAFETY: the name is a string of C.
    let _ = unsafe { syscall(nr::PRCTL, [PR_SET_NAME, name.as_ptr() as usize, 0, 0, 0, 0]) };
}

pub fn dup_to(from: i32, to: i32) -> Result<usize> {
    if from == to {
        return plain(nr::FCNTL, from as usize, F_SETFD, 0);
    }
    plain(nr::DUP3, from as usize, to as usize, 0)
}

pub fn dup_above(fd: i32, lowest: i32) -> Result<i32> {
    plain(nr::FCNTL, fd as usize, F_DUPFD_CLOEXEC, lowest as usize).map(|fd| fd as i32)
}

pub fn clock(id: i32) -> Result<u64> {
    let mut time = Timespec::default();
    // SAFETY: `time` is a writable timespec.
    check(unsafe {
        syscall(
            nr::CLOCK_GETTIME,
            [id as usize, &raw mut time as usize, 0, 0, 0, 0],
        )
    })?;
    Ok(time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64)
}

pub fn now() -> u64 {
    clock(CLOCK_MONOTONIC).unwrap_or(0)
}

/// The clock id of a process's CPU time: MAKE_PROCESS_CPUCLOCK of the kernel.
pub fn process_clock(pid: i32, kind: i32) -> i32 {
    (!pid << 3) | kind
}

/// Blocks every signal (`all`) or none.
pub fn set_signal_mask(all: bool) {
    const SIG_SETMASK: usize = 2;
    let mask: u64 = if all { u64::MAX } else { 0 };
    // SAFETY: the kernel's signal set has eight bytes.
    let _ = unsafe {
        syscall(
            nr::RT_SIGPROCMASK,
            [SIG_SETMASK, &raw const mask as usize, 0, 8, 0, 0],
        )
    };
}

pub fn signalfd(signals: &[i32]) -> Result<i32> {
    let mask: u64 = signals
        .iter()
        .fold(0, |mask, signal| mask | 1 << (signal - 1));
    let any = -1isize as usize;
    // SAFETY: the mask has the eight bytes that are announced.
    check(unsafe {
        let flags = O_CLOEXEC | O_NONBLOCK;
        syscall(
            nr::SIGNALFD4,
            [any, &raw const mask as usize, 8, flags, 0, 0],
        )
    })
    .map(|fd| fd as i32)
}

pub fn ppoll(fds: &mut [PollFd], timeout: Option<u64>) -> Result<usize> {
    let mut time = Timespec::default();
    let mut pointer = 0;
    if let Some(left) = timeout {
        time.seconds = (left / 1_000_000_000) as i64;
        time.nanoseconds = (left % 1_000_000_000) as i64;
        pointer = &raw mut time as usize;
    }
    // SAFETY: array and timespec are valid; no signal mask is passed.
    check(unsafe {
        syscall(
            nr::PPOLL,
            [fds.as_mut_ptr() as usize, fds.len(), pointer, 0, 8, 0],
        )
    })
}

pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the buffer is writable for its length.
    check(unsafe {
        syscall(
            nr::READ,
            [
                fd as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            ],
        )
    })
}

pub fn open(directory: Option<i32>, path: &core::ffi::CStr, flags: usize) -> Result<i32> {
    let at = directory.map_or(AT_FDCWD, |fd| fd as usize);
    // SAFETY: the path is a string of C.
    check(unsafe {
        syscall(
            nr::OPENAT,
            [at, path.as_ptr() as usize, flags | O_CLOEXEC, 0, 0, 0],
        )
    })
    .map(|fd| fd as i32)
}

pub fn getdents(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the buffer is writable for its length.
    check(unsafe {
        let pointer = buffer.as_mut_ptr() as usize;
        syscall(
            nr::GETDENTS64,
            [fd as usize, pointer, buffer.len(), 0, 0, 0],
        )
    })
}

/// Sends all of `bytes`; an error means that nobody listens any more.
pub fn send(socket: i32, bytes: &[u8]) -> Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        // SAFETY: `rest` is readable for its length.
        let sent = check(unsafe {
            let pointer = rest.as_ptr() as usize;
            syscall(
                nr::SENDTO,
                [socket as usize, pointer, rest.len(), MSG_NOSIGNAL, 0, 0],
            )
        });
        match sent {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Fills `buffer` from the socket; false if the other side has gone.
pub fn receive_all(socket: i32, buffer: &mut [u8]) -> bool {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        // SAFETY: `rest` is writable for its length.
        let got = check(unsafe {
            let pointer = rest.as_mut_ptr() as usize;
            syscall(
                nr::RECVFROM,
                [socket as usize, pointer, rest.len(), MSG_WAITALL, 0, 0],
            )
        });
        match got {
            Ok(0) => return false,
            Ok(count) => filled += count,
            Err(EINTR) => {}
            Err(_) => return false,
        }
    }
    true
}

#[repr(C)]
struct MsgHdr {
    name: usize,
    name_length: u32,
    vectors: *mut [usize; 2],
    vector_count: usize,
    control: *mut u8,
    control_length: usize,
    flags: i32,
}

/// Fills `buffer` with the beginning of a request and takes the descriptors that came with it
/// (close-on-exec). Returns their number, or `None` if the other side has gone or sent more
/// descriptors than fit.
pub fn receive_with_fds(socket: i32, buffer: &mut [u8], fds: &mut [i32; 4]) -> Option<usize> {
    #[repr(C, align(8))]
    struct Control([u8; 32]);
    const MSG_CTRUNC: i32 = 8;
    // struct cmsghdr: length, level, type; then the descriptors.
    let mut control = Control([0; 32]);
    let mut vector = [buffer.as_mut_ptr() as usize, buffer.len()];
    let mut message = MsgHdr {
        name: 0,
        name_length: 0,
        vectors: &raw mut vector,
        vector_count: 1,
        control: control.0.as_mut_ptr(),
        control_length: control.0.len(),
        flags: 0,
    };
    let flags = MSG_CMSG_CLOEXEC | MSG_WAITALL;
    let got = loop {
        // SAFETY: the header, its one vector and the control buffer are valid for writing.
        let got = check(unsafe {
            syscall(
                nr::RECVMSG,
                [socket as usize, &raw mut message as usize, flags, 0, 0, 0],
            )
        });
        match got {
            Err(EINTR) => {}
            other => break other.ok()?,
        }
    };
    if got == 0 || message.flags & MSG_CTRUNC != 0 {
        return None;
    }
    let mut count = 0;
    if message.control_length >= 16 {
        let length = usize::from_le_bytes(control.0.first_chunk::<8>().copied()?);
        let is_rights = control.0.get(8..16)? == [1, 0, 0, 0, 1, 0, 0, 0];
        if is_rights && length >= 16 {
            for bytes in control.0.get(16..length.min(32))?.chunks_exact(4) {
                *fds.get_mut(count)? = i32::from_le_bytes(bytes.try_into().ok()?);
                count += 1;
            }
        }
    }
    let rest = buffer.get_mut(got..)?;
    (rest.is_empty() || receive_all(socket, rest)).then_some(count)
}

/// `waitid`; `Ok(None)` if no child has ended yet (with WNOHANG).
pub fn wait(kind: usize, pid: i32, options: usize, usage: &mut Rusage) -> Result<Option<Ended>> {
    // siginfo_t: si_code at word 2, si_pid at word 4, si_status at word 6.
    let mut info = [0i32; 32];
    // SAFETY: siginfo_t has 128 bytes, and rusage is as the kernel has it.
    check(unsafe {
        let usage = &raw mut *usage as usize;
        syscall(
            nr::WAITID,
            [
                kind,
                pid as usize,
                info.as_mut_ptr() as usize,
                options,
                usage,
                0,
            ],
        )
    })?;
    Ok((info[4] != 0).then_some(Ended {
        pid: info[4],
        code: info[2],
        status: info[6],
    }))
}

/// Waits until `*word` is no longer `value`, or for no reason.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32) {
    // SAFETY: the word is aligned and lives; FUTEX_WAIT only reads it.
    let _ = unsafe {
        syscall(
            nr::FUTEX,
            [word.as_ptr() as usize, 0, value as usize, 0, 0, 0],
        )
    };
}

/// Wakes who waits on `word`.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    // SAFETY: FUTEX_WAKE uses the address only as a key.
    let _ = unsafe { syscall(nr::FUTEX, [word.as_ptr() as usize, 1, 1, 0, 0, 0]) };
}

/// Fresh zeroed memory; pages become resident as they are touched.
pub fn map(length: usize) -> Result<*mut u8> {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x4022;
    let none = -1isize as usize;
    // SAFETY: a new anonymous mapping touches nothing that exists.
    check(unsafe {
        let flags = PRIVATE_ANONYMOUS_NORESERVE;
        syscall(nr::MMAP, [0, length, READ_WRITE, flags, none, 0])
    })
    .map(|address| address as *mut u8)
}

/// Gives a mapping back.
///
/// # Safety
/// Nothing may use the mapping any more.
pub unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: the caller vouches for it.
    let _ = unsafe { syscall(nr::MUNMAP, [address as usize, length, 0, 0, 0, 0]) };
}

pub fn set_affinity(mask: &[u8]) -> Result<usize> {
    // SAFETY: the mask is readable for its length.
    check(unsafe {
        let pointer = mask.as_ptr() as usize;
        syscall(nr::SCHED_SETAFFINITY, [0, mask.len(), pointer, 0, 0, 0])
    })
}

/// `chdir`.
///
/// # Safety
/// `path` must be a string of C.
pub unsafe fn chdir(path: *const u8) -> Result<usize> {
    // SAFETY: the caller vouches for it.
    check(unsafe { syscall(nr::CHDIR, [path as usize, 0, 0, 0, 0, 0]) })
}

/// `execve`: returns only the error.
///
/// # Safety
/// `path` must be a string of C, the others arrays of such that end with a null pointer.
pub unsafe fn execve(path: *const u8, argv: *const usize, envp: *const usize) -> i32 {
    // SAFETY: the caller vouches for it.
    let result = unsafe {
        syscall(
            nr::EXECVE,
            [path as usize, argv as usize, envp as usize, 0, 0, 0],
        )
    };
    -result as i32
}
