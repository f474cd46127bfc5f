// A Rust program with generics, closures and the standard library's hash map:
// counts words of a generated text.
// Built with rustc -g -O.   hash [rounds=150]

use std::collections::HashMap;

struct Words {
    state: u64,
}

impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some(format!("word{}", (self.state >> 33) % 5000))
    }
}

#[inline(never)]
fn count<W: Iterator<Item = String>>(words: W) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    words.for_each(|word| *counts.entry(word).or_insert(0) += 1);
    counts
}

#[inline(never)]
fn most_frequent(counts: &HashMap<String, u64>) -> Option<(&str, u64)> {
    counts.iter().map(|(word, n)| (word.as_str(), *n)).max_by_key(|&(word, n)| (n, word))
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(150);
    for round in 1..=rounds {
        let counts = count(Words { state: round }.take(100_000));
        if let Some((word, n)) = most_frequent(&counts) {
            println!("{word} {n}");
        }
    }
}
