//! Data flow of x86-64 and i386 instructions, from iced-x86's information about them.
//!
//! Where hardware differs from the manuals' view of registers, hardware counts here: a write to
//! an 8- or 16-bit part waits for the rest of the register, scalar SSE results keep the upper
//! half of their destination, `push` does not wait for `rsp`. Idioms are those that AMD's
//! "Software Optimization Guide" (Zen 3 to 5) and Intel's "Optimization Reference Manual"
//! (3.5.1.7) both name, `sbb r, r` apart, which waits for the carry alone on AMD's only.
//! Shifts by `cl` leave the flags alone if `cl` is zero; that they wait for the flags therefore is
//! not modelled, since AMD's do not.

mod form;
mod idiom;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction as Raw, InstructionInfo,
    InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits, UsedMemory,
};
use smallvec::SmallVec;

use super::{
    Components, DataFlow, Location, Locations, MemoryAccess, Opaque, STACK_POINTER, Shortcut,
    X87_TOP,
};
use crate::x86_64::directions;

/// Decodes as the disassembler does: invalid bytes are an entry each.
pub(super) fn data_flow(bits: u32, bytes: &[u8], address: u64) -> Vec<DataFlow> {
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    let mut raw = Raw::default();
    let mut out = Vec::with_capacity(bytes.len() / 4 + 1);
    while decoder.can_decode() {
        let position = decoder.position();
        let ip = decoder.ip();
        decoder.decode_out(&mut raw);
        if raw.is_invalid() {
            out.push(bad(ip));
            if decoder.set_position(position + 1).is_err() {
                break;
            }
            decoder.set_ip(ip.wrapping_add(1));
            continue;
        }
        out.push(one(&raw, &mut factory));
    }
    out
}

fn bad(address: u64) -> DataFlow {
    DataFlow {
        address,
        form: "(bad)".to_owned(),
        without_memory: None,
        address_reads: 0,
        data_reads: 0,
        kept: 0,
        writes: 0,
        memory: SmallVec::new(),
        shortcut: Shortcut::None,
        sum: None,
        components: None,
        stack_delta: 0,
        x87_delta: 0,
        opaque: Some(Opaque::Exit),
    }
}

fn one(raw: &Raw, factory: &mut InstructionInfoFactory) -> DataFlow {
    let info = factory.info(raw);
    let mut flow = DataFlow {
        form: form::of(raw),
        without_memory: form::without_memory(raw),
        opaque: opaque(raw),
        ..bad(raw.ip())
    };
    flow.shortcut = idiom::shortcut(raw);
    if flow.shortcut == Shortcut::Nothing {
        return flow;
    }
    let implied_stack = moves_stack(raw);
    for used in info.used_memory() {
        flow.memory.extend(memory_access(used, implied_stack));
    }
    flow.address_reads = flow.memory.iter().fold(0, |set, m| set | registers_of(m));
    registers(raw, info, &mut flow);
    flags(raw, &mut flow);
    if implied_stack {
        let pointer = 1 << STACK_POINTER;
        flow.stack_delta = raw.stack_pointer_increment();
        // `pop rsp` and `push rsp` do use it as data.
        let explicit = (0..raw.op_count()).any(|i| {
            raw.op_kind(i) == OpKind::Register
                && location(raw.op_register(i)) == Some(STACK_POINTER)
        });
        if !explicit {
            flow.data_reads &= !pointer;
            flow.writes &= !pointer;
        }
    }
    if flow.shortcut == Shortcut::Constant {
        flow.data_reads = 0;
    }
    if raw.mnemonic() == Mnemonic::Sbb && idiom::same_sources(raw) {
        flow.data_reads = CARRY;
    }
    flow.x87_delta = x87_delta(raw);
    flow.sum = idiom::sum(raw);
    flow.components = (raw.mnemonic() == Mnemonic::Lea).then(|| Components {
        base: location(raw.memory_base()),
        index: location(raw.memory_index()),
        scale: raw.memory_index_scale() as u8,
        displacement: raw.memory_displacement64().cast_signed(),
    });
    flow
}

const CARRY: Locations = 1 << 64;

/// Instructions that take the stack pointer from the stack engine.
fn moves_stack(raw: &Raw) -> bool {
    raw.is_stack_instruction()
        && !matches!(
            raw.mnemonic(),
            Mnemonic::Enter | Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq
        )
}

