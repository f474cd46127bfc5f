//! Collects the records of a CSV file whose unit is a piece: `driver FILE TIMES`.

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read(&args[1]).expect("the file can be read");
    let times: usize = args[2].parse().expect("TIMES is a number");
    let mut total = 0;
    for _ in 0..times {
        for record in csv::Reader::from_reader(&text[..]).records() {
            let record = record.expect("it is CSV");
            if &record[2] == "piece" {
                total += record[1].len();
            }
        }
    }
    println!("{total}");
}
