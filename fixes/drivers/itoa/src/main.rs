//! Writes made-up measurements as lines of integers: driver LINES TIMES.
fn main() {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>().expect("a number"));
    let (lines, times) = (numbers.next().expect("lines"), numbers.next().expect("times"));
    let mut out: Vec<u8> = Vec::new();
    let mut sum = 0u64;
    for round in 0..times {
        out.clear();
        let mut state = round + 1;
        let mut buffer = itoa::Buffer::new();
        for line in 0..lines {
            out.extend_from_slice(buffer.format(1_790_000_000_000_000u64 + line * 1731).as_bytes());
            out.push(b',');
            for field in 0..4 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let value = state >> (24 + field * 9);
                out.extend_from_slice(buffer.format(value).as_bytes());
                out.push(if field == 3 { b'\n' } else { b',' });
            }
        }
        sum = sum.wrapping_mul(31).wrapping_add(out.len() as u64 + u64::from(out[out.len() / 2]));
    }
    println!("{sum}");
}
