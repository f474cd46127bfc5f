//! Calls that name a file, counted by the file and its state: whether one is opened or asked about again though it
//! stays as it is.
//!
//! A state is the file's number, size and time of change. A file that does not exist is the same again only by an
//! absolute name. Files that the kernel makes up (`/proc`, `/sys`, `/dev`) are left out, their contents change.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::layout::{
    ASKED, FILE_CALLS, FILES, FILES_DIFFERENT, MAX_FILES, MAX_NAMES, NAME_WORDS, NAMES, NAMES_USED,
    OPENED,
};
use crate::{add, next, word};

#[link(name = "c")]
unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

const AT_FDCWD: c_int = -100;
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
const O_ACCMODE: c_int = 3;
const O_DIRECTORY: c_int = 0o200_000;
const STATX_BASIC_STATS: u32 = 0x7ff;

/// Places of the table that are tried for a file.
const MAX_PROBES: usize = 64;
/// Calls from which on a file's name is kept.
const CALLS_TO_NAME: u64 = 16;
/// Bytes of a name that tell it apart.
const MAX_NAME: usize = 4096;

/// Declares functions that call the next library's and count the file that they name.
macro_rules! counted {
    ($($name:ident $symbol:literal ($($argument:ident: $type:ty),*) -> $result:ty, $count:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            // SAFETY: the C library's function of that name has this type, but for what it takes by `...`,
            // which is passed as a number of its width is; the caller's arguments are handed on.
            unsafe {
                let function = transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>(
                    next(&NEXT, $symbol),
                );
                let result = function($($argument),*);
                let error = *__errno_location();
                $count;
                *__errno_location() = error;
                result
            }
        }
    )*};
}

