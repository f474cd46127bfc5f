//! Exact execution counts from inside the target's process: a binary translator. It copies the
//! program's code basic block by basic block into a code cache, adds one increment of a per-thread
//! counter to every block, and the program runs the translated code instead of its own.
//!
//! **Scope.** Everything that runs in the target: decoding, counter placement, layout and linking
//! of fragments (translated code), indirect branches, system calls, threads, signals, process exit,
//! memory. And [`count_file_layout`]: the file in which the counts are kept, which genba reads.
//!
//! **How it is loaded.** `binary/` builds it as a shared object without libc and std (the *engine
//! binary*), which genba maps into a process stopped at its first instruction. It runs between the
//! program's own instructions, so it may use nothing that the program uses: it makes system calls
//! itself ([`raw_syscall`]), has a heap of its own ([`heap`]), runs on stacks of its own with all
//! signals blocked, and leaves every register as it was.
//!
//! **Not here.** Choosing the engine, starting the process, reading the counts, names: genba-count.
//! Architectures other than x86-64.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

extern crate alloc;

mod address_map;
mod address_ranges;
mod basic_block;
pub mod burst_layout;
pub mod count_file_layout;
mod counter_placement;
pub mod duet_layout;
mod emitter;
mod fragment;
pub mod heap;
mod liveness;
mod observed_operations;
mod proc_maps;
mod random_numbers;
mod raw_syscall;
mod recovery_marks;
pub mod resource_limits;
pub mod runtime;
pub mod startup;
mod state_recovery;
mod thread_state;
mod writable_pages;

pub use runtime::{fatal, refuse};

/// The engine binary for a target's process: a shared object without undefined symbols; its entry
/// point is `genba_start`.
#[cfg(feature = "binary")]
pub static ENGINE_BINARY: &[u8] = include_bytes!(env!("GENBA_ENGINE_BINARY"));
