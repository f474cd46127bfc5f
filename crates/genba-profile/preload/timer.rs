//! The library that is preloaded into a target where perf events are forbidden: a CPU-time timer
//! per thread, whose signal handler writes the instruction pointer into a shared ring buffer.
//!
//! Compiled on its own by `build.rs`, without the standard library, so that nothing else is added to
//! the target. What must hold: nothing in the handler allocates, locks or changes `errno`;
//! the target never sees the signal (in no wait, no mask, no handler of its own).

#![no_std]

use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

#[path = "x86_64.rs"]
mod arch;
#[path = "c.rs"]
mod c;
#[path = "interpose.rs"]
mod interpose;
#[path = "layout.rs"]
mod layout;

use c::*;
use interpose::{next_sigaction, next_sigmask};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: takes nothing; ends the process.
    unsafe { abort() }
}

/// The mapped ring buffer; null until it is mapped.
static RING: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// The timers' signal; 0 until one was chosen.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static PERIOD: AtomicU64 = AtomicU64::new(0);
static STACKS: AtomicU32 = AtomicU32::new(0);
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// The state of one thread.
#[repr(C)]
struct Thread {
    timer: c_int,
    stack_low: usize,
    stack_high: usize,
    alternate: *mut c_void,
}

const ALTERNATE: usize = 64 << 10;

fn ids() -> (c_int, c_int) {
    // SAFETY: these calls take nothing and cannot fail. Not from caches: we may be a child.
    unsafe {
        (
            syscall(arch::SYS_GETPID) as c_int,
            syscall(arch::SYS_GETTID) as c_int,
        )
    }
}

fn now() -> u64 {
    let mut t = timespec { sec: 0, nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut t) };
    t.sec as u64 * 1_000_000_000 + t.nsec as u64
}

fn at(offset: usize) -> Option<&'static AtomicU64> {
    let ring = RING.load(Ordering::Acquire);
    if ring.is_null() {
        return None;
    }
    // SAFETY: the ring is mapped for ever, `offset` is one of the layout's, below its size and
    // a multiple of 8; all access is atomic.
    Some(unsafe { &*ring.add(offset).cast::<AtomicU64>() })
}

/// Writes an entry into the ring buffer, or counts it as lost.
fn push(kind: u64, time: u64, weight: u64, ip: u64, length: u64, payload: &[u64]) {
    let (Some(claimed), Some(lost)) = (at(layout::CLAIMED), at(layout::LOST)) else {
        return;
    };
    let (pid, tid) = ids();
    let mut n = claimed.load(Ordering::Relaxed);
    loop {
        let base = layout::HEAD + (n % layout::SLOTS) as usize * layout::SLOT;
        let Some(sequence) = at(base) else { return };
        let state = sequence.load(Ordering::Acquire);
        if state == n {
            match claimed.compare_exchange_weak(n, n + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let set = |word: usize, value: u64| {
                        if let Some(cell) = at(base + word * 8) {
                            cell.store(value, Ordering::Relaxed);
                        }
                    };
                    set(layout::KIND, kind);
                    set(layout::LENGTH, length);
                    set(layout::WHO, (pid as u64) << 32 | tid as u32 as u64);
                    set(layout::TIME, time);
                    set(layout::WEIGHT, weight);
                    set(layout::IP, ip);
                    for (index, word) in payload.iter().take(layout::WORDS).enumerate() {
                        set(layout::PAYLOAD + index, *word);
                    }
                    // The reader may have abandoned this slot; then the entry is lost.
                    let done =
                        sequence.compare_exchange(n, n + 1, Ordering::Release, Ordering::Relaxed);
                    if done.is_err() {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                    return;
                }
                Err(current) => n = current,
            }
        } else if state < n {
            lost.fetch_add(1, Ordering::Relaxed);
            return;
        } else {
            n = claimed.load(Ordering::Relaxed);
        }
    }
}

/// Follows frame pointers within the thread's stack, all of which is mapped. Returns the number of
/// return addresses written to `out`.
unsafe fn chain(
    thread: &Thread,
    sp: usize,
    mut fp: usize,
    out: &mut [u64; layout::WORDS],
) -> usize {
    let mut n = 0;
    if sp < thread.stack_low || sp >= thread.stack_high {
        return 0; // on another stack, whose bounds are not known
    }
    let mut low = sp;
    while n < layout::WORDS && fp >= low && fp % 8 == 0 && fp <= thread.stack_high - 16 {
        // SAFETY: 16 bytes between the stack pointer and the stack's upper end, aligned.
        let (next, ret) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
        if ret < 4096 {
            break;
        }
        out[n] = ret as u64;
        n += 1;
        low = fp + 16;
        fp = next;
    }
    n
}

