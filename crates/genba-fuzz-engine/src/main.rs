//! Differential fuzzing of the engine in the target's process: random instruction sequences, in
//! random states, run natively and translated, end in equal states; every fault shows the same
//! registers on the way; and what was counted is what the processor says by the trap flag.
//!
//! `fuzz-engine SECONDS [SEED]` runs batches of sequences. `fuzz-engine forms` says which forms
//! of instructions are tried and why others are not. The rest is for itself: `probe` finds out
//! which forms the processor has, `batch SEED CASES FORMS SKIPPED HOW` is one batch, which is
//! run twice, once natively and once counted, and prints a line for each case.

mod compare;
mod cpu;
mod forms;
mod generate;
mod machine;
mod memory;
mod seen;
mod steps;
mod survey;
mod vectors;
mod watch;

use std::path::Path;
use std::time::{Duration, Instant};

use compare::{Fuzz, Totals};
use generate::Forms;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    match words.as_slice() {
        ["probe"] => survey::probe(),
        ["forms"] => survey::explain(),
        ["batch", seed, cases, forms, skipped, how, rest @ ..] => {
            let (Some(seed), Some(cases)) = (number(seed), number(cases)) else {
                panic!("batch SEED CASES FORMS SKIPPED HOW [CASE]");
            };
            let (has, missing) = survey::read(Path::new(forms));
            let skipped = std::fs::read_to_string(skipped).expect("the list of cases");
            let batch = machine::Batch {
                seed,
                cases,
                plain: how.contains("plain") || how.contains("steps"),
                steps: how.contains("steps"),
                tells: how.contains("tells"),
                only: rest.first().and_then(|text| number(text)),
                skipped: skipped.lines().filter_map(number).collect(),
            };
            machine::batch(&batch, &Forms::new(&has, missing));
        }
        rest => {
            let seconds = rest.first().and_then(|text| number(text)).unwrap_or(60);
            let mut seed = (rest.get(1).and_then(|text| number(text)))
                .unwrap_or_else(|| u64::from(std::process::id()) << 24);
            // Addresses are the same in every run: a sequence may find one.
            // SAFETY: for what is started from here on.
            unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
            let until = Instant::now() + Duration::from_secs(seconds);
            let mut fuzz = Fuzz::new();
            let mut totals = Totals::default();
            while Instant::now() < until {
                fuzz.round(seed, &mut totals);
                seed += 1;
            }
            totals.print(&fuzz.forms());
        }
    }
}
