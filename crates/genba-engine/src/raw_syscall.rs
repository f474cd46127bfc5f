//! System calls without libc. Results are the kernel's: −errno for a failure.

use core::arch::asm;

/// Numbers, from `asm/unistd_64.h`.
pub mod nr {
    pub const READ: usize = 0;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const OPENAT: usize = 257;
    pub const PROCESS_VM_WRITEV: usize = 311;
    pub const READV: usize = 19;
    pub const RECVMSG: usize = 47;
    pub const PREADV: usize = 295;
    pub const PREADV2: usize = 327;
    pub const PROCESS_VM_READV: usize = 310;
    pub const WRITE: usize = 1;
    pub const PWRITE64: usize = 18;
    pub const WRITEV: usize = 20;
    pub const SENDFILE: usize = 40;
    pub const SPLICE: usize = 275;
    pub const FALLOCATE: usize = 285;
    pub const PWRITEV: usize = 296;
    pub const COPY_FILE_RANGE: usize = 326;
    pub const PWRITEV2: usize = 328;
    pub const MMAP: usize = 9;
    pub const MPROTECT: usize = 10;
    pub const MUNMAP: usize = 11;
    pub const BRK: usize = 12;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const RT_SIGRETURN: usize = 15;
    pub const MREMAP: usize = 25;
    pub const MADVISE: usize = 28;
    pub const SHMAT: usize = 30;
    pub const GETPID: usize = 39;
    pub const CLONE: usize = 56;
    pub const FORK: usize = 57;
    pub const VFORK: usize = 58;
    pub const EXECVE: usize = 59;
    pub const EXIT: usize = 60;
    pub const WAIT4: usize = 61;
    pub const GETRUSAGE: usize = 98;
    pub const KILL: usize = 62;
    pub const READLINK: usize = 89;
    pub const SHMDT: usize = 67;
    pub const FTRUNCATE: usize = 77;
    pub const TIMER_CREATE: usize = 222;
    pub const TIMER_SETTIME: usize = 223;
    pub const TIMER_GETTIME: usize = 224;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const RT_TGSIGQUEUEINFO: usize = 297;
    pub const TIMER_DELETE: usize = 226;
    pub const CLOCK_GETTIME: usize = 228;
    pub const MODIFY_LDT: usize = 154;
    pub const MLOCKALL: usize = 151;
    pub const SETRLIMIT: usize = 160;
    pub const PRLIMIT64: usize = 302;
    pub const PRCTL: usize = 157;
    pub const ARCH_PRCTL: usize = 158;
    pub const GETTID: usize = 186;
    pub const FUTEX: usize = 202;
    pub const REMAP_FILE_PAGES: usize = 216;
    pub const EXIT_GROUP: usize = 231;
    pub const SECCOMP: usize = 317;
    pub const MEMFD_CREATE: usize = 319;
    pub const EXECVEAT: usize = 322;
    pub const PKEY_MPROTECT: usize = 329;
    pub const RSEQ: usize = 334;
    pub const CLONE3: usize = 435;
    pub const MAP_SHADOW_STACK: usize = 453;
}

/// `PROT_READ | PROT_WRITE`.
pub const READ_WRITE: usize = 3;
/// `PROT_READ | PROT_WRITE | PROT_EXEC`.
pub const READ_WRITE_EXECUTE: usize = 7;
/// `MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE`.
pub const PRIVATE: usize = 0x02 | 0x20 | 0x4000;
/// `MAP_FIXED`.
pub const FIXED: usize = 0x10;
/// `MAP_FIXED_NOREPLACE`.
pub const FIXED_NOREPLACE: usize = 0x10_0000;
/// `MAP_SHARED`.
pub const SHARED: usize = 1;

/// Makes a system call; its result, or −errno.
///
/// # Safety
/// The call's effect on memory must be sound.
pub unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 only; the rest is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Maps memory; the address, or `None` if that fails.
///
/// # Safety
/// With [`FIXED`], nothing that is in use may be there.
pub unsafe fn mmap(
    address: usize,
    length: usize,
    protection: usize,
    flags: usize,
    fd: isize,
) -> Option<usize> {
    // SAFETY: the caller's promise.
    let result = unsafe {
        call(
            nr::MMAP,
            [address, length, protection, flags, fd as usize, 0],
        )
    };
    (result > 0).then_some(result as usize)
}

/// Excludes memory from core dumps, which are the program's.
///
/// # Safety
/// It must be the engine's own memory.
pub unsafe fn exclude_from_core_dumps(address: usize, length: usize) {
    const DONTDUMP: usize = 16;
    // SAFETY: changes nothing in the memory.
    unsafe { call(nr::MADVISE, [address, length, DONTDUMP, 0, 0, 0]) };
}

/// Asks the kernel for huge pages in this memory, where it has any.
///
/// # Safety
/// It must be the engine's own memory.
pub unsafe fn prefer_huge_pages(address: usize, length: usize) {
    const HUGEPAGE: usize = 14;
    // SAFETY: changes nothing in the memory.
    unsafe { call(nr::MADVISE, [address, length, HUGEPAGE, 0, 0, 0]) };
}

/// End of the program's heap (`brk`); 0 if the kernel does not say.
#[must_use]
pub fn program_break() -> u64 {
    // SAFETY: 0 asks and changes nothing.
    unsafe { call(nr::BRK, [0; 6]) }.max(0) as u64
}

/// Unmaps memory.
///
/// # Safety
/// The memory must not be used any more.
pub unsafe fn munmap(address: usize, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { call(nr::MUNMAP, [address, length, 0, 0, 0, 0]) };
}

/// Ends all threads of the process at once, without a core dump or a signal handler.
pub fn kill_process() -> ! {
    loop {
        // SAFETY: touches no memory.
        unsafe {
            let pid = call(nr::GETPID, [0; 6]) as usize;
            call(nr::KILL, [pid, 9, 0, 0, 0, 0]);
            call(nr::EXIT_GROUP, [137, 0, 0, 0, 0, 0]);
        }
    }
}
