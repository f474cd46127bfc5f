// Counts readings of meters and adds them up, by the meter's number.
use std::collections::BTreeMap;

fn add(tally: &mut BTreeMap<u64, (u64, u64)>, meter: u64, reading: u64) {
    let one = tally.entry(meter).or_insert((0, 0));
    one.0 += 1;
    one.1 += reading;
}

fn main() {
    let readings: u64 = std::env::args().nth(1).map_or(100_000, |one| one.parse().unwrap());
    let mut tally = BTreeMap::new();
    let mut state = 3u64;
    for _ in 0..readings {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        add(&mut tally, (state >> 33) % 20_000, state >> 60);
    }
    println!("{}", tally.iter().map(|(meter, one)| meter * one.0 + one.1).sum::<u64>());
}
