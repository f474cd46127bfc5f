//! All forms of instructions that the decoder knows in 64-bit mode: which are tried, and why others
//! are not; and how to make a random instruction of a form.

use iced_x86::{
    Code, Decoder, EncodingKind, FlowControl, Instruction, MandatoryPrefix, Mnemonic, OpCodeInfo,
    OpCodeOperandKind, OpCodeTableKind, OpKind, Register,
};

use crate::random_sequence::Random;

/// Maximum size of an instruction.
pub const MAX_BYTES: usize = 15;

/// Returns all forms that the decoder knows in 64-bit mode.
pub fn known() -> impl Iterator<Item = Code> {
    Code::values().filter(|code| {
        let info = code.op_code();
        info.is_instruction()
            && info.is_available_in_mode(64)
            // The decoder regards `wait` and another as one instruction.
            && !info.fwait()
            // Forms of other processors (Cyrix, Knights Corner, 80286, …), which the decoder knows
            // only on request.
            && info.decoder_option() == 0
    })
}

/// Returns why a form is not tried; `None` if it is.
pub fn excluded(code: Code) -> Option<&'static str> {
    use Mnemonic::*;
    let info = code.op_code();
    match code.mnemonic() {
        Rdtsc | Rdtscp | Rdpmc | Rdpru | Rdrand | Rdseed | Tpause | Umwait => {
            return Some("time or chance");
        }
        Cpuid | Xgetbv | Rdpid | Lsl => return Some("the processor that it happens to run on"),
        Monitor | Monitorx | Mwait | Mwaitx | Umonitor => return Some("waits for something"),
        Vmcall | Vmmcall | Vmgexit => return Some("talks to the hypervisor"),
        Clui | Stui | Testui | Uiret | Senduipi => {
            return Some("rdpkru, wrpkru, rdrand on processors that ignore the prefix");
        }
        Wrpkru => return Some("takes the process's memory away"),
        Fnstenv | Fnsave | Fxsave | Fxsave64 | Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt
        | Xsaveopt64 | Xsaves | Xsaves64 => {
            return Some(
                "stores the address of the last x87 instruction, which is in translated code",
            );
        }
        Fldenv | Frstor | Fxrstor | Fxrstor64 | Xrstor | Xrstor64 | Xrstors | Xrstors64 => {
            return Some(
                "loads the address of the last x87 instruction, which is in translated code",
            );
        }
        Xbegin | Xend | Xabort | Xtest => return Some("refused: hardware transactions"),
        Rdgsbase | Wrgsbase | Swapgs | Lgs => return Some("refused: %gs"),
        Sysenter | Sysexit | Sysexitq | Sysret | Sysretq | Iret | Iretd | Iretq | Retf | Eretu
        | Erets | Lkgs => {
            return Some("refused: far and old ways into and out of the kernel");
        }
        Popf | Popfd | Popfq => return Some("generated separately: pushf, changes, popf"),
        Skinit | Int1 => return Some("not to be tried in user mode"),
        _ => {}
    }
    if code.mnemonic() == Mov && info.op0_kind() == OpCodeOperandKind::seg_reg {
        return Some("loads a segment register");
    }
    if matches!(code.mnemonic(), Lds | Les | Lfs | Lss | Mov | Pop) && segment(info) {
        return Some("loads a segment register");
    }
    match code.flow_control() {
        FlowControl::Next | FlowControl::Exception => None,
        FlowControl::Interrupt if matches!(code, Code::Int_imm8 | Code::Int3) => None,
        FlowControl::Interrupt => Some("not to be tried in user mode"),
        FlowControl::XbeginXabortXend => Some("refused: hardware transactions"),
        _ if code == Code::Syscall => Some("generated separately: system calls that do nothing"),
        _ if is_far(info) => Some("refused: far jumps and calls"),
        _ if info.operand_size() == 16 => Some("refused: 16-bit jumps"),
        _ => Some("generated separately: jumps, calls, returns, loops"),
    }
}

