//! Drives serde_json on small things: `values-driver numbers|names TIMES`.

use serde::{Serialize, Serializer};

/// A name that is put together when it is written.
struct Name(u32);

impl std::fmt::Display for Name {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0 % 2 == 0 { "the name of an even one of them" } else { "the name of an odd one of them" })
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().expect("numbers|names TIMES");
    let times: usize = args.next().expect("TIMES").parse().expect("TIMES is a number");
    let mut sum = 0;
    if kind == "numbers" {
        let texts = ["12", "[7,8]", "1234567", "[1,2,3]"];
        for i in 0..times {
            let text = texts[i % 4];
            sum += if text.len() % 2 == 1 && text.starts_with('[') {
                serde_json::from_str::<(u32, u32)>(text).map_or(3, |pair| pair.0)
            } else {
                serde_json::from_str::<u32>(text).unwrap_or(5)
            } as usize;
        }
    } else {
        let names: Vec<Name> = (0..1000).map(Name).collect();
        for _ in 0..times {
            sum += serde_json::to_value(&names).expect("names are values").as_array().expect("an array").len();
        }
    }
    println!("{sum}");
}
