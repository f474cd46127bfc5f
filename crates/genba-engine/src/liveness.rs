//! Liveness: where the arithmetic flags and general registers are dead.
//!
//! Conservative: a value is live unless it is shown to be dead. "Dead before an instruction" means
//! that on every path from there the value is overwritten before it is read, so it may be
//! destroyed.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    Register, RflagsBits,
};

/// The arithmetic flags that `inc` overwrites.
pub const ALL_FLAGS: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::PF;

/// [`ALL_FLAGS`] and CF, which `inc` keeps.
const ALL_AND_CARRY: u32 = ALL_FLAGS | RflagsBits::CF;

/// Instructions examined beyond the end of a block, on each path.
const LOOK_AHEAD_INSTRUCTIONS: usize = 8;

/// Flags that an instruction certainly writes. Shifts by zero and string instructions with a count
/// of zero write none.
#[must_use]
pub fn flags_written(instruction: &Instruction) -> u32 {
    all_written(instruction) & ALL_FLAGS
}

/// Flags that an instruction reads, CF included. `pushf` and `syscall` (which copies them to
/// r11) read them all, whatever the decoder's tables say.
fn all_read(instruction: &Instruction) -> u32 {
    match instruction.mnemonic() {
        Mnemonic::Pushf | Mnemonic::Pushfd | Mnemonic::Pushfq | Mnemonic::Syscall => ALL_AND_CARRY,
        _ => instruction.rflags_read() & ALL_AND_CARRY,
    }
}

fn all_written(instruction: &Instruction) -> u32 {
    match instruction.mnemonic() {
        Mnemonic::Syscall => 0,
        Mnemonic::Shl
        | Mnemonic::Sal
        | Mnemonic::Shr
        | Mnemonic::Sar
        | Mnemonic::Rol
        | Mnemonic::Ror
        | Mnemonic::Rcl
        | Mnemonic::Rcr
        | Mnemonic::Shld
        | Mnemonic::Shrd => 0,
        // AF is undefined by the manual and zero on every processor; if it counted as live, too
        // many blocks would need the slower increment.
        Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => ALL_AND_CARRY,
        _ if instruction.has_rep_prefix() || instruction.has_repne_prefix() => 0,
        // A flag that is left undefined may keep its value.
        _ => instruction.rflags_modified() & !instruction.rflags_undefined() & ALL_AND_CARRY,
    }
}

/// Flags that are live before an instruction, given those that are live after it.
#[must_use]
pub fn flags_before(instruction: &Instruction, after: u32) -> u32 {
    (after & !flags_written(instruction)) | (all_read(instruction) & ALL_FLAGS)
}

/// The program's code, as far as it is readable.
pub trait ProgramCode {
    /// Returns the bytes from an address to the end of executable memory; none where there is no
    /// code.
    fn bytes(&self, pc: u64) -> &[u8];
}

/// Flags that are live at an address, found by looking some instructions ahead, through `depth`
/// jumps.
#[must_use]
pub fn flags_live_at(code: &dyn ProgramCode, pc: u64, depth: u32) -> u32 {
    live_at(code, pc, depth, ALL_FLAGS)
}

/// Which of `flags` are live at an address.
fn live_at(code: &dyn ProgramCode, pc: u64, depth: u32, flags: u32) -> u32 {
    let bytes = code.bytes(pc);
    let mut decoder = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE);
    let mut unwritten = flags;
    let mut instruction = Instruction::default();
    for _ in 0..LOOK_AHEAD_INSTRUCTIONS {
        if !decoder.can_decode() {
            return unwritten;
        }
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() || all_read(&instruction) & unwritten != 0 {
            return unwritten;
        }
        unwritten &= !all_written(&instruction);
        if unwritten == 0 {
            return 0;
        }
        match instruction.flow_control() {
            FlowControl::Next => {}
            FlowControl::UnconditionalBranch | FlowControl::Call
                if depth > 0 && instruction.near_branch_target() != 0 =>
            {
                return live_at(code, instruction.near_branch_target(), depth - 1, unwritten);
            }
            FlowControl::ConditionalBranch if depth > 0 => {
                let target = instruction.near_branch_target();
                let taken = live_at(code, target, depth - 1, unwritten);
                let falls = live_at(code, instruction.next_ip(), depth - 1, unwritten);
                return taken | falls;
            }
            _ => return unwritten,
        }
    }
    unwritten
}

