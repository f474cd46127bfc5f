//! Reads the entries of a backup's manifest and counts files and bytes for each directory.
use std::env;

struct Directory {
    name: String,
    files: u64,
    bytes: u64,
}

struct Usage {
    slots: Vec<u32>,
    directories: Vec<Directory>,
}

fn hash(name: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    let mut words = name.chunks_exact(8);
    for word in &mut words {
        h = (h ^ u64::from_le_bytes(word.try_into().unwrap())).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        h ^= h >> 29;
    }
    for &b in words.remainder() {
        h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    h ^ h >> 32
}

impl Usage {
    fn new() -> Self {
        Usage { slots: vec![u32::MAX; 1 << 12], directories: Vec::new() }
    }

    fn add(&mut self, directory: &str, bytes: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash(directory.as_bytes()) as usize & mask;
        loop {
            let index = self.slots[at] as usize;
            if index == u32::MAX as usize {
                self.slots[at] = self.directories.len() as u32;
                self.directories.push(Directory { name: directory.to_owned(), files: 1, bytes });
                return;
            }
            let entry = &mut self.directories[index];
            if entry.name == directory {
                entry.files += 1;
                entry.bytes += bytes;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

fn is_clean(path: &[u8]) -> bool {
    path.len() > 1 && path[0] == b'/' && path[path.len() - 1] != b'/' && !path.windows(2).any(|w| w[0] == b'/' && (w[1] == b'/' || w[1] == b'.'))
}

fn clean(path: &str, out: &mut String) {
    out.clear();
    if is_clean(path.as_bytes()) {
        out.push_str(path);
        return;
    }
    let mut parts: Vec<&str> = Vec::with_capacity(16);
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    for part in &parts {
        out.push('/');
        out.push_str(part);
    }
    if parts.is_empty() {
        out.push('/');
    }
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => &path[..at],
    }
}

fn manifest(entries: usize) -> String {
    const NAMES: [&str; 12] = ["home", "projects", "src", "photos", "2024", "holiday", "mail", "archive", "music", "letters", "lib", "scans"];
    let mut text = String::new();
    let mut state = 17u32;
    for i in 0..entries {
        let mut directory = i as u32 / 6;
        for _ in 0..5 {
            text.push('/');
            text.push_str(NAMES[directory as usize % 12]);
            directory = directory / 5 * 7 % 811;
        }
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let r = state >> 12;
        match r % 61 {
            0 => text.push_str("/../shared"),
            1 => text.push_str("/./"),
            2 => text.push('/'),
            _ => {}
        }
        text.push_str(&format!("/IMG_{:05}.JPG\t{}\n", r % 100_000, r));
    }
    text
}

fn main() {
    let arguments: Vec<usize> = env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let entries = arguments.first().copied().unwrap_or(1000);
    let passes = arguments.get(1).copied().unwrap_or(10);
    let text = manifest(entries);
    let mut usage = Usage::new();
    let mut path = String::new();
    for _ in 0..passes {
        for line in text.as_bytes().split(|&b| b == b'\n') {
            let line = std::str::from_utf8(line).unwrap();
            let Some((name, size)) = line.split_once('\t') else { continue };
            clean(name, &mut path);
            usage.add(parent(&path), size.parse().unwrap());
        }
    }
    let mut sum = 0u64;
    for d in &usage.directories {
        sum = sum.wrapping_mul(31).wrapping_add(hash(d.name.as_bytes()) ^ d.files ^ d.bytes);
    }
    println!("{} directories, {:016x}", usage.directories.len(), sum);
}
