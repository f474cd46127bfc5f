//! The engine at run time: one for a process and all its threads, behind one lock.

mod assembly_macros;
mod block_index;
pub mod burst_recording;
pub mod burst_timer;
pub mod bursts;
pub mod code_cache;
pub mod code_map;
pub mod context_switch;
pub mod count_file;
pub mod dispatch;
pub mod duet;
pub mod engine;
pub mod exec;
pub mod forked_child;
mod former_counters;
mod fragment_context;
mod fragment_exit;
mod fragment_recovery;
pub mod indirect_branch_tables;
pub mod invalidation;
pub mod limit_changes;
pub mod memory_changes;
pub mod new_thread;
mod observing_code;
pub mod program_mask;
pub mod replica;
pub mod replica_confinement;
pub mod request_channel;
pub mod signal_delivery;
pub mod signal_recovery;
pub mod syscall_interception;
pub mod thread_slots;
pub mod transfer_recording;
pub mod uncounted_child;
pub mod writable_code;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::count_file_layout::{STATUS_FAILED, STATUS_REFUSED};
use crate::raw_syscall;
use count_file::CountFile;
use engine::Engine;

struct Global(UnsafeCell<Option<Engine>>);

// SAFETY: only whoever has LOCK looks inside.
unsafe impl Sync for Global {}

static ENGINE: Global = Global(UnsafeCell::new(None));
/// 0 free, 1 taken, 2 taken and waited for by others.
static LOCK: AtomicU32 = AtomicU32::new(0);
/// Address of the count file, for messages from places without the lock.
static SHARED: AtomicUsize = AtomicUsize::new(0);

/// The engine's lock, held until dropped.
pub struct EngineLock(());

impl EngineLock {
    /// Waits for the lock and takes it.
    #[must_use]
    pub fn take() -> Self {
        if LOCK
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while LOCK.swap(2, Ordering::Acquire) != 0 {
                let futex = LOCK.as_ptr() as usize;
                // SAFETY: FUTEX_WAIT | FUTEX_PRIVATE on our own word.
                unsafe { raw_syscall::call(raw_syscall::nr::FUTEX, [futex, 128, 2, 0, 0, 0]) };
            }
        }
        Self(())
    }

    /// Returns the engine.
    pub fn engine(&mut self) -> &mut Engine {
        // SAFETY: we have the lock, and the borrow ends with it.
        match unsafe { &mut *ENGINE.0.get() } {
            Some(engine) => engine,
            None => fatal("there is no engine"),
        }
    }

    /// Makes the lock taken and not waited for: in a forked child, threads that waited are gone.
    pub fn discard_waiters(&self) {
        LOCK.store(1, Ordering::Relaxed);
    }
}

impl Drop for EngineLock {
    fn drop(&mut self) {
        if LOCK.swap(0, Ordering::Release) == 2 {
            let futex = LOCK.as_ptr() as usize;
            // SAFETY: FUTEX_WAKE | FUTEX_PRIVATE of one.
            unsafe { raw_syscall::call(raw_syscall::nr::FUTEX, [futex, 129, 1, 0, 0, 0]) };
        }
    }
}

/// Installs the engine of the process.
///
/// # Safety
/// To be called once, before there is a second thread.
pub unsafe fn install(engine: Engine) {
    SHARED.store(engine.code_map.shared.0, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { *ENGINE.0.get() = Some(engine) };
}

/// Sets the count file to which reasons for ending the process are written.
pub fn set_count_file(shared: CountFile) {
    SHARED.store(shared.0, Ordering::Relaxed);
}

fn end(status: u32, parts: &[&[u8]]) -> ! {
    if replica::is_one() {
        replica::exit();
    }
    let shared = SHARED.load(Ordering::Relaxed);
    if shared != 0 {
        CountFile(shared).fail(status, parts);
    }
    raw_syscall::kill_process()
}

/// Ends the process because the engine itself has failed.
pub fn fatal(message: &str) -> ! {
    end(STATUS_FAILED, &[message.as_bytes()])
}

/// Ends the process because it does something that cannot be counted.
pub fn refuse(reason: &str) -> ! {
    end(STATUS_REFUSED, &[reason.as_bytes()])
}

/// The same as [`refuse`], with the address and the mapping in question.
pub fn refuse_at(reason: &str, pc: u64, path: &[u8]) -> ! {
    let mut digits = [0u8; 16];
    for (index, digit) in digits.iter_mut().enumerate() {
        let value = (pc >> (60 - index * 4)) as usize & 15;
        *digit = b"0123456789abcdef"[value];
    }
    let path = if path.is_empty() { b"memory" } else { path };
    end(
        STATUS_REFUSED,
        &[reason.as_bytes(), b" (at ", &digits, b" in ", path, b")"],
    )
}
