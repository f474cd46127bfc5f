//! Stopping a thread for a moment.

use std::io;

use super::x86_64::Registers;

/// A thread that stands still as long as this lives.
pub struct PtraceStop {
    tid: i32,
    /// A signal that came first, for the thread.
    signal: i32,
    /// Its registers.
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
    /// Stops a thread. To be used by one and the same thread from stop to end.
    ///
    /// # Errors
    /// When the thread is gone, belongs to somebody else, or has a tracer already.
    pub fn new(tid: i32) -> io::Result<Self> {
        ptrace(libc::PTRACE_SEIZE, tid, 0)?;
        // From here on the thread is ours; if it ends, waiting says so.
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
        // A stop of ptrace's own has an event in the upper half; else a signal is on its way.
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

/// Whether a thread waits for something at this moment; a thread that is gone does not.
pub fn sleeps(pid: i32, tid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"));
    let stat = stat.unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.bytes().next());
    matches!(state, Some(b'S' | b'D'))
}

/// Memory of another process: fills as much of `buffer` as can be read from its beginning, and
/// says how much that is.
pub fn read_memory(pid: i32, address: u64, buffer: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: buffer.len(),
    };
    // SAFETY: the kernel writes into `buffer` only; the other address is of another process.
    let n = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(n).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_thread_is_stopped_and_goes_on() {
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
                assert!(stat.contains(") R "), "{stat}");
            }
            Err(error) => genba_testing::skip(
                "a_thread_is_stopped_and_goes_on",
                genba_testing::MACHINE,
                &format!("{error}"),
            ),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(PtraceStop::new(tid).is_err());
    }
}
