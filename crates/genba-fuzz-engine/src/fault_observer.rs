//! Observes sequences: every fault with all registers, and where a timer interrupts.

use std::fmt::Write;

use crate::processor_state::{FUZZ_STATE, fuzz_back};
use crate::single_steps;
use crate::test_memory::{DATA, SIZE, STACK, free_ranges};

/// A run is given up after this many faults.
pub const MAX_FAULTS: u32 = 12;
/// A process with this many faults has lost its own stack.
const MAX_FAULTS_OF_PROCESS: u32 = 20 * MAX_FAULTS;
/// Exit status of a batch in which a sequence overwrote the fuzzer's own stack.
pub const EXIT_STACK_OVERWRITTEN: i32 = 99;
/// Arithmetic flags, which may differ in a fault's frame if they are dead.
pub const ARITHMETIC: u64 = 0x8D5;
pub const TRAP: u64 = 0x100;
/// Number of the processor's overflow trap.
const OVERFLOW: i64 = 4;

/// The part of the state that a value belongs to. A difference that is not reproducible is known by
/// this alone.
#[derive(Clone, Copy)]
pub enum Part {
    Registers,
    Flags,
    Vectors,
    Memory,
}

/// What the fault handler needs to know, and what it observes.
pub struct SequenceRun {
    pub base: u64,
    pub at: u64,
    pub length: u64,
    pub starts: Vec<u16>,
    pub whole_stack: bool,
    pub sum: u64,
    /// The hash by parts: registers, flags, vectors, memory.
    pub parts: [u64; 4],
    pub faults: u32,
    /// Whether it accessed memory at which the engine may have something.
    pub dangerous: bool,
    pub show: bool,
    pub text: String,
    pub steps: bool,
    /// Number of signals at places at which no instruction begins.
    pub wrong_places: u64,
    /// Faults of this run: signal and address.
    pub fault_places: Vec<(i32, u64)>,
}

pub static mut SEQUENCE_RUN: SequenceRun = SequenceRun {
    base: 0,
    at: 0,
    length: 0,
    starts: Vec::new(),
    whole_stack: false,
    sum: 0,
    parts: [0; 4],
    faults: 0,
    dangerous: false,
    show: false,
    text: String::new(),
    steps: false,
    wrong_places: 0,
    fault_places: Vec::new(),
};

pub fn run() -> &'static mut SequenceRun {
    // SAFETY: one thread; the handler runs only while a sequence does.
    unsafe {
        let place = &raw mut SEQUENCE_RUN;
        &mut *place
    }
}

/// Hashes bytes in four independent lanes.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut sums = [0x9E37_79B9_7F4A_7C15u64, 3, 5, 7];
    let mut chunks = bytes.chunks_exact(32);
    for chunk in &mut chunks {
        for (sum, word) in sums.iter_mut().zip(chunk.chunks_exact(8)) {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            *sum = (*sum ^ word)
                .wrapping_mul(0xD134_2543_DE82_EF95)
                .rotate_left(29);
        }
    }
    for byte in chunks.remainder() {
        sums[0] = (sums[0] ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    }
    let fold = |sum: u64, one: u64| {
        (sum ^ one)
            .wrapping_mul(0xD134_2543_DE82_EF95)
            .rotate_left(31)
    };
    sums.into_iter().fold(0, fold)
}

fn memory<'a>(from: u64, to: u64) -> &'a [u8] {
    // SAFETY: within our own mappings, and not written to while this is used.
    unsafe { std::slice::from_raw_parts(from as *const u8, (to - from) as usize) }
}

impl SequenceRun {
    pub fn add(&mut self, part: Part, value: u64) {
        for sum in [&mut self.sum, &mut self.parts[part as usize]] {
            *sum = (*sum ^ value)
                .wrapping_mul(0xD134_2543_DE82_EF95)
                .rotate_left(31);
        }
    }

    /// Adds data and stack, as far as the sequence may know it.
    pub fn add_memory(&mut self, rsp: u64) {
        let data = self.base + DATA;
        let (low, high) = (self.base + STACK, self.base + STACK + SIZE as u64);
        let data = hash(memory(data, data + SIZE as u64));
        let from = if self.whole_stack {
            low
        } else {
            rsp.clamp(low, high)
        };
        let stack = hash(memory(from, high));
        if self.show {
            let _ = writeln!(self.text, "    data {data:x} stack {stack:x}");
        }
        self.add(Part::Memory, data ^ stack.rotate_left(1));
    }

