//! Code in memory that the program can write to, as in programs that generate code while they run.
//!
//! A page is write-protected before code is translated from it. A write to it faults; the fragments
//! of the page are invalidated, the page becomes writable, and the write is repeated. When the
//! page's code is executed the next time, it is protected and translated again.
//!
//! What must hold: what a fragment was made from has not changed since, unless the fragment is
//! invalidated. So a page is protected before any of its bytes is read, also for looking ahead, and
//! the fragment is noted with every page that was read ([`CodeMap::pages_read`]).

use core::cell::{Cell, RefCell};

use alloc::vec::Vec;

use crate::fragment;
use crate::raw_syscall::{self, nr};
use crate::thread_state::{self, State, register};
use crate::writable_pages::{
    MAX_INSTRUCTION_BYTES, MAX_WRITES, PAGE_BYTES, WritablePages, end_of_code_read, page_of,
};

use super::code_map::{CodeMap, Region};
use super::engine::Engine;
use super::former_counters::FormerCounters;
use super::program_mask;
use super::signal_delivery::SIGSEGV;
use super::syscall_interception::Call;

const READ_EXECUTE: usize = 5;
/// `si_code` of a SIGSEGV for an access that the page's protection does not permit.
const SEGV_ACCERR: i32 = 2;
/// Bit of a page fault's error code: the access was a write.
const FAULT_WRITE: u64 = 2;
/// Bytes that a system call is assumed to write to an address without a length.
const MAX_STRUCTURE_BYTES: u64 = 4096;
/// Maximum number of buffers of a call, as the kernel's.
const MAX_BUFFERS: usize = 1024;

/// What the code map knows of code that the program can write to.
#[derive(Default)]
pub struct WritableCode {
    /// The pages.
    pub pages: RefCell<WritablePages>,
    /// Pages that were read for the fragment that is being built.
    read: RefCell<Vec<u64>>,
    /// The only instruction to be translated, first byte and end, of a page that stays writable.
    only: Cell<Option<(u64, u64)>>,
    /// Lowest and highest address of pages that were ever protected.
    bounds: Cell<(u64, u64)>,
    /// Counters that its blocks had before they were invalidated.
    pub(super) former: FormerCounters,
}

impl WritableCode {
    /// Whether a single instruction is being translated, of a page that stays writable.
    pub(super) fn is_single_instruction(&self) -> bool {
        self.only.get().is_some()
    }

    /// Whether a page was ever protected.
    pub(super) fn was_protected(&self) -> bool {
        self.bounds.get().1 > 0
    }
}

/// What a fault was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The program's own.
    None,
    /// A write to code: to be repeated where it was made.
    Repeat,
    /// A write by a fragment that was translated from what it writes to.
    OwnCode,
}

unsafe fn protection(page: u64, protection: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        raw_syscall::call(
            nr::MPROTECT,
            [page as usize, PAGE_BYTES as usize, protection, 0, 0, 0],
        )
    }
}

impl CodeMap {
    /// Returns the bytes of a region that the program can write to, from an address on; protects
    /// the pages.
    pub(super) fn writable_bytes(&self, region: &Region, pc: u64) -> &[u8] {
        let end = match self.writable_code.only.get() {
            Some((start, end)) if pc == start => end,
            Some(_) => return &[],
            None => {
                let end = end_of_code_read(pc).min(region.end);
                for page in (page_of(pc)..end).step_by(PAGE_BYTES as usize) {
                    self.protect(page);
                }
                end
            }
        };
        // SAFETY: mapped and readable, until the program unmaps it, which we see.
        unsafe { core::slice::from_raw_parts(pc as *const u8, (end - pc) as usize) }
    }

    fn protect(&self, page: u64) {
        let code = &self.writable_code;
        let mut read = code.read.borrow_mut();
        if !read.contains(&page) {
            read.push(page);
        }
        let mut pages = code.pages.borrow_mut();
        if pages.is_protected(page) {
            return;
        }
        // SAFETY: the program finds the page as before, because its writes are repeated.
        if unsafe { protection(page, READ_EXECUTE) } < 0 {
            super::refuse("its generated code cannot be write-protected");
        }
        pages.protect(page);
        let (low, high) = code.bounds.get();
        let low = if high == 0 { page } else { low.min(page) };
        code.bounds.set((low, high.max(page + PAGE_BYTES)));
    }

    /// Returns the pages of writable code that were read since the last call.
    pub fn pages_read(&self) -> Vec<u64> {
        core::mem::take(&mut *self.writable_code.read.borrow_mut())
    }
}

