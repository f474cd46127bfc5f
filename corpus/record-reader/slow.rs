//! Reads a file of length-prefixed records, which it has written to a temporary place.
use std::fs::File;
use std::io::{self, Read, Write};

struct Reader<R> {
    input: R,
    records: u64,
    digest: u64,
}

impl<R: Read> Reader<R> {
    fn read_record(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        let mut length = [0u8; 2];
        match self.input.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        body.resize(usize::from(u16::from_le_bytes(length)), 0);
        self.input.read_exact(body)?;
        Ok(true)
    }

    fn read_all(&mut self) -> io::Result<()> {
        let mut body = Vec::new();
        while self.read_record(&mut body)? {
            self.records += 1;
            for &byte in &body {
                self.digest = self.digest.wrapping_mul(31).wrapping_add(u64::from(byte));
            }
        }
        Ok(())
    }
}

fn records(count: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut state = 5u32;
    for _ in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = 8 + (state >> 27) as u16;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend((0..length).map(|i| (state >> (i % 24)) as u8));
    }
    bytes
}

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u32>().expect("a number"));
    let count = args.next().unwrap_or(10_000);
    let path = std::env::temp_dir().join(format!("records-{}", std::process::id()));
    File::create(&path)?.write_all(&records(count))?;
    let (mut total, mut digest) = (0, 0);
    for _ in 0..args.next().unwrap_or(10) {
        let mut reader = Reader { input: File::open(&path)?, records: 0, digest: 0 };
        reader.read_all()?;
        total += reader.records;
        digest = reader.digest;
    }
    std::fs::remove_file(&path)?;
    println!("{total} records, {digest:016x}");
    Ok(())
}
