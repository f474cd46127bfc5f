//! Declarations of the C library's types, constants and functions that are used.

use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};

pub const SIG_SETSIZE: usize = 128;
pub const SA_SIGINFO: c_int = 4;
pub const SA_ONSTACK: c_int = 0x0800_0000;
pub const SA_RESTART: c_int = 0x1000_0000;
pub const RTLD_NEXT: *mut c_void = -1isize as *mut c_void;
pub const CLOCK_MONOTONIC: c_int = 1;
pub const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
pub const SIGEV_THREAD_ID: c_int = 4;
pub const SS_DISABLE: c_int = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sigset_t(pub [u64; SIG_SETSIZE / 8]);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sigaction_t {
    pub handler: usize,
    pub mask: sigset_t,
    pub flags: c_int,
    pub restorer: usize,
}

#[repr(C)]
pub struct timespec {
    pub sec: i64,
    pub nsec: i64,
}

#[repr(C)]
pub struct sigevent {
    pub value: usize,
    pub signo: c_int,
    pub notify: c_int,
    pub tid: c_int,
    pub pad: [c_int; 11],
}

#[repr(C)]
pub struct stack_t {
    pub sp: *mut c_void,
    pub flags: c_int,
    pub size: usize,
}

pub type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

#[link(name = "c")]
unsafe extern "C" {
    pub fn abort() -> !;
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn read(fd: c_int, buffer: *mut c_void, n: usize) -> isize;
    pub fn close(fd: c_int) -> c_int;
    pub fn mmap(a: *mut c_void, n: usize, p: c_int, f: c_int, fd: c_int, o: i64) -> *mut c_void;
    pub fn munmap(a: *mut c_void, n: usize) -> c_int;
    pub fn malloc(n: usize) -> *mut c_void;
    pub fn free(p: *mut c_void);
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn clock_gettime(clock: c_int, t: *mut timespec) -> c_int;
    pub fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int;
    pub fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub fn pthread_key_create(
        key: *mut u32,
        end: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
    pub fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub fn pthread_getspecific(key: u32) -> *mut c_void;
    pub fn pthread_self() -> c_ulong;
    pub fn pthread_getattr_np(thread: c_ulong, attr: *mut [u64; 8]) -> c_int;
    pub fn pthread_attr_getstack(
        attr: *const [u64; 8],
        a: *mut *mut c_void,
        n: *mut usize,
    ) -> c_int;
    pub fn pthread_attr_destroy(attr: *mut [u64; 8]) -> c_int;
    pub fn __errno_location() -> *mut c_int;
}
