//! Lines of a file: how many, how long, how many begin with a capital.
use bstr::ByteSlice;

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let (mut lines, mut longest, mut capital) = (0usize, 0usize, 0usize);
    for line in bytes.lines() {
        lines += 1;
        longest = longest.max(line.len());
        capital += usize::from(line.first().is_some_and(u8::is_ascii_uppercase));
    }
    println!("{lines} lines, longest {longest}, {capital} capital");
}
