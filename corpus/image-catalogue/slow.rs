//! Adds up what a catalogue of images needs when unpacked: each image's size is
//! checked against the limits before it is counted, as a decoder has to.

const MAX_PIXELS: u64 = 1 << 28;
const MAX_BYTES: u64 = 1 << 30;

#[derive(Clone, Copy)]
struct Header {
    width: u32,
    height: u32,
    depth: u32,
}

#[derive(Debug)]
enum Refused {
    Empty,
    TooManyPixels,
    TooManyBytes,
}

fn unpacked_bytes(header: &Header) -> Result<u64, Refused> {
    let (width, height) = (u64::from(header.width), u64::from(header.height));
    let depth = u64::from(header.depth);
    if width == 0 || height == 0 || depth == 0 {
        return Err(Refused::Empty);
    }
    if width > MAX_PIXELS / height {
        return Err(Refused::TooManyPixels);
    }
    let pixels = width * height;
    if pixels > MAX_BYTES / depth {
        return Err(Refused::TooManyBytes);
    }
    Ok(pixels * depth)
}

struct Totals {
    bytes: u64,
    largest: u64,
    refused: u64,
}

fn total(headers: &[Header]) -> Totals {
    let mut totals = Totals { bytes: 0, largest: 0, refused: 0 };
    for header in headers {
        match unpacked_bytes(header) {
            Ok(bytes) => {
                totals.bytes += bytes;
                totals.largest = totals.largest.max(bytes);
            }
            Err(_) => totals.refused += 1,
        }
    }
    totals
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u32>().expect("a number"));
    let images = args.next().unwrap_or(50_000);
    let passes = args.next().unwrap_or(100);
    let mut state = 99u32;
    let headers: Vec<Header> = (0..images)
        .map(|i| {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let huge = if i % 9973 == 0 { 4096 } else { 1 };
            Header {
                width: (16 + (state >> 8) % 4000) * huge,
                height: 16 + (state >> 20) % 3000,
                depth: 1 + (state >> 3) % 4,
            }
        })
        .collect();
    let (mut bytes, mut refused, mut largest) = (0u64, 0u64, 0u64);
    for _ in 0..passes {
        let totals = total(std::hint::black_box(&headers));
        bytes = bytes.wrapping_add(totals.bytes);
        refused += totals.refused;
        largest = largest.max(totals.largest);
    }
    println!("{bytes} bytes, largest {largest}, {refused} refused");
}
