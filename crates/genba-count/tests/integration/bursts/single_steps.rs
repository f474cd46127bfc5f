//! What a program does, seen by stopping it after every instruction: independent of the engine.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use genba_engine::burst_layout::recorded_value;
use genba_model::Observed;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
};

/// An executed instruction, and what it did; call and jump targets are addresses in memory.
#[derive(Debug)]
pub struct Step {
    /// Its address in memory.
    pub pc: u64,
    /// What it did: memory first, then control.
    pub did: Vec<Observed>,
}

/// Single-steps the first `count` instructions of a program.
pub fn steps(program: &Path, count: usize) -> Vec<Step> {
    let mut command = Command::new(program);
    command.env_clear();
    // SAFETY: one system call, in the child.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut child = command.spawn().expect("it starts");
    let pid = child.id() as libc::pid_t;
    let memory = File::open(format!("/proc/{pid}/mem")).expect("its memory");
    assert!(stopped(pid));
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap_or(memory);
    let mut factory = InstructionInfoFactory::new();
    let mut steps = Vec::new();
    let mut registers = registers_of(pid);
    for _ in 0..count {
        let mut code = [0; 15];
        let got = memory.read_at(&mut code, registers.rip).unwrap_or(0);
        let instruction =
            Decoder::with_ip(64, &code[..got], registers.rip, DecoderOptions::NONE).decode();
        let before = registers;
        let accesses = accesses(&instruction, &before, &mut factory);
        let values: Vec<u64> = accesses
            .iter()
            .map(|access| value(&memory, access.address, access.size))
            .collect();
        loop {
            // SAFETY: our own child, which is stopped.
            let stepped = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) };
            assert_eq!(stepped, 0);
            assert!(stopped(pid), "it ended at {:#x}", registers.rip);
            registers = registers_of(pid);
            // A repeated string instruction stops after each element.
            let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
            if !(registers.rip == before.rip && repeats) {
                break;
            }
        }
        let mut did = Vec::new();
        for (access, before_value) in accesses.iter().zip(values) {
            let after = value(&memory, access.address, access.size);
            did.extend(access.observed(before_value, after, &registers));
        }
        did.extend(control(&instruction, &before, &registers));
        steps.push(Step {
            pc: before.rip,
            did,
        });
    }
    let _ = child.kill();
    let _ = child.wait();
    steps
}

fn stopped(pid: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: our own child; writes the status.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP
}

type Registers = libc::user_regs_struct;

fn registers_of(pid: libc::pid_t) -> Registers {
    // SAFETY: all zero is a value of this type; the kernel writes it.
    unsafe {
        let mut registers: Registers = std::mem::zeroed();
        let to = &raw mut registers;
        assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, pid, 0usize, to), 0);
        registers
    }
}

fn register(registers: &Registers, register: Register) -> Option<u64> {
    let r = registers;
    Some(match register.full_register() {
        Register::RAX => r.rax,
        Register::RCX => r.rcx,
        Register::RDX => r.rdx,
        Register::RBX => r.rbx,
        Register::RSP => r.rsp,
        Register::RBP => r.rbp,
        Register::RSI => r.rsi,
        Register::RDI => r.rdi,
        Register::R8 => r.r8,
        Register::R9 => r.r9,
        Register::R10 => r.r10,
        Register::R11 => r.r11,
        Register::R12 => r.r12,
        Register::R13 => r.r13,
        Register::R14 => r.r14,
        Register::R15 => r.r15,
        // Segments but %fs and %gs begin at 0.
        _ if register.is_segment_register() => 0,
        _ => return None,
    })
}

struct Access {
    address: u64,
    size: usize,
    reads: bool,
    writes: bool,
    /// For a repeated string instruction: the register with the address.
    moves: Option<Register>,
}

impl Access {
    fn observed(&self, before: u64, after: u64, registers: &Registers) -> Option<Observed> {
        let (mut address, mut size) = (self.address, self.size as u64);
        if let Some(moved) = self.moves {
            let end = register(registers, moved).expect("a register");
            (address, size) = match end >= address {
                true => (address, end - address),
                false => (end + size, address - end),
            };
            if size == 0 {
                return None;
            }
        }
        let size = size as u16;
        Some(match self.writes {
            false => Observed::Load {
                address,
                size,
                value: before,
            },
            true => Observed::Store {
                address,
                size,
                before,
                value: after,
                reads: self.reads,
            },
        })
    }
}

fn accesses(
    instruction: &Instruction,
    registers: &Registers,
    factory: &mut InstructionInfoFactory,
) -> Vec<Access> {
    let repeated = instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
    let mut accesses: Vec<Access> = (factory.info(instruction).used_memory().iter())
        .filter_map(|used| {
            let (reads, writes) = match used.access() {
                OpAccess::Read | OpAccess::CondRead => (true, false),
                OpAccess::Write | OpAccess::CondWrite => (false, true),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
                OpAccess::None | OpAccess::NoMemAccess => return None,
            };
            let address = used.virtual_address(0, |of, _, _| register(registers, of))?;
            Some(Access {
                address,
                size: match repeated {
                    true => instruction.memory_size().size(),
                    false => used.memory_size().size(),
                },
                reads,
                writes,
                moves: repeated.then(|| used.base()),
            })
        })
        .collect();
    accesses.sort_by_key(|access| access.writes);
    accesses
}

fn value(memory: &File, address: u64, size: usize) -> u64 {
    let mut bytes = vec![0; size];
    memory.read_exact_at(&mut bytes, address).expect("memory");
    recorded_value(&bytes)
}

fn control(instruction: &Instruction, before: &Registers, after: &Registers) -> Option<Observed> {
    let point = |address| genba_model::CodePoint { module: 0, address };
    let r = before;
    Some(match instruction.flow_control() {
        FlowControl::ConditionalBranch => Observed::Branch {
            taken: after.rip == instruction.near_branch_target(),
        },
        FlowControl::Call | FlowControl::IndirectCall => Observed::Call {
            target: point(after.rip),
            arguments: [r.rdi, r.rsi, r.rdx, r.rcx, r.r8, r.r9],
        },
        FlowControl::IndirectBranch => Observed::Jump {
            target: point(after.rip),
        },
        FlowControl::Return => Observed::Return { value: r.rax },
        _ => return None,
    })
}
