//! Differential fuzzing of the engine in the target's process: random instruction sequences, in
//! random states, run natively and translated, end in equal states, faults included.
//!
//! `fuzz-engine SECONDS [SEED]` runs batches; `fuzz-engine batch SEED CASES` is one batch, and
//! prints a line for each case: it is run twice, once natively and once counted.

mod generate;
mod machine;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use genba_count::{CountRequest, Engine, native::Native};
use genba_run::{Cancel, CommandSpec, Launcher, Output};

/// Cases of a batch.
const CASES: u64 = 400;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| {
        arguments
            .get(index)
            .and_then(|text| text.parse::<u64>().ok())
    };
    if arguments.first().is_some_and(|word| word == "batch") {
        let (Some(seed), Some(cases)) = (number(1), number(2)) else {
            panic!("batch SEED CASES");
        };
        machine::batch(seed, cases, number(3));
        return;
    }
    let seconds = number(0).unwrap_or(60);
    let first = number(1).unwrap_or_else(|| u64::from(std::process::id()) << 32);
    let until = Instant::now() + Duration::from_secs(seconds);
    let program = std::env::current_exe().expect("our own path");
    let mut launcher = Launcher::new().expect("a launcher");
    let cancel = Cancel::new().expect("a token");
    let (mut batches, mut cases, mut faults) = (0u64, 0u64, 0u64);
    while Instant::now() < until {
        let seed = first.wrapping_add(batches);
        let words: [OsString; 4] = [
            program.clone().into(),
            "batch".into(),
            seed.to_string().into(),
            CASES.to_string().into(),
        ];
        let mut spec = CommandSpec::direct(words);
        spec.stdout = Output::Capture { limit: 1 << 20 };
        spec.stderr = Output::Inherit;
        let output = std::env::temp_dir().join(format!("fuzz-engine-{}", std::process::id()));
        let native = launcher.run(&spec, &cancel).expect("it runs natively");
        let native = native.stdout.captured;
        spec.stdout = Output::File(output.clone());
        let request = CountRequest {
            spec,
            transfers: match batches % 3 {
                2 => genba_count::Transfers::Everywhere,
                1 => genba_count::Transfers::Entries,
                _ => genba_count::Transfers::None,
            },
            children: false,
        };
        match Native.count(&request, &mut launcher, &cancel) {
            Ok(counts) if counts.exit == 0 => {}
            Ok(counts) => panic!("seed {seed}: it ended with {} when counted", counts.exit),
            Err(error) => panic!("seed {seed}: {error}"),
        }
        let translated = std::fs::read(&output).expect("its output");
        if native != translated {
            let (one, other) = (
                String::from_utf8_lossy(&native),
                String::from_utf8_lossy(&translated),
            );
            let mut differ = (one.lines().zip(other.lines()))
                .filter(|(a, b)| a != b && !meets_engine(a))
                .peekable();
            if differ.peek().is_some() {
                for (a, b) in differ.take(3) {
                    println!("native     {a}\ntranslated {b}");
                }
                panic!("seed {seed}: the states differ");
            }
        }
        let text = String::from_utf8_lossy(&native);
        cases += text.lines().count() as u64;
        faults += text.lines().filter(|line| line.contains("signal")).count() as u64;
        batches += 1;
        let _ = std::fs::remove_file(&output);
    }
    println!("{batches} batches, {cases} sequences, {faults} of them end with a fault: all equal");
}

/// Whether a sequence accesses memory where there is nothing natively, and the engine's table of
/// indirect branches when it is counted: that it is there can be seen.
fn meets_engine(line: &str) -> bool {
    let address = line
        .split(" at 0x")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let address = address.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    address.is_some_and(|address| (0x6FFF_F000..0x7008_1000).contains(&address))
}
