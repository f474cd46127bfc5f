//! Processes that are not counted leave the engine and run the program's own code: a forked child
//! where children are not counted, and a process that shares its parent's memory without being a
//! thread of it.
//!
//! What must hold: of the engine, the program finds only memory that it does not know of. Its
//! signal handlers are registered with the kernel as if it had done that itself, all registers are
//! its own, and %gs is 0.

use core::arch::global_asm;

use crate::count_file_layout::{COUNTERS, FILE_SIZE};
use crate::raw_syscall;
use crate::thread_state::{self, State, register};

use super::EngineLock;
use super::assembly_macros::{clone, load_registers, load_state, return_to_parent, unblock};
use super::engine::Engine;
use super::program_mask;
use super::signal_delivery::{self, SignalActions};
use super::thread_slots::ThreadSlots;

/// Offset below the stack pointer, and below the red zone, of the last two words that are needed
/// after %gs is gone.
const RED_ZONE_BYTES: u32 = 128;

global_asm!(
    ".globl genba_leave, genba_clone_native",
    ".hidden genba_leave, genba_clone_native",

    // Leaves with the registers in CONTEXT and XSAVE to RESUME_PC in the program. Signals are
    // blocked.
    "genba_leave:",
    load_state!(),
    "mov rax, gs:[{resume_pc}]",
    "mov [rsp - {below} - 8], rax",
    "mov rax, gs:[{context} + 0]",
    "mov [rsp - {below} - 16], rax",
    unblock!(),
    load_registers!(),
    // From here on the state may belong to another thread.
    "mov rax, gs:[{lookup_slot}]",
    "mov dword ptr [rax], 0",
    "mov eax, 0",
    "wrgsbase rax",
    "mov rax, [rsp - {below} - 16]",
    "jmp qword ptr [rsp - {below} - 8]",

    // genba_clone_native(arguments, state): the child leaves with the state.
    "genba_clone_native:",
    clone!(),
    "mov rsp, gs:[{engine_stack}]",
    "mov rdi, rbp",
    "call {child}",
    "ud2",
    return_to_parent!(),
    components = const !thread_state::PROTECTION_KEYS,
    xsave = const thread_state::XSAVE,
    engine_stack = const thread_state::ENGINE_STACK,
    context = const thread_state::CONTEXT,
    resume_pc = const thread_state::RESUME_PC,
    mask = const thread_state::MASK,
    lookup_slot = const thread_state::LOOKUP,
    below = const RED_ZONE_BYTES,
    child = sym child,
);

unsafe extern "C" {
    fn genba_leave() -> !;
    fn genba_clone_native(arguments: *const usize, state: usize) -> isize;
}

/// Creates a process that shares the memory and runs uncounted; until it has left, its state is its
/// own.
///
/// # Safety
/// As for the system call; the state must be complete.
pub unsafe fn clone(arguments: &[usize; 6], child: State) -> isize {
    // SAFETY: the caller's promise.
    unsafe { genba_clone_native(arguments.as_ptr(), child.0) }
}

/// The first code of such a process.
extern "C" fn child(state: usize) -> ! {
    let state = State(state);
    // SAFETY: its own state; handlers are not shared with the parent.
    unsafe {
        let process = {
            let mut locked = EngineLock::take();
            let engine = locked.engine();
            engine.processes[state.get(thread_state::PROCESS) as usize]
        };
        let flag = ThreadSlots::flag(state.get(thread_state::SLOT) as u32);
        go(state, &process, flag)
    }
}

/// A forked child, of which this is the only thread, leaves the engine to `pc`. The engine's memory
/// is unmapped as far as it is not needed for that.
///
/// # Safety
/// The state must be the caller's own, and the process must have no other thread.
pub unsafe fn forked(state: State) -> ! {
    // SAFETY: the caller's promise: nobody uses what is unmapped.
    unsafe {
        let process = {
            let mut locked = EngineLock::take();
            let engine = locked.engine();
            let process = engine.processes[state.get(thread_state::PROCESS) as usize];
            engine.unprotect_all();
            unmap_engine(engine, state);
            process
        };
        // A word that is not read again.
        let unused = (state.0 + thread_state::EXIT as usize) as *const u32;
        go(state, &process, unused)
    }
}

/// Unmaps the code cache and the count file, except the state.
unsafe fn unmap_engine(engine: &Engine, state: State) {
    let base = engine.code_map.shared.0;
    let end = base + FILE_SIZE as usize;
    let after = state.0 + COUNTERS as usize;
    // SAFETY: the caller's promise.
    unsafe {
        raw_syscall::munmap(base, state.0 - base);
        raw_syscall::munmap(after, end - after);
        engine.cache.unmap();
    }
}

unsafe fn go(state: State, process: &SignalActions, flag: *const u32) -> ! {
    // SAFETY: the state is the caller's, and its stack is there.
    unsafe {
        let rsp = state.register(register::RSP) as usize;
        if !signal_delivery::writable(rsp.wrapping_sub(RED_ZONE_BYTES as usize + 16)) {
            super::refuse("it makes a process that has no stack");
        }
        process.register_with_kernel();
        state.set(thread_state::LOOKUP, flag as u64);
        program_mask::expose(state);
        genba_leave()
    }
}
