//! Unsigned divisions by what is nearly always the same divisor, or with a small quotient: a shift and a
//! mask, a reciprocal, or a comparison and a subtraction, each behind a guard that falls back to the
//! division.
//!
//! **Source.** D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation" (2019): with
//! M = ⌊(2⁶⁴ − 1) ÷ d⌋ + 1, the quotient of 32-bit numbers is ⌊M n ÷ 2⁶⁴⌋, the remainder
//! ⌊(M n mod 2⁶⁴) d ÷ 2⁶⁴⌋, exactly, for d > 1.

use genba_count::native::CodeEdit;
use genba_model::{CodeChange, FindingSite};
use iced_x86::code_asm::{CodeAssembler, CodeLabel};
use iced_x86::{Code, IcedError, Instruction, Register};

use super::division_pair::division;
use super::{Plan, Plans};
use crate::DecodedCode;
use crate::edit_assembler::{EditAssembler, Width, ZERO_SLOT};
use crate::register_liveness::{is_live_after, rdx_is_zero_before};

/// Words of each division.
const WORDS: u8 = 6;
/// Divisions of a plan at most.
const MAX_DIVISIONS: usize = 9;
// In the beginning the divisor is 1, the mask and the shift 0, and no reciprocal is known.
const DIVISOR: u8 = 0;
const MASK: u8 = 1;
const DIVIDEND: u8 = 2;
const SHIFT: u8 = 3;
const RECIPROCAL: u8 = 5;

const MOV: (Code, Code) = (Code::Mov_r32_rm32, Code::Mov_r64_rm64);
const TEST: (Code, Code) = (Code::Test_rm32_r32, Code::Test_rm64_r64);
const COMPARE: (Code, Code) = (Code::Cmp_rm32_r32, Code::Cmp_rm64_r64);
const SUBTRACT: (Code, Code) = (Code::Sub_rm32_r32, Code::Sub_rm64_r64);
const XOR: (Code, Code) = (Code::Xor_rm32_r32, Code::Xor_rm64_r64);

/// A division that is edited.
struct Division<'a> {
    code: &'a DecodedCode,
    index: usize,
    divisor: Register,
    width: Width,
    upper_is_zero: bool,
    quotient_live: bool,
    remainder_live: bool,
    /// Number of its first word.
    words: u8,
}

pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let mut found = Vec::new();
    for &address in site.addresses.iter() {
        let Some(index) = code.index(address) else {
            continue;
        };
        let instruction = &code.instructions()[index];
        let unsigned = matches!(instruction.code(), Code::Div_rm64 | Code::Div_rm32);
        let Some((divisor, width)) = division(instruction).filter(|_| unsigned) else {
            continue;
        };
        if found.len() < MAX_DIVISIONS {
            found.push(Division {
                code,
                index,
                divisor,
                width,
                upper_is_zero: rdx_is_zero_before(code, index),
                quotient_live: is_live_after(code, index, Register::RAX),
                remainder_live: is_live_after(code, index, Register::RDX),
                words: found.len() as u8 * WORDS,
            });
        }
    }
    let all = |make: fn(&Division<'_>) -> Result<CodeEdit, IcedError>| {
        found.iter().map(make).collect::<Result<Vec<_>, _>>()
    };
    Ok(vec![
        Plan::equivalent(CodeChange::PowerOfTwoDivisor, all(power_of_two)?),
        Plan::equivalent(CodeChange::CompareAndSubtract, all(compare_and_subtract)?),
        Plan::equivalent(CodeChange::Reciprocal, all(reciprocal)?),
        Plan::equivalent(CodeChange::NarrowDivision, narrow_of(&found)?),
    ])
}

impl Division<'_> {
    fn instruction(&self) -> &Instruction {
        &self.code.instructions()[self.index]
    }

    fn word(&self, word: u8) -> u8 {
        self.words + word
    }

    fn edit(&self) -> Result<EditAssembler, IcedError> {
        EditAssembler::new(self.code, self.instruction())
    }

    /// Goes to a label unless the upper half of the dividend is zero.
    fn check_upper(
        &self,
        edit: &mut EditAssembler,
        divide: iced_x86::code_asm::CodeLabel,
    ) -> Result<(), IcedError> {
        if !self.upper_is_zero {
            edit.registers(self.width, TEST, Register::RDX, Register::RDX)?;
            edit.jump(CodeAssembler::jne, divide)?;
        }
        Ok(())
    }
}

