//! Counts the grapheme clusters of a file's lines: `driver FILE TIMES`.

use unicode_segmentation::UnicodeSegmentation;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let count = |_| text.lines().map(|line| line.graphemes(true).count()).sum::<usize>();
    println!("{}", (0..times).map(count).sum::<usize>());
}
