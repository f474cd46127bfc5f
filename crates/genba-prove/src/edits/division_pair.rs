//! One division for two: the first keeps operands and results, the second takes the results if it has
//! the same operands.

use genba_count::native::CodeEdit;
use genba_model::{CodeChange, FindingSite};
use iced_x86::code_asm::CodeAssembler;
use iced_x86::{Code, FlowControl, IcedError, Instruction, InstructionInfoFactory, Register};

use super::{Plan, Plans};
use crate::DecodedCode;
use crate::edit_assembler::{EditAssembler, Width, ZERO_SLOT};
use crate::register_liveness::{is_live_after, rdx_is_zero_before};

// Dividend, divisor and quotient are 1 in the beginning, the remainder and the upper half 0: the
// division of 1 by 1.
const DIVIDEND: u8 = 0;
const REMAINDER: u8 = 1;
const DIVISOR: u8 = 2;
const UPPER: u8 = 3;
const QUOTIENT: u8 = 4;
const SPARE_ONE: u8 = 6;
const SPARE_OTHER: u8 = 8;

/// Divisor and size of a division by a register; `None` for other instructions. Dividend and divisor
/// must be different registers.
pub fn division(instruction: &Instruction) -> Option<(Register, Width)> {
    let width = match instruction.code() {
        Code::Div_rm64 | Code::Idiv_rm64 => Width::Quad,
        Code::Div_rm32 | Code::Idiv_rm32 => Width::Double,
        _ => return None,
    };
    let divisor = instruction.op0_register().full_register();
    (divisor.is_gpr64() && !matches!(divisor, Register::RAX | Register::RDX))
        .then_some((divisor, width))
}

pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let [first, second, ..] = site.addresses[..] else {
        return Ok(Vec::new());
    };
    let found = [first, second].map(|address| code.index(address));
    let [Some(first), Some(second)] = found else {
        return Ok(Vec::new());
    };
    let all = code.instructions();
    let same_code = all[first].code() == all[second].code();
    let (Some(one), Some(other)) = (division(&all[first]), division(&all[second])) else {
        return Ok(Vec::new());
    };
    if !same_code || one.1 != other.1 {
        return Ok(Vec::new());
    }
    let zero = rdx_is_zero_before(code, first) && rdx_is_zero_before(code, second);
    let edits = vec![keep(code, first, zero)?, reuse(code, second, zero)?];
    let by_memory = Plan::equivalent(CodeChange::OneDivision, edits);
    let edits = in_registers(code, first, second, zero)?;
    let by_register = Plan::equivalent(CodeChange::OneDivision, edits);
    Ok(vec![by_register, by_memory])
}

/// Both in one block: the results that are needed are in registers that nothing between the divisions
/// uses, so that no load is in the chain of dependencies. None if there are too few.
fn in_registers(
    code: &DecodedCode,
    first: usize,
    second: usize,
    upper_is_zero: bool,
) -> Result<Vec<CodeEdit>, IcedError> {
    let results = [(Register::RAX, SPARE_ONE), (Register::RDX, SPARE_OTHER)];
    let live = results.map(|(result, _)| is_live_after(code, second, result));
    let spare = unused_between(code, first, second);
    let needed = live.iter().filter(|&&live| live).count();
    if first >= second || spare.len() < needed || !is_straight(code, first, second) {
        return Ok(Vec::new());
    }
    let results = results.into_iter().zip(live).filter(|&(_, live)| live);
    let moved: Vec<(Register, u8, Register)> = results
        .zip(spare)
        .map(|(((result, slot), _), spare)| (result, slot, spare))
        .collect();
    let move_code = (Code::Mov_r32_rm32, Code::Mov_r64_rm64);
    let instruction = &code.instructions()[first];
    let Some((divisor, width)) = division(instruction) else {
        return Ok(Vec::new());
    };
    let mut keep = EditAssembler::new(code, instruction)?;
    keep.in_group(1);
    keep.store(DIVIDEND, Register::RAX)?;
    if !upper_is_zero {
        keep.store(UPPER, Register::RDX)?;
    }
    for &(_, slot, spare) in &moved {
        keep.store(slot, spare)?;
    }
    keep.original()?;
    keep.saved(Register::RAX, DIVIDEND);
    keep.saved(Register::RDX, if upper_is_zero { ZERO_SLOT } else { UPPER });
    keep.store(DIVISOR, divisor)?;
    keep.executed();
    keep.restored(Register::RAX);
    keep.restored(Register::RDX);
    for &(result, slot, spare) in &moved {
        keep.registers(Width::Quad, move_code, spare, result)?;
        keep.saved_for_group(spare, slot);
    }
    let instruction = &code.instructions()[second];
    let divisor = instruction.op0_register().full_register();
    let mut reuse = EditAssembler::new(code, instruction)?;
    reuse.in_group(1);
    let (mut divide, mut done) = (reuse.label(), reuse.label());
    reuse.compare_word(width, Register::RAX, DIVIDEND)?;
    reuse.jump(CodeAssembler::jne, divide)?;
    reuse.compare_word(width, divisor, DIVISOR)?;
    reuse.jump(CodeAssembler::jne, divide)?;
    if !upper_is_zero {
        reuse.compare_word(width, Register::RDX, UPPER)?;
        reuse.jump(CodeAssembler::jne, divide)?;
    }
    for &(result, _, spare) in &moved {
        reuse.registers(Width::Quad, move_code, result, spare)?;
        let before = match result {
            Register::RAX => DIVIDEND,
            _ if upper_is_zero => ZERO_SLOT,
            _ => UPPER,
        };
        reuse.saved(result, before);
    }
    reuse.jump(CodeAssembler::jmp, done)?;
    reuse.restored(Register::RAX);
    reuse.restored(Register::RDX);
    reuse.place(&mut divide)?;
    reuse.original()?;
    reuse.place(&mut done)?;
    reuse.executed();
    for &(_, slot, spare) in &moved {
        reuse.load(spare, slot)?;
    }
    Ok(vec![keep.finish()?, reuse.finish()?])
}

