//! Unpacks the pages of a column store, which are packed by a byte-oriented Lempel-Ziv coder.
use std::env;

const PAGE: usize = 1 << 15;

struct Page {
    packed: Vec<u8>,
    length: usize,
}

fn word(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1664525).wrapping_add(1013904223);
    *state >> 9
}

/// A row is a key of few changing digits between separators that repeat.
fn rows(seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut text = Vec::with_capacity(PAGE + 64);
    while text.len() < PAGE {
        let r = word(&mut state);
        text.extend_from_slice([&b"id"[..], b"ref", b"to"][r as usize % 3]);
        text.push(b'0' + (r / 3 % 10) as u8);
        text.push(b'a' + (r / 30 % 26) as u8);
        text.extend_from_slice([&b";EUR "[..], b";USD ", b";GBP "][r as usize / 780 % 3]);
    }
    text.truncate(PAGE);
    text
}

/// Token: high nibble literals, low nibble match length less 3 (15: none), then literals, then distance.
fn pack(text: &[u8]) -> Page {
    let mut packed = Vec::new();
    let mut table = vec![usize::MAX; 1 << 14];
    let (mut at, mut start) = (0, 0);
    while at + 4 <= text.len() {
        let key = (usize::from(text[at]) << 6 ^ usize::from(text[at + 1]) << 3 ^ usize::from(text[at + 2]) << 1) & ((1 << 14) - 1);
        let earlier = std::mem::replace(&mut table[key], at);
        let usable = earlier != usize::MAX && at - earlier < 1 << 16 && at - earlier >= 16;
        let length = if usable { text[at..].iter().zip(&text[earlier..]).take(17).take_while(|(a, b)| a == b).count() } else { 0 };
        if length >= 3 || at - start == 15 {
            let distance = at - earlier.min(at);
            packed.push((((at - start) << 4) | if length >= 3 { length - 3 } else { 15 }) as u8);
            packed.extend_from_slice(&text[start..at]);
            if length >= 3 {
                packed.extend_from_slice(&(distance as u16).to_le_bytes());
                at += length;
            }
            start = at;
        }
        if length < 3 {
            at += 1;
        }
    }
    let rest = &text[start..];
    for chunk in rest.chunks(15) {
        packed.push((chunk.len() << 4 | 15) as u8);
        packed.extend_from_slice(chunk);
    }
    Page { packed, length: text.len() }
}

fn unpack(page: &Page, out: &mut [u8]) {
    let packed = &page.packed[..];
    let (mut from, mut to) = (0, 0);
    while to < page.length {
        let token = packed[from];
        from += 1;
        let literals = usize::from(token >> 4);
        for i in 0..literals {
            out[to + i] = packed[from + i];
        }
        from += literals;
        to += literals;
        if token & 15 != 15 {
            let length = usize::from(token & 15) + 3;
            let distance = usize::from(u16::from_le_bytes([packed[from], packed[from + 1]]));
            from += 2;
            let start = to - distance;
            out.copy_within(start..start + length, to);
            to += length;
        }
    }
}

fn checksum(data: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for chunk in data.chunks(4096) {
        for &byte in chunk {
            a += u32::from(byte);
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    b << 16 | a
}

fn main() {
    let arguments: Vec<usize> = env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let count = arguments.first().copied().unwrap_or(8);
    let passes = arguments.get(1).copied().unwrap_or(10);
    let pages: Vec<Page> = (0..count).map(|i| pack(&rows(i as u32 + 5))).collect();
    let mut out = vec![0u8; PAGE + 64];
    let mut digest = 0u64;
    for _ in 0..passes {
        for page in &pages {
            unpack(page, &mut out);
            digest = digest.wrapping_mul(31).wrapping_add(u64::from(checksum(&out[..page.length])));
        }
    }
    let packed: usize = pages.iter().map(|p| p.packed.len()).sum();
    println!("{} of {} bytes, {:016x}", packed, count * PAGE, digest);
}
