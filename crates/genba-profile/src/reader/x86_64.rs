//! Recorded register sets of x86-64 (`PERF_REG_X86_*`, asm/perf_regs.h).

/// Bit of the frame pointer in the register mask.
pub const BP: u32 = 6;
/// Bit of the stack pointer in the register mask.
pub const SP: u32 = 7;
/// Bit of the instruction pointer in the register mask.
pub const IP: u32 = 8;

/// The registers from which unwinding starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserRegs {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub bp: u64,
}

/// The three registers of [`UserRegs`] from a set with the registers of `mask`; `None` if one is
/// missing.
#[must_use]
pub fn user_regs(mask: u64, regs: &[u8]) -> Option<UserRegs> {
    let get = |bit: u32| {
        if mask >> bit & 1 == 0 {
            return None;
        }
        let index = (mask & ((1 << bit) - 1)).count_ones() as usize;
        let bytes = regs.get(index * 8..index * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    Some(UserRegs {
        ip: get(IP)?,
        sp: get(SP)?,
        bp: get(BP)?,
    })
}

/// Bits of the general registers in the mask, by their number in instruction encodings:
/// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … r15.
const GENERAL: [u32; 16] = [0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23];

/// All general registers by their number in instruction encodings; `None` unless all were
/// recorded.
#[must_use]
pub fn general_registers(mask: u64, regs: &[u8]) -> Option<[u64; 16]> {
    let mut list = [0; 16];
    for (register, bit) in list.iter_mut().zip(GENERAL) {
        if mask >> bit & 1 == 0 {
            return None;
        }
        let index = (mask & ((1 << bit) - 1)).count_ones() as usize;
        let bytes = regs.get(index * 8..index * 8 + 8)?;
        *register = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(list)
}

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Distance of the target from the end of the instruction, bytes.
    Direct(i32),
    /// Through a register or memory.
    Indirect,
}

/// The call instruction that ends where `code` ends (Intel SDM volume 2, `CALL`: `E8` with a
/// displacement, or `FF /2`); `None` if there is none.
#[must_use]
pub fn call_before(code: &[u8]) -> Option<Call> {
    if let Some((opcode, distance)) = code.last_chunk::<5>().and_then(|five| five.split_first())
        && *opcode == 0xe8
    {
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        return Some(Call::Direct(distance));
    }
    let indirect = (2..=7).any(|length| {
        let Some(at) = code.len().checked_sub(length) else {
            return false;
        };
        let (opcode, modrm) = (code[at], code[at + 1]);
        let scaled_index = modrm & 7 == 4;
        let operand = match modrm >> 6 {
            0 if modrm & 7 == 5 => 4,
            0 if scaled_index && length > 2 && code[at + 2] & 7 == 5 => 5,
            0 => usize::from(scaled_index),
            1 => 1 + usize::from(scaled_index),
            2 => 4 + usize::from(scaled_index),
            _ => 0,
        };
        opcode == 0xff && modrm >> 3 & 7 == 2 && length == 2 + operand
    });
    indirect.then_some(Call::Indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_from_their_end() {
        let direct = [0x90, 0xe8, 0xfe, 0xff, 0xff, 0xff];
        assert_eq!(call_before(&direct), Some(Call::Direct(-2)));
        let indirect: [&[u8]; 7] = [
            &[0xff, 0xd0],                               // call rax
            &[0x41, 0xff, 0xd4],                         // call r12
            &[0xff, 0x50, 0x18],                         // call [rax+0x18]
            &[0xff, 0x14, 0xc8],                         // call [rax+rcx*8]
            &[0xff, 0x15, 1, 2, 3, 4],                   // call [rip+0x4030201]
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],             // call [rsp+0x4030201]
            &[0xff, 0x14, 0xc5, 0x40, 0x10, 0x40, 0x00], // call [rax*8+0x401040]
        ];
        for code in indirect {
            assert_eq!(call_before(code), Some(Call::Indirect), "{code:x?}");
        }
        // jmp rax, push [rax], add eax, nothing
        for code in [&[0xff, 0xe0][..], &[0xff, 0x30], &[0x83, 0xc0, 0x01], &[]] {
            assert_eq!(call_before(code), None, "{code:x?}");
        }
    }

    #[test]
    fn general_registers_have_the_order_of_instruction_encodings() {
        let mask = 0xff_0fffu64;
        let regs: Vec<u8> = (0..64u64)
            .filter(|bit| mask >> bit & 1 == 1)
            .flat_map(u64::to_le_bytes)
            .collect();
        let list = general_registers(mask, &regs).expect("all of them");
        assert_eq!(list[..8], [0, 2, 3, 1, 7, 6, 4, 5]);
        assert_eq!(list[8..], [16, 17, 18, 19, 20, 21, 22, 23]);
        assert_eq!(general_registers(mask, &regs[..80]), None);
        assert_eq!(general_registers(mask & !1, &regs), None);
    }

    #[test]
    fn registers_are_packed_in_mask_order() {
        let regs: Vec<u8> = [1u64, 2, 3, 4]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        let mask = 1 | 1 << BP | 1 << SP | 1 << IP;
        assert_eq!(
            user_regs(mask, &regs),
            Some(UserRegs {
                ip: 4,
                sp: 3,
                bp: 2
            })
        );
        assert_eq!(user_regs(mask, &regs[..24]), None);
        assert_eq!(user_regs(1 << IP, &regs), None);
    }
}
