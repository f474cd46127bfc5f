//! Decodes a file as UTF-8 some times: driver FILE TIMES.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let bytes = std::fs::read(arguments.next().expect("a file")).expect("a file");
    let times: usize = arguments.next().and_then(|number| number.parse().ok()).expect("a number of times");
    let mut sum = 0;
    for _ in 0..times {
        let (text, _, broken) = encoding_rs::UTF_8.decode(&bytes);
        sum += text.len() + usize::from(broken);
    }
    println!("{sum}");
}
