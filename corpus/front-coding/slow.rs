//! Front coding of a sorted list of addresses: each is stored as the length of what it
//! shares with the one before, and its rest.

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut n = 0;
    while n < a.len() && n < b.len() && a[n] == b[n] {
        n += 1;
    }
    n
}

struct Coded {
    bytes: Vec<u8>,
    shared: usize,
}

fn code(addresses: &[Vec<u8>], out: &mut Coded) {
    let mut before: &[u8] = b"";
    for address in addresses {
        let shared = common_prefix(before, address);
        let rest = &address[shared..];
        out.bytes.extend_from_slice(&(shared as u16).to_le_bytes());
        out.bytes.push(rest.len() as u8);
        out.bytes.extend_from_slice(rest);
        out.shared += shared;
        before = address;
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let count = args.next().unwrap_or(2000);
    let mut state = 1u32;
    let mut addresses: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (site, page) = (state >> 30, state >> 8 & 0xffff);
            format!(
                "https://archive.example.org/collections/site-{site}/public/documents/by-year/2024/\
                 quarterly-reports/english/print-version/page-{page:05}.html"
            )
            .into_bytes()
        })
        .collect();
    addresses.sort();
    let mut coded = Coded { bytes: Vec::new(), shared: 0 };
    let mut digest = 0usize;
    for _ in 0..args.next().unwrap_or(100) {
        coded.bytes.clear();
        code(&addresses, &mut coded);
        digest = digest.wrapping_mul(31).wrapping_add(coded.bytes.len());
    }
    println!("{} shared, {digest:016x}", coded.shared);
}