fn power_of_two(one: &Division<'_>) -> Result<CodeEdit, IcedError> {
    let mut edit = one.edit()?;
    let (mut learn, mut divide, mut done) = (edit.label(), edit.label(), edit.label());
    one.check_upper(&mut edit, divide)?;
    edit.compare_word(one.width, one.divisor, one.word(DIVISOR))?;
    edit.jump(CodeAssembler::jne, learn)?;
    if one.quotient_live {
        edit.store(one.word(DIVIDEND), Register::RAX)?;
        edit.load(Register::RDX, one.word(SHIFT))?;
        edit.saved(Register::RDX, ZERO_SLOT);
        let (double, quad) = (Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64);
        let (code, rax, rdx) = match one.width {
            Width::Double => (double, Register::EAX, Register::EDX),
            Width::Quad => (quad, Register::RAX, Register::RDX),
        };
        edit.instruction(Instruction::with3(code, rax, rax, rdx)?)?;
        edit.saved(Register::RAX, one.word(DIVIDEND));
        if one.remainder_live {
            edit.with_word(one.width, MOV, Register::RDX, one.word(DIVIDEND))?;
        }
    } else {
        edit.registers(one.width, MOV, Register::RDX, Register::RAX)?;
        edit.saved(Register::RDX, ZERO_SLOT);
    }
    if one.remainder_live {
        let and = (Code::And_r32_rm32, Code::And_r64_rm64);
        edit.with_word(one.width, and, Register::RDX, one.word(MASK))?;
    }
    edit.jump(CodeAssembler::jmp, done)?;
    edit.restored(Register::RAX);
    edit.restored(Register::RDX);
    // Another divisor: it is noted if it is a power of two.
    edit.place(&mut learn)?;
    edit.store(one.word(DIVIDEND), Register::RAX)?;
    edit.registers(one.width, MOV, Register::RAX, one.divisor)?;
    edit.saved(Register::RAX, one.word(DIVIDEND));
    let dec = match one.width {
        Width::Double => Instruction::with2(Code::Sub_rm32_imm8, Register::EAX, 1i32)?,
        Width::Quad => Instruction::with2(Code::Sub_rm64_imm8, Register::RAX, 1i32)?,
    };
    let mut known = edit.label();
    edit.instruction(dec)?;
    // Zero is not a divisor.
    edit.jump(CodeAssembler::jb, known)?;
    edit.registers(one.width, TEST, Register::RAX, one.divisor)?;
    edit.jump(CodeAssembler::jne, known)?;
    edit.store(one.word(MASK), Register::RAX)?;
    edit.store(one.word(DIVISOR), one.divisor)?;
    let count = (Code::Tzcnt_r32_rm32, Code::Tzcnt_r64_rm64);
    edit.registers(one.width, count, Register::RAX, one.divisor)?;
    edit.store(one.word(SHIFT), Register::RAX)?;
    edit.place(&mut known)?;
    edit.load(Register::RAX, one.word(DIVIDEND))?;
    edit.restored(Register::RAX);
    edit.place(&mut divide)?;
    edit.original()?;
    edit.place(&mut done)?;
    edit.finish()
}

fn compare_and_subtract(one: &Division<'_>) -> Result<CodeEdit, IcedError> {
    let mut edit = one.edit()?;
    let (mut undo, mut divide, mut done) = (edit.label(), edit.label(), edit.label());
    one.check_upper(&mut edit, divide)?;
    // The remainder, if the quotient is 0 or 1: the dividend, less the divisor if it is not below.
    edit.registers(one.width, MOV, Register::RDX, Register::RAX)?;
    edit.saved(Register::RDX, ZERO_SLOT);
    edit.registers(one.width, SUBTRACT, Register::RDX, one.divisor)?;
    let below = (Code::Cmovb_r32_rm32, Code::Cmovb_r64_rm64);
    edit.registers(one.width, below, Register::RDX, Register::RAX)?;
    edit.registers(one.width, COMPARE, Register::RDX, one.divisor)?;
    edit.jump(CodeAssembler::jae, undo)?;
    if one.quotient_live {
        edit.store(one.word(DIVIDEND), Register::RAX)?;
        edit.registers(one.width, COMPARE, Register::RAX, one.divisor)?;
        let borrow = (Code::Sbb_rm32_r32, Code::Sbb_rm64_r64);
        edit.registers(Width::Double, borrow, Register::RAX, Register::RAX)?;
        edit.saved(Register::RAX, one.word(DIVIDEND));
        edit.instruction(Instruction::with2(
            Code::Add_rm32_imm8,
            Register::EAX,
            1i32,
        )?)?;
    }
    edit.jump(CodeAssembler::jmp, done)?;
    edit.restored(Register::RAX);
    edit.place(&mut undo)?;
    edit.registers(Width::Double, XOR, Register::RDX, Register::RDX)?;
    edit.restored(Register::RDX);
    edit.place(&mut divide)?;
    edit.original()?;
    edit.place(&mut done)?;
    edit.finish()
}

