//! Upper bound: instructions and calls that are left out. A first execution of a window writes their results to a
//! log; the one that is compared takes them from there. Nothing waits for them, nor for what they wait for. What a
//! call writes to memory is missing: where that matters, the two executions end differently, and are not compared.

use genba_count::native::{CodeEdit, EditedBranch, LOG_OFFSET, Replicas, Side};
use genba_model::{CodeChange, FindingSite};
use iced_x86::{
    Code, FlowControl, IcedError, Instruction, InstructionInfoFactory, OpAccess, Register,
};

use super::{Plan, Plans};
use crate::DecodedCode;
use crate::edit_assembler::{EditAssembler, at_offset, state_word};

/// Instructions of a plan at most.
const MAX_INSTRUCTIONS: usize = 8;
/// Bytes of an entry: two general registers and a vector register.
const ENTRY: u64 = 32;
/// Number of the first word of edits for saved registers.
const SAVED: u8 = 40;
/// Registers that the ABI does not preserve in calls: rax, rcx, rdx, rsi, rdi, r8 to r11.
const CHANGED_BY_CALLS: u64 = 0b0000_1111_1100_0111;
/// Instructions after one in which its flags are looked for.
const MAX_DISTANCE: usize = 24;

/// What an entry has: registers, and where they are in it.
struct Results {
    general: Vec<(Register, i64)>,
    vector: Option<Register>,
}

/// Leaves out instructions with results in registers.
pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let (mut edits, mut ignored) = (Vec::new(), 0);
    let places = site.addresses.iter().filter_map(|&at| code.index(at));
    for index in places.take(MAX_INSTRUCTIONS) {
        let instruction = &code.instructions()[index];
        let Some(results) = results(code, index) else {
            continue;
        };
        let used = used_by(instruction);
        let mut spare = GENERAL.into_iter().filter(|one| !used.contains(one));
        let (Some(log), Some(step)) = (spare.next(), spare.next()) else {
            continue;
        };
        let mut edit = EditAssembler::new(code, instruction)?;
        edit.on_side(Side::AsIs);
        edit.original()?;
        edit.executed();
        edit.store(SAVED, log)?;
        edit.store(SAVED + 2, step)?;
        edit.saved(log, SAVED);
        edit.saved(step, SAVED + 2);
        note(&mut edit, &results, log, step)?;
        edit.load(log, SAVED)?;
        edit.restored(log);
        edit.load(step, SAVED + 2)?;
        edit.restored(step);
        let noted = edit.finish()?;
        let mut edit = EditAssembler::new(code, instruction)?;
        edit.store(SAVED, log)?;
        replay(&mut edit, &results, log)?;
        edit.load(log, SAVED)?;
        edits.extend([noted, edit.finish()?]);
        let differ = results.general.iter().map(|one| one.0).chain([log, step]);
        ignored |= differ.fold(0, |bits, register| bits | 1 << register.number());
    }
    Ok(vec![plan(edits, ignored)])
}

/// Leaves out calls.
pub fn calls(site: &FindingSite, code: &DecodedCode) -> Plans {
    let mut edits: Vec<CodeEdit> = Vec::new();
    let results = Results {
        general: vec![(Register::RAX, 0), (Register::RDX, 8)],
        vector: Some(Register::XMM0),
    };
    let places = site.addresses.iter().filter_map(|&at| code.index(at));
    for index in places.take(MAX_INSTRUCTIONS) {
        let instruction = &code.instructions()[index];
        let calls = matches!(
            instruction.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        );
        let Some(after) = code.instructions().get(index + 1).filter(|_| calls) else {
            continue;
        };
        // Where control goes on without a branch, so that code can come before it. By the ABI, what is used there
        // is dead after a call.
        if after.flow_control() != FlowControl::Next {
            continue;
        }
        let Some(before) = index.checked_sub(1).map(|at| &code.instructions()[at]) else {
            continue;
        };
        if before.flow_control() != FlowControl::Next {
            continue;
        }
        // An entry is taken before the call and written after it: a window that begins within a call writes no
        // entry for it, as the one that leaves calls out reads none.
        let mut edit = EditAssembler::new(code, before)?;
        edit.on_side(Side::AsIs);
        take_entry(&mut edit)?;
        let taken = edit.finish()?;
        let mut edit = EditAssembler::new(code, after)?;
        edit.on_side(Side::AsIs);
        edit.instruction(Instruction::with2(
            Code::Mov_r64_rm64,
            Register::RCX,
            state_word(LOG_OFFSET),
        )?)?;
        write(&mut edit, &results, Register::RCX, -(ENTRY as i64))?;
        edit.original()?;
        let noted = edit.finish()?;
        let mut edit = EditAssembler::new(code, instruction)?;
        replay(&mut edit, &results, Register::RCX)?;
        let mut left_out = edit.finish()?;
        left_out.branch = EditedBranch::Never;
        edits.extend([taken, noted, left_out]);
    }
    Ok(vec![plan(edits, CHANGED_BY_CALLS)])
}

