//! What a blocked call waits on by name, and who could end the wait.

use genba_model::WaitReason;

use super::descriptor_peers::DescriptorPeers;
use super::file_locks;
use super::io_ring;
use super::polled_set;
use super::system_call::{BlockedCall, WaitedOn};
use crate::process_memory::read_memory;

/// What is waited on, with a name where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// Nothing with a name.
    Nothing,
    /// A word in memory.
    Futex(u64),
    /// A lock of an interpreter by its name, whether scripts run only under it, and the word that is blocked on.
    InterpreterLock(&'static str, bool, Option<u64>),
    /// A descriptor's file.
    Descriptor(String),
    /// A child process; 0 for any.
    Child(i32),
    /// The end of a thread.
    Thread(i32),
}

/// Who could end a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enders {
    /// Nobody among the watched threads.
    Nobody,
    /// This thread.
    Thread(i32),
    /// Any other thread of the process that does not itself wait for such a thing.
    OthersInProcess,
    /// Any other of the watched processes that is at work: by a signal, or by a word in memory that they share.
    OtherProcesses,
    /// Any child of the process.
    Children,
    /// A process at the other end of a pipe or socket: any of its threads but the waiting one.
    Processes(Vec<i32>),
}

/// What a thread waits for, on what, and who could end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedFor {
    /// What for.
    pub reason: WaitReason,
    /// On what.
    pub object: Named,
    /// Who ends it.
    pub enders: Enders,
}

/// Looks up what a blocked call of a process waits for. `is_thread` says whether a number is another
/// thread of that process.
pub fn waited_for(
    pid: i32,
    call: &BlockedCall,
    is_thread: &dyn Fn(i32) -> bool,
    peers: &mut DescriptorPeers,
) -> WaitedFor {
    let (reason, on) = call.waits();
    let plain = |object, enders| WaitedFor {
        reason,
        object,
        enders,
    };
    match on {
        WaitedOn::Nothing => plain(Named::Nothing, Enders::Nobody),
        WaitedOn::Child(child) if child > 0 => plain(Named::Child(child), Enders::Thread(child)),
        WaitedOn::Child(_) => plain(Named::Child(0), Enders::Children),
        WaitedOn::Futex(address) => futex(pid, call, address, is_thread),
        WaitedOn::Descriptor(number) => descriptor(pid, reason, number, reads(call), peers)
            .unwrap_or_else(|| plain(Named::Nothing, Enders::Nobody)),
        WaitedOn::Polled(address, count) => polled_set::of_poll(pid, address, count)
            .map(|polled| polled_set::waited_for(pid, &polled, peers))
            .unwrap_or_else(|| plain(Named::Nothing, Enders::Nobody)),
        WaitedOn::Selected(limit, sets) => polled_set::of_select(pid, limit, sets)
            .map(|polled| polled_set::waited_for(pid, &polled, peers))
            .unwrap_or_else(|| plain(Named::Nothing, Enders::Nobody)),
        WaitedOn::Ring(number) => io_ring::waited_for(pid, number, peers),
        WaitedOn::Epoll(number) => polled_set::of_epoll(pid, number)
            .map(|polled| polled_set::waited_for(pid, &polled, peers))
            .unwrap_or_else(|| plain(Named::Nothing, Enders::Nobody)),
    }
}

/// Whether a call takes data out of its descriptor.
fn reads(call: &BlockedCall) -> bool {
    !matches!(
        call.number,
        libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_pwrite64
            | libc::SYS_pwritev
            | libc::SYS_pwritev2
            | libc::SYS_vmsplice
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendmmsg
            | libc::SYS_sendfile
    )
}

