//! Who reads a value.

use std::collections::HashMap;

use genba_code::{DataFlow, Location};

use crate::constants::search_limits::MAX_USES_FOLLOWED;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::Value;

/// Readers of the values of one function.
#[derive(Debug, Default)]
pub struct Uses {
    readers: HashMap<u32, Vec<u32>>,
    /// By number: the values at block heads that it goes into.
    joins: HashMap<u32, Vec<u32>>,
}

/// Whether an instruction reads a register only to leave the part that it does not write as it
/// was (`sete al`, `mov al, cl`): nobody asks for that part.
fn keeps_rest(data: &DataFlow, location: Location) -> bool {
    let mut words = data.form.split([' ', ',']);
    let name = words.next().unwrap_or_default();
    let narrow = matches!(words.next(), Some("r8" | "r16"));
    narrow && (name == "mov" || name.starts_with("set")) && data.writes & (1 << location) != 0
}

impl Uses {
    /// Of all values of a function.
    #[must_use]
    pub fn of(function: &FunctionInput) -> Self {
        let mut uses = Self::default();
        for at in 0..function.code.len() {
            for &(location, value) in function.values.reads(at) {
                if keeps_rest(&function.data[at], location) {
                    continue;
                }
                let list = uses.readers.entry(value.number).or_default();
                if list.last() != Some(&(at as u32)) {
                    list.push(at as u32);
                }
            }
        }
        for (join, inputs) in function.values.joins() {
            for input in inputs.iter().filter(|input| input.number != join) {
                uses.joins.entry(input.number).or_default().push(join);
            }
        }
        uses
    }

    /// Instructions that read a value, or it plus a constant, on whichever way it comes to
    /// them, in address order.
    #[must_use]
    pub fn readers(&self, value: Value) -> Vec<usize> {
        let mut numbers = vec![value.number];
        let mut next = 0;
        let mut found: Vec<usize> = Vec::new();
        while let Some(&number) = numbers.get(next) {
            next += 1;
            found.extend(
                self.readers
                    .get(&number)
                    .into_iter()
                    .flatten()
                    .map(|&at| at as usize),
            );
            for &join in self.joins.get(&number).into_iter().flatten() {
                if numbers.len() < MAX_USES_FOLLOWED && !numbers.contains(&join) {
                    numbers.push(join);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
