//! Which forms there are, which of them the processor has, which were tried.

use std::collections::BTreeMap;
use std::path::Path;

use iced_x86::Code;

use crate::instruction_forms::{self, Form};
use crate::random_sequence::Random;
use crate::{batch_run, test_memory};

/// Attempts to make an instruction of a form.
const MAX_ATTEMPTS: usize = 400;

/// Executes every form that is not excluded; prints its number and `has`, `missing` or `cannot`.
pub fn probe() {
    test_memory::prepare(test_memory::LOW, false, false);
    let mut random = Random::new(0x5EED);
    for code in
        instruction_forms::known().filter(|code| instruction_forms::excluded(*code).is_none())
    {
        let form = Form::of(code);
        let (mut made, mut does) = (0, false);
        for _ in 0..MAX_ATTEMPTS {
            if made == 24 || does {
                break;
            }
            if let Some((bytes, _)) = instruction_forms::make(&mut random, &form, test_memory::LOW)
            {
                made += 1;
                does = batch_run::alone(&mut random, &bytes) != Some(libc::SIGILL);
            }
        }
        let word = match (made, does) {
            (0, _) => "cannot",
            (_, true) => "has",
            (_, false) => "missing",
        };
        println!("{} {word}", code as usize);
    }
}

/// Reads the output of `probe`: forms that the processor has, and those that it does not.
pub fn read(path: &Path) -> (Vec<Form>, Vec<Form>) {
    let text = std::fs::read_to_string(path).expect("the list of forms");
    let of = |wanted: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter(|(_, word)| *word == wanted)
            .filter_map(|(number, _)| Code::try_from(number.parse::<usize>().ok()?).ok())
            .map(Form::of)
            .collect()
    };
    (of("has"), of("missing"))
}

/// Prints all forms that are not tried, with the reasons.
pub fn explain() {
    for (reason, codes) in excluded() {
        let names: Vec<String> = codes.iter().map(|code| format!("{code:?}")).collect();
        println!("{reason} ({}): {}", codes.len(), names.join(" "));
    }
}

/// Returns the forms that are not tried, by reason.
pub fn excluded() -> BTreeMap<&'static str, Vec<Code>> {
    let mut reasons: BTreeMap<&'static str, Vec<Code>> = BTreeMap::new();
    for code in instruction_forms::known() {
        if let Some(reason) = instruction_forms::excluded(code) {
            reasons.entry(reason).or_default().push(code);
        }
    }
    reasons
}
