//! Wraps a text at a width, so many times: driver FILE WIDTH TIMES.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&arguments[0]).expect("a file");
    let width: usize = arguments[1].parse().expect("a number");
    let times: u32 = arguments[2].parse().expect("a number");
    let (mut lines, mut bytes) = (0usize, 0usize);
    for _ in 0..times {
        for line in textwrap::wrap(&text, width) {
            lines += 1;
            bytes += line.len();
        }
    }
    println!("{lines} {bytes}");
}
