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

#[cfg(test)]
mod tests {
    use super::*;

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
