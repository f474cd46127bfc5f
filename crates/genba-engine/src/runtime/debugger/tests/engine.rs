//! In the engine, and on the way to it and back, debuggers are told what
//! [`crate::runtime::interrupted`] finds there; but for system calls, behind which a debugger sees
//! a thread that waits in one natively.

use proptest::prelude::*;

use super::laid::{CODE, LISTS, Laid, Plan, STACKS, Slot, state_of};
use super::machine::Machine;
use crate::marks::Mark;
use crate::runtime::debugger::rules::Want;
use crate::runtime::entry::label::*;
use crate::state::{self, register};

/// nop; syscall; add rax, rcx; jne +5; ret
const PROGRAM: [u8; 9] = [0x90, 0x0F, 0x05, 0x48, 0x01, 0xC8, 0x75, 5, 0xC3];
const RSP: usize = register::RSP as usize;
const RCX: usize = register::RCX as usize;

/// What a thread's state says.
#[derive(Clone, Debug)]
struct Said {
    context: [u64; 16],
    aside: [u64; 3],
    target: u64,
    resume: u64,
    exit: u32,
    at_syscall: bool,
    in_signal: bool,
}

fn said() -> impl Strategy<Value = Said> {
    let exit = prop::sample::select(
        &[
            1,
            state::EXIT_INDIRECT,
            state::EXIT_TRANSFER,
            state::EXIT_RETURN,
            state::EXIT_SYSCALL,
        ][..],
    );
    let words = (any::<[u64; 16]>(), any::<[u64; 3]>(), any::<[u64; 2]>());
    let flags = (any::<bool>(), prop::bool::weighted(0.1));
    (words, exit, flags).prop_map(
        |((context, aside, [target, resume]), exit, (at_syscall, in_signal))| Said {
            context,
            aside,
            target,
            resume,
            exit,
            at_syscall,
            in_signal,
        },
    )
}

/// Labels in the order of their addresses.
fn labels() -> Vec<u64> {
    let labels: &[unsafe extern "C" fn()] = &[
        genba_dispatch,
        genba_dispatch_saved,
        genba_dispatch_blocked,
        genba_resume,
        genba_resume_unblocked,
        genba_resume_end,
        genba_miss,
        genba_miss_aside,
        genba_miss_saved,
        genba_miss_end,
        genba_return,
        genba_return_aside,
        genba_return_saved,
        genba_return_popped,
        genba_return_end,
        genba_transfer,
        genba_transfer_aside,
        genba_transfer_saved,
        genba_transfer_counted,
        genba_transfer_unknown,
        genba_transfer_end,
        genba_syscall,
        genba_syscall_number,
        genba_syscall_flags,
        genba_syscall_now,
        genba_syscall_done,
        genba_syscall_special,
        genba_syscall_end,
        genba_signal,
    ];
    labels.iter().map(|&label| at(label)).collect()
}

fn at(label: unsafe extern "C" fn()) -> u64 {
    label as *const () as u64
}

/// A place, with the registers and the word on the top of the stack that are there.
struct Place {
    rip: u64,
    registers: [u64; 16],
    top: u64,
    /// The stack is the engine's.
    inside: bool,
}

