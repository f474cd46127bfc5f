//! Looks up places of a text by line and column, and types a letter at some: driver FILE TIMES.

use ropey::Rope;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&arguments[0]).expect("a file");
    let times: u32 = arguments[1].parse().expect("a number");
    let mut rope = Rope::from_str(&text);
    let (mut state, mut sum) = (1u32, 0usize);
    for time in 0..times {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let line = (state >> 8) as usize % rope.len_lines();
        let place = rope.line_to_char(line);
        sum = sum.wrapping_mul(31).wrapping_add(rope.char_to_byte(place));
        if time % 8 == 0 {
            rope.insert_char(place, 'a');
        }
    }
    println!("{} {sum}", rope.len_chars());
}
