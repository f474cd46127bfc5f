//! Creating threads and processes for the program: clone, clone3, fork, vfork.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::count_file_layout::{SLOT_THREAD, SLOT_VFORK};
use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State, register};

use super::EngineLock;
use super::context_switch::label;
use super::count_file::CountFile;
use super::engine::Engine;
use super::syscall_interception::Call;
use super::{bursts, forked_child, uncounted_child};

const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_THREAD: u64 = 0x1_0000;
const SIGCHLD: u64 = 17;
const EFAULT: isize = -14;
const EAGAIN: isize = -11;
const EINVAL: isize = -22;
/// Maximum number of words of `struct clone_args` that can be copied.
const MAX_CLONE_ARGS_WORDS: usize = 16;

/// Bytes of the `xsave` area that are in use here; set at the start.
pub static XSAVE_BYTES: AtomicUsize = AtomicUsize::new(thread_state::XSAVE_CAPACITY as usize);

/// A thread, or a process that shares the memory, to be created.
pub struct Clone {
    /// The child's state.
    pub child: State,
    number: usize,
    arguments: [usize; 5],
    /// Copy of `struct clone_args`, to which the first argument will point.
    block: Option<[u64; MAX_CLONE_ARGS_WORDS]>,
    vfork: bool,
    /// Whether it runs the program's own code, uncounted.
    native: bool,
    slot: u32,
    shared: CountFile,
}

impl Clone {
    /// Whether it is a thread of this process.
    #[must_use]
    pub fn is_thread(&self) -> bool {
        !self.vfork && !self.native
    }
}

/// What is to be done for a system call.
pub enum Prepared {
    /// A thread, to be created by [`run`] without the engine's lock.
    Thread(Clone),
    /// A process, to be created by [`fork`].
    Fork(Fork),
    /// The call fails with this error.
    Failed(isize),
}

/// A process with memory of its own, to be created.
pub struct Fork {
    number: usize,
    arguments: [usize; 6],
    block: Option<[u64; MAX_CLONE_ARGS_WORDS]>,
    stack: u64,
}

/// Reads the arguments of a system call, and takes a slot if the child needs one.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn prepare(engine: &mut Engine, state: State, call: &Call) -> Prepared {
    let a = call.arguments;
    let (flags, stack, block) = match call.number {
        nr::FORK => (SIGCHLD, 0, None),
        nr::VFORK => (SIGCHLD | CLONE_VM | CLONE_VFORK, 0, None),
        nr::CLONE => (a[0] as u64, a[1] as u64, None),
        _ => {
            let (from, size) = (a[0], a[1]);
            if !(64..=MAX_CLONE_ARGS_WORDS * 8).contains(&size) || size % 8 != 0 {
                return Prepared::Failed(EINVAL);
            }
            let mut block = [0u64; MAX_CLONE_ARGS_WORDS];
            for (index, word) in block.iter_mut().take(size / 8).enumerate() {
                let at = from + index * 8;
                if !super::signal_delivery::readable(at) {
                    return Prepared::Failed(EFAULT);
                }
                // SAFETY: just found to be readable.
                *word = unsafe { (at as *const u64).read_unaligned() };
            }
            let stack = match block[5] {
                0 => 0,
                low => low.wrapping_add(block[6]),
            };
            (block[0], stack, Some(block))
        }
    };
    if flags & CLONE_VM == 0 {
        return Prepared::Fork(plan_fork(call, flags, stack, block));
    }
    let vfork = flags & CLONE_THREAD == 0;
    // Sanitizers create such a process to stop the others and look for leaks.
    let native = vfork && flags & CLONE_VFORK == 0;
    if native && flags & CLONE_SIGHAND != 0 {
        super::refuse("it makes a process that shares its memory and its signal handlers");
    }
    engine.code_map.changes_unseen |= native;
    let class = if vfork { SLOT_VFORK } else { SLOT_THREAD };
    let Some(child) = engine.slots.take(class) else {
        if vfork {
            return Prepared::Failed(EAGAIN);
        }
        super::refuse("it has more than 2048 threads at a time");
    };
    // SAFETY: both states are ours.
    unsafe {
        copy(state, child);
        child.set_register(register::RAX, 0);
        if stack != 0 {
            child.set_register(register::RSP, stack);
        }
        if vfork {
            // A process of its own has signal actions of its own.
            let process = state.get(thread_state::PROCESS) as usize;
            let copy = engine.processes[process];
            let index = child.get(thread_state::SLOT) as usize + 1;
            while engine.processes.len() <= index {
                engine.processes.push(copy);
            }
            engine.processes[index] = copy;
            child.set(thread_state::PROCESS, index as u64);
        }
        let arguments = match call.number {
            nr::VFORK => [flags as usize, 0, 0, 0, 0],
            _ => [a[0], a[1], a[2], a[3], a[4]],
        };
        let number = match call.number {
            nr::VFORK => nr::CLONE,
            number => number,
        };
        Prepared::Thread(Clone {
            child,
            number,
            arguments,
            block,
            vfork: vfork && !native,
            native,
            slot: child.get(thread_state::SLOT) as u32,
            shared: engine.code_map.shared,
        })
    }
}

