//! Instructions that are less, or need more, than their operands say.

use iced_x86::{Code, Instruction as Raw, Mnemonic, OpKind, Register};

use super::{Locations, bit};
use crate::dataflow::{Shortcut, Sum};
use crate::x86_64::mnemonic_name;

/// What renaming makes of it.
pub(super) fn shortcut(raw: &Raw) -> Shortcut {
    use Mnemonic as M;
    match raw.mnemonic() {
        M::Nop
        | M::Fnop
        | M::Endbr64
        | M::Endbr32
        | M::Vzeroupper
        | M::Prefetch
        | M::Prefetchw
        | M::Prefetcht0
        | M::Prefetcht1
        | M::Prefetcht2
        | M::Prefetchnta => return Shortcut::Nothing,
        M::Xor | M::Sub if same_sources(raw) && wide(raw.op0_register()) => {
            return Shortcut::Constant;
        }
        M::Vzeroall => return Shortcut::Constant,
        _ => {}
    }
    if is_vector_constant(raw) {
        return Shortcut::Constant;
    }
    if is_plain_move(raw) && is_whole_copy(raw) {
        return Shortcut::Copy;
    }
    Shortcut::None
}

fn wide(register: Register) -> bool {
    register.is_gpr32() || register.is_gpr64()
}

/// Whether its source operands are one register twice: the first two operands, or the last
/// two of three.
pub(super) fn same_sources(raw: &Raw) -> bool {
    let (a, b) = match raw.op_count() {
        2 => (0, 1),
        3 => (1, 2),
        _ => return false,
    };
    raw.op_kind(a) == OpKind::Register
        && raw.op_kind(b) == OpKind::Register
        && raw.op_register(a) == raw.op_register(b)
}

fn is_vector_constant(raw: &Raw) -> bool {
    use Mnemonic as M;
    let family = matches!(
        raw.mnemonic(),
        M::Pxor
            | M::Xorps
            | M::Xorpd
            | M::Vpxor
            | M::Vpxord
            | M::Vpxorq
            | M::Vxorps
            | M::Vxorpd
            | M::Psubb
            | M::Psubw
            | M::Psubd
            | M::Psubq
            | M::Vpsubb
            | M::Vpsubw
            | M::Vpsubd
            | M::Vpsubq
            | M::Pcmpeqb
            | M::Pcmpeqw
            | M::Pcmpeqd
            | M::Vpcmpeqb
            | M::Vpcmpeqw
            | M::Vpcmpeqd
            | M::Pcmpgtb
            | M::Pcmpgtw
            | M::Pcmpgtd
            | M::Vpcmpgtb
            | M::Vpcmpgtw
            | M::Vpcmpgtd
    );
    family
        && same_sources(raw)
        && raw.op0_register().is_vector_register()
        && raw.op_mask() == Register::None
}

/// Moves that do nothing but move: no extension, no merging, no conversion.
pub(super) fn is_plain_move(raw: &Raw) -> bool {
    let name = mnemonic_name(raw.mnemonic());
    let stem = name.strip_prefix('v').unwrap_or(name);
    // `movsd` is also the name of a string instruction, whose operands are implied.
    !raw.is_string_instruction()
        && raw.op_mask() == Register::None
        && matches!(
            stem,
            "mov"
                | "movaps"
                | "movapd"
                | "movups"
                | "movupd"
                | "movdqa"
                | "movdqu"
                | "movdqa32"
                | "movdqa64"
                | "movdqu8"
                | "movdqu16"
                | "movdqu32"
                | "movdqu64"
                | "movd"
                | "movq"
                | "movss"
                | "movsd"
                | "lddqu"
                | "movbe"
                | "movnti"
                | "movntps"
                | "movntpd"
                | "movntdq"
                | "movntdqa"
                | "movzx"
                | "movsx"
                | "movsxd"
                | "broadcastss"
                | "broadcastsd"
                | "movddup"
                | "fld"
                | "fst"
                | "fstp"
        )
}

/// A register copied whole to another of its kind.
fn is_whole_copy(raw: &Raw) -> bool {
    if raw.op_count() != 2
        || raw.op0_kind() != OpKind::Register
        || raw.op1_kind() != OpKind::Register
    {
        return false;
    }
    let name = mnemonic_name(raw.mnemonic());
    let stem = name.strip_prefix('v').unwrap_or(name);
    let (to, from) = (raw.op0_register(), raw.op1_register());
    if stem == "mov" {
        return wide(to) && wide(from);
    }
    // Scalar moves between registers merge; `movd` and `movq` change kind or clear a half;
    // extensions are executed.
    let whole = stem.starts_with("mova")
        || stem.starts_with("movup")
        || stem.starts_with("movdqa")
        || stem.starts_with("movdqu");
    whole && to.is_vector_register() && from.is_vector_register()
}