counted! {
    open c"open" (path: *const c_char, flags: c_int, mode: u32) -> c_int, opened(AT_FDCWD, path, flags);
    open64 c"open64" (path: *const c_char, flags: c_int, mode: u32) -> c_int, opened(AT_FDCWD, path, flags);
    openat c"openat" (at: c_int, path: *const c_char, flags: c_int, mode: u32) -> c_int, opened(at, path, flags);
    openat64 c"openat64" (at: c_int, path: *const c_char, flags: c_int, mode: u32) -> c_int, opened(at, path, flags);
    fopen c"fopen" (path: *const c_char, mode: *const c_char) -> *mut c_void, opened_stream(path, mode);
    fopen64 c"fopen64" (path: *const c_char, mode: *const c_char) -> *mut c_void, opened_stream(path, mode);
    stat c"stat" (path: *const c_char, buffer: *mut c_void) -> c_int, saw(ASKED, AT_FDCWD, path, 0);
    stat64 c"stat64" (path: *const c_char, buffer: *mut c_void) -> c_int, saw(ASKED, AT_FDCWD, path, 0);
    lstat c"lstat" (path: *const c_char, buffer: *mut c_void) -> c_int,
        saw(ASKED, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
    lstat64 c"lstat64" (path: *const c_char, buffer: *mut c_void) -> c_int,
        saw(ASKED, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
    fstatat c"fstatat" (at: c_int, path: *const c_char, buffer: *mut c_void, flags: c_int) -> c_int,
        saw(ASKED, at, path, flags);
    fstatat64 c"fstatat64" (at: c_int, path: *const c_char, buffer: *mut c_void, flags: c_int) -> c_int,
        saw(ASKED, at, path, flags);
    statx c"statx" (at: c_int, path: *const c_char, flags: c_int, mask: u32, buffer: *mut c_void) -> c_int,
        saw(ASKED, at, path, flags);
    access c"access" (path: *const c_char, mode: c_int) -> c_int, saw(ASKED, AT_FDCWD, path, 0);
}

/// The C library's `open`.
///
/// # Safety
/// `path` is a string.
pub unsafe fn next_open(path: *const c_char, flags: c_int, mode: u32) -> c_int {
    type Open = unsafe extern "C" fn(*const c_char, c_int, u32) -> c_int;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the C library's function takes these registers; the caller's arguments.
    unsafe { transmute::<usize, Open>(next(&NEXT, c"open"))(path, flags, mode) }
}

unsafe fn opened(at: c_int, path: *const c_char, flags: c_int) {
    if flags & (O_ACCMODE | O_DIRECTORY) == 0 {
        // SAFETY: the caller's arguments.
        unsafe { saw(OPENED, at, path, 0) }
    }
}

unsafe fn opened_stream(path: *const c_char, mode: *const c_char) {
    // SAFETY: the caller's strings; the second byte is read where the first is not the end.
    unsafe {
        if !mode.is_null() && *mode == b'r' as c_char && *mode.add(1) != b'+' as c_char {
            saw(OPENED, AT_FDCWD, path, 0);
        }
    }
}

/// Counts a call about a file.
unsafe fn saw(kind: usize, at: c_int, path: *const c_char, flags: c_int) {
    if path.is_null() {
        return;
    }
    // SAFETY: the caller's string, of which no byte behind its end is read.
    let name = |index: usize| unsafe { *path.add(index) as u8 };
    if name(0) == 0 || [&b"/proc"[..], b"/sys/", b"/dev/"].iter().any(|one| begins(&name, one)) {
        return;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut length = 0;
    while length < MAX_NAME && name(length) != 0 {
        hash = mixed(hash, u64::from(name(length)));
        length += 1;
    }
    add(kind + FILE_CALLS, 1);
    // SAFETY: the caller's string and directory.
    match unsafe { state(at, path, flags) } {
        Some(state) => hash = mixed(hash, state),
        None if name(0) == b'/' => {}
        None => return add(kind + FILES_DIFFERENT, 1),
    }
    count(kind, hash | 1, &name, length);
}

/// Whether a name begins with these bytes, none of which is 0.
fn begins(name: &dyn Fn(usize) -> u8, with: &[u8]) -> bool {
    with.iter().enumerate().all(|(index, byte)| name(index) == *byte)
}

fn mixed(hash: u64, with: u64) -> u64 {
    let product = (hash ^ with).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

/// Number, size and time of change of a file as one number; `None` where there is no such file.
unsafe fn state(at: c_int, path: *const c_char, flags: c_int) -> Option<u64> {
    type Statx = unsafe extern "C" fn(c_int, *const c_char, c_int, u32, *mut c_void) -> c_int;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let mut found = [0u64; 32];
    // SAFETY: the C library's function has this type; the buffer is of the kernel's 256 bytes.
    let failed = unsafe {
        let statx = transmute::<usize, Statx>(next(&NEXT, c"statx"));
        statx(at, path, flags & AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, found.as_mut_ptr().cast())
    };
    // `stx_ino`, `stx_size` and `stx_mtime` of `struct statx` (statx(2)).
    (failed == 0).then(|| [4, 5, 14, 15].iter().fold(0, |sum, &word| mixed(sum, found[word])))
}

/// Counts a file by its hash, which is not 0.
fn count(kind: usize, hash: u64, name: &dyn Fn(usize) -> u8, length: usize) {
    for probe in 0..MAX_PROBES {
        let slot = (hash as usize).wrapping_add(probe) & (MAX_FILES - 1);
        let at = kind + FILES + 2 * slot;
        let (Some(known), Some(calls)) = (word(at), word(at + 1)) else {
            return;
        };
        let new = match known.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => true,
            Err(other) if other == hash => false,
            Err(_) => continue,
        };
        if new {
            add(kind + FILES_DIFFERENT, 1);
        }
        if calls.fetch_add(1, Ordering::Relaxed) + 1 == CALLS_TO_NAME {
            keep_name(kind, slot, name, length);
        }
        return;
    }
    add(kind + FILES_DIFFERENT, 1);
}

fn keep_name(kind: usize, slot: usize, name: &dyn Fn(usize) -> u8, length: usize) {
    let Some(used) = word(kind + NAMES_USED) else {
        return;
    };
    let index = used.fetch_add(1, Ordering::Relaxed) as usize;
    if index >= MAX_NAMES {
        return;
    }
    let start = kind + NAMES + index * NAME_WORDS;
    add(start, slot as u64);
    for at in 0..length.min((NAME_WORDS - 1) * 8 - 1) {
        add(start + 1 + at / 8, u64::from(name(at)) << (at % 8 * 8));
    }
}
