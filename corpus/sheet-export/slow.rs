//! Calculates sheets of cells with two workers and encodes each sheet for export.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

const WORKERS: usize = 2;
const CELLS: usize = 60_000;

struct Sheet {
    halves: [Mutex<Vec<f64>>; WORKERS],
    calculated: Barrier,
    encoded: Barrier,
    checksum: AtomicU64,
}

fn calculate(cells: &mut [f64], round: u32) {
    for (at, cell) in cells.iter_mut().enumerate() {
        let mut value = (at as f64 + f64::from(round)) * 0.001;
        for _ in 0..12 {
            value = value - (value * value * value - 7.0) / (3.0 * value * value + 1.0);
        }
        *cell = value;
    }
}

/// The cells as text of fixed digits; returns a digest of it.
fn encode(cells: &[f64], text: &mut Vec<u8>) -> u64 {
    text.clear();
    for cell in cells {
        let mut digits = (cell.abs() * 1e6) as u64;
        for _ in 0..14 {
            text.push(b'0' + (digits % 10) as u8);
            digits /= 10;
        }
        text.push(b';');
    }
    text.iter().fold(0, |sum: u64, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

fn export_sheets(sheet: &Sheet, worker: usize, rounds: u32) {
    let mut text = Vec::new();
    for round in 0..rounds {
        calculate(&mut sheet.halves[worker].lock().unwrap(), round * 2 + worker as u32);
        sheet.calculated.wait();
        if worker == 0 {
            for half in &sheet.halves {
                let digest = encode(&half.lock().unwrap(), &mut text);
                sheet.checksum.fetch_add(digest, Ordering::Relaxed);
            }
        }
        sheet.encoded.wait();
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(20);
    let sheet = Sheet {
        halves: [(); WORKERS].map(|()| Mutex::new(vec![0.0; CELLS])),
        calculated: Barrier::new(WORKERS),
        encoded: Barrier::new(WORKERS),
        checksum: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let sheet = &sheet;
            scope.spawn(move || export_sheets(sheet, worker, rounds));
        }
    });
    println!("{:016x}", sheet.checksum.into_inner());
}
