//! Starting the engine in a process into which genba has injected it.

use core::sync::atomic::Ordering;

use crate::count_file_layout::{FILE_SIZE, SLOT_THREAD};
use crate::duet_layout::DuetParameters;
use crate::fragment::{LandingPad, TABLE_BYTES};
use crate::raw_syscall;
use crate::runtime::bursts::{self, BurstParameters, Bursts};
use crate::runtime::code_map::CodeMap;
use crate::runtime::context_switch::{TABLE, label};
use crate::runtime::count_file::CountFile;
use crate::runtime::dispatch::set_resume_point;
use crate::runtime::duet::Duet;
use crate::runtime::engine::Engine;
use crate::runtime::indirect_branch_tables::miss;
use crate::runtime::new_thread::XSAVE_BYTES;
use crate::runtime::program_mask;
use crate::runtime::signal_delivery::SignalActions;
use crate::runtime::thread_slots::{ThreadSlots, fresh_vectors};
use crate::runtime::{self, EngineLock};
use crate::thread_state;

/// Parameters of the engine, which genba writes into the process before it starts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BootParameters {
    /// Address of the mapped count file.
    pub shared: u64,
    /// The program's registers, by their numbers.
    pub registers: [u64; 16],
    /// The program's flags.
    pub flags: u64,
    /// Address of the program's first instruction.
    pub pc: u64,
    /// The program's signal mask. All signals are blocked while the engine starts.
    pub mask: u64,
    /// 1 if child processes are counted, else 0.
    pub children: u64,
    /// Which jumps are to be recorded: one of the `TRANSFERS_` constants of
    /// [`crate::count_file_layout`].
    pub transfers: u64,
    /// Which bursts are requested.
    pub bursts: BurstParameters,
    /// Which duet is requested.
    pub duet: DuetParameters,
}

/// Bytes of both tables of indirect branches: of jumps, and of returns.
const BRANCH_TABLES_BYTES: usize = 2 * TABLE_BYTES as usize;

/// Starts the engine, and the program under it.
///
/// # Safety
/// `boot` must be the address of a [`BootParameters`] that is true; all signals must be blocked.
pub unsafe fn start(boot: usize) -> ! {
    // SAFETY: the caller's promise.
    unsafe {
        let boot = *(boot as *const BootParameters);
        let shared = CountFile(boot.shared as usize);
        runtime::set_count_file(shared);
        XSAVE_BYTES.store(xsave_bytes(), Ordering::Relaxed);
        let table = reserve_table();
        // Before the first slot is taken, which says which system calls the engine sees.
        let bursts = Bursts::new(boot.bursts);
        let duet = Duet::new(boot.duet, shared);
        let mut slots = ThreadSlots::new(shared, boot.children != 0);
        let Some(state) = slots.take(SLOT_THREAD) else {
            runtime::refuse("there is no room for a thread's counters")
        };
        // The engine looks at its thread's state before the program runs.
        core::arch::asm!("wrgsbase {}", in(reg) state.0, options(nostack, preserves_flags));
        let code_map = CodeMap::new(shared, table as u32, boot.transfers, duet);
        let mut engine = Engine::new(code_map, slots, boot.children != 0);
        engine.bursts = bursts;
        engine.processes.push(SignalActions::first());
        runtime::install(engine);

        for (number, value) in (0..).zip(boot.registers) {
            state.set_register(number, value);
        }
        state.set(thread_state::CONTEXT_FLAGS, boot.flags);
        program_mask::set_program_mask(state, boot.mask);
        fresh_vectors(state);
        let mut locked = EngineLock::take();
        let place = locked.engine().get(boot.pc);
        set_resume_point(state, boot.pc, place);
        bursts::begin_thread(locked.engine(), state);
        drop(locked);
        label::genba_begin(state.0)
    }
}

/// Reserves the tables that indirect branches look into. Their addresses must fit 31 bits.
unsafe fn reserve_table() -> usize {
    const HIGHEST_ADDRESS: usize = 0x7000_0000;
    const SEARCH_STEP: usize = 0x0100_0000;
    for step in 0..64 {
        let hint = HIGHEST_ADDRESS - step * SEARCH_STEP;
        // SAFETY: replaces nothing.
        unsafe {
            let flags = raw_syscall::PRIVATE | raw_syscall::FIXED_NOREPLACE;
            match raw_syscall::mmap(
                hint,
                BRANCH_TABLES_BYTES,
                raw_syscall::READ_WRITE,
                flags,
                -1,
            ) {
                Some(at) if at == hint => {
                    for index in 0..1 << 16 {
                        let entry = (at + index * 8) as *mut u64;
                        *entry = miss(LandingPad::Jump);
                        *entry.add(1 << 16) = miss(LandingPad::Return);
                    }
                    raw_syscall::exclude_from_core_dumps(at, BRANCH_TABLES_BYTES);
                    TABLE.store(at, Ordering::Relaxed);
                    return at;
                }
                Some(at) => raw_syscall::munmap(at, BRANCH_TABLES_BYTES),
                None => {}
            }
        }
    }
    runtime::refuse("the lowest 2 GiB of its memory are full")
}

/// Bytes that `xsave` needs for the components that this system has enabled (`cpuid`, leaf 0xD).
fn xsave_bytes() -> usize {
    let bytes = core::arch::x86_64::__cpuid_count(0xD, 0).ebx as usize;
    if bytes > thread_state::XSAVE_CAPACITY as usize || bytes == 0 {
        runtime::refuse("this processor has larger registers than the engine knows");
    }
    bytes
}

const _: () = assert!(FILE_SIZE < 1 << 40);
