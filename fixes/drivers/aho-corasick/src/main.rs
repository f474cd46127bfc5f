//! Searches a text for rare words: driver FILE COUNT.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).expect("a text");
    let count: usize = arguments[2].parse().expect("a number");
    let words = ["Xylophone", "Quixotic", "Jazz"];
    let kind = Some(AhoCorasickKind::ContiguousNFA);
    let searcher = AhoCorasick::builder().kind(kind).build(words).expect("few words");
    let found: usize = (0..count).map(|_| searcher.find_iter(&text).count()).sum();
    println!("{found}");
}
