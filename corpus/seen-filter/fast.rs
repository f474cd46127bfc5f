//! A Bloom filter that keeps a crawler from visiting pages twice.

struct Bloom {
    words: Vec<u64>,
    bits: u64,
}

impl Bloom {
    fn new(bits: u64) -> Self {
        assert!(bits.is_power_of_two(), "a mask takes the place of the division");
        Bloom { words: vec![0; bits.div_ceil(64) as usize], bits }
    }

    /// Adds a page; whether it may have been there before.
    fn insert(&mut self, page: u64) -> bool {
        let first = (page ^ page >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let second = first.rotate_left(32) | 1;
        let mut known = true;
        for round in 0..4u64 {
            let bit = first.wrapping_add(second.wrapping_mul(round)) & (self.bits - 1);
            let word = &mut self.words[(bit >> 6) as usize];
            known &= *word >> (bit & 63) & 1 == 1;
            *word |= 1 << (bit & 63);
        }
        known
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let bits = args.next().unwrap_or(100_003);
    let pages = args.next().unwrap_or(1_000_000);
    let mut bloom = Bloom::new(bits);
    let (mut known, mut state) = (0u64, 1u64);
    for i in 0..pages {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        known += u64::from(bloom.insert(state >> 48));
        if i % 20_000 == 0 {
            bloom.words.fill(0);
        }
    }
    println!("{known} known before, or so it seems");
}
