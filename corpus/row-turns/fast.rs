//! Two threads encode the rows of pictures and append them to one stream, in turns.
use std::sync::{Condvar, Mutex};
use std::thread;

const THREADS: usize = 2;
const ROWS: usize = 4096;
const ROW_BYTES: usize = 48;
/// Rows that a thread encodes before it is the other's turn.
const ROWS_IN_TURN: usize = 256;

struct Stream {
    state: Mutex<Appended>,
    turn_passed: Condvar,
}

struct Appended {
    turns: usize,
    digest: u64,
}

fn encode_row(picture: usize, row: usize, bytes: &mut Vec<u8>) {
    let mut state = (picture * ROWS + row) as u32;
    for _ in 0..ROW_BYTES {
        for _ in 0..100 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223) ^ state >> 7;
        }
        bytes.push((state >> 24) as u8);
    }
}

fn append(stream: &Stream, turn: usize, bytes: &[u8]) {
    let mut appended = stream.state.lock().unwrap();
    while appended.turns != turn {
        appended = stream.turn_passed.wait(appended).unwrap();
    }
    for &byte in bytes {
        appended.digest = appended.digest.wrapping_mul(31).wrapping_add(u64::from(byte));
    }
    appended.turns += 1;
    stream.turn_passed.notify_all();
}

fn encode_turns(stream: &Stream, thread: usize, pictures: usize) {
    let mut bytes = Vec::new();
    for turn in (thread..pictures * ROWS / ROWS_IN_TURN).step_by(THREADS) {
        bytes.clear();
        for row in turn * ROWS_IN_TURN..(turn + 1) * ROWS_IN_TURN {
            encode_row(row / ROWS, row % ROWS, &mut bytes);
        }
        append(stream, turn, &bytes);
    }
}

fn main() {
    let pictures = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let stream = Stream { state: Mutex::new(Appended { turns: 0, digest: 0 }), turn_passed: Condvar::new() };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let stream = &stream;
            scope.spawn(move || encode_turns(stream, thread, pictures));
        }
    });
    println!("{:016x}", stream.state.into_inner().unwrap().digest);
}
