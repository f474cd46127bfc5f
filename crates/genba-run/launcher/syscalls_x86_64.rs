//! x86-64: entry point, system calls, `clone` onto another stack, memory functions.

use core::arch::{asm, global_asm};

pub mod nr {
    //! System call numbers.
    pub const READ: usize = 0;
    pub const CLOSE: usize = 3;
    pub const MMAP: usize = 9;
    pub const MUNMAP: usize = 11;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const GETPID: usize = 39;
    pub const SENDTO: usize = 44;
    pub const RECVFROM: usize = 45;
    pub const RECVMSG: usize = 47;
    pub const FORK: usize = 57;
    pub const EXECVE: usize = 59;
    pub const KILL: usize = 62;
    pub const FCNTL: usize = 72;
    pub const CHDIR: usize = 80;
    pub const SETPGID: usize = 109;
    pub const GETPPID: usize = 110;
    pub const PRCTL: usize = 157;
    pub const FUTEX: usize = 202;
    pub const SCHED_SETAFFINITY: usize = 203;
    pub const GETDENTS64: usize = 217;
    pub const CLOCK_GETTIME: usize = 228;
    pub const EXIT_GROUP: usize = 231;
    pub const WAITID: usize = 247;
    pub const OPENAT: usize = 257;
    pub const PPOLL: usize = 271;
    pub const SIGNALFD4: usize = 289;
    pub const DUP3: usize = 292;
    pub const PIDFD_SEND_SIGNAL: usize = 424;
    pub const PIDFD_OPEN: usize = 434;
}

global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {main}",
    "ud2",
    main = sym crate::launcher_main,
);

// genba_clone(flags, stack_top, child_tid, entry, argument) -> pid or -errno.
// The child takes entry and argument from its own stack, since `syscall` destroys rcx.
global_asm!(
    ".globl genba_clone",
    "genba_clone:",
    "and rsi, -16",
    "sub rsi, 16",
    "mov [rsi], rcx",
    "mov [rsi + 8], r8",
    "mov r10, rdx",
    "xor edx, edx",
    "xor r8d, r8d",
    "mov eax, 56",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "ret",
    "2:",
    "xor ebp, ebp",
    "pop rax",
    "pop rdi",
    "call rax",
    "ud2",
);

unsafe extern "C" {
    /// `clone` whose child calls `entry(argument)` on the stack that ends at `stack_top`.
    ///
    /// # Safety
    /// With CLONE_VM the stack must be writable, unused and at least a few KiB; `entry` must
    /// not return; what `argument` points to must outlive the child's use of it.
    pub fn genba_clone(
        flags: usize,
        stack_top: *mut u8,
        child_tid: *const u32,
        entry: extern "C" fn(*const u8) -> !,
        argument: *const u8,
    ) -> isize;
}

/// A system call.
///
/// # Safety
/// The arguments must be right for the call: pointers valid for what it reads and writes.
#[inline]
pub unsafe fn syscall(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = args;
    // SAFETY: the kernel preserves all registers but rax, rcx and r11; the caller vouches for
    // the arguments.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

// The compiler emits calls to these four; without a C library they must be here.

/// C's `memcpy`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: the caller vouches for `count` bytes on both sides; the direction flag is clear
    // by the calling convention.
    unsafe {
        asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
             options(nostack, preserves_flags));
    }
    to
}

/// C's `memmove`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= count {
        // SAFETY: copying upwards never overwrites what is still to be read.
        return unsafe { memcpy(to, from, count) };
    }
    // SAFETY: as above, downwards; the direction flag is cleared again.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rcx") count => _,
             inout("rdi") to.wrapping_add(count).wrapping_sub(1) => _,
             inout("rsi") from.wrapping_add(count).wrapping_sub(1) => _, options(nostack));
    }
    to
}

/// C's `memset`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    // SAFETY: the caller vouches for `count` writable bytes.
    unsafe {
        asm!("rep stosb", inout("rcx") count => _, inout("rdi") to => _, in("al") value as u8,
             options(nostack, preserves_flags));
    }
    to
}

/// C's `memcmp`.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for index in 0..count {
        // Volatile, so that the compiler does not turn this loop into a call of itself.
        // SAFETY: the caller vouches for `count` readable bytes on both sides.
        let (x, y) = unsafe { (a.add(index).read_volatile(), b.add(index).read_volatile()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

/// `memcmp` where only equality matters.
///
/// # Safety
/// As in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, count) }
}
