//! Reads pages of a column store: run-length and literal runs become a page of bytes.

/// Decodes one page into `out`, which has the page's length afterwards.
fn decode_page(packed: &[u8], length: usize, out: &mut Vec<u8>) {
    out.clear();
    out.resize(length, 0);
    let mut at = 0;
    let mut rest = packed;
    while let [control, value, tail @ ..] = rest {
        let count = usize::from(control & 0x7f) * 64 + 64;
        let end = (at + count).min(length);
        if control & 0x80 != 0 {
            out[at..end].fill(*value);
            rest = tail;
        } else {
            let literal = &tail[..end - at];
            out[at..end].copy_from_slice(literal);
            rest = &tail[end - at..];
        }
        at = end;
    }
    assert_eq!(at, length, "a page is filled completely");
}

fn pack_page(state: &mut u32, length: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut at = 0;
    while at < length {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let steps = (*state >> 9) as usize % 64;
        let count = (steps * 64 + 64).min(length - at);
        let value = (*state >> 24) as u8;
        if *state >> 28 < 12 {
            packed.extend([0x80 | steps as u8, value]);
        } else {
            packed.extend([steps as u8, value]);
            packed.extend((0..count).map(|i| (i as u8).wrapping_mul(value)));
        }
        at += count;
    }
    packed
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let length = args.next().unwrap_or(1 << 16);
    let mut state = 77u32;
    let pages: Vec<Vec<u8>> = (0..16).map(|_| pack_page(&mut state, length)).collect();
    let mut page = Vec::new();
    let mut sum = 0u64;
    for pass in 0..args.next().unwrap_or(10) {
        for packed in &pages {
            decode_page(packed, length, &mut page);
            let probe = page[pass * 7919 % length];
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(probe));
        }
    }
    println!("{sum:016x}");
}