fn is_far(info: &OpCodeInfo) -> bool {
    info.code().is_jmp_far()
        || info.code().is_jmp_far_indirect()
        || info.code().is_call_far()
        || info.code().is_call_far_indirect()
}

/// Whether the first operand is a segment register.
fn segment(info: &OpCodeInfo) -> bool {
    matches!(
        info.op0_kind(),
        OpCodeOperandKind::ds
            | OpCodeOperandKind::es
            | OpCodeOperandKind::fs
            | OpCodeOperandKind::gs
            | OpCodeOperandKind::ss
            | OpCodeOperandKind::cs
    ) || matches!(
        info.code().mnemonic(),
        Mnemonic::Lds | Mnemonic::Les | Mnemonic::Lfs | Mnemonic::Lss
    )
}

/// Whether a random instruction must not be executed, whatever its form.
pub fn must_not_run(instruction: &Instruction) -> bool {
    let gs = instruction.segment_prefix() == Register::GS;
    let segments = instruction.op_count() > 0
        && instruction.op0_register().is_segment_register()
        && instruction.mnemonic() != Mnemonic::Push;
    let eip = instruction.memory_base() == Register::EIP;
    // `int 3` and `int 0x80` do not fault as other interrupts do.
    let int = instruction.code() == Code::Int_imm8 && matches!(instruction.immediate8(), 3 | 0x80);
    // The decoder and some processors disagree on this encoding.
    let pause = instruction.mnemonic() == Mnemonic::Pause && instruction.len() > 2;
    gs || segments || eip || int || pause
}

/// Kinds of encodings. The kind is chosen first, because some kinds have far more forms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// General registers.
    General,
    /// SSE, MMX and x87.
    Media,
    /// VEX.
    Vex,
    /// EVEX.
    Evex,
}

/// A form, with properties that are expensive to compute.
#[derive(Clone, Copy)]
pub struct Form {
    /// The form.
    pub code: Code,
    /// Kind of its encoding.
    pub kind: Kind,
    info: &'static OpCodeInfo,
    /// Whether its prefix encodes a register.
    named: bool,
    /// Whether it takes addresses from a vector.
    gathers: bool,
}

impl Form {
    /// Computes the properties of a form.
    pub fn of(code: Code) -> Self {
        let info = code.op_code();
        let names = || info.op_kinds().iter().map(|kind| format!("{kind:?}"));
        let x87 = info.table() == OpCodeTableKind::Normal && {
            let first = info.op_code() >> ((info.op_code_len() - 1) * 8);
            (0xD8..=0xDF).contains(&first)
        };
        let media = names().any(|name| name.contains("mm") && !name.contains("imm"));
        let kind = match info.encoding() {
            EncodingKind::VEX | EncodingKind::XOP => Kind::Vex,
            EncodingKind::EVEX | EncodingKind::MVEX => Kind::Evex,
            EncodingKind::D3NOW => Kind::Media,
            EncodingKind::Legacy if media || x87 => Kind::Media,
            _ => Kind::General,
        };
        Self {
            code,
            kind,
            info,
            named: names().any(|name| name.contains("vvvv")),
            gathers: names().any(|name| name.contains("vsib")),
        }
    }
}

/// Makes an instruction of a form with random operands; not every attempt succeeds.
pub fn make(random: &mut Random, form: &Form, at: u64) -> Option<(Vec<u8>, Instruction)> {
    let (code, info) = (form.code, form.info);
    let mut bytes = Vec::with_capacity(MAX_BYTES);
    match info.encoding() {
        EncodingKind::Legacy | EncodingKind::D3NOW => legacy(random, info, &mut bytes),
        EncodingKind::VEX | EncodingKind::XOP => vex(random, form, &mut bytes),
        EncodingKind::EVEX => evex(random, form, &mut bytes),
        _ => return None,
    }
    if info.encoding() != EncodingKind::D3NOW {
        opcode(info, &mut bytes);
        if info.op_code_len() == 1 {
            bytes.push(modrm(random, info));
        }
    }
    while bytes.len() < MAX_BYTES {
        bytes.push((random.next() >> 24) as u8);
    }
    bytes.truncate(MAX_BYTES);
    let mut decoder = Decoder::with_ip(64, &bytes, at, 0);
    let mut decoded = decoder.decode();
    if info.encoding() == EncodingKind::D3NOW {
        // The opcode follows the operands, and any byte there decides their length.
        let length = (2..MAX_BYTES).find(|&length| {
            let mut tried = bytes.clone();
            tried[length - 1] = info.op_code() as u8;
            let again = Decoder::with_ip(64, &tried, at, 0).decode();
            again.code() == code && again.len() == length
        })?;
        bytes[length - 1] = info.op_code() as u8;
        decoded = Decoder::with_ip(64, &bytes, at, 0).decode();
    }
    if reads_stale_stack_pointer(info, &bytes, &decoded) {
        return None;
    }
    (decoded.code() == code && !must_not_run(&decoded)).then(|| {
        bytes.truncate(decoded.len());
        (bytes, decoded)
    })
}

