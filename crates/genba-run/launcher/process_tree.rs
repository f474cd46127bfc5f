//! The processes below the launcher: count them, signal them.
//!
//! The launcher is their subreaper, so orphans become its children; forking twice or `setsid` does
//! not escape it.

use core::ffi::CStr;

use crate::procstat::{self, Process};
use crate::syscalls;

/// Address space for the table: a quarter of a million processes. Only what is used becomes
/// resident.
const TABLE: usize = 4 << 20;

/// A snapshot of `/proc`, unmapped when dropped.
struct Table {
    memory: *mut u8,
    length: usize,
    proc: i32,
}

impl Table {
    /// Reads `/proc` and marks the descendants of this process; `None` without `/proc`.
    fn read() -> Option<Self> {
        let proc =
            syscalls::open(None, c"/proc", syscalls::O_RDONLY | syscalls::O_DIRECTORY).ok()?;
        let Ok(memory) = syscalls::map(TABLE) else {
            syscalls::close(proc);
            return None;
        };
        let mut table = Self {
            memory,
            length: 0,
            proc,
        };
        table.fill();
        procstat::mark_descendants(table.processes(), syscalls::getpid());
        Some(table)
    }

    fn processes(&mut self) -> &mut [Process] {
        // SAFETY: the first `length` entries of the mapping have been written, it is aligned
        // to a page, and `self` is borrowed for as long as the slice.
        unsafe { core::slice::from_raw_parts_mut(self.memory.cast::<Process>(), self.length) }
    }

    fn push(&mut self, process: Process) {
        if (self.length + 1) * size_of::<Process>() <= TABLE {
            // SAFETY: the entry lies within the mapping.
            unsafe {
                self.memory
                    .cast::<Process>()
                    .add(self.length)
                    .write(process)
            };
            self.length += 1;
        }
    }

    fn fill(&mut self) {
        let mut buffer = [0u8; 4096];
        while let Ok(count) = syscalls::getdents(self.proc, &mut buffer) {
            let mut rest = buffer.get(..count).unwrap_or_default();
            if rest.is_empty() {
                return;
            }
            // struct linux_dirent64: inode 8, offset 8, record length 2, type 1, name.
            while let Some(&[low, high]) = rest.get(16..18).and_then(|b| b.first_chunk::<2>()) {
                let length = usize::from(u16::from_le_bytes([low, high]));
                let Some(name) = rest.get(19..length) else {
                    return;
                };
                let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                if let Some(process) = procstat::number(name).and_then(|pid| self.look(pid)) {
                    self.push(process);
                }
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }

    /// Reads one process's line; `None` if it has gone.
    fn look(&self, pid: i32) -> Option<Process> {
        let mut path = [0u8; 24];
        let path = path_of(pid, b"/stat\0", &mut path)?;
        let file = syscalls::open(Some(self.proc), path, syscalls::O_RDONLY).ok()?;
        let mut line = [0u8; 256];
        let count = syscalls::read(file, &mut line);
        syscalls::close(file);
        procstat::parse(pid, line.get(..count.ok()?)?)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        syscalls::close(self.proc);
        // SAFETY: the slices made of the mapping borrowed `self`, which ends here.
        unsafe { syscalls::unmap(self.memory, TABLE) };
    }
}

/// Bytes that the reading calls of a process and of the children that it waited for returned; `None` where the
/// kernel keeps no account, or does not show it. A zombie still has one.
pub fn bytes_read(pid: i32) -> Option<u64> {
    let proc = syscalls::open(None, c"/proc", syscalls::O_RDONLY | syscalls::O_DIRECTORY).ok()?;
    let mut path = [0u8; 24];
    let file = path_of(pid, b"/io\0", &mut path)
        .and_then(|path| syscalls::open(Some(proc), path, syscalls::O_RDONLY).ok());
    syscalls::close(proc);
    let file = file?;
    let mut text = [0u8; 512];
    let count = syscalls::read(file, &mut text);
    syscalls::close(file);
    procstat::bytes_read(text.get(..count.ok()?)?)
}

/// A file of a process below `/proc` as a string of C; its name ends with a zero byte.
fn path_of<'a>(pid: i32, name: &[u8], buffer: &'a mut [u8; 24]) -> Option<&'a CStr> {
    let mut digits = [0u8; 10];
    let mut left = pid.unsigned_abs();
    let mut at = digits.len();
    while left > 0 || at == digits.len() {
        at -= 1;
        *digits.get_mut(at)? = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let digits = digits.get(at..)?;
    buffer.get_mut(..digits.len())?.copy_from_slice(digits);
    let end = digits.len() + name.len();
    buffer
        .get_mut(digits.len()..end)?
        .copy_from_slice(name);
    CStr::from_bytes_with_nul(buffer.get(..end)?).ok()
}

/// Number of live processes below the launcher. Without `/proc`: 0.
pub fn count() -> u64 {
    let Some(mut table) = Table::read() else {
        return 0;
    };
    let ours = table
        .processes()
        .iter()
        .filter(|process| process.ours && process.alive);
    ours.count() as u64
}

/// Sends the signals, in this order, to every live process below the launcher; to the group of
/// `target` alone where there is no `/proc`.
pub fn signal(signals: &[i32], target: i32) {
    let Some(mut table) = Table::read() else {
        for &signal in signals {
            // The group may be somebody else's once the target has been reaped; so this is
            // called with the target's id only while that is ours.
            if target > 0 && syscalls::kill(-target, signal).is_err() {
                let _ = syscalls::kill(target, signal);
            }
        }
        return;
    };
    let me = syscalls::getpid();
    for index in 0..table.length {
        let Some(&process) = table.processes().get(index) else {
            return;
        };
        if process.ours && process.alive {
            signal_one(&table, process, me, signals);
        }
    }
}

fn signal_one(table: &Table, process: Process, me: i32, signals: &[i32]) {
    // A child of the launcher keeps its id until the launcher reaps it. Anybody else may have
    // been reaped since, and its id given to a stranger: hold the process, look again whether
    // it is still one of ours, and only then send.
    let held = if process.parent == me {
        None
    } else {
        match syscalls::pidfd_open(process.pid) {
            Ok(pidfd) => {
                let same = (table.look(process.pid))
                    .is_some_and(|now| now.parent == process.parent || now.parent == me);
                if !same {
                    syscalls::close(pidfd);
                    return;
                }
                Some(pidfd)
            }
            Err(syscalls::ESRCH) => return,
            // An old kernel, or a container that forbids the call.
            Err(_) => None,
        }
    };
    for &signal in signals {
        let _ = match held {
            Some(pidfd) => syscalls::pidfd_send_signal(pidfd, signal),
            None => syscalls::kill(process.pid, signal),
        };
    }
    if let Some(pidfd) = held {
        syscalls::close(pidfd);
    }
}
