//! Drives serde_json over a file: `json-driver parse|text|skip|fail|display FILE TIMES`.

use serde_json::Value;

fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = || args.next().expect("parse|skip|fail|display FILE TIMES");
    let (kind, file) = (next(), next());
    let times: usize = next().parse().expect("TIMES is a number");
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let mut sum = 0;
    match kind.as_str() {
        "parse" => {
            for _ in 0..times {
                let strings: Vec<String> = serde_json::from_str(&text).expect("it is JSON");
                sum += strings.iter().map(String::len).sum::<usize>();
            }
        }
        "text" => {
            for _ in 0..times {
                sum += serde_json::from_str::<String>(&text).expect("it is JSON").len();
            }
        }
        "skip" => {
            for _ in 0..times {
                serde_json::from_str::<serde::de::IgnoredAny>(&text).expect("it is JSON");
                sum += 1;
            }
        }
        "fail" => {
            for _ in 0..times {
                let error = serde_json::from_str::<Value>(&text).expect_err("it is not JSON");
                sum += error.line() + error.column();
            }
        }
        _ => {
            let value: Value = serde_json::from_str(&text).expect("it is JSON");
            for _ in 0..times {
                sum += format!("{value}").len();
            }
        }
    }
    println!("{sum}");
}
