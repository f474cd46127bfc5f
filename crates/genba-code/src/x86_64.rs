//! Disassembly of x86-64 and i386 code with iced-x86, and what its instructions cost by kind.

use std::fmt::Write as _;
use std::sync::OnceLock;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, FormatterOptions, GasFormatter,
    Instruction as Raw, InstructionInfoFactory, IntelFormatter, MemorySizeOptions, Mnemonic,
    OpAccess, OpKind, Register,
};

use crate::instruction::{CostClass, Flow, Instruction, RegisterSet, Syntax};

/// Decodes `bytes`, which lie at `address`, into `out`. `resolve` names an address.
///
/// Bytes that are not an instruction become a `(bad)` of one byte, and decoding goes on after it,
/// as `objdump` does. Time is linear in the length of `bytes`.
pub(crate) fn disassemble(
    bits: u32,
    syntax: Syntax,
    bytes: &[u8],
    address: u64,
    resolve: &dyn Fn(u64) -> Option<String>,
    out: &mut Vec<Instruction>,
) {
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    let mut formatter = formatter(syntax);
    let mut info = InstructionInfoFactory::new();
    let mut raw = Raw::default();
    while decoder.can_decode() {
        let position = decoder.position();
        let ip = decoder.ip();
        decoder.decode_out(&mut raw);
        if raw.is_invalid() {
            // The position after an invalid instruction is up to the decoder; start again
            // one byte on, so that hostile bytes cannot hide what follows.
            if decoder.set_position(position + 1).is_err() {
                return;
            }
            decoder.set_ip(ip.wrapping_add(1));
            out.push(bad(ip));
            continue;
        }
        out.push(convert(&raw, formatter.as_mut(), &mut info, resolve));
    }
}

fn bad(address: u64) -> Instruction {
    Instruction {
        address,
        length: 1,
        text: "(bad)".to_owned(),
        flow: Flow::Invalid,
        class: CostClass::Trap,
        mnemonic: "(bad)",
        reads_memory: false,
        writes_memory: false,
        is_lock: false,
        data_target: None,
        reads_registers: 0,
        writes_registers: 0,
    }
}

fn formatter(syntax: Syntax) -> Box<dyn Formatter> {
    let mut formatter: Box<dyn Formatter> = match syntax {
        Syntax::Intel => Box::new(IntelFormatter::new()),
        Syntax::Att => Box::new(GasFormatter::new()),
    };
    let options: &mut FormatterOptions = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_rip_relative_addresses(true);
    options.set_branch_leading_zeros(false);
    options.set_displacement_leading_zeros(false);
    options.set_show_branch_size(false);
    if syntax == Syntax::Intel {
        options.set_uppercase_keywords(true);
        options.set_memory_size_options(MemorySizeOptions::Always);
    }
    formatter
}

fn convert(
    raw: &Raw,
    formatter: &mut dyn Formatter,
    info: &mut InstructionInfoFactory,
    resolve: &dyn Fn(u64) -> Option<String>,
) -> Instruction {
    let flow = flow(raw);
    let access = access(raw, info);
    let data_target = raw
        .is_ip_rel_memory_operand()
        .then(|| raw.ip_rel_memory_address());
    let mut text = String::new();
    let branch = match flow {
        Flow::Jump(target) | Flow::CondJump(target) | Flow::Call(target) => {
            resolve(target).map(|name| (target, name))
        }
        _ => None,
    };
    if let Some((_, name)) = branch {
        formatter.format_mnemonic(raw, &mut text);
        let _ = write!(text, " <{name}>");
    } else {
        formatter.format(raw, &mut text);
        if let Some(target) = data_target {
            match resolve(target) {
                Some(name) => {
                    let _ = write!(text, " # {target:#x} <{name}>");
                }
                None => {
                    let _ = write!(text, " # {target:#x}");
                }
            }
        }
    }
    Instruction {
        address: raw.ip(),
        length: u8::try_from(raw.len()).unwrap_or(u8::MAX),
        text,
        flow,
        class: class(raw, access.reads_memory, access.writes_memory),
        mnemonic: mnemonic_name(raw.mnemonic()),
        reads_memory: access.reads_memory,
        writes_memory: access.writes_memory,
        is_lock: is_lock(raw),
        data_target,
        reads_registers: access.reads_registers,
        writes_registers: access.writes_registers,
    }
}

