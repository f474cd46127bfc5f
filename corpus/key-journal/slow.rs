//! A key-value store that replays batches of changes and journals each change to disk.
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;

struct Store {
    values: HashMap<u32, Vec<u8>>,
    journal: File,
}

/// A value of some hundred bytes, mixed well.
fn value_of(key: u32, mixes: u32) -> Vec<u8> {
    let mut state = u64::from(key) | 1;
    (0..200).map(|_| {
        for _ in 0..mixes {
            state = state.wrapping_mul(6364136223846793005).rotate_left(17) ^ state >> 3;
        }
        (state >> 56) as u8
    }).collect()
}

impl Store {
    fn open(folder: &str) -> std::io::Result<Self> {
        let path = format!("{folder}/key-journal-{}", std::process::id());
        let journal = OpenOptions::new().create_new(true).append(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Self { values: HashMap::new(), journal })
    }

    fn set(&mut self, key: u32, value: Vec<u8>) -> std::io::Result<()> {
        let mut record = key.to_le_bytes().to_vec();
        record.extend_from_slice(&value);
        self.journal.write_all(&record)?;
        self.journal.sync_data()?;
        self.values.insert(key, value);
        Ok(())
    }

    /// Applies a batch; its sender is answered when all of it is on disk.
    fn apply(&mut self, keys: &[u32]) -> std::io::Result<()> {
        for &key in keys {
            self.set(key, value_of(key, 2000))?;
        }
        Ok(())
    }
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let batches: u32 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(10);
    let mut store = Store::open(arguments.next().as_deref().unwrap_or("/var/tmp"))?;
    let mut state = 9u32;
    for _ in 0..batches {
        let keys: Vec<u32> = (0..10).map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            state >> 16
        }).collect();
        store.apply(&keys)?;
    }
    let sum = store.values.iter().fold(0u64, |sum, (key, value)| sum.wrapping_add(u64::from(*key) * u64::from(value[7])));
    println!("{sum:016x}");
    Ok(())
}