fn registers(raw: &Raw, info: &InstructionInfo, flow: &mut DataFlow) {
    // Explicit operands: each by its own access.
    let mut explicit: Locations = 0;
    for operand in 0..raw.op_count() {
        if raw.op_kind(operand) != OpKind::Register {
            continue;
        }
        let register = raw.op_register(operand);
        let bit = bit(register);
        explicit |= bit;
        let (reads, writes) = directions(info.op_access(operand));
        let keeps = writes && operand == 0 && idiom::keeps_rest(raw);
        let part = writes && is_part(register);
        let conditional = matches!(
            info.op_access(operand),
            OpAccess::CondWrite | OpAccess::ReadCondWrite
        );
        if reads || keeps || part || conditional || operand == 0 && idiom::is_conditional_move(raw)
        {
            flow.data_reads |= bit;
        }
        if keeps || part && !reads {
            flow.kept |= bit;
        } else if reads {
            flow.kept &= !bit;
        }
        if writes {
            flow.writes |= bit;
        }
    }
    // Implied ones, which iced lists together with the explicit and those of addresses.
    for used in info.used_registers() {
        let (reads, writes) = directions(used.access());
        let bit = bit(used.register());
        if writes {
            flow.writes |= bit;
            let merges = is_part(used.register()) || used.access() == OpAccess::CondWrite;
            if bit & explicit == 0 && merges {
                flow.data_reads |= bit;
            }
        }
        if reads && bit & (explicit | flow.address_reads) == 0 {
            flow.data_reads |= bit;
        }
    }
    flow.data_reads |= idiom::implied_reads(raw);
    // What `lea` adds up is in no access to memory, and may be what it writes.
    if raw.mnemonic() == Mnemonic::Lea {
        flow.data_reads |= bit(raw.memory_base()) | bit(raw.memory_index());
    }
}

/// Whether a write to it leaves the rest of the register as it was.
fn is_part(register: Register) -> bool {
    register.is_gpr8() || register.is_gpr16()
}

fn flags(raw: &Raw, flow: &mut DataFlow) {
    flow.data_reads |= flag_bits(raw.rflags_read());
    flow.writes |= flag_bits(raw.rflags_modified());
}

fn flag_bits(flags: u32) -> Locations {
    const ORDER: [u32; 7] = [
        RflagsBits::CF,
        RflagsBits::PF,
        RflagsBits::AF,
        RflagsBits::ZF,
        RflagsBits::SF,
        RflagsBits::OF,
        RflagsBits::DF,
    ];
    ORDER
        .iter()
        .zip(64u32..)
        .filter(|(flag, _)| flags & **flag != 0)
        .fold(0, |set, (_, bit)| set | 1 << bit)
}

fn memory_access(used: &UsedMemory, implied_stack: bool) -> Option<MemoryAccess> {
    let (reads, writes) = directions(used.access());
    if !reads && !writes {
        return None;
    }
    let relative = used.base().is_ip();
    let base = if relative {
        None
    } else {
        location(used.base())
    };
    Some(MemoryAccess {
        base,
        index: location(used.index()),
        scale: u8::try_from(used.scale()).unwrap_or(1),
        displacement: used.displacement() as i64,
        bytes: u16::try_from(used.memory_size().size()).unwrap_or(0),
        reads,
        writes,
        segment: matches!(used.segment(), Register::FS | Register::GS),
        stack: implied_stack && base == Some(STACK_POINTER) && used.index() == Register::None,
    })
}

fn registers_of(memory: &MemoryAccess) -> Locations {
    // The stack engine has the pointer at hand for `push` and its kin, but a `pop` after an
    // explicit change of the pointer waits for that change.
    [memory.base, memory.index]
        .into_iter()
        .flatten()
        .fold(0, |set, register| set | 1 << register)
}

/// The location of a register; `None` for those that carry no data between instructions
/// of a loop (segments, control registers, the instruction pointer).
fn location(register: Register) -> Option<Location> {
    if register == Register::None {
        return None;
    }
    let full = register.full_register();
    let number = u8::try_from(full.number()).ok()?;
    let base = if full.is_gpr() {
        0
    } else if full.is_vector_register() {
        16
    } else if full.is_k() {
        48
    } else if full.is_st() {
        X87_TOP
    } else if full.is_mm() {
        72
    } else {
        return None;
    };
    Some(base + number)
}

fn bit(register: Register) -> Locations {
    location(register).map_or(0, |l| 1 << l)
}

fn x87_delta(raw: &Raw) -> i8 {
    let info = raw.fpu_stack_increment_info();
    i8::try_from(info.increment()).unwrap_or(0)
}

fn opaque(raw: &Raw) -> Option<Opaque> {
    use Mnemonic as M;
    if (raw.has_rep_prefix() || raw.has_repne_prefix()) && raw.is_string_instruction() {
        return Some(Opaque::Repeated);
    }
    match raw.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall if raw.mnemonic() == M::Call => {
            return Some(Opaque::Call);
        }
        FlowControl::Call => return Some(Opaque::Kernel),
        FlowControl::Interrupt => return Some(Opaque::Kernel),
        FlowControl::Return
        | FlowControl::Exception
        | FlowControl::XbeginXabortXend
        | FlowControl::IndirectBranch => return Some(Opaque::Exit),
        _ => {}
    }
    match raw.mnemonic() {
        M::Cpuid
        | M::Mfence
        | M::Lfence
        | M::Serialize
        | M::Rdtsc
        | M::Rdtscp
        | M::Rdpmc
        | M::Xgetbv
        | M::Pause
        | M::Tpause
        | M::Umwait
        | M::Rdrand
        | M::Rdseed
        | M::Xsave
        | M::Xsave64
        | M::Xsavec
        | M::Xsavec64
        | M::Xsaveopt
        | M::Xsaveopt64
        | M::Xrstor
        | M::Xrstor64
        | M::Fxsave
        | M::Fxsave64
        | M::Fxrstor
        | M::Fxrstor64
        | M::Hlt => Some(Opaque::Serialising),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
