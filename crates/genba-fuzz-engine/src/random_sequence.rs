//! Generates random instruction sequences that can be executed.

mod branches;

use iced_x86::{
    Decoder, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use crate::instruction_forms::{self, Form, Kind};

/// Random numbers that follow from a seed, the same on every machine.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.random_range(0..limit)
    }
}

/// Registers that have addresses of data at first, a bit each: rbx rbp rsi rdi r8 r9 r12 r13 r14.
pub const ADDRESSES: u32 = 0b0111_0011_1110_1000;
const RSP: u32 = 1 << 4;
/// Maximum size of a sequence, with its end.
pub const MAX_BYTES: usize = 480;

/// The forms of instructions to choose from.
pub struct Forms {
    by_kind: [Vec<Form>; 4],
    /// Forms that the processor does not have.
    pub missing: Vec<Form>,
}

impl Forms {
    /// Returns a choice from forms that the processor has, and rarely from those that it does not.
    pub fn new(has: &[Form], missing: Vec<Form>) -> Self {
        let of = |kind: Kind| {
            has.iter()
                .filter(|form| form.kind == kind)
                .copied()
                .collect()
        };
        Self {
            by_kind: [Kind::General, Kind::Media, Kind::Vex, Kind::Evex].map(of),
            missing,
        }
    }

    fn choose(&self, random: &mut Random) -> &Form {
        let kind = match random.below(100) {
            0 if !self.missing.is_empty() => {
                return &self.missing[random.below(self.missing.len() as u64) as usize];
            }
            0..=52 => 0,
            53..=67 => 1,
            68..=82 => 2,
            _ => 3,
        };
        let kind = if self.by_kind[kind].is_empty() {
            0
        } else {
            kind
        };
        let forms = &self.by_kind[kind];
        &forms[random.below(forms.len() as u64) as usize]
    }
}

/// An instruction sequence.
pub struct Sequence {
    /// Code, without its end.
    pub code: Vec<u8>,
    /// Offsets at which instructions begin.
    pub starts: Vec<u16>,
    /// Offsets of instructions that may be jumped over.
    pub maybe_skipped: Vec<u16>,
    /// Whether memory below the stack pointer may be compared: nothing was called.
    pub whole_stack: bool,
}

/// Where a sequence will be.
#[derive(Clone, Copy)]
pub struct SequencePlace {
    /// Address of the sequence.
    pub at: u64,
    /// Middle of the data.
    pub data: u64,
    /// Whether it will be single-stepped: no system calls, nothing that reads the trap flag.
    pub plain: bool,
}

struct SequenceBuilder<'a> {
    random: &'a mut Random,
    forms: &'a Forms,
    factory: &'a mut InstructionInfoFactory,
    place: SequencePlace,
    code: Vec<u8>,
    starts: Vec<u16>,
    maybe_skipped: Vec<u16>,
    /// Registers that probably have addresses, a bit each.
    addresses: u32,
    /// Whether the stack pointer may be anywhere.
    moved: bool,
    calls: bool,
}

/// Generates a sequence for an address.
pub fn sequence(
    random: &mut Random,
    forms: &Forms,
    factory: &mut InstructionInfoFactory,
    place: SequencePlace,
) -> Sequence {
    let calls = random.below(2) == 0;
    let mut maker = SequenceBuilder {
        random,
        forms,
        factory,
        place,
        code: Vec::new(),
        starts: Vec::new(),
        maybe_skipped: Vec::new(),
        addresses: ADDRESSES,
        moved: false,
        calls,
    };
    for _ in 0..2 + maker.random.below(14) {
        if maker.code.len() > MAX_BYTES - 200 {
            break;
        }
        maker.piece();
    }
    Sequence {
        code: maker.code,
        starts: maker.starts,
        maybe_skipped: maker.maybe_skipped,
        whole_stack: !calls,
    }
}

