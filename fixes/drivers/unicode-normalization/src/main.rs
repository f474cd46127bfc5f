//! Counts the lines that are not in the normalisation form C.
use unicode_normalization::is_nfc;

fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let (mut lines, mut other) = (0usize, 0usize);
    for line in text.lines() {
        lines += 1;
        other += usize::from(!is_nfc(line));
    }
    println!("{lines} lines, {other} not in form C");
}
