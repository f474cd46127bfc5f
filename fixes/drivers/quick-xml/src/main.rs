//! Adds up the text of an XML file: `driver FILE TIMES`.

use quick_xml::events::Event;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let mut total = 0;
    for _ in 0..times {
        let mut reader = quick_xml::Reader::from_str(&text);
        loop {
            match reader.read_event().expect("it is XML") {
                Event::Text(text) => total += text.len(),
                Event::Eof => break,
                _ => {}
            }
        }
    }
    println!("{total}");
}
