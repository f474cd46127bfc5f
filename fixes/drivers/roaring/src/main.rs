//! Joins made-up posting lists of documents into sets: driver LISTS LENGTH TIMES.

use roaring::RoaringBitmap;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>().expect("a number"));
    let (lists, length, times) = (numbers.next().expect("lists"), numbers.next().expect("length"), numbers.next().expect("times"));
    let mut state = 1u32;
    let postings: Vec<Vec<u32>> = (0..lists)
        .map(|_| {
            let mut at = 0u32;
            (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                    at += 1 + (state >> 26);
                    at
                })
                .collect()
        })
        .collect();
    let mut found = 0;
    for _ in 0..times {
        let mut all = RoaringBitmap::new();
        for list in &postings {
            all.extend(list.iter().copied());
        }
        found += all.len();
    }
    println!("{found}");
}
