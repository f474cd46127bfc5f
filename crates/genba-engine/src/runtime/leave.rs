//! Processes that are not counted run their own code: a forked child, where children are not
//! wanted, and one that shares its parent's memory without being a thread of it.
//!
//! What must hold: the program finds nothing of the engine's but memory that it does not know
//! of. Its signal handlers are registered with the kernel as it did that itself; all registers
//! are its own, and %gs is 0.

use core::arch::global_asm;

use crate::layout::{COUNTERS, FILE_SIZE};
use crate::state::{self, State, register};
use crate::sys;

use super::Locked;
use super::engine::Engine;
use super::signal::{self, Process};
use super::slots::Slots;

/// Below the stack pointer and what a leaf function may have there: where the last two words
/// are put that are needed when %gs is gone.
const BELOW: u32 = 128;

global_asm!(
    ".globl genba_leave, genba_clone_native",
    ".hidden genba_leave, genba_clone_native",

    // With the registers in CONTEXT and XSAVE to RESUME_PC in the program. Signals are blocked.
    "genba_leave:",
    "mov eax, {components}",
    "mov edx, -1",
    "xrstor64 gs:[{xsave}]",
    "mov rsp, gs:[{host_stack}]",
    "push qword ptr gs:[{context} + 128]",
    "popfq",
    "mov rsp, gs:[{context} + 32]",
    "mov rax, gs:[{resume_pc}]",
    "mov [rsp - {below} - 8], rax",
    "mov rax, gs:[{context} + 0]",
    "mov [rsp - {below} - 16], rax",
    "rdgsbase rsi",
    "lea rsi, [rsi + {mask}]",
    "mov edi, 2",
    "mov edx, 0",
    "mov r10d, 8",
    "mov eax, 14",
    "syscall",
    "mov rcx, gs:[{context} + 8]",
    "mov rdx, gs:[{context} + 16]",
    "mov rbx, gs:[{context} + 24]",
    "mov rbp, gs:[{context} + 40]",
    "mov rsi, gs:[{context} + 48]",
    "mov rdi, gs:[{context} + 56]",
    "mov r8, gs:[{context} + 64]",
    "mov r9, gs:[{context} + 72]",
    "mov r10, gs:[{context} + 80]",
    "mov r11, gs:[{context} + 88]",
    "mov r12, gs:[{context} + 96]",
    "mov r13, gs:[{context} + 104]",
    "mov r14, gs:[{context} + 112]",
    "mov r15, gs:[{context} + 120]",
    // The state may be somebody else's from here on.
    "mov rax, gs:[{lookup_slot}]",
    "mov dword ptr [rax], 0",
    "mov eax, 0",
    "wrgsbase rax",
    "mov rax, [rsp - {below} - 16]",
    "jmp qword ptr [rsp - {below} - 8]",

    // genba_clone_native(arguments, state): the child leaves with the state.
    "genba_clone_native:",
    "push rbx",
    "push rbp",
    "mov rbx, rdi",
    "mov rbp, rsi",
    "mov rax, [rbx]",
    "mov rdi, [rbx + 8]",
    "mov rsi, [rbx + 16]",
    "mov rdx, [rbx + 24]",
    "mov r10, [rbx + 32]",
    "mov r8, [rbx + 40]",
    "syscall",
    "test rax, rax",
    "jnz 6f",
    "wrgsbase rbp",
    "mov rsp, gs:[{host_stack}]",
    "mov rdi, rbp",
    "call {child}",
    "ud2",
    "6:",
    "pop rbp",
    "pop rbx",
    "ret",
    components = const !state::PROTECTION_KEYS,
    xsave = const state::XSAVE,
    host_stack = const state::HOST_STACK,
    context = const state::CONTEXT,
    resume_pc = const state::RESUME_PC,
    mask = const state::MASK,
    lookup_slot = const state::LOOKUP,
    below = const BELOW,
    child = sym child,
);

unsafe extern "C" {
    fn genba_leave() -> !;
    fn genba_clone_native(arguments: *const usize, state: usize) -> isize;
}

/// Makes a process that shares the memory, and runs by itself with a state that is its own until
/// it has left.
///
/// # Safety
/// As for the system call; the state must be complete.
pub unsafe fn clone(arguments: &[usize; 6], child: State) -> isize {
    // SAFETY: the caller's promise.
    unsafe { genba_clone_native(arguments.as_ptr(), child.0) }
}

/// The first thing that such a process does.
extern "C" fn child(state: usize) -> ! {
    let state = State(state);
    // SAFETY: its own state; handlers are not shared with the parent.
    unsafe {
        let process = {
            let mut locked = Locked::take();
            let engine = locked.engine();
            engine.processes[state.get(state::PROCESS) as usize]
        };
        let flag = Slots::flag(state.get(state::SLOT) as u32);
        go(state, &process, flag)
    }
}

/// A forked child, its only thread, leaves to `pc`; the engine's memory goes, as far as nothing
/// of it is needed for that.
///
/// # Safety
/// The state must be the caller's own, and the process nobody else's.
pub unsafe fn forked(state: State) -> ! {
    // SAFETY: the caller's promise: nobody uses what is unmapped.
    unsafe {
        let process = {
            let mut locked = Locked::take();
            let engine = locked.engine();
            let process = engine.processes[state.get(state::PROCESS) as usize];
            forget(engine, state);
            process
        };
        // A word that nobody reads.
        let unused = (state.0 + state::EXIT as usize) as *const u32;
        go(state, &process, unused)
    }
}

/// Unmaps translations and counts, but for the state.
unsafe fn forget(engine: &Engine, state: State) {
    let base = engine.book.shared.0;
    let end = base + FILE_SIZE as usize;
    let after = state.0 + COUNTERS as usize;
    // SAFETY: the caller's promise.
    unsafe {
        sys::munmap(base, state.0 - base);
        sys::munmap(after, end - after);
        engine.cache.unmap();
    }
}

unsafe fn go(state: State, process: &Process, flag: *const u32) -> ! {
    // SAFETY: the state is the caller's, and its stack is there.
    unsafe {
        let rsp = state.register(register::RSP) as usize;
        if !signal::writable(rsp.wrapping_sub(BELOW as usize + 16)) {
            super::unable("it makes a process that has no stack");
        }
        process.give_back();
        state.set(state::LOOKUP, flag as u64);
        genba_leave()
    }
}
