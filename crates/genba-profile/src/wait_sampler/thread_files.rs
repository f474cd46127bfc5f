//! A thread's files in `/proc`, kept open while it is watched.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::system_call::BlockedCall;

/// The kernel's account of a thread (`/proc/TID/schedstat`, Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time on a CPU, ns.
    pub running: u64,
    /// Time runnable without a CPU, ns.
    pub runnable: u64,
    /// How often it got a CPU.
    pub slices: u64,
}

impl SchedStat {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace().map(str::parse);
        let mut next = || words.next()?.ok();
        Some(Self {
            running: next()?,
            runnable: next()?,
            slices: next()?,
        })
    }
}

/// The open files of a thread.
#[derive(Debug)]
pub struct ThreadFiles {
    schedstat: File,
    /// `None` where this user may not trace the thread.
    syscall: Option<File>,
}

impl ThreadFiles {
    /// Opens them; `None` if the thread has ended.
    pub fn open(pid: i32, tid: i32) -> Option<Self> {
        let path = |name: &str| format!("/proc/{pid}/task/{tid}/{name}");
        Some(Self {
            schedstat: File::open(path("schedstat")).ok()?,
            syscall: File::open(path("syscall")).ok(),
        })
    }

    /// The account; `None` if the thread has ended.
    pub fn account(&self) -> Option<SchedStat> {
        let mut buffer = [0; 96];
        SchedStat::parse(text(&self.schedstat, &mut buffer)?)
    }

    /// Whether blocked calls can be read.
    pub fn is_readable(&self) -> bool {
        let mut buffer = [0; 8];
        self.syscall
            .as_ref()
            .is_some_and(|file| file.read_at(&mut buffer, 0).is_ok())
    }

    /// The call in which the thread is blocked; `None` while it runs, is runnable, or has ended.
    pub fn blocked(&self) -> Option<BlockedCall> {
        let mut buffer = [0; 256];
        BlockedCall::parse(text(self.syscall.as_ref()?, &mut buffer)?)
    }
}

fn text<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
    let read = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(&buffer[..read]).ok()
}

/// Bytes and calls of a process (`/proc/PID/io`, proc(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes that its reading calls returned.
    pub read_bytes: u64,
    /// Bytes that its writing calls passed.
    pub written_bytes: u64,
    /// Reading calls.
    pub reads: u64,
    /// Writing calls.
    pub writes: u64,
}

impl ProcessIo {
    /// Reads the account of a process; `None` where it has ended or may not be read.
    pub fn of(pid: i32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        Some(Self {
            read_bytes: field("rchar:")?,
            written_bytes: field("wchar:")?,
            reads: field("syscr:")?,
            writes: field("syscw:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_thread_is_read() {
        let pid = std::process::id() as i32;
        // SAFETY: no arguments.
        let tid = unsafe { libc::gettid() };
        let files = ThreadFiles::open(pid, tid).unwrap();
        // The account of a thread that runs is brought up to date when it gives up its CPU.
        while files.account().unwrap().running == 0 {
            std::thread::yield_now();
        }
        assert_eq!(SchedStat::parse("1 2"), None);
        assert!(ThreadFiles::open(pid, 1 << 30).is_none());
        assert!(ProcessIo::of(pid).is_some());
    }
}
