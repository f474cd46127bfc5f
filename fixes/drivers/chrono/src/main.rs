//! Writes the times of so many made-up events as text: driver EVENTS.

use chrono::{DateTime, SecondsFormat};

fn main() {
    let events: u32 = std::env::args().nth(1).expect("a number").parse().expect("a number");
    let (mut state, mut bytes, mut sum) = (1u32, 0usize, 0u64);
    for _ in 0..events {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let time = DateTime::from_timestamp(i64::from(state), 0).expect("a time");
        let text = time.to_rfc3339_opts(SecondsFormat::Secs, true);
        bytes += text.len();
        sum = sum.wrapping_mul(31).wrapping_add(u64::from(text.as_bytes()[18]));
    }
    println!("{bytes} {sum}");
}
