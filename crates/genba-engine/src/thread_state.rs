//! What every thread has at `gs:0`: places for registers, vectors into the runtime, then the
//! counters. Offsets are part of the translated code.

use crate::count_file_layout;

/// Own address.
pub const SELF: u32 = 0x00;
/// Top of the thread's stack in the engine.
pub const ENGINE_STACK: u32 = 0x08;
/// Where a translation puts the program's rax aside.
pub const RAX: u32 = 0x10;
/// The same for rcx.
pub const RCX: u32 = 0x18;
/// The same for rdx.
pub const RDX: u32 = 0x20;
/// Where an indirect branch goes, as an address of the program.
pub const TARGET: u32 = 0x28;
/// Why the cache is left: an exit's number, or one of the `EXIT_` constants.
pub const EXIT: u32 = 0x30;
/// Address to go on at: in the cache, or the program's own for what must fault there.
pub const RESUME_CODE: u32 = 0x38;
/// The same place as the program knows it.
pub const RESUME_PC: u32 = 0x40;
/// Flags as `lahf` and `seto` give them.
pub const FLAGS: u32 = 0x48;
/// Address of `genba_dispatch`.
pub const DISPATCH: u32 = 0x50;
/// Address of `genba_jump_lookup`.
pub const JUMP_LOOKUP: u32 = 0x58;
/// Address of `genba_syscall`.
pub const SYSCALL: u32 = 0x60;
/// Signal mask to restore.
pub const MASK: u32 = 0x68;
/// All signals.
pub const MASK_ALL: u32 = 0x70;
/// Address in the cache after a system call.
pub const SYSCALL_NEXT: u32 = 0x78;
/// Argument of the signal entry: number.
pub const SIGNAL_NUMBER: u32 = 0x80;
/// … `siginfo_t`.
pub const SIGNAL_INFO: u32 = 0x88;
/// … `ucontext_t`.
pub const SIGNAL_CONTEXT: u32 = 0x90;
/// … the stack pointer, which points to the frame.
pub const SIGNAL_FRAME: u32 = 0x98;
/// Temporary of the lookup.
pub const LOOKUP: u32 = 0xA0;
/// Index of the slot.
pub const SLOT: u32 = 0xA8;
/// Index of the process: whose signal handlers.
pub const PROCESS: u32 = 0xB0;
/// Whether the thread is about to make the system call in [`CONTEXT`] itself.
pub const AT_SYSCALL: u32 = 0xB8;
/// Number of the indirect branch whose targets are recorded.
pub const SITE: u32 = 0xC0;
/// Address of `genba_record_transfer`.
pub const RECORD_TRANSFER: u32 = 0xC8;
/// The PLT stub's jump that the thread went through last to have it bound; 0 for none.
pub const BINDING: u32 = 0xD0;
/// Address of `genba_return_lookup`.
pub const RETURN_LOOKUP: u32 = 0xD8;
/// The program's registers: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15, flags.
pub const CONTEXT: u32 = 0x100;
/// Offset of the flags.
pub const CONTEXT_FLAGS: u32 = CONTEXT + 16 * 8;
/// A byte for each system call: whether the engine must see it.
pub const SYSCALL_TABLE: u32 = 0x200;
/// System calls that the table knows; the engine sees those beyond, too.
pub const SYSCALLS: u32 = 512;
/// Registers that `xsave` saves.
pub const XSAVE: u32 = 0x1000;
/// The component of `xsave` that stays as it is: the rights of protection keys (PKRU), which in a
/// new program, and in signal handlers, the kernel sets to what is not all zero.
pub const PROTECTION_KEYS: i32 = 1 << 9;
/// Bytes for them.
pub const XSAVE_CAPACITY: u32 = 0x4000;
/// Lowest address of the thread's stack in the engine.
pub const ENGINE_STACK_LOW: u32 = 0x6000;
/// The first counter.
pub const COUNTERS: u32 = count_file_layout::COUNTERS as u32;

const _: () = assert!(XSAVE + XSAVE_CAPACITY <= ENGINE_STACK_LOW && ENGINE_STACK_LOW < COUNTERS);

/// [`EXIT`]: an indirect branch to [`TARGET`] that no table knows.
pub const EXIT_INDIRECT: u32 = 0;
/// [`EXIT`]: an indirect branch from [`SITE`] to [`TARGET`] that has no counter yet.
pub const EXIT_TRANSFER: u32 = u32::MAX - 1;
/// [`EXIT`]: a return to [`TARGET`] that no table knows.
pub const EXIT_RETURN: u32 = u32::MAX - 2;
/// [`EXIT`]: a system call that the engine must see.
pub const EXIT_SYSCALL: u32 = u32::MAX;

/// Offset from gs of a counter.
#[must_use]
pub const fn counter(number: u32) -> u32 {
    COUNTERS + number * 8
}

/// A thread's state.
#[derive(Clone, Copy)]
pub struct State(pub usize);

impl State {
    /// A field.
    ///
    /// # Safety
    /// The state must be mapped, and the thread's own or at rest.
    #[must_use]
    pub unsafe fn get(self, offset: u32) -> u64 {
        // SAFETY: the caller's promise; offsets are within the state and aligned.
        unsafe { *((self.0 + offset as usize) as *const u64) }
    }

    /// Sets a field.
    ///
    /// # Safety
    /// As [`Self::get`].
    pub unsafe fn set(self, offset: u32, value: u64) {
        // SAFETY: as above.
        unsafe { *((self.0 + offset as usize) as *mut u64) = value }
    }

    /// A general register of the program, by its number.
    ///
    /// # Safety
    /// As [`Self::get`].
    #[must_use]
    pub unsafe fn register(self, number: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.get(CONTEXT + number * 8) }
    }

    /// Sets it.
    ///
    /// # Safety
    /// As [`Self::get`].
    pub unsafe fn set_register(self, number: u32, value: u64) {
        // SAFETY: as above.
        unsafe { self.set(CONTEXT + number * 8, value) }
    }
}

/// Numbers of registers as instructions have them.
#[expect(missing_docs)]
pub mod register {
    pub const RAX: u32 = 0;
    pub const RCX: u32 = 1;
    pub const RDX: u32 = 2;
    pub const RBX: u32 = 3;
    pub const RSP: u32 = 4;
    pub const RBP: u32 = 5;
    pub const RSI: u32 = 6;
    pub const RDI: u32 = 7;
    pub const R8: u32 = 8;
    pub const R9: u32 = 9;
    pub const R10: u32 = 10;
    pub const R11: u32 = 11;
}
