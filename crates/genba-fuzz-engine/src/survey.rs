//! Which forms there are, which the processor has, which were tried.

use std::collections::BTreeMap;
use std::path::Path;

use iced_x86::Code;

use crate::forms::{self, Form};
use crate::generate::Random;
use crate::{machine, memory};

/// Attempts to make an instruction of a form that does something.
const ATTEMPTS: usize = 400;

/// Tries every form that is not excluded; prints its number and `has`, `missing` or `cannot`.
pub fn probe() {
    memory::prepare(memory::LOW, false, false);
    let mut random = Random(0x5EED);
    for code in forms::known().filter(|code| forms::excluded(*code).is_none()) {
        let form = Form::of(code);
        let (mut made, mut does) = (0, false);
        for _ in 0..ATTEMPTS {
            if made == 24 || does {
                break;
            }
            if let Some((bytes, _)) = forms::make(&mut random, &form, memory::LOW) {
                made += 1;
                does = machine::alone(&mut random, &bytes) != Some(libc::SIGILL);
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

/// Reads what `probe` printed: forms that the processor has, and those that it has not.
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

/// Prints all forms that are not tried, with the reason.
pub fn explain() {
    for (reason, codes) in excluded() {
        let names: Vec<String> = codes.iter().map(|code| format!("{code:?}")).collect();
        println!("{reason} ({}): {}", codes.len(), names.join(" "));
    }
}

/// Forms that are not tried, by reason.
pub fn excluded() -> BTreeMap<&'static str, Vec<Code>> {
    let mut reasons: BTreeMap<&'static str, Vec<Code>> = BTreeMap::new();
    for code in forms::known() {
        if let Some(reason) = forms::excluded(code) {
            reasons.entry(reason).or_default().push(code);
        }
    }
    reasons
}
