//! Suites: genba's TOML and benchmark_driver's YAML, which people take from anywhere.
#![no_main]

use std::path::Path;

use genba_suite::{Places, parse_toml, parse_yaml};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let places = Places {
        file: "suite",
        directory: Path::new("/suite"),
        temp: Path::new("/temp"),
    };
    let _ = parse_toml(text, &places);
    let _ = parse_yaml(text, &places, &[]);
});