fn plan(edits: Vec<CodeEdit>, ignored: u64) -> Plan {
    let mut plan = Plan::upper_bound(CodeChange::WorkLeftOut, edits);
    plan.replicas = Some(Replicas {
        log_entry: ENTRY,
        pattern: 0,
        ignored: ignored | Replicas::PLACE,
    });
    plan
}

const GENERAL: [Register; 10] = [
    Register::R11,
    Register::R10,
    Register::R9,
    Register::R8,
    Register::RCX,
    Register::RSI,
    Register::RDI,
    Register::RBX,
    Register::R12,
    Register::R13,
];

fn used_by(instruction: &Instruction) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(instruction).used_registers();
    used.iter()
        .map(|one| one.register().full_register())
        .collect()
}

/// Returns the registers that an instruction writes; `None` if it does more, or its flags are read.
fn results(code: &DecodedCode, index: usize) -> Option<Results> {
    let instruction = &code.instructions()[index];
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let writes = |access| {
        matches!(
            access,
            OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite
        )
    };
    if instruction.flow_control() != FlowControl::Next
        || info.used_memory().iter().any(|one| writes(one.access()))
        || flags_are_read(code, index)
    {
        return None;
    }
    let mut found = Results {
        general: Vec::new(),
        vector: None,
    };
    for used in info
        .used_registers()
        .iter()
        .filter(|one| writes(one.access()))
    {
        let register = used.register();
        let full = register.full_register();
        if full.is_gpr64() && full != Register::RSP && found.general.len() < 2 {
            let offset = 8 * found.general.len() as i64;
            found.general.push((full, offset));
        } else if register.is_xmm() && found.vector.is_none() {
            found.vector = Some(register);
        } else if full.is_zmm() && instruction.op0_register().is_xmm() && found.vector.is_none() {
            found.vector = Some(instruction.op0_register());
        } else {
            return None;
        }
    }
    (!found.general.is_empty() || found.vector.is_some()).then_some(found)
}

/// Whether the flags of an instruction are read before others overwrite them.
fn flags_are_read(code: &DecodedCode, index: usize) -> bool {
    let written = code.instructions()[index].rflags_modified();
    if written == 0 {
        return false;
    }
    for next in code
        .instructions()
        .iter()
        .skip(index + 1)
        .take(MAX_DISTANCE)
    {
        if next.rflags_read() & written != 0 {
            return true;
        }
        if next.rflags_modified() & written == written || next.flow_control() != FlowControl::Next {
            return false;
        }
    }
    false
}

/// Writes results to the log.
fn note(
    edit: &mut EditAssembler,
    results: &Results,
    log: Register,
    step: Register,
) -> Result<(), IcedError> {
    edit.load_log(log)?;
    write(edit, results, log, 0)?;
    edit.advance_log(log, step)
}

