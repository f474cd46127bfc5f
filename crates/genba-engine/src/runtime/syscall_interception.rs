//! System calls that the engine must see: those that change memory, threads, signals, or the
//! registers that the engine uses. The program makes all others itself, from translated code.

use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State, register};

use super::context_switch::label;
use super::dispatch::{NextAction, set_resume_point};
use super::engine::Engine;
use super::{
    EngineLock, bursts, duet, exec, limit_changes, memory_changes, new_thread, program_mask,
    replica, signal_delivery,
};

const EINVAL: isize = -22;
const ENOSYS: isize = -38;
/// Number of the first system call of the x32 ABI.
const X32: usize = 0x4000_0000;

/// Whether the engine must see a system call.
#[must_use]
pub fn is_special(number: usize) -> bool {
    matches!(
        number,
        nr::MMAP
            | nr::MPROTECT
            | nr::MUNMAP
            | nr::MREMAP
            | nr::MADVISE
            | nr::SHMAT
            | nr::SHMDT
            | nr::REMAP_FILE_PAGES
            | nr::PKEY_MPROTECT
            | nr::MLOCKALL
            | nr::OPEN
            | nr::OPENAT
            | nr::PROCESS_VM_WRITEV
            | nr::RT_SIGACTION
            | nr::RT_SIGRETURN
            | nr::CLONE
            | nr::FORK
            | nr::VFORK
            | nr::EXECVE
            | nr::EXECVEAT
            | nr::EXIT
            | nr::CLONE3
            | nr::MODIFY_LDT
            | nr::PRCTL
            | nr::ARCH_PRCTL
            | nr::SECCOMP
            | nr::RSEQ
            | nr::MAP_SHADOW_STACK
            | nr::SETRLIMIT
            | nr::PRLIMIT64
    )
}

/// A system call of the program's.
pub struct Call {
    /// Its number.
    pub number: usize,
    /// Its arguments.
    pub arguments: [usize; 6],
    /// Address in the program of the instruction after it.
    pub next: u64,
}

unsafe fn read(engine: &Engine, state: State) -> Call {
    // SAFETY: the caller's own state.
    unsafe {
        let back = state.get(thread_state::SYSCALL_NEXT);
        let Some((next, _)) = engine.syscall_before(back) else {
            super::fatal("a system call has no block");
        };
        let argument = |number| state.register(number) as usize;
        Call {
            number: argument(register::RAX),
            arguments: [
                argument(register::RDI),
                argument(register::RSI),
                argument(register::RDX),
                argument(register::R10),
                argument(register::R8),
                argument(register::R9),
            ],
            next,
        }
    }
}

