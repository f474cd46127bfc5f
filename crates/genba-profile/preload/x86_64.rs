//! What differs from one architecture to the next: numbers of system calls, registers.

use core::ffi::{c_long, c_void};

pub const SYS_GETPID: c_long = 39;
pub const SYS_GETPPID: c_long = 110;
pub const SYS_GETTID: c_long = 186;
pub const SYS_TIMER_CREATE: c_long = 222;
pub const SYS_TIMER_SETTIME: c_long = 223;
pub const SYS_TIMER_DELETE: c_long = 226;

/// Instruction, stack and frame pointer of an interrupted thread: `gregs` of its `ucontext_t`
/// (sys/ucontext.h), which begin at byte 40; RBP is 10, RSP 15, RIP 16.
///
/// # Safety
/// `context` is what a signal handler got.
pub unsafe fn registers(context: *const c_void) -> (usize, usize, usize) {
    // SAFETY: the caller's word for it.
    unsafe {
        let gregs = context.byte_add(40).cast::<usize>();
        (*gregs.add(16), *gregs.add(15), *gregs.add(10))
    }
}
