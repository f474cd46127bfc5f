//! Exports a table as text, buffered, and syncs the file once at its end.
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};

fn create(folder: &str) -> io::Result<File> {
    let path = format!("{folder}/cell-export-{}", std::process::id());
    let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn row(number: u32) -> [u64; 6] {
    let mut state = u64::from(number) | 1 << 40;
    std::array::from_fn(|_| {
        for _ in 0..60 {
            state = state.wrapping_mul(6364136223846793005).rotate_left(21);
        }
        state >> 44
    })
}

fn export(file: File, rows: u32) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let mut sum = 0u64;
    for number in 0..rows {
        for cell in row(number) {
            write!(out, "{cell};")?;
            sum = sum.wrapping_mul(31).wrapping_add(cell);
        }
        out.write_all(b"\n")?;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(sum)
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(10_000);
    let file = create(arguments.next().as_deref().unwrap_or("/var/tmp"))?;
    println!("{:016x}", export(file, rows)?);
    Ok(())
}
