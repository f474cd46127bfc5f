//! Reads a document some times and adds up the lengths of its texts: driver FILE TIMES.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read_to_string(arguments.next().expect("a file")).expect("a file of text");
    let times: usize = arguments.next().and_then(|number| number.parse().ok()).expect("a number of times");
    let mut sum = 0;
    for _ in 0..times {
        let document = roxmltree::Document::parse(&text).expect("a document");
        for node in document.descendants() {
            sum += node.attributes().map(|attribute| attribute.value().len()).sum::<usize>();
            sum += node.text().map_or(0, str::len);
        }
    }
    println!("{sum}");
}