/// What an instruction reads and writes.
#[derive(Default)]
struct Access {
    reads_memory: bool,
    writes_memory: bool,
    reads_registers: RegisterSet,
    writes_registers: RegisterSet,
}

/// What the instruction accesses in fact: `nop [mem]`, `lea` and prefetches do not count as
/// reads of memory, implicit stack accesses do. Flags are not registers here.
fn access(raw: &Raw, factory: &mut InstructionInfoFactory) -> Access {
    let info = factory.info(raw);
    let mut found = Access::default();
    for memory in info.used_memory() {
        let (reads, writes) = directions(memory.access());
        found.reads_memory |= reads;
        found.writes_memory |= writes;
    }
    for used in info.used_registers() {
        let (reads, writes) = directions(used.access());
        let bit = register_bit(used.register());
        found.reads_registers |= if reads { bit } else { 0 };
        found.writes_registers |= if writes { bit } else { 0 };
    }
    found
}

/// Whether an access reads and whether it writes.
pub(crate) fn directions(access: OpAccess) -> (bool, bool) {
    match access {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        _ => (false, false),
    }
}

/// General registers have bits 0…15 in encoding order, vectors 16…47, masks 48…55, x87 and
/// MMX 56…63; the rest (segments, control registers) has none.
fn register_bit(register: Register) -> RegisterSet {
    let full = register.full_register();
    let number = full.number();
    let base = if full.is_gpr() {
        0
    } else if full.is_vector_register() {
        16
    } else if full.is_k() {
        48
    } else if full.is_st() || full.is_mm() {
        56
    } else {
        return 0;
    };
    1 << (base + number)
}

fn is_lock(raw: &Raw) -> bool {
    raw.has_lock_prefix()
        || (raw.mnemonic() == Mnemonic::Xchg
            && (0..raw.op_count()).any(|i| raw.op_kind(i) == OpKind::Memory))
}

fn flow(raw: &Raw) -> Flow {
    match raw.flow_control() {
        FlowControl::Next => match raw.mnemonic() {
            Mnemonic::Hlt => Flow::Trap,
            _ => Flow::Next,
        },
        FlowControl::UnconditionalBranch if is_near(raw) => Flow::Jump(raw.near_branch_target()),
        FlowControl::ConditionalBranch if is_near(raw) => Flow::CondJump(raw.near_branch_target()),
        FlowControl::UnconditionalBranch
        | FlowControl::ConditionalBranch
        | FlowControl::IndirectBranch => Flow::IndirectJump,
        FlowControl::Return => Flow::Return,
        FlowControl::Call => match raw.mnemonic() {
            Mnemonic::Call if is_near(raw) => Flow::Call(raw.near_branch_target()),
            Mnemonic::Call => Flow::IndirectCall,
            _ => Flow::Syscall,
        },
        FlowControl::IndirectCall => Flow::IndirectCall,
        FlowControl::Interrupt => match raw.mnemonic() {
            // `int 0x80` is a system call of i386; other vectors do not come back.
            Mnemonic::Int if raw.immediate8() == 0x80 => Flow::Syscall,
            // `int 0x29` and friends trap; `int3` is filling between functions.
            _ => Flow::Trap,
        },
        FlowControl::XbeginXabortXend => match raw.mnemonic() {
            Mnemonic::Xbegin => Flow::CondJump(raw.near_branch_target()),
            _ => Flow::Next,
        },
        FlowControl::Exception => Flow::Trap,
    }
}

fn is_near(raw: &Raw) -> bool {
    matches!(
        raw.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    )
}

fn class(raw: &Raw, reads: bool, writes: bool) -> CostClass {
    if is_lock(raw) {
        return CostClass::Atomic;
    }
    if (raw.has_rep_prefix() || raw.has_repne_prefix()) && raw.is_string_instruction() {
        return CostClass::RepString;
    }
    match raw.flow_control() {
        FlowControl::UnconditionalBranch
        | FlowControl::ConditionalBranch
        | FlowControl::IndirectBranch => return CostClass::Branch,
        FlowControl::Return => return CostClass::Return,
        FlowControl::Call | FlowControl::IndirectCall if raw.mnemonic() == Mnemonic::Call => {
            return CostClass::Call;
        }
        FlowControl::Call => return CostClass::Syscall,
        FlowControl::Interrupt | FlowControl::Exception => return CostClass::Trap,
        _ => {}
    }
    by_mnemonic(raw).unwrap_or_else(|| by_operands(raw, reads, writes))
}

