//! What every thread has at `gs:0`: saved registers, addresses of the engine's entry points, then
//! the counters. The offsets are part of the translated code.

use crate::{burst_layout, count_file_layout, duet_layout};

/// Address of the state itself.
pub const SELF: u32 = 0x00;
/// Top of the thread's stack for the engine's code.
pub const ENGINE_STACK: u32 = 0x08;
/// Where translated code saves the program's rax.
pub const RAX: u32 = 0x10;
/// Where translated code saves the program's rcx.
pub const RCX: u32 = 0x18;
/// Where translated code saves the program's rdx.
pub const RDX: u32 = 0x20;
/// Target of an indirect branch, as an address of the program.
pub const TARGET: u32 = 0x28;
/// Why translated code was left: an exit's number, or one of the `EXIT_` constants.
pub const EXIT: u32 = 0x30;
/// Address at which the thread resumes: in the code cache, or the program's own for an instruction
/// that must fault there.
pub const RESUME_CODE: u32 = 0x38;
/// Address at which the thread resumes, as the program knows it.
pub const RESUME_PC: u32 = 0x40;
/// Flags in the form of `lahf` and `seto`.
pub const FLAGS: u32 = 0x48;
/// Address of `genba_dispatch`.
pub const DISPATCH: u32 = 0x50;
/// Address of `genba_jump_lookup`.
pub const JUMP_LOOKUP: u32 = 0x58;
/// Address of `genba_syscall`.
pub const SYSCALL: u32 = 0x60;
/// The program's signal mask, to be restored.
pub const MASK: u32 = 0x68;
/// A mask of all signals.
pub const MASK_ALL: u32 = 0x70;
/// Address in the code cache after the system call under way.
pub const SYSCALL_NEXT: u32 = 0x78;
/// Signal entry: the signal's number.
pub const SIGNAL_NUMBER: u32 = 0x80;
/// Signal entry: address of the `siginfo_t`.
pub const SIGNAL_INFO: u32 = 0x88;
/// Signal entry: address of the `ucontext_t`.
pub const SIGNAL_CONTEXT: u32 = 0x90;
/// Signal entry: the stack pointer, which points to the signal frame.
pub const SIGNAL_FRAME: u32 = 0x98;
/// Temporary of the branch lookup.
pub const LOOKUP: u32 = 0xA0;
/// Index of the thread's slot.
pub const SLOT: u32 = 0xA8;
/// Index of the process whose signal handlers the thread has.
pub const PROCESS: u32 = 0xB0;
/// Whether the thread is about to make the system call in [`CONTEXT`] itself.
pub const AT_SYSCALL: u32 = 0xB8;
/// Number of the indirect branch whose target is being recorded.
pub const SITE: u32 = 0xC0;
/// Address of `genba_record_transfer`.
pub const RECORD_TRANSFER: u32 = 0xC8;
/// Address of the PLT stub's jump that the thread went through last to have it bound; 0 for none.
pub const BINDING: u32 = 0xD0;
/// Address of `genba_return_lookup`.
pub const RETURN_LOOKUP: u32 = 0xD8;
/// Signals that the program blocks and the kernel does not, because the engine needs them.
pub const HIDDEN_MASK: u32 = 0xE0;
/// Lowest address of code that is write-protected.
pub const CODE_LOW: u32 = 0xE8;
/// Bytes from there to its highest address. The engine must see system calls with an argument in
/// that range.
pub const CODE_BYTES: u32 = 0xF0;
/// The program's registers: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15, flags.
pub const CONTEXT: u32 = 0x100;
/// Offset of the program's flags.
pub const CONTEXT_FLAGS: u32 = CONTEXT + 16 * 8;
/// A signal that the program blocks and the kernel has delivered: the first four words of its
/// `siginfo_t`, which begins with the number; 0 for none.
pub const HELD_SIGNAL: u32 = 0x190;
/// A byte for each system call: 1 if the engine must see it.
pub const SYSCALL_TABLE: u32 = 0x200;
/// Number of system calls in the table; the engine sees all calls beyond it.
pub const SYSCALLS: u32 = 512;
/// Whether a burst is under way.
pub const BURST: u32 = 0x400;
/// Offset from [`RECORDING`] of the next word of the burst.
pub const BURST_POSITION: u32 = 0x408;
/// Offset from [`RECORDING`] of the words of the block that is executed.
pub const BURST_BLOCK: u32 = 0x410;
/// The program's signal mask during a burst, in which most signals are blocked.
pub const BURST_MASK: u32 = 0x418;
/// Number of the thread's timer plus 1; 0 for none.
pub const BURST_TIMER: u32 = 0x420;
/// Number of the thread in bursts plus 1; 0 for none yet.
pub const BURST_THREAD: u32 = 0x428;
/// CPU time at the beginning of the burst, nanoseconds.
pub const BURST_CPU: u32 = 0x430;
/// Time since the start of the process at the beginning of the burst, nanoseconds.
pub const BURST_WALL: u32 = 0x438;
/// CPU time for which the timer is to be set when the program does not block its signal any more,
/// nanoseconds; 0 while it does not.
pub const BURST_PAUSED: u32 = 0x440;
/// Instructions that the slot's counters had counted at the beginning of the burst.
pub const BURST_INSTRUCTIONS: u32 = 0x448;
/// Words of edits: [`duet_layout::slot_offset`].
pub const EDIT_SLOTS: u32 = duet_layout::SLOTS_OFFSET;
/// For each block that is laid down twice, the address of the side that the thread executes.
pub const SELECTORS: u32 = 0x700;
/// Side of the duet that the thread executes: 0 as it is, 1 edited.
pub const DUET_SIDE: u32 = 0x900;
/// Number of windows that the thread has begun.
pub const DUET_STEP: u32 = 0x908;
/// CPU time of the thread at the beginning of the window, nanoseconds.
pub const DUET_CPU: u32 = 0x910;
/// Executions of blocks with edits at the beginning of the window.
pub const DUET_ROUNDS: u32 = 0x918;
/// Number of the thread in windows.
pub const DUET_THREAD: u32 = 0x920;
/// Address of the next entry of the log.
pub const DUET_LOG: u32 = duet_layout::LOG_OFFSET;
/// Bytes from entry to entry of the log.
pub const DUET_LOG_STEP: u32 = duet_layout::LOG_STEP_OFFSET;
/// Pattern of outcomes of edited branches.
pub const DUET_PATTERN: u32 = duet_layout::PATTERN_OFFSET;
/// Offset of the words of the burst under way.
pub const RECORDING: u32 = burst_layout::RECORDING as u32;
/// Where `xsave` saves the program's vector registers.
pub const XSAVE: u32 = 0x1000;
/// The `xsave` component that is neither saved nor restored: the rights of protection keys (PKRU).
/// The kernel sets them to a value that is not all zero in new programs and signal handlers.
pub const PROTECTION_KEYS: i32 = 1 << 9;
/// Bytes for the `xsave` area.
pub const XSAVE_CAPACITY: u32 = 0x4000;
/// Lowest offset of the thread's stack for the engine's code.
pub const ENGINE_STACK_LOW: u32 = 0x6000;
/// Offset of the first counter.
pub const COUNTERS: u32 = count_file_layout::COUNTERS as u32;