/// Whether control goes from one instruction to another without a branch.
fn is_straight(code: &DecodedCode, first: usize, second: usize) -> bool {
    let between = &code.instructions()[first..second];
    between
        .iter()
        .all(|one| one.flow_control() == FlowControl::Next)
}

/// General registers that no instruction from one to another uses.
fn unused_between(code: &DecodedCode, first: usize, second: usize) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    let mut used = vec![Register::RSP];
    for instruction in code.instructions().get(first..=second).unwrap_or_default() {
        let registers = factory.info(instruction).used_registers();
        used.extend(registers.iter().map(|one| one.register().full_register()));
    }
    // Those that need no prefix are not better; those that calls keep are seldom what comes next.
    let all = [
        Register::R15,
        Register::R14,
        Register::R13,
        Register::R12,
        Register::RBP,
        Register::RBX,
        Register::R11,
        Register::R10,
        Register::R9,
        Register::R8,
        Register::RDI,
        Register::RSI,
        Register::RCX,
    ];
    all.into_iter().filter(|one| !used.contains(one)).collect()
}

/// Divides, and keeps operands and results.
fn keep(code: &DecodedCode, index: usize, upper_is_zero: bool) -> Result<CodeEdit, IcedError> {
    let instruction = &code.instructions()[index];
    let divisor = instruction.op0_register().full_register();
    let mut edit = EditAssembler::new(code, instruction)?;
    edit.store(DIVIDEND, Register::RAX)?;
    if !upper_is_zero {
        edit.store(UPPER, Register::RDX)?;
    }
    edit.original()?;
    edit.saved(Register::RAX, DIVIDEND);
    edit.saved(Register::RDX, if upper_is_zero { ZERO_SLOT } else { UPPER });
    edit.store(DIVISOR, divisor)?;
    edit.store(QUOTIENT, Register::RAX)?;
    edit.store(REMAINDER, Register::RDX)?;
    edit.finish()
}

