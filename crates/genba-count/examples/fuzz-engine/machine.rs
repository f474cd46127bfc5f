//! Running sequences from random states, and what can be seen of it: every fault with all
//! registers, and the state in the end.

use std::collections::BTreeMap;
use std::fmt::Write;

use iced_x86::{Decoder, InstructionInfoFactory};

use crate::cpu::{FUZZ_STATE, fuzz_back, fuzz_end, fuzz_fault, fuzz_run};
use crate::generate::{self, ADDRESSES, Forms, Place, Random, Sequence};
use crate::steps;

/// Where code is: as low as data must be to be reached with 32 bits, or high.
pub const LOW: u64 = 0x2800_0000;
const HIGH: u64 = 0x20_0000_0000;
/// Distances of data and stack from the code, and the size of each.
const DATA: u64 = 0x10_0000;
const STACK: u64 = 0x20_0000;
pub const CODE_SIZE: usize = 64 << 10;
const SIZE: usize = 32 << 10;
const MIDDLE: u64 = SIZE as u64 / 2;
/// Sequences that are in memory together.
const TOGETHER: u64 = 96;
/// States from which each of them is run: what was translated for the first is used again.
const STATES: usize = 2;
/// Faults after which a run is given up.
const MOST_FAULTS: u32 = 12;
/// Where the jump to the end is.
const DETOUR: u64 = CODE_SIZE as u64 - 64;
/// Flags that may differ where a fault shows them: those that are overwritten before they are
/// read, whatever happens.
const ARITHMETIC: u64 = 0x8D5;
const TRAP: u64 = 0x100;

/// What is to be run.
pub struct Batch {
    pub seed: u64,
    pub cases: u64,
    /// Only for single steps: no system calls, no flags on the stack.
    pub plain: bool,
    /// Step by step, counting.
    pub steps: bool,
    /// The case to show in full.
    pub only: Option<u64>,
    /// Cases to leave out.
    pub skipped: Vec<u64>,
    /// Tells which forms were tried.
    pub tells: bool,
}

/// What of the state a value is of: a difference that does not come again is known only by that.
#[derive(Clone, Copy)]
enum Part {
    Registers,
    Flags,
    Vectors,
    Memory,
}

/// What the handler of faults knows and finds out.
pub struct Run {
    pub base: u64,
    pub at: u64,
    pub length: u64,
    pub starts: Vec<u16>,
    whole_stack: bool,
    sum: u64,
    /// Parts of the sum: registers, flags, vectors, memory.
    parts: [u64; 4],
    faults: u32,
    /// It accessed memory where the engine has something.
    dangerous: bool,
    show: bool,
    text: String,
    pub steps: bool,
    /// Signals that said a place where no instruction begins.
    wrong_places: u64,
    /// Faults of this run: signal and place.
    pub seen: Vec<(i32, u64)>,
}

pub static mut RUN: Run = Run {
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
    seen: Vec::new(),
};

fn run() -> &'static mut Run {
    // SAFETY: one thread; the handler runs only while a sequence does.
    unsafe {
        let place = &raw mut RUN;
        &mut *place
    }
}

