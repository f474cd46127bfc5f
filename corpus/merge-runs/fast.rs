//! External sort in small: sorts runs, then merges them pairwise until one is left.

fn merge(a: &[u64], b: &[u64], out: &mut Vec<u64>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        let first = x <= y;
        out.push(if first { x } else { y });
        i += usize::from(first);
        j += usize::from(!first);
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
}

fn merge_all(runs: &[u64], length: usize) -> Vec<u64> {
    let mut from = runs.to_vec();
    let mut to = Vec::with_capacity(runs.len());
    let mut width = length;
    while width < from.len() {
        to.clear();
        for pair in from.chunks(2 * width) {
            let (a, b) = pair.split_at(width.min(pair.len()));
            merge(a, b, &mut to);
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    from
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let records = args.next().unwrap_or(100_000);
    let length = args.next().unwrap_or(1000);
    let mut state = 88_172_645_463_325_252u64;
    let mut runs: Vec<u64> = (0..records)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        })
        .collect();
    for run in runs.chunks_mut(length) {
        run.sort_unstable();
    }
    let mut digest = 0u64;
    for _ in 0..args.next().unwrap_or(3) {
        let sorted = merge_all(&runs, length);
        assert!(sorted.windows(2).all(|w| w[0] <= w[1]));
        digest = digest.wrapping_mul(31).wrapping_add(sorted[records / 3]);
        runs[0] = 0;
    }
    println!("{digest:016x}");
}