/// Returns the registers that an instruction reads and writes, a bit each.
fn registers(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> (u32, u32) {
    let (mut read, mut written) = (0, 0);
    for used in factory.info(instruction).used_registers() {
        let full = used.register().full_register();
        if !full.is_gpr64() {
            continue;
        }
        let bit = 1 << full.number();
        match used.access() {
            OpAccess::Read | OpAccess::CondRead => read |= bit,
            OpAccess::Write | OpAccess::CondWrite => written |= bit,
            OpAccess::None | OpAccess::NoMemAccess => {}
            _ => {
                read |= bit;
                written |= bit;
            }
        }
    }
    (read, written)
}

impl SequenceBuilder<'_> {
    fn here(&self) -> u64 {
        self.place.at + self.code.len() as u64
    }

    /// Appends an instruction.
    fn put(&mut self, bytes: &[u8]) {
        self.starts.push(self.code.len() as u16);
        self.code.extend_from_slice(bytes);
    }

    fn piece(&mut self) {
        match self.random.below(40) {
            0..=2 => self.skip_if(),
            3 => self.skip_by_count(),
            4 | 5 => self.repeat(),
            6 => self.jump_indirect(),
            7 if !self.place.plain => self.syscall(),
            8 if !self.place.plain && !self.moved => self.flags(),
            9..=11 if self.calls => self.call(),
            12 if self.calls => self.call_indirect(),
            9 | 10 if !self.calls => self.failing_call(),
            13 if self.random.below(8) == 0 => {
                // More instructions than a block may have.
                for _ in 0..70 {
                    self.put(&[0x90]);
                }
            }
            _ => {
                let (bytes, _) = self.instruction(0);
                self.put(&bytes);
            }
        }
    }

    /// Generates an instruction that does not write one of these registers.
    fn instruction(&mut self, kept: u32) -> (Vec<u8>, Instruction) {
        loop {
            let at = self.here();
            let form = self.forms.choose(self.random);
            let Some((mut raw, decoded)) = instruction_forms::make(self.random, form, at) else {
                continue;
            };
            let (read, written) = registers(self.factory, &decoded);
            if written & kept != 0 || !self.may_be(&decoded, read, written) {
                continue;
            }
            let base = decoded.memory_base();
            let index = decoded.memory_index();
            let memory = (0..decoded.op_count()).any(|op| decoded.op_kind(op) == OpKind::Memory);
            if memory && self.random.below(8) != 0 {
                let bit = |register: Register| match register.full_register() {
                    full if full.is_gpr64() => 1u32 << full.number(),
                    _ => 0,
                };
                let wrong_index = bit(index) & self.addresses != 0;
                let known = matches!(base, Register::RIP | Register::None);
                let based = bit(base) & (self.addresses | RSP) != 0;
                if wrong_index || !(known || based) {
                    continue;
                }
            }
            self.aim(&mut raw, &decoded);
            let simple = matches!(decoded.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
                && (decoded.op0_kind() != OpKind::Register
                    || decoded.op0_register().full_register() != Register::RSP);
            self.moved |= written & RSP != 0 && !simple;
            self.addresses &= !written;
            return (raw, decoded);
        }
    }

    /// Whether an instruction may be in this sequence. Where something is called, what is below
    /// the stack pointer is nobody's and must not be read.
    fn may_be(&self, decoded: &Instruction, read: u32, written: u32) -> bool {
        let pushes_flags = matches!(
            decoded.mnemonic(),
            Mnemonic::Pushf | Mnemonic::Pushfd | Mnemonic::Pushfq
        );
        let traps = decoded.flow_control() != FlowControl::Next;
        // What the kernel does in the processor's place it does not step.
        let emulated = matches!(
            decoded.mnemonic(),
            Mnemonic::Sldt | Mnemonic::Str | Mnemonic::Smsw | Mnemonic::Sgdt | Mnemonic::Sidt
        );
        if self.place.plain && (pushes_flags || traps || emulated) {
            return false;
        }
        // A count that a system call or the like left huge goes through the whole stack.
        let repeats = decoded.is_string_instruction()
            && (decoded.has_rep_prefix() || decoded.has_repne_prefix());
        if self.calls && repeats {
            return false;
        }
        if !self.calls || (read | written) & RSP == 0 {
            return true;
        }
        let pushes = matches!(decoded.mnemonic(), Mnemonic::Push | Mnemonic::Pop);
        let operand = decoded.op_count() > 0
            && decoded.op0_kind() == OpKind::Register
            && decoded.op0_register().full_register() == Register::RSP;
        let based = decoded.memory_base() == Register::RSP;
        if pushes && !operand && !based {
            return true;
        }
        let above = based
            && decoded.memory_index() == Register::None
            && (0..4096).contains(&(decoded.memory_displacement64() as i64));
        let explicit = (0..decoded.op_count()).any(|op| {
            decoded.op_kind(op) == OpKind::Register
                && decoded.op_register(op).full_register() == Register::RSP
        });
        above && !explicit && written & RSP == 0 && decoded.mnemonic() != Mnemonic::Lea
    }

    /// Sets displacements of 4 and 8 bytes so that they address the data.
    fn aim(&mut self, raw: &mut [u8], decoded: &Instruction) {
        let mut decoder = Decoder::with_ip(64, raw, decoded.ip(), 0);
        let again = decoder.decode();
        let offsets = decoder.get_constant_offsets(&again);
        let place = offsets.displacement_offset();
        let near = self.random.below(4096);
        let alone = decoded.memory_base() == Register::None;
        match offsets.displacement_size() {
            4 => {
                let value = if decoded.is_ip_rel_memory_operand() {
                    (self.place.data - 2048 + near).wrapping_sub(decoded.next_ip()) as u32
                } else if alone && self.place.data < 1 << 31 {
                    (self.place.data - 2048 + near) as u32
                } else if decoded.memory_base() == Register::RSP {
                    near as u32
                } else {
                    near.wrapping_sub(2048) as u32
                };
                raw[place..place + 4].copy_from_slice(&value.to_le_bytes());
            }
            8 => {
                let value = self.place.data - 2048 + near;
                raw[place..place + 8].copy_from_slice(&value.to_le_bytes());
            }
            _ => {}
        }
    }

    /// Appends a conditional jump over the next instruction.
    fn skip_if(&mut self) {
        let condition = self.random.below(16) as u8;
        let long = self.random.below(3) == 0;
        let head = if long { 6 } else { 2 };
        let start = self.code.len();
        self.put(&vec![0; head]);
        let (next, _) = self.instruction(0);
        let length = next.len() as u8;
        self.maybe_skipped.push(self.code.len() as u16);
        self.put(&next);
        let jump = if long {
            vec![0x0F, 0x80 | condition, length, 0, 0, 0]
        } else {
            vec![0x70 | condition, length]
        };
        self.code[start..start + head].copy_from_slice(&jump);
    }

    /// Appends `loop`, `loope`, `loopne` or `jrcxz`, with 32 or 64 bits, over the next instruction.
    fn skip_by_count(&mut self) {
        let narrow = self.random.below(3) == 0;
        let opcode = 0xE0 | self.random.below(4) as u8;
        let start = self.code.len();
        let head = if narrow { 3 } else { 2 };
        self.put(&vec![0; head]);
        let (next, _) = self.instruction(0);
        let length = next.len() as u8;
        self.maybe_skipped.push(self.code.len() as u16);
        self.put(&next);
        let jump = if narrow {
            vec![0x67, opcode, length]
        } else {
            vec![opcode, length]
        };
        self.code[start..start + head].copy_from_slice(&jump);
    }

    /// Appends a short loop.
    fn repeat(&mut self) {
        let times = 1 + self.random.below(40) as u32;
        let register = [0u8, 1, 2, 10, 11, 15][self.random.below(6) as usize];
        let mut set = vec![0x40 | (register >> 3), 0xB8 | (register & 7)];
        set.extend(times.to_le_bytes());
        self.put(&set);
        self.addresses &= !(1 << register);
        let head = self.code.len();
        let kept = 1 << register;
        for _ in 0..1 + self.random.below(5) {
            if self.code.len() - head > 80 {
                break;
            }
            // Repeated instructions must not move the stack away.
            let (next, decoded) = self.instruction(kept | RSP);
            let traps = decoded.flow_control() != FlowControl::Next;
            if !traps {
                self.put(&next);
            }
        }
        // dec, sub or add in 32 or 64 bits; or loop.
        let rex = 0x40 | (register >> 3);
        let low = register & 7;
        if register == 1 && self.random.below(2) == 0 {
            let back = (head as i64 - self.code.len() as i64 - 2) as i8;
            let opcode = 0xE0 | self.random.below(3) as u8;
            self.put(&[opcode, back as u8]);
            return;
        }
        match self.random.below(3) {
            0 => self.put(&[rex | 8, 0xFF, 0xC8 | low]),
            1 => self.put(&[rex, 0x83, 0xE8 | low, 1]),
            _ => self.put(&[rex | 8, 0x83, 0xC0 | low, 0xFF]),
        }
        let back = head as i64 - self.code.len() as i64;
        if self.random.below(2) == 0 {
            self.put(&[0x75, (back - 2) as u8]);
        } else {
            let mut jump = vec![0x0F, 0x85];
            jump.extend(((back - 6) as i32).to_le_bytes());
            self.put(&jump);
        }
    }

    fn syscall(&mut self) {
        match self.random.below(3) {
            // An invalid system call.
            0 => self.put(&[0x48, 0xC7, 0xC0, 0xFF, 0xFF, 0xFF, 0xFF]),
            // sched_yield
            1 => self.put(&[0xB8, 24, 0, 0, 0]),
            // prctl(-1), which the engine intercepts.
            _ => {
                self.put(&[0xB8, 157, 0, 0, 0]);
                self.put(&[0xBF, 0xFF, 0xFF, 0xFF, 0xFF]);
                self.addresses &= !(1 << 7);
            }
        }
        self.put(&[0x0F, 0x05]);
        self.addresses &= !(1 | 1 << 1 | 1 << 11);
    }

    /// Appends `pushf`, a change of flags, `popf`. Alignment check may change; the trap flag must
    /// not, nor the identification flag, which any signal clears.
    fn flags(&mut self) {
        const MASK: u32 = 0x4_0CD5;
        let mut change = MASK & self.random.next() as u32;
        if self.random.below(4) != 0 {
            change &= !0x4_0000;
        }
        self.put(&[0x9C]);
        // xor dword ptr [rsp], …
        let mut xor = vec![0x81, 0x34, 0x24];
        xor.extend(change.to_le_bytes());
        self.put(&xor);
        // and dword ptr [rsp], …: if pushf failed, the word may be anything.
        let mut and = vec![0x81, 0x24, 0x24];
        and.extend((MASK | 0x202).to_le_bytes());
        self.put(&and);
        self.put(&[0x9D]);
    }
}
