//! Counts words in two threads that keep their own counts and merge them now and then under a lock.
use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

const TERMS: usize = 1024;
const MERGE_EVERY: u32 = 2_000_000;

fn merge(totals: &Mutex<HashMap<usize, u64>>, counts: &mut [u64; TERMS]) {
    let mut totals = totals.lock().unwrap();
    for (term, count) in counts.iter_mut().enumerate() {
        *totals.entry(term).or_default() += std::mem::take(count);
    }
}

fn count_terms(totals: &Mutex<HashMap<usize, u64>>, words: u32, mut state: u32) {
    let mut counts = [0; TERMS];
    for word in 1..=words {
        for _ in 0..6 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223) ^ state >> 9;
        }
        counts[(state >> 20) as usize % TERMS] += 1;
        if word % MERGE_EVERY == 0 {
            merge(totals, &mut counts);
        }
    }
    merge(totals, &mut counts);
}

fn main() {
    let words = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let totals = Mutex::new(HashMap::new());
    thread::scope(|scope| {
        for seed in 1..=2 {
            let totals = &totals;
            scope.spawn(move || count_terms(totals, words, seed));
        }
    });
    let totals = totals.into_inner().unwrap();
    let sum = (0..TERMS).fold(0u64, |sum, term| sum.wrapping_mul(31).wrapping_add(totals.get(&term).copied().unwrap_or(0)));
    println!("{sum:016x}");
}
