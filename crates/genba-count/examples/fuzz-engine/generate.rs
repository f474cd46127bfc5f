//! Random sequences of instructions that may be run.

use iced_x86::{
    Code, Decoder, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// A small generator of random numbers (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}

/// Random bytes that are likely to be an instruction.
fn bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(3) {
        let prefixes = [0x66, 0xF2, 0xF3, 0x67, 0x2E, 0x3E, 0xF0, 0x64];
        let common = if random.below(8) == 0 { 8 } else { 3 };
        bytes.push(prefixes[random.below(common) as usize]);
    }
    match random.below(10) {
        0..=3 => {
            bytes.push(0x40 | random.below(16) as u8);
            bytes.push(random.next() as u8);
        }
        4 | 5 => {
            bytes.push(0x48 | random.below(8) as u8);
            bytes.push(0x0F);
        }
        6 => bytes.extend([0xC5, random.next() as u8]),
        7 => bytes.extend([
            0xC4,
            (0xE0 & random.next() as u8) | (1 + random.below(3) as u8),
            random.next() as u8,
        ]),
        8 => bytes.extend([
            0x62,
            (0xF0 & random.next() as u8) | (1 + random.below(3) as u8),
            random.next() as u8 | 4,
            random.next() as u8,
        ]),
        _ => bytes.push(random.next() as u8),
    }
    while bytes.len() < 15 {
        bytes.push((random.next() >> 24) as u8);
    }
    bytes
}

/// Whether an instruction does the same whenever it is run in the same state.
fn repeatable(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    if instruction.flow_control() != FlowControl::Next
        && !matches!(
            instruction.flow_control(),
            FlowControl::Exception | FlowControl::Interrupt
        )
    {
        return false;
    }
    if matches!(instruction.code(), Code::Int_imm8) {
        return false;
    }
    // Time, chance, the processor; what the engine has for itself; where x87 was last.
    if matches!(
        instruction.mnemonic(),
        Rdtsc
            | Rdtscp
            | Rdrand
            | Rdseed
            | Rdpid
            | Rdpmc
            | Cpuid
            | Xgetbv
            | Rdpru
            | Rdgsbase
            | Wrgsbase
            | Wrfsbase
            | Rdfsbase
            | Swapgs
            | Lgs
            | Lfs
            | Fnstenv
            | Fnsave
            | Fxsave
            | Fxsave64
            | Fldenv
            | Fstenv
            | Fsave
            | Frstor
            | Xsave
            | Xsave64
            | Xsavec
            | Xsavec64
            | Xsaveopt
            | Xsaveopt64
            | Xrstor
            | Xrstor64
            | Xsaves
            | Xsaves64
            | Fxrstor
            | Fxrstor64
            | Popf
            | Popfd
            | Popfq
            | Xbegin
            | Xend
            | Xabort
            | Xtest
            | Str
            | Sldt
            | Sgdt
            | Sidt
            | Smsw
            | Sysenter
            | Syscall
            | Mwait
            | Umwait
            | Tpause
            | Monitor
            | Monitorx
            | Mwaitx
            | Umonitor
            | Clzero
            | Wrpkru
            | Rdpkru
            | Rdsspd
            | Rdsspq
            | Int1
            | Invlpga
            | Skinit
            | Vmmcall
            | Vmcall
            | Senduipi
            | Ldtilecfg
            | Iret
            | Iretd
            | Iretq
    ) {
        return false;
    }
    let gs = instruction.segment_prefix() == Register::GS
        || instruction.segment_prefix() == Register::FS;
    let segments = (0..instruction.op_count()).any(|index| {
        instruction.op_kind(index) == OpKind::Register
            && instruction.op_register(index).is_segment_register()
    });
    // Refused by the engine: addresses relative to the instruction, cut to 32 bits.
    !gs && !segments && instruction.memory_base() != Register::EIP
}

/// Whether the stack pointer moves by more than pushes and pops do. What is left below it is
/// nobody's, and the two runs leave different things there, so it must stay where it is known.
fn moves_stack(instruction: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let writes = (factory.info(instruction).used_registers().iter()).any(|used| {
        used.register().full_register() == Register::RSP
            && matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
    });
    let simple = matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
        && (instruction.op0_kind() != OpKind::Register
            || instruction.op0_register().full_register() != Register::RSP);
    writes && !simple
}

/// An instruction for an address; memory that it names relative to itself is in the data.
fn instruction(random: &mut Random, at: u64, data: u64) -> Vec<u8> {
    loop {
        let mut raw = bytes(random);
        let mut decoder = Decoder::with_ip(64, &raw, at, 0);
        let decoded = decoder.decode();
        if decoded.is_invalid() || !repeatable(&decoded) || moves_stack(&decoded) {
            continue;
        }
        let offsets = decoder.get_constant_offsets(&decoded);
        raw.truncate(decoded.len());
        if offsets.displacement_size() == 4 {
            let place = offsets.displacement_offset();
            let near = random.below(4096) as u32;
            let value = if decoded.is_ip_rel_memory_operand() {
                (data + 16384 + u64::from(near)).wrapping_sub(decoded.next_ip()) as u32
            } else {
                near.wrapping_sub(2048)
            };
            raw[place..place + 4].copy_from_slice(&value.to_le_bytes());
        }
        return raw;
    }
}

/// A sequence for an address, without its end.
pub fn sequence(random: &mut Random, at: u64, data: u64) -> Vec<u8> {
    let mut code: Vec<u8> = Vec::new();
    for _ in 0..1 + random.below(10) {
        let here = at + code.len() as u64;
        // The next instruction, which some jump over.
        match random.below(24) {
            0 | 1 => {
                let next = instruction(random, here + 2, data);
                code.extend([0x70 | random.below(16) as u8, next.len() as u8]);
                code.extend(next);
            }
            2 => {
                let next = instruction(random, here + 2, data);
                code.extend([0xE0 | random.below(4) as u8, next.len() as u8]);
                code.extend(next);
            }
            // call +0
            3 => code.extend([0xE8, 0, 0, 0, 0]),
            // lea rdx, [rip + 3]; call rdx over nothing
            4 => code.extend([0x48, 0x8D, 0x15, 2, 0, 0, 0, 0xFF, 0xD2]),
            // lea rcx, [rip + 2]; jmp rcx
            5 => code.extend([0x48, 0x8D, 0x0D, 2, 0, 0, 0, 0xFF, 0xE1]),
            // lea rax, [rip + 2]; push rax; ret
            6 => code.extend([0x48, 0x8D, 0x05, 2, 0, 0, 0, 0x50, 0xC3]),
            // A system call that there is not.
            7 => code.extend([0x48, 0xC7, 0xC0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x05]),
            // jmp +0; call over it and back: call +2; jmp +1; ret
            8 => code.extend([0xE8, 2, 0, 0, 0, 0xEB, 1, 0xC3]),
            _ => {
                let next = instruction(random, here, data);
                code.extend(next);
            }
        }
    }
    code
}