/// Makes a system call for the program; how the thread continues.
///
/// # Safety
/// The state must be the caller's own.
pub unsafe fn special(locked: &mut EngineLock, state: State) -> NextAction {
    // SAFETY: the caller's promise; system calls do what the program asked for.
    unsafe {
        let engine = locked.engine();
        if replica::is_one() {
            replica::end_by_syscall(engine, state);
        }
        let call = read(engine, state);
        // rcx and r11 as the kernel leaves them.
        state.set_register(register::RCX, call.next);
        state.set_register(register::R11, state.get(thread_state::CONTEXT_FLAGS));
        let [first, ..] = call.arguments;
        engine.release_written(&call);
        let result = match call.number {
            nr::MMAP
            | nr::MPROTECT
            | nr::MUNMAP
            | nr::MREMAP
            | nr::MADVISE
            | nr::SHMAT
            | nr::SHMDT
            | nr::REMAP_FILE_PAGES
            | nr::PKEY_MPROTECT => memory_changes::call(engine, &call),
            nr::MLOCKALL => memory_changes::lock_all(&call),
            nr::OPEN | nr::OPENAT | nr::PROCESS_VM_WRITEV => {
                if memory_changes::opens_own_memory(&call) {
                    engine.note_unseen_code_changes();
                } else if memory_changes::opens_code_for_writing(engine, &call) {
                    engine.slots.watch();
                }
                // It may wait for a thread that needs the engine, so it is made without the lock.
                return pass_through(state, &call);
            }
            number if memory_changes::writes(number) => match engine.write(&call) {
                Some(result) => result,
                None => return pass_through(state, &call),
            },
            nr::RT_SIGACTION => signal_delivery::action(engine, state, &call),
            nr::RT_SIGPROCMASK => program_mask::sigprocmask(state, &call),
            nr::RT_SIGRETURN => return signal_delivery::sigreturn(engine, state),
            nr::CLONE | nr::FORK | nr::VFORK | nr::CLONE3 => {
                duet::stop_before_second_thread(engine, state);
                match new_thread::prepare(engine, state, &call) {
                    new_thread::Prepared::Thread(clone) => {
                        let place = engine.get(call.next);
                        set_resume_point(state, call.next, place);
                        set_resume_point(clone.child, call.next, place);
                        if bursts::prepares_threads(engine) && clone.is_thread() {
                            bursts::prepare_thread(clone.child);
                        }
                        return NextAction::Clone(clone);
                    }
                    new_thread::Prepared::Fork(arguments) => {
                        match new_thread::fork(locked, state, arguments) {
                            Some(result) => result,
                            None => {
                                state.set_register(register::RAX, 0);
                                state.set(thread_state::RESUME_PC, call.next);
                                return NextAction::Leave;
                            }
                        }
                    }
                    new_thread::Prepared::Failed(error) => error,
                }
            }
            nr::EXECVE | nr::EXECVEAT => {
                exec::before(engine, state, &call);
                bursts::end_thread(state);
                return pass_through(state, &call);
            }
            nr::SETRLIMIT | nr::PRLIMIT64 => {
                limit_changes::check(engine, state, &call);
                return pass_through(state, &call);
            }
            nr::EXIT => {
                bursts::end_thread(state);
                return NextAction::Exit {
                    status: first,
                    slot: new_thread::slot_to_free(state),
                };
            }
            nr::ARCH_PRCTL => arch_prctl(&call),
            nr::PRCTL => prctl(&call),
            nr::SECCOMP if first < 2 => super::refuse("it installs a seccomp filter"),
            nr::SECCOMP => raw_syscall::call(call.number, call.arguments),
            nr::MODIFY_LDT => super::refuse("it uses segments of its own (modify_ldt)"),
            // The kernel compares program counters with the program's critical sections, in which
            // translated code never is. Without rseq the C library uses other code.
            nr::RSEQ => ENOSYS,
            nr::MAP_SHADOW_STACK => EINVAL,
            number if (X32..X32 + 1024).contains(&number) => super::refuse("it uses the x32 ABI"),
            // It was seen because it may write to protected code.
            number if number < thread_state::SYSCALLS as usize && !is_special(number) => {
                return pass_through(state, &call);
            }
            number => raw_syscall::call(number, call.arguments),
        };
        state.set_register(register::RAX, result as u64);
        let engine = locked.engine();
        let place = engine.get(call.next);
        set_resume_point(state, call.next, place);
        NextAction::Resume
    }
}

/// Lets the program make the call itself, with its own signal mask.
unsafe fn pass_through(state: State, call: &Call) -> NextAction {
    // SAFETY: the caller's own state.
    unsafe {
        state.set_register(register::RCX, 0);
        state.set(thread_state::AT_SYSCALL, 1);
        state.set(thread_state::RESUME_PC, call.next - 2);
        state.set(
            thread_state::RESUME_CODE,
            label::genba_syscall_now as *const () as u64,
        );
    }
    NextAction::Resume
}

unsafe fn arch_prctl(call: &Call) -> isize {
    const SET_GS: usize = 0x1001;
    const GET_GS: usize = 0x1004;
    const SHADOW_STACK: core::ops::RangeInclusive<usize> = 0x5001..=0x5005;
    match call.arguments[0] {
        SET_GS => super::refuse("it uses the segment register %gs, which the engine needs"),
        GET_GS => {
            let to = call.arguments[1];
            if !signal_delivery::writable(to) {
                return -14;
            }
            // SAFETY: just found to be writable.
            unsafe { (to as *mut u64).write_unaligned(0) };
            0
        }
        option if SHADOW_STACK.contains(&option) => EINVAL,
        // SAFETY: as the program asks; none of these touches the engine.
        _ => unsafe { raw_syscall::call(call.number, call.arguments) },
    }
}

unsafe fn prctl(call: &Call) -> isize {
    const SET_SECCOMP: usize = 22;
    const SET_SYSCALL_USER_DISPATCH: usize = 59;
    match call.arguments[0] {
        SET_SECCOMP => super::refuse("it installs a seccomp filter"),
        SET_SYSCALL_USER_DISPATCH => {
            super::refuse("it intercepts its own system calls (PR_SET_SYSCALL_USER_DISPATCH)")
        }
        // SAFETY: as above.
        _ => unsafe { raw_syscall::call(call.number, call.arguments) },
    }
}
