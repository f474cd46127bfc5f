//! Parses a long decimal number: `driver FILE TIMES`.

use num_bigint::BigUint;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let bits = |_| text.trim().parse::<BigUint>().expect("it is a number").bits();
    println!("{}", (0..times).map(bits).sum::<u64>());
}
