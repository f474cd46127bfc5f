//! Stopping a thread with ptrace to read its registers.

use std::io;

use super::x86_64::Registers;

/// A thread that is stopped until this value is dropped.
pub struct PtraceStop {
    tid: i32,
    /// A signal that stopped the thread first and must be delivered to it; 0 for none.
    signal: i32,
    /// The thread's registers.
    pub registers: Registers,
}

fn ptrace(request: libc::c_uint, tid: i32, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests used here reads or writes this process's memory by `data`,
    // except GETREGS, whose `data` points to a whole structure of registers.
    let result = unsafe { libc::ptrace(request, tid, 0usize, data) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

impl PtraceStop {
    /// Stops a thread. Must be dropped by the same thread that called this (ptrace's rule).
    ///
    /// # Errors
    /// When the thread has ended, belongs to another user, or is being traced already.
    pub fn new(tid: i32) -> io::Result<Self> {
        ptrace(libc::PTRACE_SEIZE, tid, 0)?;
        // If the thread ends now, waitpid reports that.
        let _ = ptrace(libc::PTRACE_INTERRUPT, tid, 0);
        let mut status = 0;
        loop {
            // SAFETY: `status` is ours.
            let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
            if waited == tid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINTR) {
                return Err(error);
            }
        }
        if !libc::WIFSTOPPED(status) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // A ptrace stop has an event in the upper half; else a signal is being delivered.
        let event = status >> 16;
        let signal = if event == 0 {
            libc::WSTOPSIG(status)
        } else {
            0
        };
        // SAFETY: all zeros are registers.
        let registers: Registers = unsafe { std::mem::zeroed() };
        let mut halt = Self {
            tid,
            signal,
            registers,
        };
        let into = (&raw mut halt.registers) as usize;
        ptrace(libc::PTRACE_GETREGS, tid, into)?;
        Ok(halt)
    }
}

impl Drop for PtraceStop {
    fn drop(&mut self) {
        let _ = ptrace(libc::PTRACE_DETACH, self.tid, self.signal as usize);
    }
}

/// Whether a thread sleeps at this moment; false if it has ended.
pub fn sleeps(pid: i32, tid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"));
    let stat = stat.unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.bytes().next());
    matches!(state, Some(b'S' | b'D'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn thread_is_stopped_and_runs_again_when_dropped() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let tid = child.id() as i32;
        match PtraceStop::new(tid) {
            Ok(halt) => {
                assert_ne!(halt.registers.rip, 0);
                let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).unwrap();
                assert!(stat.contains(") t "), "{stat}");
                drop(halt);
                let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).unwrap();
                // Not stopped: a shell that still starts may wait for the disk.
                assert!(!stat.contains(") t ") && !stat.contains(") T "), "{stat}");
            }
            Err(error) => genba_testing::skip(
                "thread_is_stopped_and_runs_again_when_dropped",
                genba_testing::MACHINE,
                &format!("{error}"),
            ),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(PtraceStop::new(tid).is_err());
    }
}