/// Executes the instruction and takes the next entry of the log, which must be accessible.
fn take_entry(edit: &mut EditAssembler) -> Result<(), IcedError> {
    let (log, step) = (Register::R10, Register::R11);
    edit.original()?;
    edit.executed();
    edit.store(SAVED, log)?;
    edit.store(SAVED + 2, step)?;
    edit.saved(log, SAVED);
    edit.saved(step, SAVED + 2);
    edit.load_log(log)?;
    edit.instruction(Instruction::with2(
        Code::Mov_r64_rm64,
        step,
        at_offset(log, 0),
    )?)?;
    edit.advance_log(log, step)?;
    edit.load(log, SAVED)?;
    edit.restored(log);
    edit.load(step, SAVED + 2)?;
    edit.restored(step);
    Ok(())
}

/// Writes results to an entry of the log, at this distance from its address.
fn write(
    edit: &mut EditAssembler,
    results: &Results,
    log: Register,
    distance: i64,
) -> Result<(), IcedError> {
    for &(register, offset) in &results.general {
        let to = at_offset(log, distance + offset);
        edit.instruction(Instruction::with2(Code::Mov_rm64_r64, to, register)?)?;
    }
    if let Some(vector) = results.vector {
        let to = at_offset(log, distance + 16);
        edit.instruction(Instruction::with2(Code::Movups_xmmm128_xmm, to, vector)?)?;
    }
    Ok(())
}

/// Takes results from the log.
fn replay(edit: &mut EditAssembler, results: &Results, log: Register) -> Result<(), IcedError> {
    edit.load_log(log)?;
    for &(register, offset) in &results.general {
        edit.instruction(Instruction::with2(
            Code::Mov_r64_rm64,
            register,
            at_offset(log, offset),
        )?)?;
    }
    if let Some(vector) = results.vector {
        edit.instruction(Instruction::with2(
            Code::Movups_xmm_xmmm128,
            vector,
            at_offset(log, 16),
        )?)?;
    }
    let next = at_offset(log, ENTRY as i64);
    edit.instruction(Instruction::with2(Code::Lea_r64_m, log, next)?)?;
    edit.instruction(Instruction::with2(
        Code::Mov_rm64_r64,
        state_word(LOG_OFFSET),
        log,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::{site, text};

    #[test]
    fn a_result_is_noted_on_one_side_and_taken_from_the_log_on_the_other() {
        // mulsd xmm0,xmm1; ret
        let code = DecodedCode::new(0x1000, &[0xF2, 0x0F, 0x59, 0xC1, 0xC3]);
        let found = plans(&site(&[0x1000]), &code).expect("encodes");
        let [note, replay] = &found[0].edits[..] else {
            panic!("{found:?}")
        };
        assert_eq!(text(note)[0], "mulsd xmm0,xmm1");
        assert!(text(note).contains(&"movups [r11+10h],xmm0".to_owned()));
        assert_eq!(
            text(replay),
            [
                "mov gs:[640h],r11",
                "mov r11,gs:[928h]",
                "movups xmm0,[r11+10h]",
                "lea r11,[r11+20h]",
                "mov gs:[928h],r11",
                "mov r11,gs:[640h]",
            ]
        );
    }

    #[test]
    fn instructions_that_store_or_whose_flags_are_read_are_left_alone() {
        // mov [rdi],rax; sub ecx,1; jne 1000h
        let bytes = [0x48, 0x89, 0x07, 0x83, 0xE9, 0x01, 0x75, 0xF8];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1000, 0x1003]), &code).expect("encodes");
        assert_eq!(found[0].edits, []);
    }

    #[test]
    fn a_call_is_left_out_and_its_results_are_noted_behind_it() {
        // mov edi,ebx; call 1007h; add rbx,rax; ret
        let bytes = [0x89, 0xDF, 0xE8, 0, 0, 0, 0, 0x48, 0x01, 0xC3, 0xC3];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = calls(&site(&[0x1002]), &code).expect("encodes");
        let [take, note, replay] = &found[0].edits[..] else {
            panic!("{found:?}")
        };
        assert_eq!((take.address, take.side), (0x1000, Side::AsIs));
        assert_eq!((note.address, note.side), (0x1007, Side::AsIs));
        assert_eq!((replay.address, replay.side), (0x1002, Side::Edited));
        assert!(text(note).contains(&"mov [rcx-18h],rdx".to_owned()));
        assert!(text(replay).contains(&"mov rdx,[rcx+8]".to_owned()));
    }
}