/// The program's pc and registers. `next`: behind the system call; `exit`: where exit 1 leads.
fn expected(place: &Place, said: &Said, next: u64, exit: u64) -> (u64, [u64; 16]) {
    let within = |from: unsafe extern "C" fn(), to: unsafe extern "C" fn()| {
        (at(from)..at(to)).contains(&place.rip)
    };
    let mut registers = place.registers;
    let resuming = within(genba_resume, genba_resume_end);
    let mut pc = match said.exit {
        _ if resuming && said.at_syscall => next,
        _ if resuming => said.resume,
        state::EXIT_SYSCALL => next,
        state::EXIT_INDIRECT | state::EXIT_RETURN | state::EXIT_TRANSFER => said.target,
        _ => exit,
    };
    if place.inside || within(genba_dispatch_saved, genba_resume_end) {
        registers = said.context;
    } else if within(genba_miss, genba_transfer_end) {
        pc = said.target;
        registers[RCX] = said.aside[1];
        if within(genba_miss_aside, genba_miss_end)
            || within(genba_return_aside, genba_return_end)
            || within(genba_transfer_aside, genba_transfer_end)
        {
            registers[0] = said.aside[0];
        }
        if within(genba_miss_saved, genba_miss_end)
            || within(genba_return_saved, genba_return_end)
            || within(genba_transfer_saved, genba_transfer_end)
        {
            registers[register::RDX as usize] = said.aside[2];
        }
        if within(genba_return, genba_return_popped) {
            pc = place.top;
            registers[RSP] += 8;
        }
    } else if within(genba_syscall, genba_syscall_end) {
        pc = next;
        registers[RCX] = next;
        let whole = within(genba_syscall, genba_syscall_number)
            || (at(genba_syscall_now)..=at(genba_syscall_done)).contains(&place.rip)
            || within(genba_syscall_special, genba_syscall_end);
        if !whole {
            registers[0] = registers[11];
        }
    }
    if said.in_signal || place.rip == at(genba_signal) {
        pc = 0;
    }
    (pc, registers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn debuggers_find_the_program_in_the_engine(
        states in [said(), said()],
        own in 0..2usize,
        registers: [u64; 16],
        rsp in STACKS,
        top: u64,
        high: bool,
    ) {
        let mut laid = Laid::new(&[Plan::of(&PROGRAM)], high);
        let next = CODE[usize::from(high)] + 3;
        let mut marks = laid.fragments[0].marks.iter();
        let done = marks.find(|marked| marked.mark == Mark::SyscallDone).expect("a system call");
        let back = laid.fragments[0].start + u64::from(done.offset);
        let exit = laid.exits[1].target;
        prop_assert_ne!(exit, 0);
        // Both threads have been somewhere near; the other's stack is beyond.
        let slots = [0, 1].map(|index| Slot {
            in_use: true,
            rsp: if index == own { rsp + 8 } else { rsp + 64 },
            aside: [0; 3],
        });
        laid.threads(&slots);
        laid.memory.words(rsp, &[top]);
        for (index, said) in states.iter().enumerate() {
            let [rax, rcx, rdx] = said.aside;
            let mut fields = vec![
                (state::RAX, rax),
                (state::RCX, rcx),
                (state::RDX, rdx),
                (state::TARGET, said.target),
                (state::RESUME_PC, said.resume),
                (state::EXIT, u64::from(said.exit)),
                (state::AT_SYSCALL, u64::from(said.at_syscall)),
                (state::IN_SIGNAL, u64::from(said.in_signal)),
                // That of the other is none.
                (state::SYSCALL_NEXT, if index == own { back } else { 0 }),
            ];
            for (number, &value) in (0..).zip(&said.context) {
                if number != register::RSP {
                    fields.push((state::CONTEXT + number * 8, value));
                }
            }
            for (field, value) in fields {
                laid.memory.set(state_of(index) + u64::from(field), value);
            }
        }
        let mut said = states[own].clone();
        said.context[RSP] = slots[own].rsp;
        let rules: Vec<(Want, Vec<u8>)> = [Want::Stack, Want::Pc]
            .into_iter()
            .chain((0..16).filter(|&number| number != register::RSP).map(Want::Register))
            .map(|want| (want, LISTS.in_engine(want)))
            .collect();
        let labels = labels();
        prop_assert!(labels.is_sorted());
        for rip in labels.iter().flat_map(|&label| [label, label + 1]) {
            let engine = at(genba_dispatch_blocked) + 1..at(genba_resume_unblocked);
            for inside in [false, true] {
                if inside != engine.contains(&rip) {
                    continue;
                }
                let mut place = Place { rip, registers, top, inside };
                place.registers[RSP] = if inside { state_of(own) + 0x3_FF00 } else { rsp };
                if rip == at(genba_syscall) {
                    // The last one's is still there.
                    laid.memory.set(state_of(own) + u64::from(state::SYSCALL_NEXT), 0);
                    place.registers[RCX] = back;
                } else {
                    laid.memory.set(state_of(own) + u64::from(state::SYSCALL_NEXT), back);
                }
                let (pc, after) = expected(&place, &said, next, exit);
                let machine = Machine { memory: &laid.memory, rip, registers: place.registers };
                for (want, rule) in &rules {
                    let (name, expected) = match *want {
                        Want::Stack => ("rsp".to_owned(), after[RSP]),
                        Want::Pc => ("pc".to_owned(), pc),
                        Want::Register(number) => (number.to_string(), after[number as usize]),
                    };
                    let frame = (*want != Want::Stack).then_some(after[RSP]);
                    let label = labels.iter().rposition(|&label| label <= rip);
                    prop_assert_eq!(machine.evaluate(rule, frame), Ok(expected), "{} at {:?} of {:#x}", name, label, rip);
                }
            }
        }
    }
}
