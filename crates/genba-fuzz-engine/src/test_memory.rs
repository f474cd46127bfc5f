//! Memory at fixed addresses: code, data and stack of sequences; and the signal handlers.

use crate::fault_observer::{on_timer, run};
use crate::processor_state::{fuzz_end, fuzz_fault};
use crate::random_sequence::Sequence;

/// Base address of the code: low enough to address data with 32 bits, or high.
pub const LOW: u64 = 0x2800_0000;
const HIGH: u64 = 0x20_0000_0000;
/// Distances of data and stack from the code, and the size of each.
pub const DATA: u64 = 0x10_0000;
pub const STACK: u64 = 0x20_0000;
pub const CODE_SIZE: usize = 64 << 10;
pub const SIZE: usize = 32 << 10;
pub const MIDDLE: u64 = SIZE as u64 / 2;
/// Offset of the jump to the end.
const JUMP_TO_END: u64 = CODE_SIZE as u64 - 64;
/// Returns the base address for a seed.
pub fn base_of(seed: u64) -> u64 {
    if seed.is_multiple_of(2) { LOW } else { HIGH }
}

/// Returns the address ranges that are left free for the engine's code cache; everything around
/// them is reserved.
pub fn free_ranges(base: u64) -> impl Iterator<Item = (u64, u64)> {
    (1..=3).map(move |step| {
        let from = base - step * (64 << 20);
        (from, from + (48 << 20))
    })
}

fn map(at: u64, size: usize, protection: i32) -> bool {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
    // SAFETY: replaces nothing.
    let got = unsafe { libc::mmap(at as *mut _, size, protection, flags, -1, 0) };
    got as u64 == at
}

/// Maps code, data and stack, and reserves the memory around them except the free ranges.
fn map_all(base: u64) {
    let own = libc::PROT_READ | libc::PROT_WRITE;
    for (at, size) in [(base, CODE_SIZE), (base + DATA, SIZE), (base + STACK, SIZE)] {
        assert!(map(at, size, own), "a fixed place");
    }
    let mut at = base - (512 << 20);
    while at < base + (1 << 30) {
        let free = free_ranges(base).any(|(from, to)| (from..to).contains(&at));
        if !free && !(base..base + 0x30_0000).contains(&at) {
            map(at, 1 << 20, libc::PROT_NONE);
        }
        at += 1 << 20;
    }
}

/// Installs signal handlers on a stack of their own, with a timer on request.
fn handlers(timer: bool) {
    // SAFETY: handlers as above.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: Box::leak(vec![0u8; 256 << 10].into_boxed_slice())
                .as_mut_ptr()
                .cast(),
            ss_flags: 0,
            ss_size: 256 << 10,
        };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = fuzz_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // The timer is blocked in handlers, so that they see the sequence's state.
        libc::sigfillset(&raw mut action.sa_mask);
        for signal in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
        ] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        action.sa_sigaction = on_timer as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: if timer { interval() } else { 0 },
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

/// Returns the interval of the timer, microseconds; `FUZZ_TIMER` sets another.
fn interval() -> i64 {
    let given = std::env::var("FUZZ_TIMER").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(70)
}

/// Maps memory and installs handlers for runs at a base address.
pub fn prepare(base: u64, timer: bool, steps: bool) {
    run().base = base;
    run().steps = steps;
    map_all(base);
    handlers(timer);
    write_code(base, &[]);
}

/// Writes sequences, and the jump to their common end.
fn write_code(base: u64, sequences: &[(u64, Vec<u8>)]) {
    // The constant is aligned, as a sequence may have alignment checked.
    let mut jump = vec![0x90, 0x90, 0xFF, 0x25, 0, 0, 0, 0];
    jump.extend((fuzz_end as *const () as u64).to_le_bytes());
    let end = (base + JUMP_TO_END, jump);
    // SAFETY: within our own mapping.
    unsafe {
        let (read, write, execute) = (libc::PROT_READ, libc::PROT_WRITE, libc::PROT_EXEC);
        libc::mprotect(base as *mut _, CODE_SIZE, read | write);
        for (at, code) in sequences.iter().chain([&end]) {
            std::ptr::copy_nonoverlapping(code.as_ptr(), *at as *mut u8, code.len());
        }
        libc::mprotect(base as *mut _, CODE_SIZE, read | execute);
    }
}

/// Writes sequences to their addresses, each with a jump to the end.
pub fn write_all(sequences: &[(u64, Sequence)], base: u64) {
    let code: Vec<(u64, Vec<u8>)> = (sequences.iter())
        .map(|(at, sequence)| {
            // The jump to the end is indirect, because the fuzzer's own address differs in every
            // run.
            let mut code = sequence.code.clone();
            let next = at + code.len() as u64 + 5;
            code.push(0xE9);
            code.extend(((base + JUMP_TO_END).wrapping_sub(next) as u32).to_le_bytes());
            (*at, code)
        })
        .collect();
    write_code(base, &code);
}
