//! System calls that concern the counts: those that change mappings, execute, exit, fork.

use std::ffi::c_uint;
use std::sync::atomic::Ordering;

use super::plugin_file_layout::{flag, header};
use super::qemu_api::Id;
use super::{MAPPINGS_CHANGED, PARENT, with};

/// Numbers of system calls (x86-64).
mod number {
    pub const MMAP: i64 = 9;
    pub const MPROTECT: i64 = 10;
    pub const MUNMAP: i64 = 11;
    pub const RT_SIGRETURN: i64 = 15;
    pub const MREMAP: i64 = 25;
    pub const SHMAT: i64 = 30;
    pub const EXECVE: i64 = 59;
    pub const EXIT_GROUP: i64 = 231;
    pub const EXECVEAT: i64 = 322;
}

fn set_flag(bit: u64, on: bool) {
    with(|state| {
        let flags = state.store.field(header::FLAGS);
        if on {
            flags.fetch_or(bit, Ordering::Relaxed);
        } else {
            flags.fetch_and(!bit, Ordering::Relaxed);
        }
    });
}

fn changes_mappings(call: i64) -> bool {
    matches!(
        call,
        number::MMAP | number::MPROTECT | number::MUNMAP | number::MREMAP | number::SHMAT
    )
}

#[allow(clippy::too_many_arguments)]
pub extern "C" fn system_call(
    _: Id,
    _: c_uint,
    call: i64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    match call {
        number::EXECVE | number::EXECVEAT => set_flag(flag::EXECUTED, true),
        number::EXIT_GROUP => set_flag(flag::EXITED, true),
        number::RT_SIGRETURN => {
            with(|state| {
                let signals = state.store.field(header::SIGNALS);
                signals.fetch_add(1, Ordering::Relaxed);
            });
        }
        call if changes_mappings(call) => MAPPINGS_CHANGED.store(true, Ordering::Release),
        _ => {}
    }
}

pub extern "C" fn system_call_returned(_: Id, _: c_uint, call: i64, _: i64) {
    match call {
        number::EXECVE | number::EXECVEAT => set_flag(flag::EXECUTED, false),
        call if changes_mappings(call) => MAPPINGS_CHANGED.store(true, Ordering::Release),
        _ => {}
    }
}

/// Called in a process that is being forked.
pub extern "C" fn before_fork_in_parent() {
    with(|state| {
        if !state.store.children {
            let forks = state.store.field(header::FORKS);
            forks.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// Called in a forked child. Fork stops all threads outside of the callbacks.
pub extern "C" fn after_fork_in_child() {
    let parent = PARENT.swap(u64::from(std::process::id()), Ordering::Relaxed);
    with(|state| state.store.split(parent));
}