impl Engine {
    /// Notes that the newest fragment was translated from the pages that were read for it.
    pub(super) fn note_pages_read(&mut self, fragment: u32) {
        for page in self.code_map.pages_read() {
            let mut pages = self.code_map.writable_code.pages.borrow_mut();
            pages.add_fragment(page, fragment);
        }
        let (low, high) = self.code_map.writable_code.bounds.get();
        if high > 0 && program_mask::need(SIGSEGV) {
            // SAFETY: the state of the calling thread, which is on the engine's stack.
            unsafe {
                let state = own_state();
                let process = state.get(thread_state::PROCESS) as usize;
                self.processes[process].register_needed(SIGSEGV);
                program_mask::hide(state);
            }
        }
        self.slots.watch_arguments(low, high - low);
    }

    /// Refuses code on the stack: on a protected stack the kernel could not deliver a signal.
    ///
    /// # Safety
    /// To be called on the engine's stack, with the program's registers in the thread's state.
    pub(super) unsafe fn refuse_code_on_stack(&self, state: State, region: &Region) {
        // SAFETY: the caller's promise.
        if unsafe { stands_on(state, region) } {
            // SAFETY: as above.
            let stack = unsafe { state.register(register::RSP) };
            super::refuse_at("it executes code on its stack", stack, b"");
        }
    }

    /// Makes a page writable again, and invalidates its fragments.
    fn release(&mut self, page: u64) {
        let (fragments, writes) = self.code_map.writable_code.pages.borrow_mut().release(page);
        for fragment in fragments {
            self.retire_if_valid(fragment as usize);
        }
        // SAFETY: as the program has it; nothing is translated from it any more.
        let result = unsafe { protection(page, raw_syscall::READ_WRITE_EXECUTE) };
        if result < 0 {
            super::refuse("its generated code cannot be made writable again");
        }
        if writes > MAX_WRITES {
            super::refuse_at(
                "it writes too often to memory from which it executes code",
                page,
                &self.code_map.path(page),
            );
        }
    }

    /// Makes the protected pages in a range writable again: before the kernel or the engine writes
    /// to them, or the program leaves the engine.
    pub fn release_range(&mut self, start: u64, end: u64) {
        let pages = (self.code_map.writable_code.pages.borrow()).protected_in(start, end);
        for page in pages {
            self.release(page);
        }
    }

    /// Forgets which pages are protected in a range, whose protection the program has changed.
    pub fn forget_protection(&self, start: u64, end: u64) {
        self.code_map
            .writable_code
            .pages
            .borrow_mut()
            .forget(start, end);
    }

    /// Makes protected pages writable again without a look at their fragments, in a process that
    /// runs the program's own code from now on.
    pub fn unprotect_all(&self) {
        let ranges = self
            .code_map
            .writable_code
            .pages
            .borrow()
            .protected_ranges();
        for (start, end) in ranges {
            let length = (end - start) as usize;
            let read_write_execute = raw_syscall::READ_WRITE_EXECUTE;
            // SAFETY: as the program has it.
            unsafe {
                raw_syscall::call(
                    nr::MPROTECT,
                    [start as usize, length, read_write_execute, 0, 0, 0],
                )
            };
        }
    }

    /// Finds out whether a SIGSEGV at `rip` is a write to code, and makes the page writable if so.
    pub fn write_fault(&mut self, code: i32, error: u64, address: u64, rip: u64) -> WriteFault {
        let writable_code = &self.code_map.writable_code;
        let page = page_of(address);
        if code != SEGV_ACCERR || error & FAULT_WRITE == 0 || !writable_code.was_protected() {
            return WriteFault::None;
        }
        let (protected, known) = {
            let pages = writable_code.pages.borrow();
            (pages.is_protected(page), pages.contains(page))
        };
        if protected {
            self.release(page);
        } else if !known && !is_writable(address) {
            return WriteFault::None;
        }
        // Otherwise another thread has made it writable since, or has changed its protection.
        let retired = |index: usize| !self.fragments[index].valid;
        match self.fragment_at(rip) {
            Some(index) if retired(index) => WriteFault::OwnCode,
            _ => WriteFault::Repeat,
        }
    }