/// The first words of what a futex word belongs to: owner fields tell who holds a lock
/// (glibc's struct_mutex.h and struct_rwlock.h; the word of `pthread_join` is the thread's id).
fn futex(pid: i32, call: &BlockedCall, address: u64, is_thread: &dyn Fn(i32) -> bool) -> WaitedFor {
    const LOCK_PI: u64 = 6;
    const LOCK_PI2: u64 = 13;
    const COMMAND: u64 = 0x7f;
    const TID_MASK: u32 = 0x3fff_ffff;
    /// `__lock` of a mutex with waiters.
    const CONTENDED: u32 = 2;
    /// Largest value of a rwlock's futex words.
    const MAX_RWLOCK_WORD: u32 = 3;
    let mut bytes = [0; 24];
    let read = read_memory(pid, address, &mut bytes);
    let word = |at: usize| -> u32 {
        match bytes.get(at * 4..at * 4 + 4) {
            Some(word) if at * 4 + 4 <= read => {
                u32::from_le_bytes(word.try_into().expect("four bytes"))
            }
            _ => 0,
        }
    };
    let thread = |value: u32| {
        let tid = i32::try_from(value).unwrap_or(0);
        (tid > 1 && is_thread(tid)).then_some(tid)
    };
    let held = |tid| WaitedFor {
        reason: WaitReason::Lock,
        object: Named::Futex(address),
        enders: Enders::Thread(tid),
    };
    let command = call.arguments[1] & COMMAND;
    if call.number == libc::SYS_futex && matches!(command, LOCK_PI | LOCK_PI2) {
        return match thread(word(0) & TID_MASK) {
            Some(tid) => held(tid),
            None => WaitedFor {
                reason: WaitReason::Lock,
                object: Named::Futex(address),
                enders: Enders::OthersInProcess,
            },
        };
    }
    if let Some(tid) = thread(word(0)) {
        return WaitedFor {
            reason: WaitReason::Join,
            object: Named::Thread(tid),
            enders: Enders::Thread(tid),
        };
    }
    if word(0) == CONTENDED
        && let Some(tid) = thread(word(2))
    {
        return held(tid);
    }
    // The two words of a rwlock that are waited on are 16 and 12 bytes before the writer's id.
    if (1..=MAX_RWLOCK_WORD).contains(&word(0))
        && let Some(tid) = thread(word(4)).or_else(|| thread(word(3)))
    {
        return held(tid);
    }
    // Locks that do not say whose they are have the same three values (U. Drepper, "Futexes are tricky", 2011; Rust's,
    // Go's, glibc's own).
    let is_lock = word(0) == CONTENDED && call.arguments[2] as u32 == CONTENDED;
    WaitedFor {
        reason: match is_lock {
            true => WaitReason::Lock,
            false => WaitReason::Condition,
        },
        object: Named::Futex(address),
        enders: Enders::OthersInProcess,
    }
}

/// What a wait in a call on a descriptor is for, if the descriptor is known.
pub fn of_call(
    pid: i32,
    number: i64,
    descriptor: Option<i32>,
    peers: &mut DescriptorPeers,
) -> WaitedFor {
    let first = descriptor.map_or(u64::MAX, |one| one as u64);
    let call = BlockedCall {
        number,
        // Of `poll` one descriptor; the other calls do not ask for it.
        arguments: [first, 1, 0, 0, 0, 0],
        stack_pointer: 0,
        instruction: 0,
    };
    let (reason, on) = call.waits();
    let found = match on {
        WaitedOn::Polled(..) => descriptor.and_then(|one| of_descriptor(pid, one, peers)),
        WaitedOn::Descriptor(number) => self::descriptor(pid, reason, number, reads(&call), peers),
        _ => None,
    };
    found.unwrap_or(WaitedFor {
        reason,
        object: Named::Nothing,
        enders: Enders::Nobody,
    })
}

/// What a wait for data of a descriptor is for.
pub fn of_descriptor(pid: i32, number: i32, peers: &mut DescriptorPeers) -> Option<WaitedFor> {
    descriptor(pid, WaitReason::Poll, number, true, peers)
}

fn descriptor(
    pid: i32,
    called: WaitReason,
    number: i32,
    reads: bool,
    peers: &mut DescriptorPeers,
) -> Option<WaitedFor> {
    let link = format!("/proc/{pid}/fd/{number}");
    let name = std::fs::read_link(&link)
        .ok()?
        .to_string_lossy()
        .into_owned();
    let (reason, enders) = match name.split_once(':').unwrap_or(("", "")).0 {
        "pipe" => (WaitReason::Pipe, peers.other_ends(pid, &name, reads)),
        "socket" => (WaitReason::Socket, peers.other_ends(pid, &name, reads)),
        "anon_inode" if name.contains("timerfd") => (WaitReason::Sleep, Enders::Nobody),
        "anon_inode" if name.contains("eventfd") => {
            (WaitReason::Condition, Enders::OthersInProcess)
        }
        "anon_inode" if name.contains("pidfd") => (WaitReason::Child, Enders::Children),
        "anon_inode" => (WaitReason::Poll, Enders::Nobody),
        _ if is_terminal(&name) => (WaitReason::Terminal, Enders::Nobody),
        _ if called == WaitReason::Fsync => (called, Enders::Nobody),
        _ if called == WaitReason::Lock => (called, file_locks::holder(pid)),
        _ if is_fifo(&link) => (WaitReason::Pipe, peers.other_ends(pid, &name, reads)),
        _ if !reads && writes_through(pid, number) => (WaitReason::Fsync, Enders::Nobody),
        _ => (WaitReason::File, Enders::Nobody),
    };
    Some(WaitedFor {
        reason,
        object: Named::Descriptor(name),
        enders,
    })
}

