//! Sorts measurements, drops the doubles, and reports quantiles.

fn quantiles(values: &mut Vec<u32>, parts: usize) -> u64 {
    values.sort_unstable();
    values.dedup();
    (1..parts).fold(0, |digest: u64, part| {
        digest.wrapping_mul(31).wrapping_add(u64::from(values[values.len() * part / parts]))
    })
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let count = args.next().unwrap_or(100_000);
    let mut state = 88_172_645_463_325_252u64;
    let mut digest = 0u64;
    let mut values = Vec::with_capacity(count);
    for _ in 0..args.next().unwrap_or(10) {
        values.clear();
        values.extend((0..count).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 36) as u32
        }));
        digest = digest.wrapping_mul(31).wrapping_add(quantiles(&mut values, 100));
    }
    println!("{digest:016x}");
}
