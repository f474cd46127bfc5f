//! Finds duplicate documents by a polynomial digest of their bytes.
use std::collections::HashMap;

fn digest(bytes: &[u8]) -> u64 {
    const P: u64 = 0x0100_0000_01b3;
    const P2: u64 = P.wrapping_mul(P);
    const P3: u64 = P2.wrapping_mul(P);
    const P4: u64 = P3.wrapping_mul(P);
    let mut h = 0u64;
    let mut fours = bytes.chunks_exact(4);
    for b in fours.by_ref() {
        let (b0, b1) = (u64::from(b[0]).wrapping_mul(P3), u64::from(b[1]).wrapping_mul(P2));
        let (b2, b3) = (u64::from(b[2]).wrapping_mul(P), u64::from(b[3]));
        let block = b0.wrapping_add(b1).wrapping_add(b2.wrapping_add(b3));
        h = h.wrapping_mul(P4).wrapping_add(block);
    }
    for &b in fours.remainder() {
        h = h.wrapping_mul(P).wrapping_add(u64::from(b));
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