/// Four sums side by side, of words.
fn hash(bytes: &[u8]) -> u64 {
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

impl Run {
    fn add(&mut self, part: Part, value: u64) {
        for sum in [&mut self.sum, &mut self.parts[part as usize]] {
            *sum = (*sum ^ value)
                .wrapping_mul(0xD134_2543_DE82_EF95)
                .rotate_left(31);
        }
    }

    /// Adds data and stack, as far as the sequence may know it.
    fn add_memory(&mut self, rsp: u64) {
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
        let near = holes(self.base).any(|(from, to)| (from..to).contains(&address));
        near || (0x6FF0_0000..0x7110_0000).contains(&address)
            || (0x5000_0000_0000..0x7FFF_FFFF_FFFF).contains(&address)
    }
}

/// Where the engine's translations are to be: around it all is reserved.
fn holes(base: u64) -> impl Iterator<Item = (u64, u64)> {
    (1..=3).map(move |step| {
        let from = base - step * (64 << 20);
        (from, from + (48 << 20))
    })
}

/// The handler of faults.
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
        if steps::step(run, rip) {
            registers[libc::REG_EFL as usize] &= !(TRAP as i64);
        }
        return;
    }
    let flags = registers[libc::REG_EFL as usize] as u64 & !ARITHMETIC;
    run.seen.push((signal, rip));
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
    }
    run.add_memory(registers[libc::REG_RSP as usize] as u64);
    run.faults += 1;
    // On behind the instruction; a trap is there already.
    let offset = rip.wrapping_sub(run.at);
    let next = match signal {
        libc::SIGTRAP => Some(rip),
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
        Some(next) if run.faults < MOST_FAULTS => {
            registers[libc::REG_RIP as usize] = next as i64;
            registers[libc::REG_EFL as usize] &= !(ARITHMETIC as i64);
            if run.steps {
                steps::resumed(next);
            }
        }
        _ => {
            registers[libc::REG_RIP as usize] = fuzz_back as *const () as i64;
            // SAFETY: one thread.
            registers[libc::REG_RSP as usize] = unsafe { FUZZ_STATE.host } as i64;
            registers[libc::REG_EFL as usize] = 0x202;
            if run.steps {
                steps::resumed(0);
            }
        }
    }
}

/// Whatever the place, it must be one that the program has.
extern "C" fn on_timer(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
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
    if holes(run.base).any(|(from, to)| (from..to).contains(&rip)) {
        run.wrong_places += 1;
    }
}

fn map(at: u64, size: usize, protection: i32) -> bool {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
    // SAFETY: replaces nothing.
    let got = unsafe { libc::mmap(at as *mut _, size, protection, flags, -1, 0) };
    got as u64 == at
}

/// Code, data and stack; and nothing else of anybody's near them but in the holes.
fn map_all(base: u64) {
    let own = libc::PROT_READ | libc::PROT_WRITE;
    for (at, size) in [(base, CODE_SIZE), (base + DATA, SIZE), (base + STACK, SIZE)] {
        assert!(map(at, size, own), "a fixed place");
    }
    let mut at = base - (512 << 20);
    while at < base + (1 << 30) {
        let hole = holes(base).any(|(from, to)| (from..to).contains(&at));
        if !hole && !(base..base + 0x30_0000).contains(&at) {
            map(at, 1 << 20, libc::PROT_NONE);
        }
        at += 1 << 20;
    }
}

/// Handlers on a stack of their own; with a timer, if that is wanted.
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
        // The timer waits, so that the state is that of the sequence.
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

/// Microseconds between signals of the timer; `FUZZ_TIMER` says another number.
fn interval() -> i64 {
    let given = std::env::var("FUZZ_TIMER").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(70)
}

/// Makes everything ready for runs at a base.
pub fn prepare(base: u64, timer: bool, steps: bool) {
    run().base = base;
    run().steps = steps;
    map_all(base);
    handlers(timer);
    write_code(base, &[]);
}