/// Whether an instruction encodes rsp with the bit X of EVEX clear, which has no meaning there.
/// AMD's Zen 5 then reads rsp without the pushes and pops that are in flight (`push %rax; vpinsrd
/// $3, %esp, …` reads rsp before the push), unless anything came between.
fn reads_stale_stack_pointer(info: &OpCodeInfo, bytes: &[u8], decoded: &Instruction) -> bool {
    let prefix = bytes.iter().position(|byte| *byte == 0x62);
    let clear = prefix
        .and_then(|at| bytes.get(at + 1))
        .is_some_and(|byte| byte & 0x40 != 0);
    let mut operands = 0..decoded.op_count();
    info.encoding() == EncodingKind::EVEX
        && !clear
        && operands.any(|operand| {
            decoded.op_kind(operand) == OpKind::Register
                && decoded.op_register(operand).full_register() == Register::RSP
        })
}

fn opcode(info: &OpCodeInfo, bytes: &mut Vec<u8>) {
    if info.op_code_len() == 2 {
        bytes.push((info.op_code() >> 8) as u8);
    }
    bytes.push(info.op_code() as u8);
}

/// Returns a random ModRM byte with the opcode's bits. Memory operands are preferred.
fn modrm(random: &mut Random, info: &OpCodeInfo) -> u8 {
    let mut modrm = (random.next() >> 32) as u8;
    if let Ok(group) = u8::try_from(info.group_index()) {
        modrm = modrm & 0xC7 | group << 3;
    }
    if let Ok(group) = u8::try_from(info.rm_group_index()) {
        modrm = modrm & 0xF8 | group;
    }
    modrm
}

fn legacy(random: &mut Random, info: &OpCodeInfo, bytes: &mut Vec<u8>) {
    // Prefixes that have another meaning here, or none.
    match random.below(40) {
        0 | 1 => bytes.push(0x67),
        2 => bytes.push(0x64),
        3 => bytes.push([0x26, 0x2E, 0x36, 0x3E][random.below(4) as usize]),
        4 => bytes.push([0xF2, 0xF3][random.below(2) as usize]),
        5 => bytes.push(0x66),
        _ => {}
    }
    if info.can_use_lock_prefix() && random.below(3) == 0 {
        bytes.push(0xF0);
    }
    if (info.can_use_rep_prefix() || info.can_use_repne_prefix()) && random.below(2) == 0 {
        bytes.push([0xF2, 0xF3][random.below(2) as usize]);
    }
    if info.address_size() == 32 {
        bytes.push(0x67);
    }
    if info.operand_size() == 16 {
        bytes.push(0x66);
    }
    match info.mandatory_prefix() {
        MandatoryPrefix::P66 => bytes.push(0x66),
        MandatoryPrefix::PF3 => bytes.push(0xF3),
        MandatoryPrefix::PF2 => bytes.push(0xF2),
        _ => {}
    }
    let wide = info.operand_size() == 64 || info.w() == 1;
    let rex = 0x40 | (random.next() >> 40) as u8 & 7 | if wide { 8 } else { 0 };
    if wide || random.below(2) == 0 {
        bytes.push(rex);
    }
    match info.table() {
        OpCodeTableKind::T0F => bytes.push(0x0F),
        OpCodeTableKind::T0F38 => bytes.extend([0x0F, 0x38]),
        OpCodeTableKind::T0F3A => bytes.extend([0x0F, 0x3A]),
        _ => {}
    }
    if info.encoding() == EncodingKind::D3NOW {
        bytes.push(0x0F);
    }
}