fn plan_fork(
    call: &Call,
    flags: u64,
    stack: u64,
    block: Option<[u64; MAX_CLONE_ARGS_WORDS]>,
) -> Fork {
    // The child continues on the engine's stack, of which it has a copy. The program's stack
    // pointer is among its registers.
    let mut arguments = call.arguments;
    let mut number = call.number;
    let block = block.map(|mut block| {
        block[5] = 0;
        block[6] = 0;
        block
    });
    match call.number {
        nr::CLONE => arguments[1] = 0,
        nr::FORK => {
            number = nr::CLONE;
            arguments = [flags as usize, 0, 0, 0, 0, 0];
        }
        _ => {}
    }
    Fork {
        number,
        arguments,
        block,
        stack,
    }
}

/// Copies a parent's registers, signal mask and resume point to its child.
unsafe fn copy(from: State, to: State) {
    // SAFETY: both states are the caller's.
    unsafe {
        for word in 0..17 {
            let offset = thread_state::CONTEXT + word * 8;
            to.set(offset, from.get(offset));
        }
        for offset in [
            thread_state::MASK,
            thread_state::HIDDEN_MASK,
            thread_state::PROCESS,
        ] {
            to.set(offset, from.get(offset));
        }
        core::ptr::copy_nonoverlapping(
            (from.0 + thread_state::XSAVE as usize) as *const u8,
            (to.0 + thread_state::XSAVE as usize) as *mut u8,
            XSAVE_BYTES.load(Ordering::Relaxed),
        );
    }
}

/// Creates a thread, or a child of `vfork`, for whose end it waits. Without the engine's lock.
///
/// # Safety
/// The states must be as [`prepare`] left them.
pub unsafe fn run(clone: &Clone) -> isize {
    let [a, b, c, d, e] = clone.arguments;
    let first = clone
        .block
        .as_ref()
        .map_or(a, |block| block.as_ptr() as usize);
    let arguments = [clone.number, first, b, c, d, e];
    // SAFETY: the child's state is complete; in the parent this is a system call as any other.
    let result = unsafe {
        if clone.native {
            uncounted_child::clone(&arguments, clone.child)
        } else {
            label::genba_clone(arguments.as_ptr(), clone.child.0)
        }
    };
    if result > 0 && clone.vfork {
        let process = &clone.shared.control().slot_pid[clone.slot as usize];
        // The slot has counted a child before: it is now of several.
        let known = process.load(Ordering::Relaxed) != 0;
        process.store(if known { 0 } else { result as u32 }, Ordering::Relaxed);
    }
    if result < 0 || clone.vfork {
        // SAFETY: a word that lives as long as the process.
        let flag = unsafe {
            AtomicU32::from_ptr(super::thread_slots::ThreadSlots::flag(clone.slot).cast_mut())
        };
        flag.store(0, Ordering::Release);
    }
    result
}

/// Creates a process with memory of its own; its number, or `None` in a child that is not counted
/// and is to leave the engine.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn fork(locked: &mut EngineLock, state: State, fork: Fork) -> Option<isize> {
    let mut arguments = fork.arguments;
    if let Some(block) = &fork.block {
        arguments[0] = block.as_ptr() as usize;
    }
    // SAFETY: as the program asks; the child has a copy of all memory, this stack included.
    let result = unsafe { raw_syscall::call(fork.number, arguments) };
    if result == 0 {
        locked.discard_waiters();
        let engine = locked.engine();
        // SAFETY: the child's only thread.
        unsafe {
            if fork.stack != 0 {
                state.set_register(register::RSP, fork.stack);
            }
            engine.slots.keep_only(state.get(thread_state::SLOT) as u32);
        }
        if !(engine.children && forked_child::give_own_count_file(engine)) {
            return None;
        }
        // SAFETY: as above.
        unsafe { bursts::begin_forked(engine, state) };
    }
    Some(result)
}

/// Returns the slot that a thread frees when it ends. The slot of a child of `vfork` is freed by
/// its parent.
///
/// # Safety
/// The state must be the caller's own.
#[must_use]
pub unsafe fn slot_to_free(state: State) -> Option<u32> {
    // SAFETY: the caller's promise.
    unsafe { (state.get(thread_state::PROCESS) == 0).then(|| state.get(thread_state::SLOT) as u32) }
}
