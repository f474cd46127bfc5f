//! Random cycles through memory, for load-to-use latency.
//!
//! Each line of 64 bytes holds the address of the next. The order is one full cycle (a linear
//! congruential generator modulo a power of two, Hull and Dobell 1962) whose numbers are then
//! mixed by a bijection, so that neither prefetchers nor a small period help, and which can be
//! written in the order of addresses.

/// Bytes of a line.
pub(crate) const LINE: usize = 64;

/// A permutation of `0..2^bits` that is one cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycle {
    mask: u64,
    bits: u32,
}

impl Cycle {
    /// The cycle over the largest power of two that is not above `lines` (at least 1).
    pub(crate) fn within(lines: usize) -> Self {
        let bits = (lines as u64).max(1).ilog2();
        Self {
            mask: (1 << bits) - 1,
            bits,
        }
    }

    /// How many lines it visits.
    pub(crate) fn lines(self) -> usize {
        self.mask as usize + 1
    }

    /// The line visited after this one.
    pub(crate) fn after(self, line: u64) -> u64 {
        let step = self
            .unmix(line)
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        self.mix(step & self.mask)
    }

    fn shift(self) -> u32 {
        self.bits.div_ceil(2).max(1)
    }

    fn mix(self, value: u64) -> u64 {
        let value = value ^ (value >> self.shift());
        let value = value.wrapping_mul(MULTIPLIER) & self.mask;
        value ^ (value >> self.shift())
    }

    /// A shift by at least half the bits undoes itself; an odd factor has an inverse.
    fn unmix(self, value: u64) -> u64 {
        let value = value ^ (value >> self.shift());
        let value = value.wrapping_mul(inverse(MULTIPLIER)) & self.mask;
        value ^ (value >> self.shift())
    }

    /// Writes the cycle into memory that starts at the address `base`.
    pub(crate) fn write(self, bytes: &mut [u8], base: u64) {
        for (line, place) in bytes.chunks_exact_mut(LINE).take(self.lines()).enumerate() {
            let next = base + self.after(line as u64) * LINE as u64;
            place[..8].copy_from_slice(&next.to_le_bytes());
        }
    }
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Newton's iteration modulo 2^64.
const fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    let mut round = 0;
    while round < 5 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
        round += 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_is_one_cycle_through_all_lines() {
        for bits in 0..=14 {
            let cycle = Cycle::within(1 << bits);
            let (mut line, mut seen) = (0, 0);
            loop {
                line = cycle.after(line);
                seen += 1;
                assert!(line < 1 << bits);
                if line == 0 {
                    break;
                }
            }
            assert_eq!(seen, 1 << bits, "{bits} bits");
        }
    }

    #[test]
    fn consecutive_lines_are_far_apart() {
        let cycle = Cycle::within(1 << 12);
        let near = (0..1 << 12).filter(|&line| cycle.after(line).abs_diff(line) < 64);
        // By chance about one in 32.
        assert!(near.count() < 4096 / 8);
    }

    #[test]
    fn writing_stays_within_the_region() {
        let mut bytes = vec![0; LINE * 100];
        Cycle::within(100).write(&mut bytes, 0x1000);
        assert!(bytes[64 * LINE..].iter().all(|&byte| byte == 0));
    }
}
