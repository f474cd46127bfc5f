//! Parses a JSON file: `driver FILE TIMES`.

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let count = |_| json::parse(&text).expect("it is JSON").len();
    println!("{}", (0..times).map(count).sum::<usize>());
}
