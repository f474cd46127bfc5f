//! Emitting machine code for a known address.

use alloc::vec::Vec;

use iced_x86::{Decoder, EncodingKind, Instruction, OpKind, Register};

/// An instruction's operand is out of reach from where the instruction is to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFar;

/// Machine code that will be at `base`.
#[derive(Default)]
pub struct Emitter {
    /// Address of the first byte.
    pub base: u64,
    /// The code.
    pub code: Vec<u8>,
}

impl Emitter {
    /// Address of the next byte.
    #[must_use]
    pub fn here(&self) -> u64 {
        self.base + self.code.len() as u64
    }

    /// Offset of the next byte.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.code.len()
    }

    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// Appends a 32-bit number.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// `op gs:[offset], register` (or the reverse), 64 bits.
    fn gs(&mut self, opcode: u8, register: u8, offset: u32) {
        let rex = 0x48 | (register >> 3) << 2;
        self.bytes(&[0x65, rex, opcode, (register & 7) << 3 | 4, 0x25]);
        self.u32(offset);
    }

    /// `mov gs:[offset], register`
    pub fn store(&mut self, register: u8, offset: u32) {
        self.gs(0x89, register, offset);
    }

    /// `mov register, gs:[offset]`
    pub fn load(&mut self, register: u8, offset: u32) {
        self.gs(0x8B, register, offset);
    }

    /// `inc qword ptr gs:[offset]`
    pub fn increment(&mut self, offset: u32) {
        self.bytes(&[0x65, 0x48, 0xFF, 0x04, 0x25]);
        self.u32(offset);
    }

    /// `lea register, [register + 1]`
    pub fn add_one(&mut self, register: u8) {
        let high = register >> 3;
        let low = register & 7;
        self.bytes(&[0x48 | high | high << 2, 0x8D, 0x40 | low << 3 | low]);
        if low == 4 {
            self.bytes(&[0x24]);
        }
        self.bytes(&[1]);
    }

    /// `mov dword ptr gs:[offset], value`
    pub fn store_number(&mut self, offset: u32, value: u32) {
        self.bytes(&[0x65, 0xC7, 0x04, 0x25]);
        self.u32(offset);
        self.u32(value);
    }

    /// `jmp gs:[offset]`
    pub fn jump_vector(&mut self, offset: u32) {
        self.bytes(&[0x65, 0xFF, 0x24, 0x25]);
        self.u32(offset);
    }

    /// Makes rcx 0 if it is `value`, and not 0 otherwise; the flags stay unchanged.
    pub fn compare_rcx(&mut self, value: u64) {
        // lea rcx, [rcx - …] subtracts the lower 32 bits; rorx rcx, rcx, 32 and lea the upper ones.
        let first = (value as i32).wrapping_neg();
        let rest = value.wrapping_add(i64::from(first) as u64);
        self.bytes(&[0x48, 0x8D, 0x89]);
        self.u32(first as u32);
        if rest != 0 {
            self.bytes(&[0xC4, 0xE3, 0xFB, 0xF0, 0xC9, 0x20, 0x48, 0x8D, 0x89]);
            self.u32(((rest >> 32) as u32).wrapping_neg());
        }
    }

    /// Emits `nop`s until the `length` bytes that come after `before` more do not cross a cache
    /// line, so that one store can change them while other threads execute them.
    pub fn keep_in_line(&mut self, before: u64, length: u64) {
        while ((self.here() + before) & 63) + length > 64 {
            self.bytes(&[0x90]);
        }
    }

    /// Sets the 32-bit displacement at offset `at` so that it leads to the address `to`.
    ///
    /// # Errors
    /// When it is more than 2 GiB away.
    pub fn aim(&mut self, at: usize, to: u64) -> Result<(), TooFar> {
        let from = self.base + at as u64 + 4;
        let displacement = i32::try_from(to.wrapping_sub(from) as i64).map_err(|_| TooFar)?;
        self.code[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        Ok(())
    }

    /// Copies an instruction; an operand relative to rip keeps its address.
    ///
    /// # Errors
    /// When that is more than 2 GiB away.
    pub fn copy(&mut self, instruction: &Instruction, raw: &[u8]) -> Result<(), TooFar> {
        let at = self.offset();
        self.bytes(raw);
        if instruction.is_ip_rel_memory_operand() {
            let place = displacement_at(instruction, raw).ok_or(TooFar)?;
            self.aim_relative(
                at + place,
                instruction.memory_displacement64(),
                at + raw.len(),
            )?;
        }
        Ok(())
    }

    /// Copies an instruction without the lock prefix that it begins with.
    ///
    /// # Errors
    /// As [`Self::copy`].
    pub fn copy_without_lock(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
    ) -> Result<(), TooFar> {
        const LOCK: u8 = 0xF0;
        let Some((&LOCK, rest)) = raw.split_first() else {
            return self.copy(instruction, raw);
        };
        let plain = Decoder::with_ip(64, rest, instruction.ip() + 1, 0).decode();
        self.copy(&plain, rest)
    }

    fn aim_relative(&mut self, at: usize, to: u64, next: usize) -> Result<(), TooFar> {
        let from = self.base + next as u64;
        let displacement = i32::try_from(to.wrapping_sub(from) as i64).map_err(|_| TooFar)?;
        self.code[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        Ok(())
    }

    /// `mov rcx, OPERAND`, with the operand of an indirect jump or call.
    ///
    /// # Errors
    /// When an address relative to the instruction is more than 2 GiB away.
    pub fn load_target(&mut self, instruction: &Instruction, raw: &[u8]) -> Result<(), TooFar> {
        // [prefixes] [REX] FF ModRM [SIB] [displacement] → the same with 8B and rcx.
        let mut rex = 0x48;
        let mut at = 0;
        while let Some(&byte) = raw.get(at) {
            match byte {
                // %fs, %gs and 32-bit addresses; other prefixes have no effect here.
                0x64 | 0x67 => self.bytes(&[byte]),
                0x26 | 0x2E | 0x36 | 0x3E | 0x65 | 0x66 | 0xF2 | 0xF3 => {}
                0x40..=0x4F => rex |= byte & 3,
                _ => break,
            }
            at += 1;
        }
        let modrm = raw.get(at + 1).copied().ok_or(TooFar)?;
        self.bytes(&[rex, 0x8B, modrm & 0b1100_0111 | 1 << 3]);
        let rest = self.offset();
        self.bytes(raw.get(at + 2..).unwrap_or_default());
        if instruction.is_ip_rel_memory_operand() {
            let next = self.offset();
            self.aim_relative(rest, instruction.memory_displacement64(), next)?;
        }
        Ok(())
    }
}

/// Offset in an instruction of its rip-relative displacement.
fn displacement_at(instruction: &Instruction, raw: &[u8]) -> Option<usize> {
    debug_assert_eq!(instruction.memory_base(), Register::RIP);
    displacement_before_immediates(instruction, raw)
        .or_else(|| decoded_displacement(instruction, raw))
}

/// Where the displacement is in nearly all encodings: before the immediate operands, at the end. `None`
/// if it does not lead to the operand from there. Not so where an operand of one byte is implied, or a
/// register in the immediate; bytes next to the displacement are equal to it only if all four are.
fn displacement_before_immediates(instruction: &Instruction, raw: &[u8]) -> Option<usize> {
    if instruction.encoding() == EncodingKind::D3NOW {
        return None;
    }
    let all_bytes_equal = |bytes: [u8; 4]| bytes.iter().all(|&byte| byte == bytes[0]);
    let immediates: usize = (0..instruction.op_count())
        .map(|operand| match instruction.op_kind(operand) {
            OpKind::Immediate8
            | OpKind::Immediate8_2nd
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64 => 1,
            OpKind::Immediate16 => 2,
            OpKind::Immediate32 | OpKind::Immediate32to64 => 4,
            OpKind::Immediate64 => 8,
            _ => 0,
        })
        .sum();
    let at = raw.len().checked_sub(immediates + 4)?;
    let bytes = raw.get(at..at + 4)?.try_into().ok()?;
    if all_bytes_equal(bytes) {
        return None;
    }
    let distance = i64::from(i32::from_le_bytes(bytes)) as u64;
    let leads_to = instruction.next_ip().wrapping_add(distance);
    (leads_to == instruction.memory_displacement64()).then_some(at)
}

/// The same by decoding the instruction again, which takes longer.
fn decoded_displacement(instruction: &Instruction, raw: &[u8]) -> Option<usize> {
    let mut decoder = Decoder::with_ip(64, raw, instruction.ip(), 0);
    let again = decoder.decode();
    let offsets = decoder.get_constant_offsets(&again);
    let at = offsets.displacement_offset();
    (offsets.displacement_size() == 4 && at + 4 <= raw.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(code: &[u8], at: u64) -> Vec<String> {
        use iced_x86::{Formatter, IntelFormatter};
        let mut formatter = IntelFormatter::new();
        let decoder = Decoder::with_ip(64, code, at, 0);
        decoder
            .into_iter()
            .map(|instruction| {
                let mut text = String::new();
                formatter.format(&instruction, &mut text);
                text
            })
            .collect()
    }

    fn emitted(base: u64, emit: impl FnOnce(&mut Emitter)) -> Vec<String> {
        let mut emitter = Emitter {
            base,
            code: Vec::new(),
        };
        emit(&mut emitter);
        text(&emitter.code, base)
    }

    #[test]
    fn state_accesses_decode_to_the_documented_instructions() {
        assert_eq!(
            emitted(0, |e| {
                e.store(1, 0x18);
                e.load(13, 0x18);
                e.increment(0x40000);
                e.add_one(12);
                e.add_one(0);
                e.store_number(0x30, 7);
                e.jump_vector(0x50);
                e.compare_rcx(5);
                e.compare_rcx(0x7fff_8765_4321);
            }),
            [
                "mov gs:[18h],rcx",
                "mov r13,gs:[18h]",
                "inc qword ptr gs:[40000h]",
                "lea r12,[r12+1]",
                "lea rax,[rax+1]",
                "mov dword ptr gs:[30h],7",
                "jmp qword ptr gs:[50h]",
                "lea rcx,[rcx-5]",
                "lea rcx,[rcx+789ABCDFh]",
                "rorx rcx,rcx,20h",
                "lea rcx,[rcx-8000h]",
            ]
        );
    }

    #[test]
    fn compare_rcx_distinguishes_all_64_bits() {
        // Computes what the emitted instructions compute.
        let zero = |rcx: u64, value: u64| {
            let first = (value as i32).wrapping_neg();
            let rest = value.wrapping_add(i64::from(first) as u64);
            assert_eq!(rest as u32, 0);
            let rcx = rcx.wrapping_add(i64::from(first) as u64);
            if rest == 0 {
                return rcx == 0;
            }
            let high = ((rest >> 32) as u32).wrapping_neg() as i32;
            rcx.rotate_left(32).wrapping_add(i64::from(high) as u64) == 0
        };
        let values = [
            0x40_1000,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFF,
            0x5555_8000_0000,
            0x7F12_3456_789A,
            0x7FFF_FFFF_FFFF,
        ];
        for value in values {
            for other in values {
                assert_eq!(zero(other, value), other == value, "{other:x} {value:x}");
                for bit in 0..64 {
                    assert!(!zero(value ^ 1 << bit, value), "{value:x} {bit}");
                }
            }
        }
    }

    fn decoded(code: &[u8], at: u64) -> Instruction {
        Decoder::with_ip(64, code, at, 0).decode()
    }

    #[test]
    fn rip_relative_operands_keep_their_address() {
        // mov dword ptr [rip+0x100], 5 at 0x1000
        let raw = [0xC7, 0x05, 0, 1, 0, 0, 5, 0, 0, 0];
        let instruction = decoded(&raw, 0x1000);
        let lines = emitted(0x4000, |e| {
            e.copy(&instruction, &raw).expect("near");
        });
        assert_eq!(lines, ["mov dword ptr [110Ah],5"]);
        let mut far = Emitter {
            base: 0x2_0000_0000,
            code: Vec::new(),
        };
        assert_eq!(far.copy(&instruction, &raw), Err(TooFar));
    }

    #[test]
    fn operands_keep_their_address_without_the_lock_prefix() {
        // lock add dword ptr [rip+0x100], 1 at 0x1000
        let raw = [0xF0, 0x83, 0x05, 0, 1, 0, 0, 1];
        let instruction = decoded(&raw, 0x1000);
        let lines = emitted(0x4000, |e| {
            e.copy_without_lock(&instruction, &raw).expect("near");
        });
        assert_eq!(lines, ["add dword ptr [1108h],1"]);
    }

    #[test]
    fn displacements_are_found_without_decoding_again() {
        for raw in [
            // mov eax,[rip+…]; mov dword,imm32; mov word,imm16; add qword,imm8; add qword,imm32
            &[0x8B, 0x05, 1, 2, 3, 4][..],
            &[0xC7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x66, 0xC7, 0x05, 1, 2, 3, 4, 5, 6],
            &[0x48, 0x83, 0x05, 1, 2, 3, 4, 5],
            &[0x48, 0x81, 0x05, 1, 2, 3, 4, 5, 6, 7, 8],
            // mov byte,imm8; test byte,imm8; shl dword,1; imul; bt; pinsrw; palignr
            &[0xC6, 0x05, 1, 2, 3, 4, 4],
            &[0xF6, 0x05, 1, 2, 3, 4, 0],
            &[0xD1, 0x25, 1, 2, 3, 4],
            &[0x69, 0x05, 1, 2, 3, 4, 1, 2, 3, 4],
            &[0x0F, 0xBA, 0x25, 1, 2, 3, 4, 5],
            &[0x66, 0x0F, 0xC4, 0x05, 1, 2, 3, 4, 5],
            &[0x66, 0x0F, 0x3A, 0x0F, 0x05, 1, 2, 3, 4, 5],
            // vpshufd ymm0,[rip+…],5; vblendvps with a register in the immediate; lea
            &[0xC5, 0xFD, 0x70, 0x05, 1, 2, 3, 4, 5],
            &[0xC4, 0xE3, 0x71, 0x4A, 0x05, 1, 2, 3, 4, 0x20],
            &[0x48, 0x8D, 0x3D, 1, 2, 3, 4],
            // Displacements of equal bytes, and one below zero: add, shl.
            &[0x48, 0x83, 0x05, 5, 5, 5, 5, 5],
            &[0xD1, 0x25, 0x25, 0x25, 0x25, 0x25],
            &[0x8B, 0x05, 0xF8, 0xFF, 0xFF, 0xFF],
        ] {
            let instruction = decoded(raw, 0x1000);
            assert!(instruction.is_ip_rel_memory_operand(), "{raw:x?}");
            let found = decoded_displacement(&instruction, raw);
            let at = displacement_at(&instruction, raw);
            assert!(
                found.is_some() && at == found,
                "{raw:x?}: {at:?}, {found:?}"
            );
            let fast = displacement_before_immediates(&instruction, raw);
            assert!(fast.is_none() || fast == found, "{raw:x?}: {fast:?}");
        }
        let add = [0x48, 0x83, 0x05, 1, 2, 3, 4, 5];
        let found = displacement_before_immediates(&decoded(&add, 0x1000), &add);
        assert_eq!(found, Some(3));
        // pfadd mm0,[rip+…]: its opcode follows the displacement.
        let raw = [0x0F, 0x0F, 0x05, 0x9E, 0x9E, 0x9E, 0x9E, 0x9E];
        let instruction = decoded(&raw, 0x1000);
        assert_eq!(displacement_before_immediates(&instruction, &raw), None);
    }

    #[test]
    fn load_target_loads_the_operand_of_an_indirect_branch() {
        for (raw, expected) in [
            (&[0xFF, 0xD0][..], "mov rcx,rax"),
            (&[0x41, 0xFF, 0xE3], "mov rcx,r11"),
            (&[0x3E, 0xFF, 0xE0], "mov rcx,rax"),
            (&[0xF2, 0xFF, 0x25, 0, 1, 0, 0], "mov rcx,[1107h]"),
            (&[0x42, 0xFF, 0x14, 0xC8], "mov rcx,[rax+r9*8]"),
            (&[0xFF, 0x54, 0x24, 8], "mov rcx,[rsp+8]"),
            (&[0x64, 0xFF, 0x14, 0x25, 0x10, 0, 0, 0], "mov rcx,fs:[10h]"),
            (&[0x43, 0xFF, 0x64, 0xEC, 0x20], "mov rcx,[r12+r13*8+20h]"),
        ] {
            let instruction = decoded(raw, 0x1000);
            let lines = emitted(0x9000, |e| {
                e.load_target(&instruction, raw).expect("near");
            });
            assert_eq!(lines, [expected]);
        }
    }

    #[test]
    fn displacements_that_are_linked_later_do_not_cross_cache_lines() {
        for start in 0..64 {
            let mut emitter = Emitter {
                base: 0x1000 + start,
                code: Vec::new(),
            };
            emitter.keep_in_line(1, 4);
            let first = emitter.here() + 1;
            assert_eq!(first / 64, (first + 3) / 64);
        }
    }
}
