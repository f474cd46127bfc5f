// Canonical Huffman decoding with a table of 12 bits.
#[inline(never)]
fn decode(bits: &[u8], table: &[(u8, u8)], n: usize, out: &mut Vec<u8>) {
    let (mut acc, mut have, mut at) = (0u64, 0u32, 0usize);
    for _ in 0..n {
        while have <= 48 && at < bits.len() { acc |= (bits[at] as u64) << have; at += 1; have += 8; }
        let (symbol, len) = table[(acc & 0xfff) as usize];
        out.push(symbol);
        acc >>= len;
        have = have.saturating_sub(len as u32);
    }
}
fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(40, |a| a.parse().unwrap());
    let mut table = vec![(0u8, 0u8); 4096];
    for i in 0..4096usize {
        let len = ((i as u32).trailing_ones() + 1).min(12);
        table[i] = (b'a' + len as u8, (len + 1).min(12) as u8);
    }
    let bits: Vec<u8> = (0..1_000_000u32).map(|i| (i.wrapping_mul(2654435761) >> 21) as u8).collect();
    let mut sum = 0u64;
    for _ in 0..rounds {
        let mut out = Vec::with_capacity(2_000_000);
        decode(&bits, &table, 2_000_000, &mut out);
        sum = sum.wrapping_mul(31).wrapping_add(out[out.len() / 2] as u64 + out.len() as u64);
    }
    println!("{sum}");
}
