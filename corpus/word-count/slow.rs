//! Counts words in an open-addressing table of the right size with a cheap hash.

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u32,
    count: u32,
}

struct Counter {
    slots: Vec<Slot>,
    mask: usize,
    words: usize,
}

impl Counter {
    fn new(bits: u32) -> Self {
        let size = 1usize << bits;
        Counter { slots: vec![Slot::default(); size], mask: size - 1, words: 0 }
    }

    fn add(&mut self, hash: u32) {
        let mut at = hash.wrapping_mul(0x9e37_79b1) as usize >> 7 & self.mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.hash == hash {
                slot.count += 1;
                return;
            }
            if slot.count == 0 {
                *slot = Slot { hash, count: 1 };
                self.words += 1;
                return;
            }
            at = (at + 1) & self.mask;
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let length = args.next().unwrap_or(10_000);
    let passes = args.next().unwrap_or(100);
    let mut state = 1u32;
    // Identities of words, drawn with a skew as in running text.
    let text: Vec<u32> = (0..length)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let rank = ((state >> 20) * (state >> 8 & 0xfff) >> 12).min(700);
            1 + rank * 7919
        })
        .collect();
    let mut counter = Counter::new(12);
    for _ in 0..passes {
        for &word in &text {
            counter.add(word);
        }
    }
    let digest = counter.slots.iter().fold(0u64, |d, s| {
        d.wrapping_mul(31).wrapping_add(u64::from(s.count) ^ u64::from(s.hash))
    });
    println!("{} words, {digest:016x}", counter.words);
}
