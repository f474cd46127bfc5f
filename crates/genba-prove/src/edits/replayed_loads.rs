//! Upper bound: loads that hit. A first execution of a window writes what the loads read to a log, one value after
//! the other; the one that is compared takes the values from there. They are the program's own, so it takes the
//! same path and computes the same; but no load waits for memory, nor for the address that the one before it loaded.

use genba_count::native::{CodeEdit, LOG_OFFSET, Replicas, Side};
use genba_model::{CodeChange, FindingSite};
use iced_x86::{
    Code, IcedError, Instruction, InstructionInfoFactory, MemoryOperand, OpAccess, OpKind, Register,
};

use super::{Plan, Plans};
use crate::DecodedCode;
use crate::edit_assembler::{EditAssembler, at_offset, state_word};
use crate::register_liveness::is_live_after;

/// Loads of a plan at most.
const MAX_LOADS: usize = 8;
/// Words of edits for each load.
const WORDS: u8 = 2;
/// Largest value that is logged, bytes.
const MAX_BYTES: usize = 32;

/// A load, and registers that it leaves alone.
struct Load<'a> {
    instruction: &'a Instruction,
    bytes: usize,
    /// Two registers, and whether each is read by the program later.
    spare: [(Register, bool); 2],
    words: u8,
}

pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let mut loads: Vec<Load<'_>> = Vec::new();
    for &address in &site.addresses {
        let Some(index) = code.index(address) else {
            continue;
        };
        let words = loads.len() as u8 * WORDS;
        if loads.len() < MAX_LOADS
            && let Some(load) = load(code, index, words)
        {
            loads.push(load);
        }
    }
    let Some(bytes) = loads.iter().map(|load| load.bytes).max() else {
        return Ok(Vec::new());
    };
    let entry = bytes.next_power_of_two().max(8);
    let mut edits = Vec::new();
    for load in &loads {
        // One that cannot be encoded, such as of a byte register beside r8 to r15, is left as it is on both sides.
        if let (Ok(note), Ok(replay)) = (note(code, load), replay(code, load, entry)) {
            edits.extend([note, replay]);
        }
    }
    // What is dead in the program is not restored.
    let spare = loads.iter().flat_map(|load| load.spare);
    let dead = spare.filter(|one| !one.1).map(|one| one.0);
    let mut plan = Plan::upper_bound(CodeChange::LoadsHit, edits);
    plan.replicas = Some(Replicas {
        log_entry: entry as u64,
        pattern: 0,
        ignored: dead.fold(0, |bits, register| bits | 1 << register.number()),
    });
    Ok(vec![plan])
}

/// Returns the instruction as a load at an address in registers; `None` for others.
fn load(code: &DecodedCode, index: usize, words: u8) -> Option<Load<'_>> {
    let instruction = &code.instructions()[index];
    let general = |register: Register| register == Register::None || register.is_gpr64();
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let memory = info.used_memory();
    let bytes = instruction.memory_size().size();
    let explicit = (0..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory);
    let fits = explicit
        && memory.len() == 1
        && memory[0].access() == OpAccess::Read
        && instruction.memory_base().is_gpr64()
        && instruction.memory_base() != Register::RSP
        && general(instruction.memory_index())
        && instruction.segment_prefix() == Register::None
        && (1..=MAX_BYTES).contains(&bytes)
        && bytes.is_power_of_two()
        && !instruction.is_stack_instruction()
        && instruction.flow_control() == iced_x86::FlowControl::Next;
    if !fits {
        return None;
    }
    let used: Vec<Register> = info
        .used_registers()
        .iter()
        .map(|one| one.register().full_register())
        .chain([
            instruction.memory_base(),
            instruction.memory_index(),
            Register::RSP,
        ])
        .collect();
    let free = GENERAL.iter().copied().filter(|one| !used.contains(one));
    let (mut dead, mut unused, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for register in free {
        if !is_live_after(code, index, register) {
            dead.push((register, false));
        } else if !code.uses(register) {
            unused.push((register, true));
        } else {
            others.push((register, true));
        }
    }
    // What the function does not use at all is in no chain of dependencies of its own.
    dead.extend(unused);
    dead.extend(others);
    let [first, second, ..] = dead[..] else {
        return None;
    };
    Some(Load {
        instruction,
        bytes,
        spare: [first, second],
        words,
    })
}

const GENERAL: [Register; 14] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
];

impl Load<'_> {
    /// Saves spare registers that the program needs.
    fn save(&self, edit: &mut EditAssembler, many: usize) -> Result<(), IcedError> {
        for (number, (register, live)) in (0..).zip(self.spare).take(many) {
            if live {
                edit.store(self.words + number, register)?;
            }
        }
        for (number, (register, live)) in (0..).zip(self.spare).take(many) {
            if live {
                edit.saved(register, self.words + number);
            }
        }
        Ok(())
    }

    fn restore(&self, edit: &mut EditAssembler, many: usize) -> Result<(), IcedError> {
        for (number, (register, live)) in (0..).zip(self.spare).take(many) {
            if live {
                edit.load(register, self.words + number)?;
                edit.restored(register);
            }
        }
        Ok(())
    }
}