    /// Whether the engine may have something at an address.
    fn is_dangerous(&self, address: u64) -> bool {
        let near = free_ranges(self.base).any(|(from, to)| (from..to).contains(&address));
        near || (0x6FF0_0000..0x7110_0000).contains(&address)
            || (0x5000_0000_0000..0x7FFF_FFFF_FFFF).contains(&address)
    }
}

/// Handles faults: records the state, and resumes after the instruction.
pub extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let run = run();
    // SAFETY: the kernel's arguments.
    let (registers, vectors, code, address) = unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let vectors = context.uc_mcontext.fpregs.cast::<u8>();
        (
            &mut context.uc_mcontext.gregs,
            std::slice::from_raw_parts(vectors, 416),
            (*info).si_code,
            (*info).si_addr() as u64,
        )
    };
    let rip = registers[libc::REG_RIP as usize] as u64;
    if run.steps && signal == libc::SIGTRAP {
        if single_steps::step(run, rip) {
            registers[libc::REG_EFL as usize] &= !(TRAP as i64);
        }
        return;
    }
    let flags = registers[libc::REG_EFL as usize] as u64 & !ARITHMETIC;
    run.fault_places.push((signal, rip));
    run.dangerous |= signal == libc::SIGSEGV && run.is_dangerous(address);
    run.add(Part::Registers, signal as u64 | (code as u32 as u64) << 8);
    run.add(Part::Registers, address);
    for register in registers.iter().take(17) {
        run.add(Part::Registers, *register as u64);
    }
    run.add(Part::Flags, flags);
    run.add(Part::Vectors, hash(&vectors[24..28]) ^ hash(&vectors[32..]));
    if run.show {
        let mut text = format!("    signal {signal} code {code} at {address:x} flags {flags:x}");
        for register in registers.iter().take(17) {
            let _ = write!(text, " {register:x}");
        }
        let sums = (hash(&vectors[24..28]), hash(&vectors[32..]));
        let _ = writeln!(run.text, "{text} vectors {:x} {:x}", sums.0, sums.1);
        for (number, register) in vectors[32..].chunks_exact(16).enumerate() {
            let words = register.chunks_exact(8).map(|word| {
                let word = word.try_into().unwrap_or_default();
                format!("{:x}", u64::from_le_bytes(word))
            });
            let (name, number) = match number {
                0..8 => ("st", number),
                _ => ("xmm", number - 8),
            };
            let words: Vec<String> = words.collect();
            let _ = write!(run.text, "    {name}{number} {}", words.join(":"));
        }
        let _ = writeln!(run.text);
    }
    run.add_memory(registers[libc::REG_RSP as usize] as u64);
    run.faults += 1;
    if run.faults > MAX_FAULTS_OF_PROCESS {
        // SAFETY: ends the process, as nothing of it can be relied upon.
        unsafe { libc::_exit(EXIT_STACK_OVERWRITTEN) };
    }
    // Resumes after the instruction; a trap is after it already.
    let offset = rip.wrapping_sub(run.at);
    let next = match signal {
        libc::SIGTRAP => Some(rip),
        // `int 4`, which any program may execute, is a trap as `int 3` is, although its signal is
        // that of a fault. Skipping the next instruction could jump into the middle of a loop.
        libc::SIGSEGV if registers[libc::REG_TRAPNO as usize] == OVERFLOW => Some(rip),
        _ if offset >= run.length => None,
        _ => {
            let starts = &run.starts;
            let index = starts.partition_point(|start| u64::from(*start) <= offset);
            let next = starts
                .get(index)
                .map_or(run.length, |start| u64::from(*start));
            Some(run.at + next)
        }
    };
    match next {
        Some(next) if run.faults < MAX_FAULTS => {
            registers[libc::REG_RIP as usize] = next as i64;
            registers[libc::REG_EFL as usize] &= !(ARITHMETIC as i64);
            if run.steps {
                single_steps::resumed(next);
            }
        }
        _ => {
            registers[libc::REG_RIP as usize] = fuzz_back as *const () as i64;
            // SAFETY: one thread.
            registers[libc::REG_RSP as usize] = unsafe { FUZZ_STATE.host } as i64;
            registers[libc::REG_EFL as usize] = 0x202;
            if run.steps {
                single_steps::resumed(0);
            }
        }
    }
}

/// Handles timer signals: the address must be that of an instruction of the program.
pub extern "C" fn on_timer(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's argument; only words are read.
    let rip = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64
    };
    let run = run();
    let offset = rip.wrapping_sub(run.at);
    if offset < run.length && !run.starts.iter().any(|start| u64::from(*start) == offset) {
        run.wrong_places += 1;
    }
    if free_ranges(run.base).any(|(from, to)| (from..to).contains(&rip)) {
        run.wrong_places += 1;
    }
}
