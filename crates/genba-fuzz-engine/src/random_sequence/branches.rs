//! Generates indirect jumps, calls and returns.

use iced_x86::Register;

use super::{RSP, SequenceBuilder};

impl SequenceBuilder<'_> {
    /// Appends an instruction that loads the address `distance` bytes after it into a register.
    fn address_of(&mut self, register: u8, distance: u32) {
        let mut lea = vec![0x48 | (register >> 3) << 2, 0x8D, (register & 7) << 3 | 5];
        lea.extend(distance.to_le_bytes());
        self.put(&lea);
        self.addresses &= !(1 << register);
    }

    /// Returns `op [memory]` of the data, preceded by an instruction that stores a register there.
    fn through_memory(&mut self, register: u8, extension: u8) -> Vec<Vec<u8>> {
        let slot = self.place.data + 8 * self.random.below(256);
        let here = self.here();
        // mov [rip + …], register
        let mut store = vec![0x48 | (register >> 3) << 2, 0x89, (register & 7) << 3 | 5];
        let relative = |from: u64| (slot.wrapping_sub(from) as u32).to_le_bytes();
        // The lea before it has 7 bytes.
        store.extend(relative(here + 14));
        match self.random.below(4) {
            0 if slot < 1 << 31 => {
                let mut jump = vec![0xFF, extension << 3 | 4, 0x25];
                jump.extend((slot as u32).to_le_bytes());
                vec![store, jump]
            }
            1 => {
                // lea r10, [rip + …]; op [r10 + 8]
                let mut lea = vec![0x4C, 0x8D, 0x15];
                lea.extend(((slot - 8).wrapping_sub(here + 21) as u32).to_le_bytes());
                vec![store, lea, vec![0x41, 0xFF, extension << 3 | 0x42, 8]]
            }
            2 => {
                // lea r11, [rip + …]; xor eax, eax; op [r11 + rax * 8]
                let mut lea = vec![0x4C, 0x8D, 0x1D];
                lea.extend(relative(here + 21));
                let jump = vec![0x41, 0xFF, extension << 3 | 4, 0xC3];
                vec![store, lea, vec![0x31, 0xC0], jump]
            }
            _ => {
                let mut jump = vec![0xFF, extension << 3 | 5];
                jump.extend(relative(here + 20));
                vec![store, jump]
            }
        }
    }

    fn any_register(&mut self) -> u8 {
        [0u8, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15][self.random.below(15) as usize]
    }

    /// Appends an indirect jump to the next instruction, or over it.
    pub(super) fn jump_indirect(&mut self) {
        let register = self.any_register();
        let over = self.random.below(2) == 0;
        let notrack = self.random.below(8) == 0;
        let mut instructions = if self.random.below(2) == 0 {
            self.through_memory(register, 4)
        } else {
            let mut jump = vec![0xFF, 0xE0 | (register & 7)];
            if register >= 8 {
                jump.insert(0, 0x41);
            }
            if notrack {
                jump.insert(0, 0x3E);
            }
            vec![jump]
        };
        let mut distance: usize = instructions.iter().map(Vec::len).sum();
        if over {
            // The skipped instruction is not executed, so it may be any.
            let skipped = vec![0x0F, 0x0B];
            distance += skipped.len();
            instructions.push(skipped);
        }
        self.address_of(register, distance as u32);
        for instruction in instructions {
            if over && instruction == [0x0F, 0x0B] {
                self.maybe_skipped.push(self.code.len() as u16);
            }
            self.put(&instruction);
        }
        self.addresses &= !(1 << 10 | 1 << 11 | 1);
    }

    /// Appends calls and returns.
    pub(super) fn call(&mut self) {
        match self.random.below(5) {
            // call +0: only pushes.
            0 => self.put(&[0xE8, 0, 0, 0, 0]),
            // call over a jump to a return; jump over that.
            1 => {
                self.put(&[0xE8, 2, 0, 0, 0]);
                self.put(&[0xEB, 1]);
                self.put(&[0xC3]);
            }
            // The same with arguments popped.
            2 => {
                self.put(&[0x6A, 0x11]);
                self.put(&[0x50]);
                self.put(&[0xE8, 2, 0, 0, 0]);
                self.put(&[0xEB, 3]);
                self.put(&[0xC2, 16, 0]);
            }
            // Returns to what was pushed: lea rax, [rip + 2]; push rax; ret.
            3 => {
                self.address_of(0, 2);
                self.put(&[0x50]);
                self.put(&[0xC3]);
            }
            // call, an instruction, repz ret.
            _ => {
                let start = self.code.len();
                self.put(&[0xE8, 2, 0, 0, 0]);
                self.put(&[0xEB, 0]);
                let (next, decoded) = self.instruction(RSP);
                // A return to a non-canonical address faults at the target under the engine, and at
                // the return natively.
                let based = decoded.memory_base().full_register() == Register::RSP;
                let balanced = !decoded.is_stack_instruction() && !based;
                if balanced {
                    self.put(&next);
                }
                self.put(&[0xF3, 0xC3]);
                let length = (self.code.len() - start - 7) as u8;
                self.code[start + 6] = length;
            }
        }
    }

    /// Appends an indirect call of the instruction after it.
    pub(super) fn call_indirect(&mut self) {
        let register = self.any_register();
        let instructions = if self.random.below(2) == 0 {
            self.through_memory(register, 2)
        } else {
            let mut call = vec![0xFF, 0xD0 | (register & 7)];
            if register >= 8 {
                call.insert(0, 0x41);
            }
            vec![call]
        };
        let distance: usize = instructions.iter().map(Vec::len).sum();
        // Sometimes as a block that is the end of another: a jump over an instruction to the call.
        // With two jumps the shorter block is translated first, so that the longer one can reuse
        // its call.
        let (skip, over) = match instructions.as_slice() {
            [_] if self.random.below(2) == 0 => {
                let over = match self.random.below(2) {
                    0 => self.instruction(1 << register | RSP).0,
                    // test eax, eax: flags are dead before it.
                    _ => vec![0x85, 0xC0],
                };
                (2 + 2 * self.random.below(2) as usize, over)
            }
            _ => (0, Vec::new()),
        };
        self.address_of(register, (distance + skip + over.len()) as u32);
        if skip > 0 {
            let condition = self.random.below(16) as u8;
            if skip == 2 {
                self.put(&[0x70 | condition, over.len() as u8]);
            } else {
                self.put(&[0x70 | condition, 2]);
                self.maybe_skipped.push(self.code.len() as u16);
                self.put(&[0xEB, over.len() as u8]);
            }
            self.maybe_skipped.push(self.code.len() as u16);
            self.put(&over);
        }
        for instruction in instructions {
            self.put(&instruction);
        }
        self.addresses &= !(1 << 10 | 1 << 11 | 1);
    }

    /// Appends calls, returns and pushes where there is no stack: each faults, and is skipped.
    pub(super) fn failing_call(&mut self) {
        // mov r11, rsp; mov esp, 0x1230; …; mov rsp, r11
        self.put(&[0x49, 0x89, 0xE3]);
        self.put(&[0xBC, 0x30, 0x12, 0, 0]);
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(7) {
                0 => self.put(&[0xE8, 0, 0, 0, 0]),
                1 => self.put(&[0xFF, 0xD0]),
                2 => self.put(&[0xFF, 0x13]),
                3 => self.put(&[0xC3]),
                4 => self.put(&[0xC2, 8, 0]),
                5 => self.put(&[0x50]),
                _ => self.put(&[0xFF, 0x14, 0x25, 0x10, 0, 0, 0]),
            }
        }
        self.put(&[0x4C, 0x89, 0xDC]);
        self.addresses &= !(1 << 11);
    }
}
