//! Filters made-up samples by weights over the last of them: driver SAMPLES TAPS.

use ringbuffer::{AllocRingBuffer, RingBuffer, RingBufferExt, RingBufferWrite};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>().expect("a number"));
    let (samples, taps) = (arguments.next().expect("samples"), arguments.next().expect("taps"));
    let weights: Vec<i64> = (0..taps as i64).map(|tap| (tap * 37) % 61 - 30).collect();
    let mut last = AllocRingBuffer::with_capacity(taps.next_power_of_two());
    let (mut state, mut sum) = (1u32, 0i64);
    for _ in 0..samples {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        last.push(i64::from(state >> 20));
        let filtered: i64 =
            weights.iter().enumerate().filter_map(|(at, weight)| last.get(-1 - at as isize).map(|sample| sample * weight)).sum();
        sum = sum.wrapping_mul(3).wrapping_add(filtered);
    }
    println!("{sum} {}", last.len());
}
