//! The first steps in a process that genba has put the engine into.

use core::sync::atomic::Ordering;

use crate::fragment::{Landing, TABLE_BYTES};
use crate::layout::{FILE_SIZE, SLOT_THREAD};
use crate::runtime::book::Book;
use crate::runtime::clone::XSAVE_BYTES;
use crate::runtime::dispatch::go_on;
use crate::runtime::engine::Engine;
use crate::runtime::entry::{TABLE, label};
use crate::runtime::shared::Shared;
use crate::runtime::signal::Process;
use crate::runtime::slots::{Slots, fresh_vectors};
use crate::runtime::tables::miss;
use crate::runtime::{self, Locked};
use crate::state;
use crate::sys;

/// What genba tells the engine; written into the process before it starts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Boot {
    /// Where the file of counts is mapped, all of it.
    pub shared: u64,
    /// The program's registers, by number.
    pub registers: [u64; 16],
    /// Its flags.
    pub flags: u64,
    /// Its first instruction.
    pub pc: u64,
    /// Its signal mask; while the engine starts, all signals are blocked.
    pub mask: u64,
    /// 1 if children are to be counted.
    pub children: u64,
    /// Which jumps are to be recorded: one of the `TRANSFERS_` constants of [`crate::layout`].
    pub transfers: u64,
}

/// Bytes of the tables of indirect branches: of jumps, of returns.
const BYTES: usize = 2 * TABLE_BYTES as usize;

/// Starts the engine, and the program in it.
///
/// # Safety
/// `boot` must be the address of a [`Boot`] that is true; all signals must be blocked.
pub unsafe fn start(boot: usize) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        let boot = *(boot as *const Boot);
        let shared = Shared(boot.shared as usize);
        runtime::set_shared(shared);
        XSAVE_BYTES.store(xsave_bytes(), Ordering::Relaxed);
        let table = reserve_table();
        let mut slots = Slots::new(shared, boot.children != 0);
        let Some(state) = slots.take(SLOT_THREAD) else {
            runtime::unable("there is no room for a thread's counters")
        };
        let book = Book::new(shared, table as u32, boot.transfers);
        let mut engine = Engine::new(book, slots, boot.children != 0);
        engine.processes.push(Process::first());
        runtime::install(engine);

        for (number, value) in (0..).zip(boot.registers) {
            state.set_register(number, value);
        }
        state.set(state::CONTEXT_FLAGS, boot.flags);
        state.set(state::MASK, boot.mask);
        fresh_vectors(state);
        let mut locked = Locked::take();
        let place = locked.engine().get(boot.pc);
        go_on(state, boot.pc, place);
        drop(locked);
        label::genba_begin(state.0)
    }
}

/// The tables that indirect branches look into must be where 31 bits reach.
unsafe fn reserve_table() -> usize {
    const HIGHEST: usize = 0x7000_0000;
    const STEP: usize = 0x0100_0000;
    for step in 0..64 {
        let hint = HIGHEST - step * STEP;
        // SAFETY: replaces nothing.
        unsafe {
            let flags = sys::PRIVATE | sys::FIXED_NOREPLACE;
            match sys::mmap(hint, BYTES, sys::READ_WRITE, flags, -1) {
                Some(at) if at == hint => {
                    for index in 0..1 << 16 {
                        let entry = (at + index * 8) as *mut u64;
                        *entry = miss(Landing::Jump);
                        *entry.add(1 << 16) = miss(Landing::Return);
                    }
                    sys::leave_out_of_cores(at, BYTES);
                    TABLE.store(at, Ordering::Relaxed);
                    return at;
                }
                Some(at) => sys::munmap(at, BYTES),
                None => {}
            }
        }
    }
    runtime::unable("the lowest 2 GiB of its memory are full")
}

/// Bytes that `xsave` needs for what this system has switched on (leaf 0xD of `cpuid`).
fn xsave_bytes() -> usize {
    let bytes = core::arch::x86_64::__cpuid_count(0xD, 0).ebx as usize;
    if bytes > state::XSAVE_CAPACITY as usize || bytes == 0 {
        runtime::unable("this processor has larger registers than the engine knows");
    }
    bytes
}

const _: () = assert!(FILE_SIZE < 1 << 40);
