//! A preloaded library that counts allocations and copies of the target by size, and the files that it names, in a run
//! of its own. `GENBA_REQUESTS` names the file of the counts.
//!
//! Built on its own by `build.rs`, without the standard library. What must hold: nothing here
//! allocates, locks or changes `errno`; the target gets the memory that it would have got. The
//! C library's own entry points (`__libc_malloc`) are called, so that it needs the GNU C library
//! and must not be loaded where the target brings an allocator of its own.

#![no_std]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

#[path = "named_files.rs"]
mod files;
#[path = "request_table_layout.rs"]
mod layout;

use layout::{ALLOCATE, CLASSES, COPY, GROWN_BYTES, LOADED, MOVED, MOVED_BYTES, RESIZE, WORDS};

#[link(name = "c")]
unsafe extern "C" {
    fn abort() -> !;
    fn getenv(name: *const c_char) -> *const c_char;
    fn close(fd: c_int) -> c_int;
    fn mmap(at: *mut c_void, n: usize, p: c_int, f: c_int, fd: c_int, o: i64) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn malloc_usable_size(block: *mut c_void) -> usize;
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(number: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: takes nothing; ends the process.
    unsafe { abort() }
}

/// The mapped table; null until it is mapped.
static TABLE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// A word of the table; `None` until it is mapped.
fn word(at: usize) -> Option<&'static AtomicU64> {
    let table = TABLE.load(Ordering::Acquire);
    // SAFETY: `WORDS` numbers are mapped for ever, and only ever accessed as atomics.
    (!table.is_null() && at < WORDS).then(|| unsafe { &*table.add(at) })
}

fn add(at: usize, number: u64) {
    if let Some(word) = word(at) {
        word.fetch_add(number, Ordering::Relaxed);
    }
}

/// The next library's function of a name, looked up once.
fn next(known: &AtomicUsize, name: &CStr) -> usize {
    const RTLD_NEXT: *mut c_void = -1isize as *mut c_void;
    let mut address = known.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: a constant name.
        address = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) } as usize;
        if address == 0 {
            // SAFETY: takes nothing; ends the process.
            unsafe { abort() }
        }
        known.store(address, Ordering::Relaxed);
    }
    address
}

fn note(service: usize, size: usize) {
    add(service + layout::class(size), 1);
    add(service + CLASSES, size as u64);
}

extern "C" fn begin() {
    const O_RDWR: c_int = 2;
    const O_CLOEXEC: c_int = 0o2_000_000;
    const READ_WRITE: c_int = 3;
    const SHARED: c_int = 1;
    // SAFETY: constant names; the path is a string of the environment; the mapping is new, and
    // the file was made large enough for it.
    unsafe {
        let path = getenv(c"GENBA_REQUESTS".as_ptr());
        if path.is_null() {
            return;
        }
        let fd = files::next_open(path, O_RDWR | O_CLOEXEC, 0);
        if fd < 0 {
            return;
        }
        let mapped = mmap(null_mut(), WORDS * 8, READ_WRITE, SHARED, fd, 0);
        close(fd);
        if mapped as isize != -1 {
            TABLE.store(mapped.cast(), Ordering::Release);
            add(LOADED, 1);
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    note(ALLOCATE, size);
    // SAFETY: the caller's argument.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(number: usize, size: usize) -> *mut c_void {
    note(ALLOCATE, number.saturating_mul(size));
    // SAFETY: the caller's arguments.
    unsafe { __libc_calloc(number, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        note(ALLOCATE, size);
        // SAFETY: the caller's arguments.
        return unsafe { __libc_realloc(block, size) };
    }
    note(RESIZE, size);
    // SAFETY: the caller's block is one that the allocator gave; it is not touched after the
    // call, only its former address is compared.
    unsafe {
        let old = malloc_usable_size(block);
        let new = __libc_realloc(block, size);
        if !new.is_null() {
            add(GROWN_BYTES, size.saturating_sub(old) as u64);
            if new != block {
                add(MOVED, 1);
                add(MOVED_BYTES, old.min(size) as u64);
            }
        }
        new
    }
}

type Move = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// The C library's `memmove`, which serves for `memcpy` as well.
fn next_move() -> Move {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the C library's function of that name has this type.
    unsafe { core::mem::transmute::<usize, Move>(next(&NEXT, c"memmove")) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    note(COPY, size);
    // SAFETY: the caller's arguments.
    unsafe { next_move()(to, from, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    note(COPY, size);
    // SAFETY: the caller's arguments.
    unsafe { next_move()(to, from, size) }
}
