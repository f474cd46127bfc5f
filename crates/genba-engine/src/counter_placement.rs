//! Where in a block its counter is incremented, and by which instructions, so that no live flag or
//! register changes. The increment itself is emitted in `fragment/counter_increment.rs`.

use iced_x86::{CpuidFeature, Instruction, InstructionInfoFactory, Mnemonic, OpKind};

use crate::basic_block::{Block, BlockEnd};
use crate::liveness::{ALL_FLAGS, ProgramCode, flags_before, flags_live_at, registers};

/// Number of rsp. It is never free, as the kernel writes signal frames below it.
const RSP: u32 = 4;

/// The instructions that increment a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncrementMethod {
    /// `inc` in memory, where the flags that it overwrites are dead.
    Memory,
    /// Load, `lea`, store through this register, which is dead there; `lea` leaves the flags
    /// unchanged.
    DeadRegister(u8),
    /// The same through rax, which is saved before and restored after.
    SpilledRax,
    /// The same through rcx, where the indirect branch that ends the block has saved rcx already.
    SavedRcx,
}

/// Where a block's counter is incremented, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Index of the instruction before which the counter is incremented.
    pub at: usize,
    /// How it is incremented.
    pub method: IncrementMethod,
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

/// Index of the first instruction before which the flags are dead, given those that are live after
/// the block.
fn first_with_dead_flags(block: &Block, live_after: u32) -> Option<usize> {
    let mut live = live_after;
    let mut first = None;
    for (at, instruction) in block.instructions.iter().enumerate().rev() {
        live = flags_before(instruction, live);
        if live == 0 {
            first = Some(at);
        }
    }
    first
}

/// Places the counter of a block: the earliest place of the cheapest method, because the sooner the
/// load of the counter is issued, the less the block waits for it.
#[must_use]
pub fn place(
    block: &Block,
    code: &dyn ProgramCode,
    factory: &mut InstructionInfoFactory,
) -> Placement {
    // Looking ahead takes longer than all else, and is needed only if the block itself does not
    // overwrite the flags. Where it does, what is live after it does not change the earliest place.
    let best = first_with_dead_flags(block, ALL_FLAGS).or_else(|| match live_out(block, code) {
        ALL_FLAGS => None,
        live => first_with_dead_flags(block, live),
    });
    if let Some(at) = best {
        return Placement {
            at,
            method: IncrementMethod::Memory,
        };
    }
    // The earliest place at which a register is dead.
    let mut dead = 0u32;
    let mut found = None;
    for (at, instruction) in block.instructions.iter().enumerate().rev() {
        let (read, written) = registers(instruction, factory);
        dead = (dead | written) & !read & !(1 << RSP);
        if may_fault(instruction) {
            // A signal handler may skip the instruction and then read the register's old value.
            dead = 0;
        }
        if dead != 0 {
            found = Some(Placement {
                at,
                method: IncrementMethod::DeadRegister(dead.trailing_zeros() as u8),
            });
        }
    }
    let indirect = matches!(
        block.end,
        BlockEnd::Return(_) | BlockEnd::JumpIndirect | BlockEnd::CallIndirect
    );
    found.unwrap_or(Placement {
        at: if indirect { block.body() } else { 0 },
        method: if indirect {
            IncrementMethod::SavedRcx
        } else {
            IncrementMethod::SpilledRax
        },
    })
}

/// Whether the instruction may fault, so that a signal handler sees the state before it.
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
    // Loads of invalid segment selectors fault; so do instructions that the kernel forbids (UMIP).
    let segments = instruction.op_count() > 0 && instruction.op0_register().is_segment_register();
    let forbidden = matches!(
        instruction.mnemonic(),
        Mnemonic::Sldt | Mnemonic::Str | Mnemonic::Smsw
    );
    let divides = matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv);
    (memory && !harmless)
        || divides
        || segments
        || forbidden
        || raises_floating_point(instruction)
        || instruction.is_stack_instruction()
        || !is_baseline(instruction)
}

/// Whether an instruction without a memory operand may raise SIGFPE for floating-point arithmetic:
/// pending x87 exceptions, which the next x87 or MMX instruction reports, or unmasked SSE
/// exceptions. Instructions that [`is_baseline`] excludes, among them those of x87, are not
/// examined.
fn raises_floating_point(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let mmx = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand).is_mm()
    });
    // Moves, logic, shuffles and integer arithmetic raise nothing.
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
    // `wait` reports what an x87 instruction before it raised; it is older than x87 itself.
    let waits = instruction.mnemonic() == Mnemonic::Wait;
    mmx || arithmetic || waits
}

/// Whether every x86-64 processor has the instruction. On processors without an instruction it
/// raises SIGILL.
fn is_baseline(instruction: &Instruction) -> bool {
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
    fn the_cheapest_increment_that_is_safe_is_chosen() {
        // mov rax,rcx; add rax,rdx; ret
        let add = [0x48, 0x89, 0xC8, 0x48, 0x01, 0xD0, 0xC3];
        assert_eq!(
            placed(&add),
            Placement {
                at: 0,
                method: IncrementMethod::Memory
            }
        );
        // mov eax,ecx; ret: flags may be read by the caller, eax is dead before.
        assert_eq!(
            placed(&[0x89, 0xC8, 0xC3]),
            Placement {
                at: 0,
                method: IncrementMethod::DeadRegister(0)
            }
        );
        // ret; syscall
        assert_eq!(placed(&[0xC3]).method, IncrementMethod::SavedRcx);
        assert_eq!(placed(&[0x0F, 0x05]).method, IncrementMethod::SpilledRax);
        // mov rax,[rdi]; ret: a signal handler may skip the load.
        assert_eq!(
            placed(&[0x48, 0x8B, 0x07, 0xC3]).method,
            IncrementMethod::SavedRcx
        );
        // …; mov eax,ecx; ret, after instructions that may raise SIGFPE (psubq mm0,mm5; fsqrt;
        // fwait, also with a prefix; addsd xmm0,xmm1; cvttsd2si edx,xmm0) and after those that
        // cannot (pxor, movaps).
        for (code, method) in [
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
            assert_eq!(
                placement.method,
                IncrementMethod::DeadRegister(0),
                "{code:x?}"
            );
            assert_eq!(
                placement.at,
                usize::from(method == IncrementMethod::SavedRcx),
                "{code:x?}"
            );
        }
        // The counter is placed after mov ds,ecx, whose selector may be invalid, and after sldt
        // edx, which UMIP forbids.
        for code in [[0x8E, 0xD9].as_slice(), &[0x0F, 0x00, 0xC2]] {
            let behind = [code, &[0x89, 0xD0, 0xC3]].concat();
            assert_eq!(
                (placed(&behind).at, placed(&behind).method),
                (1, IncrementMethod::DeadRegister(0))
            );
        }
        // pop rsp; ret: rsp is not free, though it is overwritten.
        assert_eq!(placed(&[0x5C, 0xC3]).method, IncrementMethod::SavedRcx);
        // adc rax,rdx reads CF, which inc keeps.
        assert_eq!(
            placed(&[0x48, 0x11, 0xD0, 0xC3]).method,
            IncrementMethod::Memory
        );
        // sete al; cmp: the flags are live until sete.
        let sete = [0x0F, 0x94, 0xC0, 0x48, 0x39, 0xC8, 0xC3];
        assert_eq!(
            placed(&sete),
            Placement {
                at: 1,
                method: IncrementMethod::Memory
            }
        );
    }
}