const _: () = assert!(EDIT_SLOTS + duet_layout::SLOT_CAPACITY * 8 <= SELECTORS);
const _: () = assert!(SELECTORS + duet_layout::DUET_CAPACITY * 8 <= DUET_SIDE);
const _: () = assert!(XSAVE + XSAVE_CAPACITY <= ENGINE_STACK_LOW && ENGINE_STACK_LOW < COUNTERS);

/// [`EXIT`]: an indirect branch to [`TARGET`] that no table knows.
pub const EXIT_INDIRECT: u32 = 0;
/// [`EXIT`]: an indirect branch from [`SITE`] to [`TARGET`] that has no counter yet.
pub const EXIT_TRANSFER: u32 = u32::MAX - 1;
/// [`EXIT`]: a return to [`TARGET`] that no table knows.
pub const EXIT_RETURN: u32 = u32::MAX - 2;
/// [`EXIT`]: a thread begins, and is to continue at [`RESUME_PC`].
pub const EXIT_THREAD_BEGINS: u32 = u32::MAX - 3;
/// [`EXIT`]: a system call that the engine must see.
pub const EXIT_SYSCALL: u32 = u32::MAX;

/// Offset of the selector of a block that is laid down twice.
#[must_use]
pub const fn selector(number: u32) -> u32 {
    SELECTORS + number * 8
}

/// Offset of a counter from %gs.
#[must_use]
pub const fn counter(number: u32) -> u32 {
    COUNTERS + number * 8
}

/// Gives the words of edits their values at the start of a thread ([`duet_layout::slot_offset`]).
///
/// # Safety
/// As [`State::get`].
pub unsafe fn initialise_edit_slots(state: State) {
    for slot in 0..duet_layout::SLOT_CAPACITY as u8 {
        // SAFETY: the caller's promise.
        unsafe { state.set(duet_layout::slot_offset(slot), u64::from(slot & 1 == 0)) };
    }
}

/// Address of a thread's state.
#[derive(Clone, Copy)]
pub struct State(pub usize);

impl State {
    /// Reads a field.
    ///
    /// # Safety
    /// The state must be mapped, and the thread's own or at rest.
    #[must_use]
    pub unsafe fn get(self, offset: u32) -> u64 {
        // SAFETY: the caller's promise; offsets are within the state and aligned.
        unsafe { *((self.0 + offset as usize) as *const u64) }
    }

    /// Writes a field.
    ///
    /// # Safety
    /// As [`Self::get`].
    pub unsafe fn set(self, offset: u32, value: u64) {
        // SAFETY: as above.
        unsafe { *((self.0 + offset as usize) as *mut u64) = value }
    }

    /// Reads a general register of the program, by its number.
    ///
    /// # Safety
    /// As [`Self::get`].
    #[must_use]
    pub unsafe fn register(self, number: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.get(CONTEXT + number * 8) }
    }

    /// Writes a general register of the program, by its number.
    ///
    /// # Safety
    /// As [`Self::get`].
    pub unsafe fn set_register(self, number: u32, value: u64) {
        // SAFETY: as above.
        unsafe { self.set(CONTEXT + number * 8, value) }
    }
}

/// Numbers of registers in instructions.
pub mod register {
    pub const RAX: u32 = 0;
    pub const RCX: u32 = 1;
    pub const RDX: u32 = 2;
    pub const RSP: u32 = 4;
    pub const RSI: u32 = 6;
    pub const RDI: u32 = 7;
    pub const R8: u32 = 8;
    pub const R9: u32 = 9;
    pub const R10: u32 = 10;
    pub const R11: u32 = 11;
}
