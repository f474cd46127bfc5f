//! Interposed functions of the C library: the target must neither disable nor see the sampler's
//! signal, and its new threads must be sampled, too.

use core::ffi::{c_int, c_ulong, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::c::*;
use crate::{SIGNAL, begin_thread};

/// Address of the next definition of a function, looked up once.
macro_rules! next {
    ($name:literal) => {{
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let mut address = NEXT.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: a constant name.
            address = unsafe { dlsym(RTLD_NEXT, $name.as_ptr()) } as usize;
            NEXT.store(address, Ordering::Relaxed);
        }
        // SAFETY: a null pointer stays `None`; else it is the C library's function of this name,
        // of the type that the context gives it.
        unsafe { core::mem::transmute::<usize, Option<_>>(address) }
    }};
}

type Sigaction = unsafe extern "C" fn(c_int, *const sigaction_t, *mut sigaction_t) -> c_int;
type Sigmask = unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

pub unsafe fn next_sigaction(s: c_int, new: *const sigaction_t, old: *mut sigaction_t) -> c_int {
    let next: Option<Sigaction> = next!(c"sigaction");
    // SAFETY: the caller's arguments, passed on.
    next.map_or(-1, |next| unsafe { next(s, new, old) })
}

pub unsafe fn next_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    let next: Option<Sigmask> = next!(c"pthread_sigmask");
    // SAFETY: the caller's arguments, passed on.
    next.map_or(-1, |next| unsafe { next(how, new, old) })
}

fn is_ours(signal: c_int) -> bool {
    signal != 0 && signal == SIGNAL.load(Ordering::Relaxed)
}

/// A copy of a set without our signal.
unsafe fn without(set: *const sigset_t) -> sigset_t {
    // The kernel's set is 8 bytes; of the C library's larger one no more is ever used, and some
    // callers have no more.
    let mut copy = sigset_t([0; SIG_SETSIZE / 8]);
    // SAFETY: the caller's set.
    copy.0[0] = unsafe { *set.cast::<u64>() };
    let signal = SIGNAL.load(Ordering::Relaxed);
    if signal != 0 {
        copy.0[0] &= !(1 << (signal - 1));
    }
    copy
}

/// Programs that reset all signal handlers must not reset the sampler's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(s: c_int, new: *const sigaction_t, old: *mut sigaction_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        if is_ours(s) {
            if !old.is_null() {
                *old = core::mem::zeroed();
            }
            return 0;
        }
        next_sigaction(s, new, old)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(s: c_int, new: usize) -> usize {
    if is_ours(s) {
        return 0;
    }
    type Signal = unsafe extern "C" fn(c_int, usize) -> usize;
    let next: Option<Signal> = next!(c"signal");
    // SAFETY: the caller's arguments.
    next.map_or(usize::MAX, |next| unsafe { next(s, new) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments; the copy lives through the call.
    unsafe {
        if new.is_null() {
            return next_sigmask(how, new, old);
        }
        let copy = without(new);
        next_sigmask(how, &raw const copy, old)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    let next: Option<Sigmask> = next!(c"sigprocmask");
    // SAFETY: as for `pthread_sigmask`.
    unsafe {
        let Some(next) = next else { return -1 };
        if new.is_null() {
            return next(how, new, old);
        }
        let copy = without(new);
        next(how, &raw const copy, old)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwait(set: *const sigset_t, got: *mut c_int) -> c_int {
    type Sigwait = unsafe extern "C" fn(*const sigset_t, *mut c_int) -> c_int;
    let next: Option<Sigwait> = next!(c"sigwait");
    // SAFETY: the caller's arguments; the copy lives through the call.
    unsafe {
        let copy = without(set);
        next.map_or(38, |next| next(&raw const copy, got))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut c_void) -> c_int {
    type Sigwaitinfo = unsafe extern "C" fn(*const sigset_t, *mut c_void) -> c_int;
    let next: Option<Sigwaitinfo> = next!(c"sigwaitinfo");
    // SAFETY: as for `sigwait`.
    unsafe {
        let copy = without(set);
        next.map_or(-1, |next| next(&raw const copy, info))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut c_void,
    limit: *const timespec,
) -> c_int {
    type Sigtimedwait =
        unsafe extern "C" fn(*const sigset_t, *mut c_void, *const timespec) -> c_int;
    let next: Option<Sigtimedwait> = next!(c"sigtimedwait");
    // SAFETY: as for `sigwait`.
    unsafe {
        let copy = without(set);
        next.map_or(-1, |next| next(&raw const copy, info, limit))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signalfd(fd: c_int, set: *const sigset_t, flags: c_int) -> c_int {
    type Signalfd = unsafe extern "C" fn(c_int, *const sigset_t, c_int) -> c_int;
    let next: Option<Signalfd> = next!(c"signalfd");
    // SAFETY: as for `sigwait`.
    unsafe {
        let copy = without(set);
        next.map_or(-1, |next| next(fd, &raw const copy, flags))
    }
}

#[repr(C)]
struct Launch {
    start: Start,
    argument: *mut c_void,
}

unsafe extern "C" fn launched(launch: *mut c_void) -> *mut c_void {
    // SAFETY: what `pthread_create` below allocated for this thread alone.
    unsafe {
        let Launch { start, argument } = launch.cast::<Launch>().read();
        free(launch);
        begin_thread();
        start(argument)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut c_ulong,
    attr: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut c_ulong, *const c_void, Start, *mut c_void) -> c_int;
    let next: Option<Create> = next!(c"pthread_create");
    const EAGAIN: c_int = 11;
    // SAFETY: the caller's arguments; `launch` is freed by the thread, or here if there is none.
    unsafe {
        let Some(next) = next else { return EAGAIN };
        if SIGNAL.load(Ordering::Relaxed) == 0 {
            return next(thread, attr, start, argument);
        }
        let launch = malloc(size_of::<Launch>()).cast::<Launch>();
        if launch.is_null() {
            return EAGAIN;
        }
        launch.write(Launch { start, argument });
        let result = next(thread, attr, launched, launch.cast());
        if result != 0 {
            free(launch.cast());
        }
        result
    }
}
