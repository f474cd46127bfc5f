//! Counts the types of made-up file names: driver NAMES.

use std::collections::BTreeMap;

const ENDINGS: [&str; 16] = [
    "html", "JPG", "png", "css", "js", "pdf", "txt", "mp3", "svg", "zip", "docx", "woff2", "xml", "json", "gif", "webp",
];

fn main() {
    let names = std::env::args().nth(1).and_then(|number| number.parse().ok()).expect("a number of names");
    let mut state = 1u32;
    let mut types = BTreeMap::new();
    for i in 0..names {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let name = format!("site/part-{i}.{}", ENDINGS[(state >> 28) as usize]);
        let guess = mime_guess::from_path(&name).first_raw().unwrap_or("unknown");
        *types.entry(guess).or_insert(0u64) += 1;
    }
    println!("{types:?}");
}
