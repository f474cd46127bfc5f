//! Encodes paths as parts of a URL: driver PASSES.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');

fn main() {
    let passes = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let paths: Vec<String> = (0..2000)
        .map(|i| format!("documents/archive-{}/section_{}/Quarterly report {i}.final_version.tar.gz?x={}", i * 7, i % 31, i % 3))
        .collect();
    let (mut bytes, mut text) = (0, String::new());
    for _ in 0..passes.unwrap_or(100) {
        for path in &paths {
            text.clear();
            text.extend(utf8_percent_encode(path, KEPT));
            bytes += text.len();
        }
    }
    println!("{bytes}");
}
