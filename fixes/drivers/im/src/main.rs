//! Averages over versions of made-up measurements that share what did not change: driver LENGTH VERSIONS.

use im::Vector;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<usize>().expect("a number"));
    let (length, versions) = (numbers.next().expect("length"), numbers.next().expect("versions"));
    let mut state = 1u32;
    let mut values: Vector<u32> = (0..length)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            state >> 8
        })
        .collect();
    let mut all = 0u64;
    for version in 0..versions {
        let next = values.update(version * 7919 % length, version as u32);
        all += next.iter().map(|&value| u64::from(value)).sum::<u64>() / length as u64;
        values = next;
    }
    println!("{all}");
}