/// Instructions whose memory operand is an address only.
pub(super) fn only_addresses(raw: &Raw) -> bool {
    matches!(
        raw.mnemonic(),
        Mnemonic::Lea | Mnemonic::Nop | Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb
    ) || mnemonic_name(raw.mnemonic()).starts_with("prefetch")
}

/// Whether it takes an integer register or memory into a vector register.
pub(super) fn converts_from_integer(raw: &Raw) -> bool {
    use Mnemonic as M;
    matches!(
        raw.mnemonic(),
        M::Cvtsi2ss
            | M::Cvtsi2sd
            | M::Vcvtsi2ss
            | M::Vcvtsi2sd
            | M::Vcvtusi2ss
            | M::Vcvtusi2sd
            | M::Pinsrd
            | M::Pinsrq
            | M::Pinsrb
            | M::Pinsrw
            | M::Vpinsrd
            | M::Vpinsrq
            | M::Vpinsrb
            | M::Vpinsrw
    )
}

/// Whether what it writes depends on what was there: legacy scalar instructions keep the
/// upper part of the destination.
pub(super) fn keeps_rest(raw: &Raw) -> bool {
    use Mnemonic as M;
    match raw.mnemonic() {
        M::Cvtsi2ss
        | M::Cvtsi2sd
        | M::Cvtss2sd
        | M::Cvtsd2ss
        | M::Sqrtss
        | M::Sqrtsd
        | M::Rcpss
        | M::Rsqrtss
        | M::Roundss
        | M::Roundsd => true,
        // From memory these clear the rest.
        M::Movss | M::Movsd => {
            raw.op_count() == 2
                && raw.op0_kind() == OpKind::Register
                && raw.op1_kind() == OpKind::Register
        }
        M::Movlps | M::Movlpd | M::Movhps | M::Movhpd | M::Movlhps | M::Movhlps => {
            raw.op0_kind() == OpKind::Register
        }
        _ => false,
    }
}

/// Whether its result may be its old destination.
pub(super) fn is_conditional_move(raw: &Raw) -> bool {
    let name = mnemonic_name(raw.mnemonic());
    name.starts_with("cmov") || name.starts_with("fcmov")
}

/// Implied operands that could hide behind an address made of the same register.
pub(super) fn implied_reads(raw: &Raw) -> Locations {
    use Mnemonic as M;
    let rax = bit(Register::RAX);
    let rdx = bit(Register::RDX);
    match raw.mnemonic() {
        M::Div | M::Idiv => match raw.code() {
            Code::Div_rm8 | Code::Idiv_rm8 => rax,
            _ => rax | rdx,
        },
        M::Mul => rax,
        M::Imul if raw.op_count() == 1 => rax,
        M::Mulx => rdx,
        M::Cmpxchg => rax,
        M::Cmpxchg8b | M::Cmpxchg16b => rax | rdx | bit(Register::RBX) | bit(Register::RCX),
        _ => 0,
    }
}

/// The result as a register plus a constant, where it is that. Additions of 32 bits count as such:
/// that they wrap does not matter to which addresses are the same.
pub(super) fn sum(raw: &Raw) -> Option<Sum> {
    use Mnemonic as M;
    if raw.op_count() == 0 || raw.op0_kind() != OpKind::Register || !wide(raw.op0_register()) {
        return None;
    }
    let target = raw.op0_register();
    let to = super::location(target)?;
    let plus = |source: Option<u8>, addend: i64| Some(Sum { to, source, addend });
    let constant = || {
        (raw.op_count() == 2
            && raw.op1_kind() != OpKind::Register
            && raw.op1_kind() != OpKind::Memory)
            .then(|| raw.try_immediate(1).ok())
            .flatten()
            .map(|value| match raw.op1_kind() {
                OpKind::Immediate32 if raw.mnemonic() != M::Mov => i64::from(value as u32 as i32),
                _ => value as i64,
            })
    };
    match raw.mnemonic() {
        M::Xor | M::Sub if same_sources(raw) => plus(None, 0),
        M::Mov => match raw.op1_kind() {
            OpKind::Register if target.is_gpr64() && raw.op1_register().is_gpr64() => {
                plus(super::location(raw.op1_register()), 0)
            }
            OpKind::Register | OpKind::Memory => None,
            _ => plus(None, constant()?),
        },
        M::Add => plus(Some(to), constant()?),
        M::Sub => plus(Some(to), constant()?.checked_neg()?),
        M::Inc => plus(Some(to), 1),
        M::Dec => plus(Some(to), -1),
        M::Lea => {
            if raw.memory_index() != Register::None {
                return None;
            }
            let displacement = raw.memory_displacement64() as i64;
            if raw.is_ip_rel_memory_operand() {
                return plus(None, displacement);
            }
            plus(super::location(raw.memory_base()), displacement)
        }
        _ => None,
    }
}
