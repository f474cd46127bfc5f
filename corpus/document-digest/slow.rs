//! Finds duplicate documents by a polynomial digest of their bytes.
use std::collections::HashMap;

fn digest(bytes: &[u8]) -> u64 {
    let mut h = 0u64;
    for &b in bytes {
        h = h.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(b));
    }
    h
}

fn documents(count: usize, length: usize) -> Vec<Vec<u8>> {
    let mut state = 3u32;
    (0..count)
        .map(|i| {
            let mut document: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b'a' + (state >> 24) as u8 % 26
                })
                .collect();
            if i % 3 == 0 {
                document.fill(b'a' + (i % 7) as u8);
            }
            document
        })
        .collect()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let documents = documents(args.next().unwrap_or(50), args.next().unwrap_or(10_000));
    let mut copies = 0;
    let mut all = 0u64;
    for _ in 0..args.next().unwrap_or(10) {
        let mut seen: HashMap<u64, usize> = HashMap::new();
        for (i, document) in documents.iter().enumerate() {
            let h = digest(document);
            all ^= h.rotate_left(i as u32);
            if seen.insert(h, i).is_some_and(|j| documents[j] == *document) {
                copies += 1;
            }
        }
    }
    println!("{copies} copies, {all:016x}");
}
