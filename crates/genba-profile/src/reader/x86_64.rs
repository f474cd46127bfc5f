//! What a recorded x86-64 register set looks like (`PERF_REG_X86_*`, asm/perf_regs.h).

/// Bit of the frame pointer in the register mask.
pub const BP: u32 = 6;
/// Bit of the stack pointer.
pub const SP: u32 = 7;
/// Bit of the instruction pointer.
pub const IP: u32 = 8;

/// What unwinding starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserRegs {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub bp: u64,
}

/// Picks the three registers out of the ones that `mask` says are in `regs`.
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

#[cfg(test)]
mod tests {
    use super::*;

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