/// Returns the bits of the mandatory prefix.
fn prefix(info: &OpCodeInfo) -> u8 {
    match info.mandatory_prefix() {
        MandatoryPrefix::P66 => 1,
        MandatoryPrefix::PF3 => 2,
        MandatoryPrefix::PF2 => 3,
        _ => 0,
    }
}

fn table(info: &OpCodeInfo) -> u8 {
    match info.table() {
        OpCodeTableKind::T0F => 1,
        OpCodeTableKind::T0F38 => 2,
        OpCodeTableKind::T0F3A => 3,
        OpCodeTableKind::MAP5 => 5,
        OpCodeTableKind::MAP6 => 6,
        OpCodeTableKind::MAP8 => 8,
        OpCodeTableKind::MAP9 => 9,
        OpCodeTableKind::MAP10 => 10,
        _ => 0,
    }
}

fn segment_or_size(random: &mut Random, bytes: &mut Vec<u8>) {
    match random.below(40) {
        0 => bytes.push(0x67),
        1 => bytes.push(0x64),
        2 => bytes.push(0x3E),
        _ => {}
    }
}

fn vex(random: &mut Random, form: &Form, bytes: &mut Vec<u8>) {
    let info = form.info;
    segment_or_size(random, bytes);
    let bits = random.next() >> 20;
    let second = operands(random, form);
    let low = (info.l() as u8 & 1) << 2 | prefix(info);
    let low = if info.is_lig() {
        low ^ (bits as u8 & 4)
    } else {
        low
    };
    let short = info.encoding() == EncodingKind::VEX
        && info.table() == OpCodeTableKind::T0F
        && (info.w() == 0 || info.is_wig())
        && bits & 0x100 != 0;
    if short {
        bytes.extend([0xC5, bits as u8 & 0x80 | second << 3 | low]);
        return;
    }
    let wide = if info.is_wig() {
        bits & 0x200 != 0
    } else {
        info.w() == 1
    };
    let first = if info.encoding() == EncodingKind::XOP {
        0x8F
    } else {
        0xC4
    };
    bytes.extend([
        first,
        bits as u8 & 0xE0 | table(info),
        u8::from(wide) << 7 | second << 3 | low,
    ]);
}

/// Returns the register in the prefix; all ones for none.
fn operands(random: &mut Random, form: &Form) -> u8 {
    if form.named {
        random.below(16) as u8
    } else {
        15
    }
}

fn evex(random: &mut Random, form: &Form, bytes: &mut Vec<u8>) {
    let info = form.info;
    segment_or_size(random, bytes);
    let bits = random.next() >> 16;
    let wide = if info.is_wig() {
        bits & 1 != 0
    } else {
        info.w() == 1
    };
    let second = operands(random, form);
    let length = if info.is_lig() {
        (bits >> 1) as u8 & 3
    } else {
        info.l() as u8
    };
    let mask = if info.can_use_op_mask_register() {
        (bits >> 4) as u8 & 7
    } else {
        0
    };
    let zero = info.can_use_zeroing_masking() && mask != 0 && bits & 0x100 != 0;
    let mut more = bits & 0x200 != 0
        && (info.can_broadcast()
            || info.can_use_rounding_control()
            || info.can_suppress_all_exceptions());
    more &= !form.gathers;
    let high = (bits >> 12) as u8 & 8;
    bytes.extend([
        0x62,
        (bits >> 16) as u8 & 0xF0 | table(info),
        u8::from(wide) << 7 | second << 3 | 4 | prefix(info),
        u8::from(zero) << 7 | length << 5 | u8::from(more) << 4 | high | mask,
    ]);
}