/// Writes sequences, and the jump to the end.
fn write_code(base: u64, sequences: &[(u64, Vec<u8>)]) {
    // Its constant is aligned, as a sequence may have that checked.
    let mut jump = vec![0x90, 0x90, 0xFF, 0x25, 0, 0, 0, 0];
    jump.extend((fuzz_end as *const () as u64).to_le_bytes());
    let end = (base + DETOUR, jump);
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

/// Writes sequences to their addresses, each with its end.
fn write_all(sequences: &[(u64, Sequence)], base: u64) {
    let code: Vec<(u64, Vec<u8>)> = (sequences.iter())
        .map(|(at, sequence)| {
            // To the end by a detour: the program's address is another in every run.
            let mut code = sequence.code.clone();
            let next = at + code.len() as u64 + 5;
            code.push(0xE9);
            code.extend(((base + DETOUR).wrapping_sub(next) as u32).to_le_bytes());
            (*at, code)
        })
        .collect();
    write_code(base, &code);
}

fn random_of(seed: u64, case: u64, part: u64) -> Random {
    let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ case << 2 ^ part;
    let mut random = Random(mixed.wrapping_mul(0xD134_2543_DE82_EF95) | 1);
    random.next();
    random
}

/// Base for a seed.
pub fn base_of(seed: u64) -> u64 {
    if seed.is_multiple_of(2) { LOW } else { HIGH }
}

/// Runs a batch; prints a line for each case.
pub fn batch(batch: &Batch, forms: &Forms) {
    let base = base_of(batch.seed);
    prepare(base, !batch.steps, batch.steps);
    let layout = Layout::new();
    let mut factory = InstructionInfoFactory::new();
    let mut noise = vec![0u8; 2 * SIZE + 64];
    let mut random = random_of(batch.seed, 0, 3);
    for word in noise.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next().to_le_bytes());
    }
    let mut tally = Tally::default();
    let mut first = 0;
    let mut output = String::new();
    while first < batch.cases {
        let cases = first..(first + TOGETHER).min(batch.cases);
        let mut at = base + random.below(512);
        let sequences: Vec<(u64, Sequence)> = (cases.clone())
            .map(|case| {
                let place = Place {
                    at,
                    data: base + DATA + MIDDLE,
                    plain: batch.plain,
                };
                let mut random = random_of(batch.seed, case, 1);
                let sequence = generate::sequence(&mut random, forms, &mut factory, place);
                at += sequence.code.len() as u64 + 8 + random.below(64);
                (place.at, sequence)
            })
            .collect();
        write_all(&sequences, base);
        let mut sums = vec![(0u64, false); sequences.len()];
        let mut parts = vec![[0u64; 4]; sequences.len()];
        for turn in 0..STATES as u64 {
            for (index, (at, sequence)) in sequences.iter().enumerate() {
                let case = first + index as u64;
                if batch.skipped.binary_search(&case).is_ok() {
                    continue;
                }
                let show = batch.only == Some(case);
                if show && turn == 0 {
                    print(&sequence.code, *at);
                }
                let mut random = random_of(batch.seed, case, 4 + turn);
                let (sum, dangerous) = one(&mut random, &layout, &noise, *at, sequence, show);
                sums[index].0 = sums[index].0.rotate_left(7) ^ sum;
                sums[index].1 |= dangerous;
                for (all, part) in parts[index].iter_mut().zip(run().parts) {
                    *all = all.rotate_left(7) ^ part;
                }
                if batch.tells {
                    tally.add(run(), sequence, *at);
                }
            }
        }
        for (index, (sum, dangerous)) in sums.iter().enumerate() {
            let case = first + index as u64;
            let word = if *dangerous { " dangerous" } else { "" };
            let [registers, flags, vectors, memory] = parts[index].map(|part| part as u16);
            let _ = writeln!(
                output,
                "{case} {sum:x} registers {registers:x} flags {flags:x} vectors {vectors:x} memory \
                 {memory:x}{word}"
            );
        }
        print!("{output}");
        output.clear();
        first = cases.end;
    }
    println!("wrong places {}", run().wrong_places);
    for (form, (tried, retired)) in &tally.0 {
        println!("form {form} {tried} {retired}");
    }
    if batch.steps {
        steps::print(base);
    }
}

/// How often forms were run, and retired.
#[derive(Default)]
struct Tally(BTreeMap<u16, (u64, u64)>);

impl Tally {
    fn add(&mut self, run: &Run, sequence: &Sequence, at: u64) {
        let given_up = run.faults >= MOST_FAULTS
            || run
                .seen
                .iter()
                .any(|(_, place)| !(at..at + sequence.code.len() as u64 + 1).contains(place));
        if given_up {
            return;
        }
        for start in &sequence.starts {
            if sequence.unsure.contains(start) {
                continue;
            }
            let place = at + u64::from(*start);
            let bytes = &sequence.code[usize::from(*start)..];
            let decoded = Decoder::with_ip(64, bytes, place, 0).decode();
            let entry = self.0.entry(decoded.code() as u16).or_default();
            entry.0 += 1;
            entry.1 += u64::from(!run.seen.iter().any(|(_, fault)| *fault == place));
        }
    }
}

