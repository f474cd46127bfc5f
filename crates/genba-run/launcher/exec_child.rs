//! The child process between `clone` and `execve`.
//!
//! It shares memory with the launcher (CLONE_VM) and runs on a stack of its own, so starting a
//! target copies no page table, and what the child has to say (time stamp, errno) is simply
//! written where the launcher reads it. Descriptors and signal state are the child's own.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::arch;
use crate::protocol::{MAX_FDS, Start, flag, stage, stream};
use crate::syscalls;

const STACK: usize = 16 << 10;

#[repr(C, align(16))]
struct Stack(UnsafeCell<[u8; STACK]>);

// SAFETY: only the one child that exists before its `execve` uses the stack.
unsafe impl Sync for Stack {}

static CHILD_STACK: Stack = Stack(UnsafeCell::new([0; STACK]));

/// Input of the child and its results.
pub struct Child<'a> {
    pub start: Start,
    pub launcher: i32,
    pub null: i32,
    pub fds: [i32; MAX_FDS],
    pub mask: &'a [u8],
    pub program: *const u8,
    /// Null: stay where the launcher is.
    pub directory: *const u8,
    pub argv: *const usize,
    pub envp: *const usize,
    /// 0 until the child is released.
    pub gate: AtomicU32,
    /// 1 until the child has left this memory, by `execve` or by exiting.
    pub here: AtomicU32,
    pub stamp: AtomicU64,
    pub stage: AtomicU32,
    pub errno: AtomicU32,
}

impl Child<'_> {
    /// Makes the process. Without a gate, returns when it has left this memory; with one, at
    /// once, and `self` must stay until `here` is 0.
    pub fn spawn(&self) -> syscalls::Result<i32> {
        let gated = self.start.flags & flag::GATED != 0;
        let mut flags =
            syscalls::CLONE_VM | syscalls::CLONE_CHILD_CLEARTID | syscalls::SIGCHLD as usize;
        if !gated {
            flags |= syscalls::CLONE_VFORK;
        }
        let top = CHILD_STACK.0.get().cast::<u8>().wrapping_add(STACK);
        let argument = (&raw const *self).cast::<u8>();
        // SAFETY: nobody else uses the stack (one child at a time), `main` does not return,
        // and the caller keeps `self` as long as the child is here.
        let pid = unsafe { arch::genba_clone(flags, top, self.here.as_ptr(), main, argument) };
        if pid < 0 {
            Err(-pid as i32)
        } else {
            Ok(pid as i32)
        }
    }

    /// Releases the child and waits until it has left this memory.
    pub fn release(&self) {
        self.gate.store(1, Ordering::Release);
        syscalls::futex_wake(&self.gate);
        self.wait_gone();
    }

    /// Waits until the child has left this memory. The kernel zeroes the word then
    /// (CLONE_CHILD_CLEARTID).
    pub fn wait_gone(&self) {
        while self.here.load(Ordering::Acquire) != 0 {
            syscalls::futex_wait(&self.here, 1);
        }
    }

    fn prepare(&self) -> Result<(), (u64, i32)> {
        let start = &self.start;
        // Should the launcher be killed, the target goes with it.
        let _ = syscalls::prctl(syscalls::PR_SET_PDEATHSIG, syscalls::SIGKILL as usize);
        if syscalls::getppid() != self.launcher {
            syscalls::exit(127);
        }
        let foreground = start.flags & flag::FOREGROUND != 0;
        let group = if foreground { start.group } else { 0 };
        syscalls::setpgid(group).map_err(|errno| (stage::GROUP, errno))?;
        let mut passed = self.fds.iter();
        for (number, &kind) in (0..).zip(&start.streams) {
            let fd = match kind {
                stream::INHERIT => continue,
                stream::NULL => self.null,
                _ => passed.next().copied().unwrap_or(self.null),
            };
            syscalls::dup_to(fd, number).map_err(|errno| (stage::STREAM, errno))?;
        }
        if let Some(&fd) = passed.next().filter(|_| start.extra) {
            let number = start.extra_number as i32;
            syscalls::dup_to(fd, number).map_err(|errno| (stage::EXTRA, errno))?;
        }
        if !self.mask.is_empty() {
            syscalls::set_affinity(self.mask).map_err(|errno| (stage::AFFINITY, errno))?;
        }
        if !self.directory.is_null() {
            // SAFETY: the request's directory ends with a zero byte.
            unsafe { syscalls::chdir(self.directory) }
                .map_err(|errno| (stage::DIRECTORY, errno))?;
        }
        Ok(())
    }

    fn run(&self) -> (u64, i32) {
        if let Err(failure) = self.prepare() {
            return failure;
        }
        if self.start.flags & flag::GATED != 0 {
            while self.gate.load(Ordering::Acquire) == 0 {
                syscalls::futex_wait(&self.gate, 0);
            }
        }
        syscalls::set_signal_mask(false);
        self.stamp.store(syscalls::now(), Ordering::Release);
        // SAFETY: strings and arrays lie in the request, which the launcher keeps.
        (stage::EXEC, unsafe {
            syscalls::execve(self.program, self.argv, self.envp)
        })
    }
}

extern "C" fn main(argument: *const u8) -> ! {
    // SAFETY: `spawn` passed itself, and the launcher keeps it while the child is here.
    let child = unsafe { &*argument.cast::<Child>() };
    let (stage, errno) = child.run();
    child.errno.store(errno as u32, Ordering::Release);
    child.stage.store(stage as u32, Ordering::Release);
    syscalls::exit(127)
}
