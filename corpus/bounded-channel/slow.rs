//! Decodes packets in one thread and renders them in another, over a channel of a few large batches.
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread;

const BATCH: usize = 20_000;

fn decode(sender: &SyncSender<Vec<u32>>, batches: u32) {
    let mut state = 18u32;
    for _ in 0..batches {
        let batch = (0..BATCH).map(|_| {
            for _ in 0..20 {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223) ^ state >> 7;
            }
            state
        }).collect();
        sender.send(batch).unwrap();
    }
}

fn render(receiver: &Receiver<Vec<u32>>) -> u64 {
    let mut sum = 0u64;
    for batch in receiver {
        for packet in batch {
            for turn in 0..20u32 {
                sum = sum.wrapping_mul(6364136223846793005).wrapping_add(u64::from(packet.rotate_left(turn))) ^ sum >> 9;
            }
        }
    }
    sum
}

fn main() {
    let batches = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100);
    let (sender, receiver) = sync_channel(4);
    let decoder = thread::spawn(move || decode(&sender, batches));
    let sum = render(&receiver);
    decoder.join().unwrap();
    println!("{sum:016x}");
}
