//! Compares each of some lines with each other: driver FILE LINES.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a file");
    let count = arguments.next().and_then(|number| number.parse().ok()).expect("a number of lines");
    let text = std::fs::read_to_string(file).expect("a file of text");
    let lines: Vec<&str> = text.lines().filter(|line| line.len() > 20).take(count).collect();
    let mut sum = 0;
    for one in &lines {
        for other in &lines {
            sum += strsim::damerau_levenshtein(one, other);
        }
    }
    println!("{sum}");
}
