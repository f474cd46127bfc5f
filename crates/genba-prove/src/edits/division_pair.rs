//! One division for two: the first keeps operands and results, the second takes the results if it has
//! the same operands.

use genba_model::{CodeChange, FindingSite};
use iced_x86::code_asm::CodeAssembler;
use iced_x86::{Code, IcedError, Instruction, Register};

use super::{Plan, Plans};
use crate::DecodedCode;
use crate::edit_assembler::{EditAssembler, Width, ZERO_SLOT};
use crate::register_liveness::rdx_is_zero_before;

// Dividend, divisor and quotient are 1 in the beginning, the remainder and the upper half 0: the
// division of 1 by 1.
const DIVIDEND: u8 = 0;
const REMAINDER: u8 = 1;
const DIVISOR: u8 = 2;
const UPPER: u8 = 3;
const QUOTIENT: u8 = 4;

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
    Ok(vec![Plan::equivalent(CodeChange::OneDivision, edits)])
}

/// Divides, and keeps operands and results.
fn keep(
    code: &DecodedCode,
    index: usize,
    upper_is_zero: bool,
) -> Result<genba_count::native::CodeEdit, IcedError> {
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
fn reuse(
    code: &DecodedCode,
    index: usize,
    upper_is_zero: bool,
) -> Result<genba_count::native::CodeEdit, IcedError> {
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

    #[test]
    fn the_second_division_takes_the_results_of_the_first() {
        // xor edx,edx; div rsi; mov rax,rcx; xor edx,edx; div rsi; ret
        let bytes = [
            0x31, 0xD2, 0x48, 0xF7, 0xF6, 0x48, 0x89, 0xC8, 0x31, 0xD2, 0x48, 0xF7, 0xF6, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1002, 0x100A]), &code).expect("encodes");
        let [plan] = &found[..] else { panic!("{found:?}") };
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
                "jne short 0028h",
                "cmp rsi,gs:[510h]",
                "jne short 0028h",
                "mov rax,gs:[520h]",
                "mov rdx,gs:[508h]",
                "jmp short 002Bh",
                "div rsi",
            ]
        );
        assert_eq!(plan.edits[1].original_at, Some(0x28));
        assert_eq!(plan.edits[1].saved.len(), 2);
    }

    #[test]
    fn the_upper_half_is_compared_where_it_may_not_be_zero() {
        // cqo; idiv rcx; mov rax,rbx; cqo; idiv rcx; ret
        let bytes = [
            0x48, 0x99, 0x48, 0xF7, 0xF9, 0x48, 0x89, 0xD8, 0x48, 0x99, 0x48, 0xF7, 0xF9, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1002, 0x100A]), &code).expect("encodes");
        let compared = text(&found[0].edits[1]);
        assert!(compared.contains(&"cmp rdx,gs:[518h]".to_owned()), "{compared:?}");
    }

    #[test]
    fn divisions_by_memory_or_of_other_forms_have_no_plan() {
        // div [rsi]; div rsi
        let code = DecodedCode::new(0x1000, &[0x48, 0xF7, 0x36, 0x48, 0xF7, 0xF6, 0xC3]);
        assert_eq!(plans(&site(&[0x1000, 0x1003]), &code), Ok(Vec::new()));
        assert_eq!(plans(&site(&[0x1003]), &code), Ok(Vec::new()));
        assert_eq!(plans(&site(&[0x1003, 0x2000]), &code), Ok(Vec::new()));
    }
}
