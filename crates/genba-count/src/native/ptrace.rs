//! A process under ptrace, until the engine has been injected into it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// The registers that `PTRACE_GETREGS` returns.
pub type Registers = libc::user_regs_struct;

/// Maximum time for which a killed process is waited for; only one that is stuck in the kernel takes
/// as long.
const MAX_TIME_TO_END: Duration = Duration::from_secs(5);

/// A traced process. If it is dropped while attached, the process is killed and reaped: until then
/// its parent would wait for it.
pub struct Tracee {
    pid: i32,
    /// The thread that was attached to. It gets the process's number when it executes a program.
    thread: i32,
    attached: bool,
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn request(what: libc::c_uint, number: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::ptrace(what, number, 0usize, signal as usize) })
}

/// Polls a thread of ours: its number and, if it has a new status, that; `None` if it is not ours.
fn poll_thread(number: i32) -> Option<(i32, Option<i32>)> {
    let mut status = 0;
    let flags = libc::__WALL | libc::WNOHANG;
    // SAFETY: writes the status.
    match unsafe { libc::waitpid(number, &raw mut status, flags) } {
        0 => Some((number, None)),
        found if found > 0 => Some((number, Some(status))),
        _ => None,
    }
}

impl Tracee {
    /// Attaches to a process that has not executed its program yet. The process is killed if genba
    /// dies.
    pub fn seize(pid: i32) -> io::Result<Self> {
        let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
        // SAFETY: no memory is passed.
        let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0usize, options as usize) };
        check(result).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("cannot attach to it with ptrace: {error}"),
            )
        })?;
        Ok(Self {
            pid,
            thread: pid,
            attached: true,
        })
    }

    /// Returns the thread that was attached to.
    pub fn thread(&self) -> i32 {
        self.thread
    }

    /// Returns the process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits until the process stops; its status.
    fn wait(&mut self) -> io::Result<i32> {
        loop {
            let mut status = 0;
            // SAFETY: writes the status.
            let result = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
            if result < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                self.attached = false;
                return Err(error);
            }
            if libc::WIFSTOPPED(status) {
                return Ok(status);
            }
            self.attached = false;
            return Err(io::Error::other(
                "the target ended before its first instruction",
            ));
        }
    }

    fn go(&mut self, what: libc::c_uint, signal: i32) -> io::Result<()> {
        request(what, self.pid, signal)
    }

    /// Whether the process is stopped at its program's first instruction; passes signals on. `None`
    /// if it has ended.
    pub fn poll_for_program(&mut self) -> io::Result<Option<bool>> {
        // The number polled first may have become the process's own meanwhile, so it is polled
        // again.
        let mut polled = None;
        for number in [self.pid, self.thread, self.pid] {
            polled = poll_thread(number);
            if polled.is_some() {
                break;
            }
        }
        let (number, status) = match polled {
            Some((_, None)) => return Ok(Some(false)),
            Some((number, Some(status))) if libc::WIFSTOPPED(status) => (number, status),
            _ => {
                self.attached = false;
                return Ok(None);
            }
        };
        if status >> 8 == libc::SIGTRAP | libc::PTRACE_EVENT_EXEC << 8 {
            self.go(libc::PTRACE_SYSCALL, 0)?;
            self.until(libc::PTRACE_SYSCALL, |stop| stop == libc::SIGTRAP)?;
            return Ok(Some(true));
        }
        let signal = libc::WSTOPSIG(status);
        let event = status >> 16;
        if event == libc::PTRACE_EVENT_STOP && signal != libc::SIGTRAP {
            // A group stop: the process stays stopped.
            request(libc::PTRACE_LISTEN, number, 0)?;
        } else {
            let signal = if event == 0 { signal } else { 0 };
            request(libc::PTRACE_CONT, number, signal)?;
        }
        Ok(Some(false))
    }

    /// Sets the number that the thread gets by `execve`.
    pub fn with_process_id(mut self, pid: i32) -> Self {
        self.pid = pid;
        self
    }

    /// Detaches from a running thread that has not executed a program.
    pub fn detach_running(mut self) -> io::Result<()> {
        // Even if this fails, the process is not killed.
        self.attached = false;
        request(libc::PTRACE_INTERRUPT, self.thread, 0)?;
        let mut status = 0;
        // SAFETY: writes the status.
        let result = unsafe { libc::waitpid(self.thread, &raw mut status, libc::__WALL) };
        if result < 0 || !libc::WIFSTOPPED(status) {
            return Ok(());
        }
        // The signal for which it stopped is delivered on detaching.
        let event = status >> 16;
        let signal = if event == 0 {
            libc::WSTOPSIG(status)
        } else {
            0
        };
        request(libc::PTRACE_DETACH, self.thread, signal)
    }

    /// Continues until a stop that `wanted` accepts; passes signals on.
    fn until(&mut self, request: libc::c_uint, wanted: impl Fn(i32) -> bool) -> io::Result<()> {
        loop {
            let status = self.wait()?;
            if wanted(status >> 8) {
                return Ok(());
            }
            let event = status >> 16;
            let signal = libc::WSTOPSIG(status);
            self.go(request, if event == 0 { signal } else { 0 })?;
        }
    }

    /// Waits until the process is stopped at the first instruction of its program.
    pub fn wait_for_program(&mut self) -> io::Result<()> {
        let exec = libc::SIGTRAP | libc::PTRACE_EVENT_EXEC << 8;
        self.until(libc::PTRACE_CONT, |stop| stop == exec)?;
        // The process is still in execve, whose end would overwrite rax.
        self.go(libc::PTRACE_SYSCALL, 0)?;
        self.until(libc::PTRACE_SYSCALL, |stop| stop == libc::SIGTRAP)
    }

    /// Executes one instruction.
    pub fn step(&mut self) -> io::Result<()> {
        self.go(libc::PTRACE_SINGLESTEP, 0)?;
        self.until(libc::PTRACE_SINGLESTEP, |stop| stop == libc::SIGTRAP)
    }

    /// Returns the registers.
    pub fn registers(&self) -> io::Result<Registers> {
        // SAFETY: all zero is a value of this type.
        let mut registers: Registers = unsafe { std::mem::zeroed() };
        let to = &raw mut registers;
        // SAFETY: writes the registers.
        check(unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.pid, 0usize, to) })?;
        Ok(registers)
    }

    /// Sets the registers.
    pub fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        let from = &raw const *registers;
        // SAFETY: reads the registers.
        check(unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.pid, 0usize, from) })
    }

    /// Sets the signal mask; returns the old one.
    pub fn exchange_mask(&self, mask: u64) -> io::Result<u64> {
        let mut before = 0u64;
        // SAFETY: 8 bytes each are written and read.
        unsafe {
            check(libc::ptrace(
                libc::PTRACE_GETSIGMASK,
                self.pid,
                8usize,
                &raw mut before,
            ))?;
            check(libc::ptrace(
                libc::PTRACE_SETSIGMASK,
                self.pid,
                8usize,
                &raw const mask,
            ))?;
        }
        Ok(before)
    }

    /// Opens the process's memory.
    pub fn memory(&self) -> io::Result<Memory> {
        let path = format!("/proc/{}/mem", self.pid);
        Ok(Memory(File::options().read(true).write(true).open(path)?))
    }

    /// Waits for the end of the killed process, so that its own parent is told.
    fn reap(&self) {
        let until = Instant::now() + MAX_TIME_TO_END;
        while Instant::now() < until {
            // Which number the thread has depends on whether it has executed its program.
            let found = poll_thread(self.pid).or_else(|| poll_thread(self.thread));
            let ended = |status: i32| libc::WIFEXITED(status) || libc::WIFSIGNALED(status);
            match found {
                None => return,
                Some((_, Some(status))) if ended(status) => return,
                // Not ended yet, or a stop from before it was killed.
                Some(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Detaches, and lets the process run.
    pub fn detach(mut self) -> io::Result<()> {
        self.attached = false;
        self.go(libc::PTRACE_DETACH, 0)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.attached {
            // The process has not begun, or is in an unknown state.
            // SAFETY: a signal to a process that cannot have been reaped.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            self.reap();
        }
    }
}

/// A process's memory, accessible whatever its protection.
pub struct Memory(File);

impl Memory {
    /// Reads bytes at an address.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, at)
    }

    /// Writes bytes at an address.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }
}