fn is_terminal(name: &str) -> bool {
    name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") || name == "/dev/console"
}

fn is_fifo(link: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(link).is_ok_and(|found| found.file_type().is_fifo())
}

/// Whether each write to a descriptor reaches the disk (O_SYNC, O_DSYNC).
fn writes_through(pid: i32, number: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let flags = text
        .lines()
        .find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & (libc::O_SYNC | libc::O_DSYNC) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(number: i64, arguments: [u64; 6]) -> BlockedCall {
        BlockedCall {
            number,
            arguments,
            stack_pointer: 0,
            instruction: 0,
        }
    }

    fn look(words: &[u32], threads: &[i32], arguments: [u64; 2]) -> WaitedFor {
        let pid = std::process::id() as i32;
        let address = words.as_ptr() as u64;
        let call = blocked(
            libc::SYS_futex,
            [address, arguments[0], arguments[1], 0, 0, 0],
        );
        let is_thread = |tid: i32| threads.contains(&tid);
        waited_for(pid, &call, &is_thread, &mut DescriptorPeers::default())
    }

    #[test]
    fn owners_are_read_from_locks() {
        // pthread_mutex_t: lock, count, owner.
        let mutex = look(&[2, 0, 77, 1, 0, 0], &[77], [0, 2]);
        assert_eq!(
            (mutex.reason, mutex.enders),
            (WaitReason::Lock, Enders::Thread(77))
        );
        // The word of pthread_join.
        let join = look(&[77, 0, 0, 0, 0, 0], &[77], [0, 77]);
        assert_eq!(
            (join.reason, join.object),
            (WaitReason::Join, Named::Thread(77))
        );
        // pthread_rwlock_t from __wrphase_futex on, and from __writers_futex on.
        let readers = look(&[2, 1, 0, 0, 77, 0], &[77], [0, 2]);
        assert_eq!(
            (readers.reason, readers.enders),
            (WaitReason::Lock, Enders::Thread(77))
        );
        let writers = look(&[2, 0, 0, 77, 0, 0], &[77], [0, 2]);
        assert_eq!(writers.enders, Enders::Thread(77));
        // FUTEX_LOCK_PI with waiters bit.
        let pi = look(&[0x8000_0000 | 77, 0, 0, 0, 0, 0], &[77], [6 | 128, 0]);
        assert_eq!(
            (pi.reason, pi.enders),
            (WaitReason::Lock, Enders::Thread(77))
        );
        // Numbers that are not threads tell nothing: a lock that does not say whose it is, or a condition.
        for (expected, reason) in [(2, WaitReason::Lock), (0, WaitReason::Condition)] {
            let other = look(&[2, 0, 77, 1, 0, 0], &[78], [0, expected]);
            let found = (other.reason, other.enders);
            assert_eq!(found, (reason, Enders::OthersInProcess));
        }
    }

    #[test]
    fn descriptors_are_named() {
        let pid = std::process::id() as i32;
        let mut peers = DescriptorPeers::default();
        let mut look = |number: i64, fd: i32| {
            let call = blocked(number, [fd as u64, 0, 0, 0, 0, 0]);
            waited_for(pid, &call, &|_| false, &mut peers)
        };
        use std::os::fd::AsRawFd;
        let (reader, _writer) = std::io::pipe().unwrap();
        let pipe = look(libc::SYS_read, reader.as_raw_fd());
        assert_eq!(pipe.reason, WaitReason::Pipe);
        let file = tempfile::NamedTempFile::new().unwrap();
        let fd = file.as_file().as_raw_fd();
        assert_eq!(look(libc::SYS_write, fd).reason, WaitReason::File);
        let synced = look(libc::SYS_fdatasync, fd);
        assert_eq!(synced.reason, WaitReason::Fsync);
        assert_eq!(
            synced.object,
            Named::Descriptor(file.path().display().to_string())
        );
        use std::os::unix::fs::OpenOptionsExt;
        let through = std::fs::OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_DSYNC)
            .open(file.path())
            .unwrap();
        assert_eq!(
            look(libc::SYS_write, through.as_raw_fd()).reason,
            WaitReason::Fsync
        );
    }
}