unsafe extern "C" fn handler(_: c_int, info: *const c_int, context: *const c_void) {
    // SAFETY: errno is the thread's own; info and context are the kernel's for this signal.
    unsafe {
        let errno = *__errno_location();
        let time = now();
        // siginfo of a timer: signo, errno, code, pad, timer id, overrun.
        let overrun = (*info.add(5)).max(0) as u64;
        let weight = PERIOD.load(Ordering::Relaxed).saturating_mul(1 + overrun);
        let (ip, sp, fp) = arch::registers(context);
        let mut frames = [0u64; layout::WORDS];
        let mut n = 0;
        if STACKS.load(Ordering::Relaxed) != 0 {
            let thread = pthread_getspecific(KEY.load(Ordering::Relaxed)).cast::<Thread>();
            if !thread.is_null() {
                n = chain(&*thread, sp, fp, &mut frames);
            }
        }
        push(
            layout::SAMPLE,
            time,
            weight,
            ip as u64,
            n as u64,
            &frames[..n],
        );
        *__errno_location() = errno;
    }
}

/// Starts the timer of the calling thread.
unsafe fn begin_thread() {
    let signal = SIGNAL.load(Ordering::Acquire);
    if signal == 0 {
        return;
    }
    // SAFETY: all pointers are to whole locals or fresh memory; the key exists since `begin`.
    unsafe {
        let key = KEY.load(Ordering::Relaxed);
        let mut thread = pthread_getspecific(key).cast::<Thread>();
        if thread.is_null() {
            thread = malloc(size_of::<Thread>()).cast::<Thread>();
            if thread.is_null() {
                return;
            }
            thread.write(Thread {
                timer: -1,
                stack_low: 0,
                stack_high: 0,
                alternate: null_mut(),
            });
            let mut attr = [0u64; 8];
            if pthread_getattr_np(pthread_self(), &raw mut attr) == 0 {
                let (mut low, mut size) = (null_mut(), 0);
                if pthread_attr_getstack(&raw const attr, &raw mut low, &raw mut size) == 0 {
                    (*thread).stack_low = low as usize;
                    (*thread).stack_high = low as usize + size;
                }
                pthread_attr_destroy(&raw mut attr);
            }
            alternate_stack(thread);
            pthread_setspecific(key, thread.cast());
        }
        let mut event = sigevent {
            value: 0,
            signo: signal,
            notify: SIGEV_THREAD_ID,
            tid: ids().1,
            pad: [0; 11],
        };
        let mut timer: c_int = -1;
        let made = syscall(
            arch::SYS_TIMER_CREATE,
            CLOCK_THREAD_CPUTIME_ID,
            &raw mut event,
            &raw mut timer,
        );
        if made != 0 {
            return;
        }
        (*thread).timer = timer;
        let ns = PERIOD.load(Ordering::Relaxed) as i64;
        let part = |ns: i64| timespec {
            sec: ns / 1_000_000_000,
            nsec: ns % 1_000_000_000,
        };
        let both = [part(ns), part(ns)];
        syscall(
            arch::SYS_TIMER_SETTIME,
            timer,
            0,
            both.as_ptr(),
            null::<c_void>(),
        );
    }
}

/// Sets an alternate signal stack unless the thread has one: a signal frame does not fit on stacks
/// of a few kilobytes.
unsafe fn alternate_stack(thread: *mut Thread) {
    // SAFETY: as in `begin_thread`.
    unsafe {
        let mut old = stack_t {
            sp: null_mut(),
            flags: 0,
            size: 0,
        };
        if sigaltstack(null(), &raw mut old) != 0 || old.flags & SS_DISABLE == 0 {
            return;
        }
        let memory = mmap(null_mut(), ALTERNATE, 3, 0x22, -1, 0);
        if memory as isize == -1 {
            return;
        }
        let new = stack_t {
            sp: memory,
            flags: 0,
            size: ALTERNATE,
        };
        if sigaltstack(&raw const new, null_mut()) == 0 {
            (*thread).alternate = memory;
        } else {
            munmap(memory, ALTERNATE);
        }
    }
}

/// The destructor of the thread's key: deletes its timer and frees its state.
unsafe extern "C" fn end_thread(value: *mut c_void) {
    let thread = value.cast::<Thread>();
    // SAFETY: the value is what `begin_thread` set, and nobody else uses it any more once the
    // timer is gone and its signals are blocked out by deletion.
    unsafe {
        if (*thread).timer >= 0 {
            syscall(arch::SYS_TIMER_DELETE, (*thread).timer);
        }
        if !(*thread).alternate.is_null() {
            let mut now = stack_t {
                sp: null_mut(),
                flags: 0,
                size: 0,
            };
            sigaltstack(null(), &raw mut now);
            if now.sp == (*thread).alternate {
                let off = stack_t {
                    sp: null_mut(),
                    flags: SS_DISABLE,
                    size: 0,
                };
                sigaltstack(&raw const off, null_mut());
            }
            munmap((*thread).alternate, ALTERNATE);
        }
        free(value);
    }
}

