//! Differential fuzzer of the engine in the target's process. Random instruction sequences, run
//! from random states natively and translated, must end in equal states; every fault on the way
//! must show the same registers; and the counts must be those of the processor's trap flag.
//!
//! `genba-fuzz-engine [--bursts] SECONDS [SEED]` runs batches of sequences, with bursts at random
//! moments or without. `genba-fuzz-engine forms` prints
//! which forms of instructions are tried, and why others are not. The other arguments are internal:
//! `probe` finds out which forms the processor has; `batch SEED CASES FORMS SKIPPED MODE` is one
//! batch, which is run twice, natively and counted, and prints a line for each sequence.

mod batch_comparison;
mod batch_run;
mod fault_observer;
mod form_survey;
mod instruction_forms;
mod processor_state;
mod random_sequence;
mod single_steps;
mod stuck_batch_watchdog;
mod test_memory;
mod vector_registers;

use std::path::Path;
use std::time::{Duration, Instant};

use batch_comparison::{Fuzz, Totals};
use random_sequence::Forms;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    match words.as_slice() {
        ["probe"] => form_survey::probe(),
        ["forms"] => form_survey::explain(),
        ["batch", seed, cases, forms, skipped, mode, rest @ ..] => {
            let (Some(seed), Some(cases)) = (number(seed), number(cases)) else {
                panic!("batch SEED CASES FORMS SKIPPED MODE [CASE]");
            };
            let (has, missing) = form_survey::read(Path::new(forms));
            let skipped = std::fs::read_to_string(skipped).expect("the list of cases");
            let batch = batch_run::Batch {
                seed,
                cases,
                plain: mode.contains("plain") || mode.contains("steps"),
                steps: mode.contains("steps"),
                counts_forms: mode.contains("counts_forms"),
                only: rest.first().and_then(|text| number(text)),
                skipped: skipped.lines().filter_map(number).collect(),
            };
            batch_run::batch(&batch, &Forms::new(&has, missing));
        }
        rest => {
            let bursts = rest.first() == Some(&"--bursts");
            let rest = if bursts { &rest[1..] } else { rest };
            let seconds = rest.first().and_then(|text| number(text)).unwrap_or(60);
            let mut seed = (rest.get(1).and_then(|text| number(text)))
                .unwrap_or_else(|| u64::from(std::process::id()) << 24);
            // Without address randomisation, since a sequence may read an address.
            // SAFETY: for what is started from here on.
            unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
            let mut fuzz = Fuzz::new(bursts);
            let mut totals = Totals::default();
            // Without a batch nothing would be equal.
            let until = Instant::now() + Duration::from_secs(seconds);
            loop {
                fuzz.run_batch(seed, &mut totals);
                seed += 1;
                if Instant::now() >= until {
                    break;
                }
            }
            totals.print(&fuzz.forms());
        }
    }
}