/// Number of the general register that a register is part of; `None` for others.
#[must_use]
pub fn general(register: Register) -> Option<u8> {
    let full = register.full_register();
    if full.is_gpr64() {
        u8::try_from(full.number()).ok()
    } else {
        None
    }
}

/// General registers, a bit each: those that an instruction reads, and those that it overwrites
/// entirely and unconditionally.
#[must_use]
pub fn registers(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> (u32, u32) {
    let (mut read, mut written) = (0, 0);
    // Where the kernel emulates them (UMIP), these write the lower half only.
    let emulated = matches!(
        instruction.mnemonic(),
        Mnemonic::Str | Mnemonic::Sldt | Mnemonic::Smsw
    );
    for used in factory.info(instruction).used_registers() {
        let Some(number) = general(used.register()) else {
            continue;
        };
        match used.access() {
            OpAccess::Write if used.register().size() >= 4 && !emulated => written |= 1 << number,
            OpAccess::None | OpAccess::NoMemAccess => {}
            _ => read |= 1 << number,
        }
    }
    // `f3 41 90` is `pause` for the decoder, and an exchange of rax and r8 for some processors.
    if instruction.mnemonic() == Mnemonic::Pause && instruction.len() > 2 {
        read |= 1 | 1 << 8;
    }
    (read, written)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Code in a slice.
    pub struct Bytes<'a>(pub u64, pub &'a [u8]);

    impl ProgramCode for Bytes<'_> {
        fn bytes(&self, pc: u64) -> &[u8] {
            let at = pc.wrapping_sub(self.0);
            usize::try_from(at)
                .ok()
                .and_then(|at| self.1.get(at..))
                .unwrap_or(&[])
        }
    }

    #[test]
    fn flags_are_dead_before_an_instruction_that_writes_all() {
        let live = |code: &[u8]| flags_live_at(&Bytes(0x1000, code), 0x1000, 2);
        assert_eq!(live(&[0x48, 0x01, 0xC0, 0x74, 0]), 0); // add; je
        assert_eq!(live(&[0x89, 0xC1, 0x48, 0x01, 0xC0]), 0); // mov; add
        assert_eq!(live(&[0x74, 0, 0x48, 0x01, 0xC0]), ALL_FLAGS); // je
        assert_eq!(live(&[0xC3]), ALL_FLAGS); // ret
        assert_eq!(live(&[0x9C, 0x48, 0x01, 0xC0]), ALL_FLAGS); // pushf; add
        assert_eq!(live(&[0x0F, 0x05, 0x48, 0x01, 0xC0]), ALL_FLAGS); // syscall; add
        assert_eq!(live(&[0xD3, 0xE0, 0xC3]), ALL_FLAGS); // shl eax, cl
        assert_eq!(live(&[0xEB, 1, 0x90, 0x48, 0x01, 0xC0]), 0); // jmp; add
        assert_eq!(live(&[]), ALL_FLAGS);
        // `inc` keeps CF, and adc reads CF only.
        assert_eq!(live(&[0x48, 0x11, 0xC0]), 0);
    }

    #[test]
    fn partial_register_writes_do_not_make_a_register_dead() {
        let mut factory = InstructionInfoFactory::new();
        let mut of = |code: &[u8]| {
            let instruction = Decoder::new(64, code, 0).decode();
            registers(&instruction, &mut factory)
        };
        assert_eq!(of(&[0x89, 0xC1]), (1, 2)); // mov ecx, eax
        assert_eq!(of(&[0x88, 0xC1]).1, 0); // mov cl, al
        assert_eq!(of(&[0x66, 0x89, 0xC1]).1, 0); // mov cx, ax
        let (read, written) = of(&[0x0F, 0x44, 0xC8]); // cmove ecx, eax
        assert_eq!(written & !read, 0);
    }
}