unsafe extern "C" fn in_child() {
    let parent = {
        // SAFETY: takes nothing.
        unsafe { syscall(arch::SYS_GETPPID) }
    };
    push(layout::FORK, now(), 0, parent as u64, 0, &[]);
    // SAFETY: the child has this one thread, whose data came with it; its timer did not.
    unsafe { begin_thread() };
}

/// Sends the process's mappings: the reader may drain the ring buffer after the process has ended.
fn send_maps() {
    if RING.load(Ordering::Acquire).is_null() {
        return;
    }
    const O_CLOEXEC: c_int = 0o2_000_000;
    // SAFETY: a constant path; reads into a buffer of the size given.
    unsafe {
        let fd = open(c"/proc/self/maps".as_ptr(), O_CLOEXEC);
        if fd < 0 {
            return;
        }
        loop {
            let mut words = [0u64; layout::WORDS];
            let n = read(fd, words.as_mut_ptr().cast(), layout::WORDS * 8);
            if n <= 0 {
                break;
            }
            push(layout::MAPS, now(), 0, 0, n as u64, &words);
        }
        close(fd);
    }
    push(layout::MAPS_END, now(), 0, 0, 0, &[]);
}

/// The leading digits of an environment variable as a number; 0 if there are none.
unsafe fn number(name: *const c_char) -> u64 {
    // SAFETY: the environment's strings end with NUL.
    unsafe {
        let mut text = getenv(name);
        let mut n = 0u64;
        while !text.is_null() && (*text as u8).is_ascii_digit() {
            n = n
                .saturating_mul(10)
                .saturating_add(u64::from(*text as u8 - b'0'));
            text = text.add(1);
        }
        n
    }
}

unsafe extern "C" fn begin() {
    const O_RDWR_CLOEXEC: c_int = 0o2_000_002;
    // SAFETY: runs once, before `main`, on the only thread there is.
    unsafe {
        let path = getenv(c"GENBA_TIMER_RING".as_ptr());
        let period = number(c"GENBA_TIMER_NS".as_ptr());
        if path.is_null() || period == 0 {
            return;
        }
        let fd = open(path, O_RDWR_CLOEXEC);
        if fd < 0 {
            return;
        }
        let ring = mmap(null_mut(), layout::SIZE, 3, 1, fd, 0);
        close(fd);
        if ring as isize == -1 || *ring.cast::<u64>() != layout::MAGIC {
            return;
        }
        RING.store(ring.cast(), Ordering::Release);
        PERIOD.store(period, Ordering::Relaxed);
        STACKS.store(
            number(c"GENBA_TIMER_STACKS".as_ptr()) as u32,
            Ordering::Relaxed,
        );
        let mut name = [0u64; layout::WORDS];
        let comm = open(c"/proc/self/comm".as_ptr(), O_RDWR_CLOEXEC & !2);
        let n = read(comm, name.as_mut_ptr().cast(), 16).max(0);
        close(comm);
        push(layout::EXEC, now(), 0, 0, n as u64, &name[..2]);
        send_maps();

        let mut key = 0;
        if pthread_key_create(&raw mut key, Some(end_thread)) != 0 {
            return;
        }
        KEY.store(key, Ordering::Relaxed);
        // A real-time signal without a handler: SIGPROF is the target's.
        for signal in (40..=60).rev() {
            let mut old: sigaction_t = core::mem::zeroed();
            if next_sigaction(signal, null(), &raw mut old) != 0 || old.handler != 0 {
                continue;
            }
            let mut new: sigaction_t = core::mem::zeroed();
            new.handler = handler as *const () as usize;
            new.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
            new.mask = sigset_t([u64::MAX; SIG_SETSIZE / 8]);
            if next_sigaction(signal, &raw const new, null_mut()) == 0 {
                SIGNAL.store(signal, Ordering::Release);
                // It may be blocked since before the `execve`.
                let mut only = sigset_t([0; SIG_SETSIZE / 8]);
                only.0[0] = 1 << (signal - 1);
                const SIG_UNBLOCK: c_int = 1;
                next_sigmask(SIG_UNBLOCK, &raw const only, null_mut());
                break;
            }
        }
        pthread_atfork(None, None, Some(in_child));
        begin_thread();
    }
}

unsafe extern "C" fn end() {
    // Includes libraries that were loaded since.
    send_maps();
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn() = begin;
#[used]
#[unsafe(link_section = ".fini_array")]
static END: unsafe extern "C" fn() = end;
