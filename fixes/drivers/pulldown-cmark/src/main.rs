//! Counts the events of a Markdown file: `driver FILE TIMES`.

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let count = |_| pulldown_cmark::Parser::new(&text).count();
    println!("{}", (0..times).map(count).sum::<usize>());
}
