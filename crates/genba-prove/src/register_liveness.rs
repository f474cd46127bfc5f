//! Whether a register's value is read after an instruction. Pure.

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register};

use crate::DecodedCode;

/// Instructions that are followed from one on.
const MAX_INSTRUCTIONS: usize = 256;

/// Whether a register may be read after the instruction at an index, before it is overwritten. True
/// where that is not known: at calls, returns, indirect jumps, and beyond the function.
#[must_use]
pub fn is_live_after(code: &DecodedCode, index: usize, register: Register) -> bool {
    let all = code.instructions();
    let mut factory = InstructionInfoFactory::new();
    let mut seen = vec![false; all.len()];
    let mut waiting = vec![index + 1];
    let mut looked_at = 0;
    while let Some(at) = waiting.pop() {
        let Some(instruction) = all.get(at) else {
            return true;
        };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        looked_at += 1;
        if looked_at > MAX_INSTRUCTIONS {
            return true;
        }
        match effect(instruction, register, &mut factory) {
            Effect::Read => return true,
            Effect::Overwritten => continue,
            Effect::None => {}
        }
        let target = |waiting: &mut Vec<usize>| {
            let target = code.index(instruction.near_branch_target());
            target.map(|target| waiting.push(target)).is_some()
        };
        match instruction.flow_control() {
            FlowControl::Next => waiting.push(at + 1),
            FlowControl::ConditionalBranch => {
                waiting.push(at + 1);
                if !target(&mut waiting) {
                    return true;
                }
            }
            FlowControl::UnconditionalBranch if target(&mut waiting) => {}
            _ => return true,
        }
    }
    false
}

enum Effect {
    Read,
    Overwritten,
    None,
}

/// What an instruction does with a 64-bit register.
fn effect(
    instruction: &Instruction,
    register: Register,
    factory: &mut InstructionInfoFactory,
) -> Effect {
    // `xor eax, eax` reads nothing, which the decoder's information says by itself.
    let mut effect = Effect::None;
    for used in factory.info(instruction).used_registers() {
        if used.register().full_register() != register {
            continue;
        }
        match used.access() {
            OpAccess::Write if used.register().size() >= 4 => effect = Effect::Overwritten,
            // A partial or conditional write leaves something of the old value.
            OpAccess::CondWrite | OpAccess::Write => {}
            OpAccess::None | OpAccess::NoMemAccess => {}
            _ => return Effect::Read,
        }
    }
    effect
}

/// Whether rdx is zero before the instruction at an index: a zeroing idiom precedes it, in the same
/// straight line of code.
#[must_use]
pub fn rdx_is_zero_before(code: &DecodedCode, index: usize) -> bool {
    let all = code.instructions();
    let mut factory = InstructionInfoFactory::new();
    for instruction in all[..index].iter().rev().take(16) {
        if instruction.flow_control() != FlowControl::Next {
            return false;
        }
        let zeroes = instruction.mnemonic() == iced_x86::Mnemonic::Xor
            && instruction.op0_register() == instruction.op1_register()
            && matches!(instruction.op0_register(), Register::EDX | Register::RDX);
        if zeroes {
            // Nothing else may lead to an instruction after it.
            let from = instruction.ip();
            let to = all[index].ip();
            return !all.iter().any(|other| {
                let target = other.near_branch_target();
                from < target && target <= to
            });
        }
        let written = |used: &iced_x86::UsedRegister| {
            used.register().full_register() == Register::RDX
                && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
        };
        if factory
            .info(instruction)
            .used_registers()
            .iter()
            .any(written)
        {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(bytes: &[u8]) -> DecodedCode {
        DecodedCode::new(0x1000, bytes)
    }

    #[test]
    fn overwritten_registers_are_dead_and_others_live() {
        // div rcx; mov rax,[rdi+rdx]; ret
        let modulo = code(&[0x48, 0xF7, 0xF1, 0x48, 0x8B, 0x04, 0x17, 0xC3]);
        assert!(!is_live_after(&modulo, 0, Register::RAX));
        assert!(is_live_after(&modulo, 0, Register::RDX));
        // div rcx; xor edx,edx; ret: the quotient may be the function's result.
        let quotient = code(&[0x48, 0xF7, 0xF1, 0x31, 0xD2, 0xC3]);
        assert!(is_live_after(&quotient, 0, Register::RAX));
        assert!(!is_live_after(&quotient, 0, Register::RDX));
    }

    #[test]
    fn loops_are_followed_to_their_head() {
        // L: xor edx,edx; mov rax,rbx; div rcx; dec rsi; jne L; mov eax,edx → edx is read.
        let bytes = [
            0x31, 0xD2, 0x48, 0x89, 0xD8, 0x48, 0xF7, 0xF1, 0x48, 0xFF, 0xCE, 0x75, 0xF3, 0x89,
            0xD0, 0xC3,
        ];
        let found = code(&bytes);
        assert!(is_live_after(&found, 2, Register::RDX));
        assert!(!is_live_after(&found, 2, Register::RAX));
    }

    #[test]
    fn rdx_is_known_to_be_zero_only_in_a_straight_line() {
        let straight = code(&[0x31, 0xD2, 0x90, 0x48, 0xF7, 0xF1]);
        assert!(rdx_is_zero_before(&straight, 2));
        // A jump to the division.
        let entered = code(&[0x31, 0xD2, 0x90, 0x48, 0xF7, 0xF1, 0x75, 0xFB]);
        assert!(!rdx_is_zero_before(&entered, 2));
        // mov edx,1 in between.
        let written = code(&[0x31, 0xD2, 0xBA, 1, 0, 0, 0, 0x48, 0xF7, 0xF1]);
        assert!(!rdx_is_zero_before(&written, 2));
    }
}
