//! Form strings: a mnemonic with the kinds of its operands.

use iced_x86::{FlowControl, Instruction as Raw, Mnemonic, OpKind, Register};

use super::idiom;
use crate::x86_64::mnemonic_name;

/// The form of an instruction.
pub(super) fn of(raw: &Raw) -> String {
    let mut text = prefix(raw).to_owned();
    text.push_str(mnemonic_name(raw.mnemonic()));
    if is_bare(raw) {
        return text;
    }
    operands(raw, &mut text, &|raw| memory(raw).to_owned());
    if raw.mnemonic() == Mnemonic::Lea {
        text.push_str(address_parts(raw));
    }
    text
}

/// The form with registers in the place of the memory operand, if something is left to do
/// without it.
pub(super) fn without_memory(raw: &Raw) -> Option<String> {
    if is_bare(raw) || idiom::is_plain_move(raw) || idiom::only_addresses(raw) {
        return None;
    }
    let has_memory = (0..raw.op_count()).any(|i| raw.op_kind(i) == OpKind::Memory);
    if !has_memory || raw.is_stack_instruction() {
        return None;
    }
    let register = register_for_memory(raw)?;
    let mut text = mnemonic_name(raw.mnemonic()).to_owned();
    operands(raw, &mut text, &|_| register.to_owned());
    Some(text)
}

fn prefix(raw: &Raw) -> &'static str {
    if raw.has_lock_prefix() {
        "lock "
    } else if raw.is_string_instruction() && raw.has_repne_prefix() {
        "repne "
    } else if raw.is_string_instruction() && raw.has_rep_prefix() {
        // The same prefix reads `repe` for comparisons.
        match raw.mnemonic() {
            Mnemonic::Cmpsb
            | Mnemonic::Cmpsw
            | Mnemonic::Cmpsd
            | Mnemonic::Cmpsq
            | Mnemonic::Scasb
            | Mnemonic::Scasw
            | Mnemonic::Scasd
            | Mnemonic::Scasq => "repe ",
            _ => "rep ",
        }
    } else {
        ""
    }
}

/// Whether the mnemonic alone is the form.
fn is_bare(raw: &Raw) -> bool {
    if raw.mnemonic() == Mnemonic::Nop || is_implied_string(raw) {
        return true;
    }
    let near = matches!(
        raw.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    match raw.flow_control() {
        FlowControl::Return => true,
        FlowControl::UnconditionalBranch
        | FlowControl::ConditionalBranch
        | FlowControl::Call
        | FlowControl::XbeginXabortXend => near,
        _ => false,
    }
}

/// `movsb` and its kin, whose operands are implied; not SSE's `movsd`, which shares a name.
fn is_implied_string(raw: &Raw) -> bool {
    raw.is_string_instruction()
}

fn operands(raw: &Raw, text: &mut String, memory: &dyn Fn(&Raw) -> String) {
    for operand in 0..raw.op_count() {
        text.push_str(if operand == 0 { " " } else { ", " });
        match raw.op_kind(operand) {
            OpKind::Register => text.push_str(register(raw.op_register(operand))),
            OpKind::Memory => text.push_str(&memory(raw)),
            OpKind::MemorySegSI
            | OpKind::MemorySegESI
            | OpKind::MemorySegRSI
            | OpKind::MemorySegDI
            | OpKind::MemorySegEDI
            | OpKind::MemorySegRDI
            | OpKind::MemoryESDI
            | OpKind::MemoryESEDI
            | OpKind::MemoryESRDI => text.push_str(memory_kind(raw.memory_size().size())),
            _ => text.push('i'),
        }
    }
}

fn register(register: Register) -> &'static str {
    if register.is_gpr8() {
        "r8"
    } else if register.is_gpr16() {
        "r16"
    } else if register.is_gpr32() {
        "r32"
    } else if register.is_gpr64() {
        "r64"
    } else if register.is_xmm() {
        "xmm"
    } else if register.is_ymm() {
        "ymm"
    } else if register.is_zmm() {
        "zmm"
    } else if register.is_k() {
        "k"
    } else if register.is_mm() {
        "mm"
    } else if register.is_st() {
        "st"
    } else if register.is_segment_register() {
        "sr"
    } else if register.is_cr() {
        "cr"
    } else if register.is_dr() {
        "dr"
    } else if register.is_tmm() {
        "tmm"
    } else if register.is_bnd() {
        "bnd"
    } else {
        "r"
    }
}

fn memory(raw: &Raw) -> &'static str {
    if raw.mnemonic() == Mnemonic::Lea {
        return "m";
    }
    memory_kind(raw.memory_size().size())
}

fn memory_kind(bytes: usize) -> &'static str {
    match bytes {
        1 => "m8",
        2 => "m16",
        4 => "m32",
        8 => "m64",
        10 => "m80",
        16 => "m128",
        32 => "m256",
        64 => "m512",
        _ => "m",
    }
}

/// What `lea` adds up: more parts, or a scale, take longer on some processors.
fn address_parts(raw: &Raw) -> &'static str {
    let base = raw.memory_base() != Register::None;
    let index = raw.memory_index() != Register::None;
    let scaled = index && raw.memory_index_scale() > 1;
    let displaced = raw.memory_displacement64() != 0 || !base;
    match (base, index, displaced) {
        (true, true, true) => " [3 components]",
        (_, true, _) if scaled => " [base + scaled index]",
        (true, true, false) => " [base + index]",
        _ => " [base + displacement]",
    }
}

/// What a register operand in the place of memory would be: by size for integers, the
/// vector that the other operands are for vectors.
fn register_for_memory(raw: &Raw) -> Option<&'static str> {
    let vector = (0..raw.op_count())
        .filter(|&i| raw.op_kind(i) == OpKind::Register)
        .map(|i| raw.op_register(i))
        .find(|r| r.is_vector_register() || r.is_mm());
    let bytes = raw.memory_size().size();
    if let Some(vector) = vector {
        // Conversions from integers in memory take a general register instead.
        if idiom::converts_from_integer(raw) {
            return Some(if bytes == 8 { "r64" } else { "r32" });
        }
        if vector.is_mm() {
            return Some("mm");
        }
        return Some(match bytes {
            64 => "zmm",
            32 => "ymm",
            _ => "xmm",
        });
    }
    if is_x87(raw) {
        return Some("st");
    }
    Some(match bytes {
        1 => "r8",
        2 => "r16",
        4 => "r32",
        8 => "r64",
        _ => return None,
    })
}

fn is_x87(raw: &Raw) -> bool {
    let name = mnemonic_name(raw.mnemonic());
    name.starts_with('f') && !name.starts_with("fx")
}