/// Divisions of 64 bits as those of 32.
fn narrow_of(all: &[Division<'_>]) -> Result<Vec<CodeEdit>, IcedError> {
    let wide = all.iter().filter(|one| one.width == Width::Quad);
    wide.map(narrow).collect()
}

fn narrow(one: &Division<'_>) -> Result<CodeEdit, IcedError> {
    let mut edit = one.edit()?;
    let (large, divide, done) = (edit.label(), edit.label(), edit.label());
    one.check_upper(&mut edit, divide)?;
    edit.registers(Width::Quad, MOV, Register::RDX, Register::RAX)?;
    edit.saved(Register::RDX, ZERO_SLOT);
    let or = (Code::Or_rm32_r32, Code::Or_rm64_r64);
    edit.registers(Width::Quad, or, Register::RDX, one.divisor)?;
    let shift = Instruction::with2(Code::Shr_rm64_imm8, Register::RDX, 32i32)?;
    edit.instruction(shift)?;
    edit.jump(CodeAssembler::jne, large)?;
    // rdx is 0 from the shift: the program's state is the one before the division, which may fault.
    edit.restored(Register::RDX);
    edit.store(one.word(DIVIDEND), Register::RAX)?;
    edit.divide(Width::Double, one.divisor)?;
    edit.saved(Register::RAX, one.word(DIVIDEND));
    edit.saved(Register::RDX, ZERO_SLOT);
    edit.jump(CodeAssembler::jmp, done)?;
    edit.restored(Register::RAX);
    edit.restored(Register::RDX);
    end_with_division(edit, [large, divide, done])
}

/// Ends an edit with the division as it is: at the first label for numbers that are too large, with rdx, at the second
/// for operands that do not fit. The third is behind it.
fn end_with_division(
    mut edit: EditAssembler,
    [mut large, mut divide, mut done]: [CodeLabel; 3],
) -> Result<CodeEdit, IcedError> {
    edit.place(&mut large)?;
    edit.saved(Register::RDX, ZERO_SLOT);
    edit.registers(Width::Double, XOR, Register::RDX, Register::RDX)?;
    edit.restored(Register::RDX);
    edit.place(&mut divide)?;
    edit.original()?;
    edit.place(&mut done)?;
    edit.finish()
}

/// For numbers below 2³².
fn reciprocal(one: &Division<'_>) -> Result<CodeEdit, IcedError> {
    let mut edit = one.edit()?;
    let (mut learn, large) = (edit.label(), edit.label());
    let (divide, done) = (edit.label(), edit.label());
    one.check_upper(&mut edit, divide)?;
    edit.compare_word(one.width, one.divisor, one.word(DIVISOR))?;
    edit.jump(CodeAssembler::jne, learn)?;
    edit.compare_with_zero(one.word(RECIPROCAL))?;
    edit.jump(CodeAssembler::je, learn)?;
    if one.width == Width::Quad {
        edit.registers(Width::Quad, MOV, Register::RDX, Register::RAX)?;
        edit.saved(Register::RDX, ZERO_SLOT);
        edit.instruction(Instruction::with2(
            Code::Shr_rm64_imm8,
            Register::RDX,
            32i32,
        )?)?;
        edit.jump(CodeAssembler::jne, large)?;
    }
    edit.store(one.word(DIVIDEND), Register::RAX)?;
    edit.registers(Width::Double, MOV, Register::RDX, Register::RAX)?;
    edit.saved(Register::RDX, ZERO_SLOT);
    edit.multiply_rdx_by_word(Register::RAX, Register::RDX, one.word(RECIPROCAL))?;
    edit.saved(Register::RAX, one.word(DIVIDEND));
    if one.remainder_live {
        edit.multiply_rdx_by_word(Register::RDX, Register::RDX, one.word(DIVISOR))?;
    }
    edit.jump(CodeAssembler::jmp, done)?;
    edit.restored(Register::RAX);
    edit.restored(Register::RDX);
    // Another divisor: its reciprocal is computed, if it is above 1 and below 2³².
    edit.place(&mut learn)?;
    edit.store(one.word(DIVIDEND), Register::RAX)?;
    edit.registers(one.width, MOV, Register::RDX, one.divisor)?;
    edit.saved(Register::RDX, ZERO_SLOT);
    edit.registers(Width::Quad, MOV, Register::RAX, Register::RDX)?;
    edit.saved(Register::RAX, one.word(DIVIDEND));
    let mut unfit = edit.label();
    edit.instruction(Instruction::with2(
        Code::Sub_rm64_imm8,
        Register::RDX,
        2i32,
    )?)?;
    edit.jump(CodeAssembler::jb, unfit)?;
    edit.instruction(Instruction::with2(
        Code::Shr_rm64_imm8,
        Register::RDX,
        32i32,
    )?)?;
    edit.jump(CodeAssembler::jne, unfit)?;
    // rdx is 0 from the shift.
    edit.store(one.word(DIVISOR), Register::RAX)?;
    edit.instruction(Instruction::with2(
        Code::Mov_rm64_imm32,
        Register::RAX,
        -1i32,
    )?)?;
    edit.divide_by_word(one.word(DIVISOR))?;
    edit.instruction(Instruction::with2(
        Code::Add_rm64_imm8,
        Register::RAX,
        1i32,
    )?)?;
    edit.store(one.word(RECIPROCAL), Register::RAX)?;
    edit.place(&mut unfit)?;
    edit.load(Register::RAX, one.word(DIVIDEND))?;
    edit.restored(Register::RAX);
    end_with_division(edit, [large, divide, done])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::{emulate_division, site};
    use proptest::prelude::*;

    /// `xor edx,edx; div rsi` or `div esi`, with both results or one read after it.
    fn code(wide: bool, after: &[u8]) -> DecodedCode {
        let mut bytes = vec![0x31, 0xD2];
        bytes.extend_from_slice(if wide {
            &[0x48, 0xF7, 0xF6]
        } else {
            &[0xF7, 0xF6]
        });
        bytes.extend_from_slice(after);
        DecodedCode::new(0x1000, &bytes)
    }

    /// Reads both results.
    const BOTH: &[u8] = &[0x48, 0x01, 0xD0, 0xC3];
    /// `mov rax,rdx`: reads the remainder alone.
    const REMAINDER: &[u8] = &[0x48, 0x89, 0xD0, 0xC3];
    /// `xor edx,edx; ret`: the quotient alone.
    const QUOTIENT: &[u8] = &[0x31, 0xD2, 0xC3];

    #[test]
    fn all_three_changes_are_tried_for_an_unsigned_division() {
        let found = plans(&site(&[0x1002]), &code(true, BOTH)).expect("encodes");
        let changes: Vec<_> = found.iter().map(|plan| plan.change).collect();
        assert_eq!(
            changes,
            [
                CodeChange::PowerOfTwoDivisor,
                CodeChange::CompareAndSubtract,
                CodeChange::Reciprocal,
                CodeChange::NarrowDivision
            ]
        );
        // A signed division has none.
        let signed = DecodedCode::new(0x1000, &[0x48, 0x99, 0x48, 0xF7, 0xFE, 0xC3]);
        let found = plans(&site(&[0x1002]), &signed).expect("encodes");
        assert!(found.iter().all(|plan| plan.edits.is_empty()));
    }

    proptest! {
        #[test]
        fn edits_compute_what_the_division_computes(
            wide: bool,
            divisors in prop::collection::vec(prop_oneof![
                1u64..20, (0u32..64).prop_map(|bit| 1 << bit), any::<u64>().prop_map(|n| n.max(1)),
                any::<u32>().prop_map(|n| u64::from(n.max(1))),
            ], 1..4),
            dividends in prop::collection::vec(prop_oneof![
                any::<u64>(), any::<u32>().prop_map(u64::from), 0u64..40,
            ], 1..6),
        ) {
            for (after, live) in [(BOTH, (true, true)), (REMAINDER, (false, true)), (QUOTIENT, (true, false))] {
                let all = plans(&site(&[0x1002]), &code(wide, after)).expect("encodes");
                for plan in all.iter().filter(|plan| !plan.edits.is_empty()) {
                    let mut words = crate::edits::tests::initial_words();
                    for divisor in &divisors {
                        for &dividend in dividends.iter().chain(&[*divisor, divisor.wrapping_mul(2).wrapping_sub(1)]) {
                            let divisor = if wide { *divisor } else { *divisor & 0xFFFF_FFFF };
                            if divisor == 0 {
                                continue;
                            }
                            let (n, d) = if wide { (dividend, divisor) } else { (dividend & 0xFFFF_FFFF, divisor) };
                            let (q, r) = emulate_division(&plan.edits[0], &mut words, dividend, divisor);
                            prop_assert!(!live.0 || q == n / d, "{:?} {n} / {d} = {q}", plan.change);
                            prop_assert!(!live.1 || r == n % d, "{:?} {n} % {d} = {r}", plan.change);
                        }
                    }
                }
            }
        }
    }
}