/// Takes the results, or divides.
fn reuse(code: &DecodedCode, index: usize, upper_is_zero: bool) -> Result<CodeEdit, IcedError> {
    let instruction = &code.instructions()[index];
    let Some((divisor, width)) = division(instruction) else {
        return EditAssembler::new(code, instruction)?.finish();
    };
    let mut edit = EditAssembler::new(code, instruction)?;
    let (mut divide, mut done) = (edit.label(), edit.label());
    edit.compare_word(width, Register::RAX, DIVIDEND)?;
    edit.jump(CodeAssembler::jne, divide)?;
    edit.compare_word(width, divisor, DIVISOR)?;
    edit.jump(CodeAssembler::jne, divide)?;
    if !upper_is_zero {
        edit.compare_word(width, Register::RDX, UPPER)?;
        edit.jump(CodeAssembler::jne, divide)?;
    }
    edit.load(Register::RAX, QUOTIENT)?;
    // The compared halves are those of the program; where they are 32 bits, the others do not matter to
    // a division that is made again.
    edit.saved(Register::RAX, DIVIDEND);
    edit.load(Register::RDX, REMAINDER)?;
    edit.saved(Register::RDX, if upper_is_zero { ZERO_SLOT } else { UPPER });
    edit.jump(CodeAssembler::jmp, done)?;
    edit.restored(Register::RAX);
    edit.restored(Register::RDX);
    edit.place(&mut divide)?;
    edit.original()?;
    edit.place(&mut done)?;
    edit.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::{site, text};
    use genba_count::native::SavedRegister;

    #[test]
    fn the_second_division_takes_the_results_of_the_first() {
        // xor edx,edx; div rsi; mov rax,rcx; xor edx,edx; div rsi; ret
        let bytes = [
            0x31, 0xD2, 0x48, 0xF7, 0xF6, 0x48, 0x89, 0xC8, 0x31, 0xD2, 0x48, 0xF7, 0xF6, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1002, 0x100A]), &code).expect("encodes");
        let [_, plan] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            text(&plan.edits[0]),
            [
                "mov gs:[500h],rax",
                "div rsi",
                "mov gs:[510h],rsi",
                "mov gs:[520h],rax",
                "mov gs:[508h],rdx",
            ]
        );
        assert_eq!(
            text(&plan.edits[1]),
            [
                "cmp rax,gs:[500h]",
                "jne short 2Eh",
                "cmp rsi,gs:[510h]",
                "jne short 2Eh",
                "mov rax,gs:[520h]",
                "mov rdx,gs:[508h]",
                "jmp short 31h",
                "div rsi",
            ]
        );
        assert_eq!(plan.edits[1].original_at, Some(0x2E));
        assert_eq!(plan.edits[1].saved.len(), 2);
    }

    #[test]
    fn in_one_block_results_stay_in_registers_that_nothing_uses() {
        // xor edx,edx; div rsi; mov [r15],rdx; mov rax,rcx; xor edx,edx; div rsi; mov rcx,rax; xor
        // edx,edx; mov eax,0; ret
        let bytes = [
            0x31, 0xD2, 0x48, 0xF7, 0xF6, 0x49, 0x89, 0x17, 0x48, 0x89, 0xC8, 0x31, 0xD2, 0x48,
            0xF7, 0xF6, 0x48, 0x89, 0xC1, 0x31, 0xD2, 0xB8, 0, 0, 0, 0, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1002, 0x100D]), &code).expect("encodes");
        let [keep, reuse] = &found[0].edits[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            text(keep),
            [
                "mov gs:[500h],rax",
                "mov gs:[530h],r14",
                "div rsi",
                "mov gs:[510h],rsi",
                "mov r14,rax",
            ]
        );
        let open = SavedRegister::TO_THE_END_OF_THE_GROUP;
        assert_eq!(keep.saved[2].end, open);
        assert_eq!(keep.executed_at, Some(33));
        assert_eq!(
            text(reuse)[4..],
            [
                "mov rax,r14",
                "jmp short 20h",
                "div rsi",
                "mov r14,gs:[530h]"
            ]
        );
        assert_eq!(reuse.executed_at, Some(0x20));
    }

    #[test]
    fn the_upper_half_is_compared_where_it_may_not_be_zero() {
        // cqo; idiv rcx; mov rax,rbx; cqo; idiv rcx; ret
        let bytes = [
            0x48, 0x99, 0x48, 0xF7, 0xF9, 0x48, 0x89, 0xD8, 0x48, 0x99, 0x48, 0xF7, 0xF9, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1002, 0x100A]), &code).expect("encodes");
        let compared = text(&found[1].edits[1]);
        assert!(
            compared.contains(&"cmp rdx,gs:[518h]".to_owned()),
            "{compared:?}"
        );
    }

    #[test]
    fn divisions_by_memory_or_of_other_forms_have_no_plan() {
        // div [rsi]; div rsi
        let code = DecodedCode::new(0x1000, &[0x48, 0xF7, 0x36, 0x48, 0xF7, 0xF6, 0xC3]);
        assert!(plans(&site(&[0x1000, 0x1003]), &code).is_ok_and(|all| all.is_empty()));
        assert!(plans(&site(&[0x1003]), &code).is_ok_and(|all| all.is_empty()));
        assert!(plans(&site(&[0x1003, 0x2000]), &code).is_ok_and(|all| all.is_empty()));
    }
}