    /// Returns where the one instruction at `pc` is executed while its page stays writable.
    pub fn step(&mut self, pc: u64) -> u64 {
        let _ = self.code_map.find(pc);
        let Some(region) = self.code_map.region(pc).filter(|region| region.writable) else {
            return self.get(pc).address();
        };
        let length = instruction_length(region, pc);
        self.code_map
            .writable_code
            .only
            .set(Some((pc, pc + length)));
        let base = self.next_fragment_address(pc);
        let first_exit = self.exits.len() as u32;
        let built = self.build(pc, base, first_exit);
        self.code_map.writable_code.only.set(None);
        match built {
            Ok(mut fragment) => {
                // No other thread may enter it.
                for block in &mut fragment.blocks {
                    block.copy = true;
                }
                fragment.returns.clear();
                fragment.calls.clear();
                let first = self.code_map.blocks.len();
                self.adopt(fragment, false);
                if let Some(block) = self.code_map.blocks.get(first) {
                    let counter = block.counter;
                    self.code_map.keep_step_counter(pc, counter);
                }
                base
            }
            Err(error) => self.refuse(error, pc),
        }
    }

    fn build(
        &mut self,
        pc: u64,
        base: u64,
        first_exit: u32,
    ) -> Result<fragment::Fragment, fragment::Error> {
        let (code_map, factory) = (&mut self.code_map, &mut self.factory);
        fragment::build(code_map, factory, pc, None, base, first_exit)
    }

    /// Makes the pages writable that a system call of the program's may write to.
    ///
    /// # Safety
    /// The call must be the program's.
    pub unsafe fn release_written(&mut self, call: &Call) {
        let (low, high) = self.code_map.writable_code.bounds.get();
        if high == 0 {
            return;
        }
        let arguments = call.arguments.map(|argument| argument as u64);
        for (index, &start) in arguments.iter().enumerate() {
            if (low..high).contains(&start) {
                // A length, if there is one, follows its address.
                let length = arguments.get(index + 1).copied().unwrap_or(0);
                let end = start.saturating_add(length.max(MAX_STRUCTURE_BYTES));
                self.release_range(start, end.min(high));
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.release_buffers(call) };
    }

    /// The same for the buffers that the arguments of a call refer to.
    unsafe fn release_buffers(&mut self, call: &Call) {
        let [_, second, third, ..] = call.arguments;
        let (vectors, count) = match call.number {
            nr::READV | nr::PREADV | nr::PREADV2 | nr::PROCESS_VM_READV => (second, third),
            nr::RECVMSG => match (word(second + 16), word(second + 24)) {
                (Some(vectors), Some(count)) => (vectors as usize, count as usize),
                _ => return,
            },
            _ => return,
        };
        for index in 0..count.min(MAX_BUFFERS) {
            let at = vectors.wrapping_add(index * 16);
            let (Some(start), Some(length)) = (word(at), word(at.wrapping_add(8))) else {
                return;
            };
            self.release_range(start, start.saturating_add(length));
        }
    }
}

/// Whether the engine must see a system call once there is write-protected code: it writes to
/// buffers whose addresses are not among its arguments, or changes the signal mask.
#[must_use]
pub fn concerns_protected_code(number: usize) -> bool {
    matches!(
        number,
        nr::RT_SIGPROCMASK
            | nr::READV
            | nr::PREADV
            | nr::PREADV2
            | nr::PROCESS_VM_READV
            | nr::RECVMSG
    )
}

/// Reads a word of the program's.
fn word(at: usize) -> Option<u64> {
    // SAFETY: just found to be readable.
    super::signal_delivery::readable(at).then(|| unsafe { (at as *const u64).read_unaligned() })
}

/// Length of the instruction at `pc`, bytes.
fn instruction_length(region: &Region, pc: u64) -> u64 {
    let bytes = (region.end - pc).min(MAX_INSTRUCTION_BYTES);
    // SAFETY: executable, so readable, to the end of its region.
    let bytes = unsafe { core::slice::from_raw_parts(pc as *const u8, bytes as usize) };
    let mut decoder = iced_x86::Decoder::with_ip(64, bytes, pc, iced_x86::DecoderOptions::NONE);
    decoder.decode().len() as u64
}

/// Whether the kernel has an address as writable.
fn is_writable(address: u64) -> bool {
    let maps = super::code_map::read_maps();
    crate::proc_maps::find(&maps, address).is_some_and(|mapping| mapping.writable)
}

/// Whether the thread's stack is in a region.
///
/// # Safety
/// As [`Engine::refuse_code_on_stack`].
pub unsafe fn stands_on(state: State, region: &Region) -> bool {
    // SAFETY: the caller's promise.
    let stack = unsafe { state.register(register::RSP) };
    (region.start..region.end).contains(&stack)
}

/// Returns the state of the calling thread.
///
/// # Safety
/// %gs must be the engine's.
#[must_use]
pub unsafe fn own_state() -> State {
    let state: usize;
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mov {}, gs:[{}]",
            out(reg) state,
            const thread_state::SELF,
            options(nostack, preserves_flags, readonly)
        );
    }
    State(state)
}