fn by_mnemonic(raw: &Raw) -> Option<CostClass> {
    use Mnemonic as M;
    Some(match raw.mnemonic() {
        M::Nop | M::Endbr64 | M::Endbr32 | M::Fnop => CostClass::Nop,
        M::Lea => CostClass::Address,
        M::Push | M::Pop | M::Pushf | M::Pushfq | M::Popf | M::Popfq | M::Leave | M::Enter => {
            CostClass::Stack
        }
        M::Div | M::Idiv => CostClass::Div,
        M::Mul | M::Imul | M::Mulx => CostClass::Mul,
        M::Cpuid
        | M::Mfence
        | M::Lfence
        | M::Sfence
        | M::Rdtsc
        | M::Rdtscp
        | M::Serialize
        | M::Xgetbv
        | M::Rdpmc
        | M::Xsave
        | M::Xsavec
        | M::Xrstor
        | M::Fxsave
        | M::Fxrstor => CostClass::Serialising,
        M::Hlt => CostClass::Trap,
        M::Rdrand | M::Rdseed | M::Pause => CostClass::Other,
        mnemonic => return by_name(mnemonic_name(mnemonic)),
    })
}

/// Classes of families whose names tell them; hundreds of AVX-512 forms are not listed one
/// by one.
fn by_name(name: &str) -> Option<CostClass> {
    let stem = name.strip_prefix('v').unwrap_or(name);
    if [
        "sqrtss", "sqrtsd", "sqrtps", "sqrtpd", "sqrtsh", "sqrtph", "fsqrt",
    ]
    .contains(&stem)
    {
        return Some(CostClass::Sqrt);
    }
    if [
        "divss", "divsd", "divps", "divpd", "divsh", "divph", "fdiv", "fdivr", "fdivp", "fdivrp",
        "fidiv", "fidivr",
    ]
    .contains(&stem)
    {
        return Some(CostClass::FpDiv);
    }
    if name.starts_with("vgather")
        || name.starts_with("vpgather")
        || name.starts_with("vscatter")
        || name.starts_with("vpscatter")
    {
        return Some(CostClass::Gather);
    }
    if stem.starts_with("aes") || stem.starts_with("sha1") || stem.starts_with("sha256") {
        return Some(CostClass::Other);
    }
    None
}

fn by_operands(raw: &Raw, reads: bool, writes: bool) -> CostClass {
    let moves = is_move(raw);
    if writes {
        return CostClass::Store;
    }
    if reads && moves {
        return CostClass::Load;
    }
    let vector = (0..raw.op_count())
        .any(|i| raw.op_kind(i) == OpKind::Register && is_vector(raw.op_register(i)));
    let name = mnemonic_name(raw.mnemonic());
    if vector && !moves {
        let scalar = ["ss", "sd", "sh", "si", "2si"]
            .iter()
            .any(|end| name.ends_with(end));
        return if scalar {
            CostClass::FpArith
        } else {
            CostClass::VectorArith
        };
    }
    if !vector && is_x87(raw) {
        return CostClass::FpArith;
    }
    if reads {
        CostClass::Load
    } else {
        CostClass::Simple
    }
}

fn is_move(raw: &Raw) -> bool {
    let name = mnemonic_name(raw.mnemonic());
    let stem = name.strip_prefix('v').unwrap_or(name);
    stem.starts_with("mov") && !stem.starts_with("movmsk")
        || stem.starts_with("lddqu")
        || stem.starts_with("broadcast")
        || stem.starts_with("pbroadcast")
        || stem.starts_with("lods")
}

fn is_vector(register: Register) -> bool {
    register.is_vector_register() || register.is_mm()
}

fn is_x87(raw: &Raw) -> bool {
    raw.code() != Code::INVALID
        && (0..raw.op_count())
            .any(|i| raw.op_kind(i) == OpKind::Register && raw.op_register(i).is_st())
}

/// The mnemonic's name, made once for all.
pub(crate) fn mnemonic_name(mnemonic: Mnemonic) -> &'static str {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES
        .get_or_init(|| {
            Mnemonic::values()
                .map(|m| format!("{m:?}").to_ascii_lowercase())
                .collect()
        })
        .get(mnemonic as usize)
        .map_or("", String::as_str)
}