/// Offsets in `xsave`'s area.
struct Layout {
    offsets: [usize; 10],
    sizes: [usize; 10],
    enabled: u8,
}

impl Layout {
    fn new() -> Self {
        let mut layout = Self {
            offsets: [0; 10],
            sizes: [0; 10],
            // SAFETY: every processor with xsave has it.
            enabled: unsafe { core::arch::x86_64::_xgetbv(0) } as u8 & 0xE7,
        };
        for component in [2usize, 5, 6, 7] {
            let found = core::arch::x86_64::__cpuid_count(0xD, component as u32);
            layout.offsets[component] = found.ebx as usize;
            layout.sizes[component] = found.eax as usize;
        }
        layout
    }

    /// Random contents: numbers, small numbers (for addresses in vectors), anything.
    fn fill(&self, random: &mut Random, area: &mut [u8; 4096]) {
        for word in area.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next().to_le_bytes());
        }
        area[..32].fill(0);
        let mut control = 0x37Fu16;
        let mut mxcsr = 0x1F80u32;
        if random.below(4) == 0 {
            control = 0x3F | (random.next() as u16 & 0xF00);
            mxcsr |= random.next() as u32 & 0xE040;
        }
        area[0..2].copy_from_slice(&control.to_le_bytes());
        area[4] = if random.below(4) == 0 {
            random.next() as u8
        } else {
            0
        };
        area[24..28].copy_from_slice(&mxcsr.to_le_bytes());
        area[512..576].fill(0);
        area[512] = self.enabled;
        // Registers 0 to 31 in pieces of 16 bytes, as far as there are such.
        for register in 0..32usize {
            let mask = match random.below(6) {
                0..=2 => 0x0000_01F8_0000_01F8u64,
                3 => 0x0000_0000_0000_0FF8,
                _ => continue,
            };
            let mut pieces = Vec::with_capacity(4);
            if register < 16 {
                pieces.push((160 + register * 16, 16));
                pieces.push((self.offsets[2] + register * 16, 16));
                pieces.push((self.offsets[6] + register * 32, 32));
            } else {
                pieces.push((self.offsets[7] + (register - 16) * 64, 64));
            }
            for (at, size) in pieces {
                let Some(piece) = area.get_mut(at..at + size).filter(|_| at >= 160) else {
                    continue;
                };
                for word in piece.chunks_exact_mut(8) {
                    let value = u64::from_le_bytes(word.try_into().unwrap_or_default()) & mask;
                    word.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }

    /// Of what is saved. What is not in use is as at first, whatever the area has; whether it is
    /// in use though it is as at first depends on signals.
    fn hash(&self, area: &mut [u8; 4096]) -> u64 {
        let used = area[512];
        let unused = |component: usize| used >> component & 1 == 0;
        if unused(0) {
            area[..24].fill(0);
            area[..2].copy_from_slice(&0x37Fu16.to_le_bytes());
            area[32..160].fill(0);
        }
        if unused(1) {
            area[160..416].fill(0);
        }
        let mut sum = hash(&area[..416]);
        for component in [2, 5, 6, 7] {
            let from = self.offsets[component];
            if let Some(part) = area.get_mut(from..from + self.sizes[component]) {
                if unused(component) {
                    part.fill(0);
                }
                sum = sum.rotate_left(7) ^ hash(part);
            }
        }
        sum
    }
}

/// Runs a sequence once; the sum of all that could be seen, and whether that may be the engine.
fn one(
    random: &mut Random,
    layout: &Layout,
    noise: &[u8],
    at: u64,
    sequence: &Sequence,
    show: bool,
) -> (u64, bool) {
    let run = run();
    let base = run.base;
    run.at = at;
    run.length = sequence.code.len() as u64;
    run.starts.clone_from(&sequence.starts);
    run.whole_stack = sequence.whole_stack;
    run.sum = 0;
    run.parts = [0; 4];
    run.faults = 0;
    run.seen.clear();
    run.dangerous = false;
    run.show = show;
    run.text.clear();
    // SAFETY: all within our own mappings; one thread.
    let state = unsafe {
        for (start, part) in [(DATA, 0), (STACK, 1)] {
            let from = random.below(SIZE as u64 / 8) as usize * 8 + part * 64;
            let from = &noise[from..from + SIZE];
            std::ptr::copy_nonoverlapping(from.as_ptr(), (base + start) as *mut u8, from.len());
        }
        let place = &raw mut FUZZ_STATE;
        &mut *place
    };
    let middle = base + DATA + MIDDLE;
    for (number, register) in state.registers.iter_mut().enumerate() {
        let kind = random.below(16);
        let address = ADDRESSES >> number & 1 == 1;
        *register = match kind {
            0 => random.next(),
            1 => random.next() >> random.below(64),
            _ if address => {
                let value = middle - 6144 + random.below(12288);
                if kind < 10 { value & !63 } else { value }
            }
            2 => middle - 6144 + random.below(12288),
            _ => random.below(64),
        };
    }
    state.registers[4] = base + STACK + MIDDLE + random.below(64) * 8;
    state.flags = 0x202 | (random.next() & (ARITHMETIC | 0x400));
    if run.steps {
        state.flags |= TRAP;
    }
    state.entry = at;
    state.fs = middle;
    layout.fill(random, &mut state.vectors);
    // SAFETY: the sequence is written, and all is as it needs it.
    let given_up = unsafe { fuzz_run() } != 0;
    run.length = 0;
    if !given_up {
        for register in state.registers {
            run.add(Part::Registers, register);
        }
        run.add(Part::Flags, state.flags & !TRAP);
        run.add(Part::Registers, state.fs);
        // Where x87 was last is an address in the copy; and what it did last the processor forgets
        // when a signal comes between.
        state.vectors[6..24].fill(0);
        state.vectors[28..32].fill(0);
        let vectors = layout.hash(&mut state.vectors);
        run.add(Part::Vectors, vectors);
        if show {
            let mut text = String::from("    end");
            for register in state.registers {
                let _ = write!(text, " {register:x}");
            }
            let _ = writeln!(
                run.text,
                "{text} flags {:x} fs {:x} vectors {vectors:x}",
                state.flags, state.fs
            );
        }
        run.add_memory(state.registers[4]);
    }
    if show {
        eprintln!("{}", run.text);
    }
    (run.sum, run.dangerous)
}

/// Runs one instruction alone; the signal that it raised, if any.
pub fn alone(random: &mut Random, bytes: &[u8]) -> Option<i32> {
    let base = run().base;
    let sequence = Sequence {
        code: bytes.to_vec(),
        starts: vec![0],
        unsure: Vec::new(),
        whole_stack: true,
    };
    let sequences = [(base, sequence)];
    write_all(&sequences, base);
    let noise = vec![0u8; 2 * SIZE + 64];
    let [(_, sequence)] = &sequences;
    one(random, &Layout::new(), &noise, base, sequence, false);
    let mut seen = run().seen.iter();
    seen.find(|(_, place)| *place == base)
        .map(|(signal, _)| *signal)
}

fn print(code: &[u8], at: u64) {
    use iced_x86::{Formatter, GasFormatter};
    let mut formatter = GasFormatter::new();
    for instruction in Decoder::with_ip(64, code, at, 0) {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let from = (instruction.ip() - at) as usize;
        let bytes = code.get(from..from + instruction.len());
        let bytes: String = (bytes.unwrap_or_default().iter())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        eprintln!("    {:x} {text}  {bytes}", instruction.ip());
    }
}
