//! Vector and x87 registers: random contents, and a hash of what is observable.

use crate::fault_observer::hash;
use crate::random_sequence::Random;

/// Offsets and sizes of components in the `xsave` area.
pub struct Layout {
    offsets: [usize; 10],
    sizes: [usize; 10],
    enabled: u8,
}

impl Layout {
    pub fn new() -> Self {
        let mut layout = Self {
            offsets: [0; 10],
            sizes: [0; 10],
            // SAFETY: every processor with xsave has it.
            enabled: unsafe { core::arch::x86_64::_xgetbv(0) } as u8 & 0xE7,
        };
        for component in [2usize, 5, 6, 7] {
            let found = core::arch::x86_64::__cpuid_count(0xD, component as u32);
            layout.offsets[component] = found.ebx as usize;
            layout.sizes[component] = found.eax as usize;
        }
        layout
    }

    /// Fills registers with random numbers, small numbers (for addresses in vectors), or anything.
    pub fn fill(&self, random: &mut Random, area: &mut [u8; 4096]) {
        for word in area.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next().to_le_bytes());
        }
        area[..32].fill(0);
        let mut control = 0x37Fu16;
        let mut mxcsr = 0x1F80u32;
        if random.below(4) == 0 {
            control = 0x3F | (random.next() as u16 & 0xF00);
            mxcsr |= random.next() as u32 & 0xE040;
        }
        area[0..2].copy_from_slice(&control.to_le_bytes());
        area[4] = if random.below(4) == 0 {
            random.next() as u8
        } else {
            0
        };
        area[24..28].copy_from_slice(&mxcsr.to_le_bytes());
        area[512..576].fill(0);
        area[512] = self.enabled;
        // Registers 0 to 31, in the parts that the components have.
        for register in 0..32usize {
            let mask = match random.below(6) {
                0..=2 => 0x0000_01F8_0000_01F8u64,
                3 => 0x0000_0000_0000_0FF8,
                _ => continue,
            };
            let mut instructions = Vec::with_capacity(4);
            if register < 16 {
                instructions.push((160 + register * 16, 16));
                instructions.push((self.offsets[2] + register * 16, 16));
                instructions.push((self.offsets[6] + register * 32, 32));
            } else {
                instructions.push((self.offsets[7] + (register - 16) * 64, 64));
            }
            for (at, size) in instructions {
                let Some(piece) = area.get_mut(at..at + size).filter(|_| at >= 160) else {
                    continue;
                };
                for word in piece.chunks_exact_mut(8) {
                    let value = u64::from_le_bytes(word.try_into().unwrap_or_default()) & mask;
                    word.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }

    /// Hashes saved registers. A component that is not in use has its initial value, whatever the
    /// area has; whether a component with its initial value is in use depends on signals.
    pub fn hash(&self, area: &mut [u8; 4096]) -> u64 {
        let used = area[512];
        let unused = |component: usize| used >> component & 1 == 0;
        if unused(0) {
            area[..24].fill(0);
            area[..2].copy_from_slice(&0x37Fu16.to_le_bytes());
            area[32..160].fill(0);
        }
        if unused(1) {
            area[160..416].fill(0);
        }
        let mut sum = hash(&area[..416]);
        for component in [2, 5, 6, 7] {
            let from = self.offsets[component];
            if let Some(part) = area.get_mut(from..from + self.sizes[component]) {
                if unused(component) {
                    part.fill(0);
                }
                sum = sum.rotate_left(7) ^ hash(part);
            }
        }
        sum
    }
}
