//! Where in a block its counter goes up, and how, so that the program does not notice.

use iced_x86::{CpuidFeature, Instruction, InstructionInfoFactory, Mnemonic, OpKind};

use crate::basic_block::{Block, BlockEnd};
use crate::liveness::{ALL_FLAGS, ProgramCode, flags_before, flags_live_at, registers};

/// Register number of rsp, which signals need, and so is never free.
const RSP: u32 = 4;

/// How a counter goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncrementMethod {
    /// `inc`: the flags it destroys are dead there.
    Memory,
    /// Through this register, which is dead there, with `lea`, which leaves the flags.
    DeadRegister(u8),
    /// Through rax, which is put aside and back.
    SpilledRax,
    /// Through rax, where the branch that ends the block has put it aside anyway.
    SavedRcx,
}

/// Where and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Before this instruction of the block.
    pub at: usize,
    /// How.
    pub how: IncrementMethod,
}

/// Flags that are live after the last instruction of a block.
fn live_out(block: &Block, code: &dyn ProgramCode) -> u32 {
    match block.end {
        BlockEnd::Jump(to) | BlockEnd::Call(to) => flags_live_at(code, to, 2),
        BlockEnd::Branch(to) => flags_live_at(code, to, 1) | flags_live_at(code, block.next(), 1),
        BlockEnd::Falls => flags_live_at(code, block.next(), 1),
        _ => ALL_FLAGS,
    }
}

/// Decides for a block. The earliest place of the cheapest kind: the sooner the counter is
/// loaded, the sooner it is out of the way.
#[must_use]
pub fn place(
    block: &Block,
    code: &dyn ProgramCode,
    factory: &mut InstructionInfoFactory,
) -> Placement {
    let mut live = None;
    let mut best = None;
    for (at, instruction) in block.instructions.iter().enumerate().rev() {
        let after = match live {
            Some(live) => live,
            // Looking ahead is dear; what writes all flags itself does not need it.
            None if crate::liveness::flags_written(instruction) == ALL_FLAGS => 0,
            None => live_out(block, code),
        };
        let before = flags_before(instruction, after);
        live = Some(before);
        if before == 0 {
            best = Some(at);
        }
    }
    if let Some(at) = best {
        return Placement {
            at,
            how: IncrementMethod::Memory,
        };
    }
    // A register that is dead, as early as there is one.
    let mut dead = 0u32;
    let mut found = None;
    for (at, instruction) in block.instructions.iter().enumerate().rev() {
        let (read, written) = registers(instruction, factory);
        dead = (dead | written) & !read & !(1 << RSP);
        if may_fault(instruction) {
            // A handler may skip it and then read what the register had before.
            dead = 0;
        }
        if dead != 0 {
            found = Some(Placement {
                at,
                how: IncrementMethod::DeadRegister(dead.trailing_zeros() as u8),
            });
        }
    }
    let indirect = matches!(
        block.end,
        BlockEnd::Return(_) | BlockEnd::JumpIndirect | BlockEnd::CallIndirect
    );
    found.unwrap_or(Placement {
        at: if indirect { block.body() } else { 0 },
        how: if indirect {
            IncrementMethod::SavedRcx
        } else {
            IncrementMethod::SpilledRax
        },
    })
}

/// Whether a signal handler may see the state before this instruction because of it.
fn may_fault(instruction: &Instruction) -> bool {
    let memory = (0..instruction.op_count()).any(|operand| {
        !matches!(
            instruction.op_kind(operand),
            OpKind::Register
                | OpKind::NearBranch64
                | OpKind::Immediate8
                | OpKind::Immediate8_2nd
                | OpKind::Immediate16
                | OpKind::Immediate32
                | OpKind::Immediate64
                | OpKind::Immediate8to16
                | OpKind::Immediate8to32
                | OpKind::Immediate8to64
                | OpKind::Immediate32to64
        )
    });
    let harmless = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    // Selectors may be wrong; what the kernel keeps for itself (UMIP) raises SIGSEGV.
    let segments = instruction.op_count() > 0 && instruction.op0_register().is_segment_register();
    let kept = matches!(
        instruction.mnemonic(),
        Mnemonic::Sldt | Mnemonic::Str | Mnemonic::Smsw
    );
    let divides = matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv);
    (memory && !harmless)
        || divides
        || segments
        || kept
        || raises_floating_point(instruction)
        || instruction.is_stack_instruction()
        || !everywhere(instruction)
}

/// Whether an instruction without memory may raise SIGFPE for floating-point arithmetic: x87's
/// exceptions, which the next x87 or MMX instruction reports, or SSE's, if they are unmasked. What
/// [`everywhere`] excludes is not looked at; nor are x87's own instructions, which it excludes.
fn raises_floating_point(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let mmx = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand).is_mm()
    });
    // Moves, logic, shuffles, and what is done with integers raise nothing.
    let arithmetic = matches!(
        instruction.mnemonic(),
        Addpd
            | Addps
            | Addsd
            | Addss
            | Subpd
            | Subps
            | Subsd
            | Subss
            | Mulpd
            | Mulps
            | Mulsd
            | Mulss
            | Divpd
            | Divps
            | Divsd
            | Divss
            | Sqrtpd
            | Sqrtps
            | Sqrtsd
            | Sqrtss
            | Maxpd
            | Maxps
            | Maxsd
            | Maxss
            | Minpd
            | Minps
            | Minsd
            | Minss
            | Cmppd
            | Cmpps
            | Cmpsd
            | Cmpss
            | Comisd
            | Comiss
            | Ucomisd
            | Ucomiss
            | Cvtdq2pd
            | Cvtdq2ps
            | Cvtpd2dq
            | Cvtpd2pi
            | Cvtpd2ps
            | Cvtpi2pd
            | Cvtpi2ps
            | Cvtps2dq
            | Cvtps2pd
            | Cvtps2pi
            | Cvtsd2si
            | Cvtsd2ss
            | Cvtsi2sd
            | Cvtsi2ss
            | Cvtss2sd
            | Cvtss2si
            | Cvttpd2dq
            | Cvttpd2pi
            | Cvttps2dq
            | Cvttps2pi
            | Cvttsd2si
            | Cvttss2si
    );
    // Reports what an x87 instruction before it raised, and is older than x87 itself.
    let waits = instruction.mnemonic() == Mnemonic::Wait;
    mmx || arithmetic || waits
}

