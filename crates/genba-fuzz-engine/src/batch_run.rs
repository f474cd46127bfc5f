//! Runs the sequences of a batch from random states.

use std::collections::BTreeMap;
use std::fmt::Write;

use iced_x86::{Decoder, InstructionInfoFactory};

use crate::fault_observer::{ARITHMETIC, MAX_FAULTS, Part, SequenceRun, TRAP, run};
use crate::processor_state::{FUZZ_STATE, fuzz_run};
use crate::random_sequence::{self, ADDRESSES, Forms, Random, Sequence, SequencePlace};
use crate::single_steps;
use crate::test_memory::{DATA, MIDDLE, SIZE, STACK, base_of, prepare, write_all};
use crate::vector_registers::Layout;

/// Number of sequences that are in memory at a time.
const SEQUENCES_IN_MEMORY: u64 = 96;
/// Number of states from which each sequence is run: from the second on, existing translations are
/// used.
const STATES_PER_SEQUENCE: usize = 2;

/// Parameters of a batch.
pub struct Batch {
    pub seed: u64,
    pub cases: u64,
    /// Only sequences that can be single-stepped: no system calls, no flags on the stack.
    pub plain: bool,
    /// Whether sequences are single-stepped and executions counted.
    pub steps: bool,
    /// Number of the sequence that is printed in full.
    pub only: Option<u64>,
    /// Numbers of the sequences to be skipped, sorted.
    pub skipped: Vec<u64>,
    /// Whether executions of forms are counted and printed.
    pub counts_forms: bool,
}

fn random_of(seed: u64, case: u64, part: u64) -> Random {
    Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ case << 2 ^ part)
}

/// Runs a batch; prints a line for each sequence.
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
        let cases = first..(first + SEQUENCES_IN_MEMORY).min(batch.cases);
        let mut at = base + random.below(512);
        let sequences: Vec<(u64, Sequence)> = (cases.clone())
            .map(|case| {
                let place = SequencePlace {
                    at,
                    data: base + DATA + MIDDLE,
                    plain: batch.plain,
                };
                let mut random = random_of(batch.seed, case, 1);
                let sequence = random_sequence::sequence(&mut random, forms, &mut factory, place);
                at += sequence.code.len() as u64 + 8 + random.below(64);
                (place.at, sequence)
            })
            .collect();
        write_all(&sequences, base);
        let mut sums = vec![(0u64, false); sequences.len()];
        let mut parts = vec![[0u64; 4]; sequences.len()];
        for turn in 0..STATES_PER_SEQUENCE as u64 {
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
                if batch.counts_forms {
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
        single_steps::print(base);
    }
}

/// How often forms were executed, and retired.
#[derive(Default)]
struct Tally(BTreeMap<u16, (u64, u64)>);

impl Tally {
    fn add(&mut self, run: &SequenceRun, sequence: &Sequence, at: u64) {
        let given_up = run.faults >= MAX_FAULTS
            || run
                .fault_places
                .iter()
                .any(|(_, place)| !(at..at + sequence.code.len() as u64 + 1).contains(place));
        if given_up {
            return;
        }
        for start in &sequence.starts {
            if sequence.maybe_skipped.contains(start) {
                continue;
            }
            let place = at + u64::from(*start);
            let bytes = &sequence.code[usize::from(*start)..];
            let decoded = Decoder::with_ip(64, bytes, place, 0).decode();
            let entry = self.0.entry(decoded.code() as u16).or_default();
            entry.0 += 1;
            entry.1 += u64::from(!run.fault_places.iter().any(|(_, fault)| *fault == place));
        }
    }
}

/// Runs a sequence once; the hash of all that was observed, and whether it accessed memory that may
/// be the engine's.
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
    run.fault_places.clear();
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
        // The address of the last x87 instruction is one in translated code, and the processor
        // forgets its opcode when a signal interrupts.
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
        maybe_skipped: Vec::new(),
        whole_stack: true,
    };
    let sequences = [(base, sequence)];
    write_all(&sequences, base);
    let noise = vec![0u8; 2 * SIZE + 64];
    let [(_, sequence)] = &sequences;
    one(random, &Layout::new(), &noise, base, sequence, false);
    let mut places = run().fault_places.iter();
    places
        .find(|(_, place)| *place == base)
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