/// Writes what a load will read to the log, before it.
fn note(code: &DecodedCode, load: &Load<'_>) -> Result<CodeEdit, IcedError> {
    let [(log, _), (value, _)] = load.spare;
    let mut edit = EditAssembler::new(code, load.instruction)?;
    edit.on_side(Side::AsIs);
    load.save(&mut edit, 2)?;
    let move_code = |bytes| match bytes {
        1 => (Code::Mov_r8_rm8, Code::Mov_rm8_r8),
        2 => (Code::Mov_r16_rm16, Code::Mov_rm16_r16),
        4 => (Code::Mov_r32_rm32, Code::Mov_rm32_r32),
        _ => (Code::Mov_r64_rm64, Code::Mov_rm64_r64),
    };
    edit.load_log(log)?;
    let step = load.bytes.min(8);
    let part = match step {
        1 => byte_of(value),
        2 => Register::AX + value.number() as u32,
        4 => Register::EAX + value.number() as u32,
        _ => value,
    };
    let (read, write) = move_code(step);
    for offset in (0..load.bytes).step_by(step) {
        let from = load.instruction.memory_displacement64() as i64 + offset as i64;
        let from = MemoryOperand::new(
            load.instruction.memory_base(),
            load.instruction.memory_index(),
            load.instruction.memory_index_scale(),
            from,
            8,
            false,
            Register::None,
        );
        edit.instruction(Instruction::with2(read, part, from)?)?;
        edit.instruction(Instruction::with2(
            write,
            at_offset(log, offset as i64),
            part,
        )?)?;
    }
    edit.advance_log(log, value)?;
    load.restore(&mut edit, 2)?;
    edit.original()?;
    edit.finish()
}

/// Takes the value from the log.
fn replay(code: &DecodedCode, load: &Load<'_>, entry: usize) -> Result<CodeEdit, IcedError> {
    let (log, _) = load.spare[0];
    let mut edit = EditAssembler::new(code, load.instruction)?;
    edit.on_side(Side::Edited);
    load.save(&mut edit, 1)?;
    edit.load_log(log)?;
    let mut replayed = *load.instruction;
    replayed.set_memory_base(log);
    replayed.set_memory_index(Register::None);
    replayed.set_memory_index_scale(1);
    replayed.set_memory_displacement64(0);
    replayed.set_memory_displ_size(0);
    edit.instruction(replayed)?;
    edit.executed();
    let next = at_offset(log, entry as i64);
    edit.instruction(Instruction::with2(Code::Lea_r64_m, log, next)?)?;
    edit.instruction(Instruction::with2(
        Code::Mov_rm64_r64,
        state_word(LOG_OFFSET),
        log,
    )?)?;
    load.restore(&mut edit, 1)?;
    edit.finish()
}

fn byte_of(register: Register) -> Register {
    match register {
        Register::RAX => Register::AL,
        Register::RCX => Register::CL,
        Register::RDX => Register::DL,
        Register::RBX => Register::BL,
        Register::RBP => Register::BPL,
        Register::RSI => Register::SIL,
        Register::RDI => Register::DIL,
        other => Register::R8L + (other.number() as u32 - 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::{site, text};
    use genba_model::ProofKind;

    #[test]
    fn a_load_notes_its_value_on_one_side_and_takes_it_from_the_log_on_the_other() {
        // L: mov rax,[rax+8]; dec rsi; jne L; ret
        let bytes = [0x48, 0x8B, 0x40, 0x08, 0x48, 0xFF, 0xCE, 0x75, 0xF7, 0xC3];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1000]), &code).expect("encodes");
        let [plan] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(plan.kind, ProofKind::UpperBound);
        assert_eq!(plan.replicas.map(|one| one.log_entry), Some(8));
        let [note, replay] = &plan.edits[..] else {
            panic!("{plan:?}")
        };
        assert_eq!((note.side, replay.side), (Side::AsIs, Side::Edited));
        assert_eq!(
            text(note),
            [
                "mov gs:[500h],rcx",
                "mov gs:[508h],rdx",
                "mov rcx,gs:[928h]",
                "mov rdx,[rax+8]",
                "mov [rcx],rdx",
                "mov rdx,gs:[930h]",
                "lea rcx,[rcx+rdx]",
                "mov gs:[928h],rcx",
                "mov rcx,gs:[500h]",
                "mov rdx,gs:[508h]",
                "mov rax,[rax+8]",
            ]
        );
        assert_eq!(
            text(replay),
            [
                "mov gs:[500h],rcx",
                "mov rcx,gs:[928h]",
                "mov rax,[rcx]",
                "lea rcx,[rcx+8]",
                "mov gs:[928h],rcx",
                "mov rcx,gs:[500h]",
            ]
        );
    }

    #[test]
    fn stores_stack_accesses_and_fixed_places_are_left_alone() {
        // mov [rdi],eax; pop rax; mov rax,[rip]; mov rax,[rsp+8]; add [rdi],eax
        let bytes = [
            0x89, 0x07, 0x58, 0x48, 0x8B, 0x05, 0, 0, 0, 0, 0x48, 0x8B, 0x44, 0x24, 0x08, 0x01,
            0x07,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let places = [0x1000, 0x1002, 0x1003, 0x100A, 0x100F];
        assert!(plans(&site(&places), &code).is_ok_and(|all| all.is_empty()));
    }

    #[test]
    fn values_of_vector_registers_are_noted_in_parts() {
        // movups xmm0,[rdi+16]; cmp byte [rsi],0
        let bytes = [0x0F, 0x10, 0x47, 0x10, 0x80, 0x3E, 0x00, 0xC3];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1000, 0x1004]), &code).expect("encodes");
        let edits = &found[0].edits;
        assert_eq!(found[0].replicas.map(|one| one.log_entry), Some(16));
        assert!(text(&edits[0]).iter().any(|one| one.ends_with("[rdi+18h]")));
        assert!(
            text(&edits[3])
                .iter()
                .any(|one| one.starts_with("cmp byte ptr ["))
        );
    }
}