/// Whether every x86-64 processor has the instruction; others raise SIGILL.
fn everywhere(instruction: &Instruction) -> bool {
    use CpuidFeature::*;
    if instruction.mnemonic() == Mnemonic::Reservednop {
        return false;
    }
    instruction.cpuid_features().iter().all(|feature| {
        matches!(
            feature,
            INTEL8086
                | INTEL8086_ONLY
                | INTEL186
                | INTEL286
                | INTEL386
                | INTEL486
                | X64
                | CMOV
                | CX8
                | MULTIBYTENOP
                | SSE
                | SSE2
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic_block::decode;
    use crate::liveness::tests::Bytes;

    fn placed(code: &[u8]) -> Placement {
        let block = decode(0x1000, code);
        place(
            &block,
            &Bytes(0x1000, code),
            &mut InstructionInfoFactory::new(),
        )
    }

    #[test]
    fn the_cheapest_kind_wins() {
        // mov rax,rcx; add rax,rdx; ret
        let add = [0x48, 0x89, 0xC8, 0x48, 0x01, 0xD0, 0xC3];
        assert_eq!(
            placed(&add),
            Placement {
                at: 0,
                how: IncrementMethod::Memory
            }
        );
        // mov eax,ecx; ret: flags may be read by the caller, eax is dead before.
        assert_eq!(
            placed(&[0x89, 0xC8, 0xC3]),
            Placement {
                at: 0,
                how: IncrementMethod::DeadRegister(0)
            }
        );
        // ret; syscall
        assert_eq!(placed(&[0xC3]).how, IncrementMethod::SavedRcx);
        assert_eq!(placed(&[0x0F, 0x05]).how, IncrementMethod::SpilledRax);
        // mov rax,[rdi]; ret: a handler may skip it.
        assert_eq!(
            placed(&[0x48, 0x8B, 0x07, 0xC3]).how,
            IncrementMethod::SavedRcx
        );
        // …; mov eax,ecx; ret, behind what may raise SIGFPE: psubq mm0,mm5; fsqrt; fwait, also
        // with a prefix; addsd xmm0,xmm1; cvttsd2si edx,xmm0; and behind what raises nothing:
        // pxor, movaps.
        for (code, how) in [
            (&[0x0F, 0xFB, 0xC5][..], IncrementMethod::SavedRcx),
            (&[0xD9, 0xFA], IncrementMethod::SavedRcx),
            (&[0x9B], IncrementMethod::SavedRcx),
            (&[0x46, 0x9B], IncrementMethod::SavedRcx),
            (&[0xF2, 0x0F, 0x58, 0xC1], IncrementMethod::SavedRcx),
            (&[0xF2, 0x0F, 0x2C, 0xD0], IncrementMethod::SavedRcx),
            (&[0x66, 0x0F, 0xEF, 0xC0], IncrementMethod::DeadRegister(0)),
            (&[0x0F, 0x28, 0xC1], IncrementMethod::DeadRegister(0)),
        ] {
            let behind = [code, &[0x89, 0xC8, 0xC3]].concat();
            let placement = placed(&behind);
            assert_eq!(placement.how, IncrementMethod::DeadRegister(0), "{code:x?}");
            assert_eq!(
                placement.at,
                usize::from(how == IncrementMethod::SavedRcx),
                "{code:x?}"
            );
        }
        // mov ds,ecx with a selector that there is not; sldt edx where the kernel keeps it for
        // itself: behind them.
        for code in [[0x8E, 0xD9].as_slice(), &[0x0F, 0x00, 0xC2]] {
            let behind = [code, &[0x89, 0xD0, 0xC3]].concat();
            assert_eq!(
                (placed(&behind).at, placed(&behind).how),
                (1, IncrementMethod::DeadRegister(0))
            );
        }
        // pop rsp; ret: rsp is not free, though it is overwritten.
        assert_eq!(placed(&[0x5C, 0xC3]).how, IncrementMethod::SavedRcx);
        // adc rax,rdx reads CF, which inc keeps.
        assert_eq!(
            placed(&[0x48, 0x11, 0xD0, 0xC3]).how,
            IncrementMethod::Memory
        );
        // sete al; cmp: the flags are live until sete.
        let sete = [0x0F, 0x94, 0xC0, 0x48, 0x39, 0xC8, 0xC3];
        assert_eq!(
            placed(&sete),
            Placement {
                at: 1,
                how: IncrementMethod::Memory
            }
        );
    }
}
