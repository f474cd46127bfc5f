//! Functions that were compiled without optimisation: by the compiler's record of its options, else
//! by how much of what they execute touches fixed places on the stack.

use std::collections::HashMap;

use genba_code::STACK_POINTER;

use crate::constants::counts::{MIN_INSTRUCTIONS_TO_JUDGE_BUILD, MIN_STACK_ACCESSES_UNOPTIMISED};
use crate::constants::registers::RBP;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};

/// Which functions were built without optimisation. Where the compiler keeps no record of its
/// options all of a module are judged together, since short functions alone do not tell.
#[must_use]
pub fn unoptimised_functions(input: &AnalysisInput) -> Vec<bool> {
    let judged = |f: &FunctionInput| f.own && f.producer.is_some();
    let recorded = |f: &FunctionInput| unoptimised(f.producer.as_deref());
    let mut modules: HashMap<&str, Moves> = HashMap::new();
    for f in &input.functions {
        if judged(f) && recorded(f).is_none() {
            modules.entry(f.module.as_str()).or_default().add(f);
        }
    }
    let of = |f: &FunctionInput| {
        let module = || modules.get(f.module.as_str()).is_some_and(Moves::are_many);
        judged(f) && recorded(f).unwrap_or_else(module)
    };
    input.functions.iter().map(of).collect()
}

/// How much of what is executed touches fixed places on the stack.
#[derive(Default)]
struct Moves {
    places: usize,
    all: f64,
    stack: f64,
}

impl Moves {
    fn add(&mut self, function: &FunctionInput) {
        let executed = function.counts.iter().zip(&function.data);
        for (&count, data) in executed.filter(|(count, _)| **count > 0) {
            self.places += 1;
            self.all += count as f64;
            let touches = data.memory.iter().any(|access| {
                let input = matches!(access.base, Some(STACK_POINTER | RBP));
                input && access.index.is_none() && !access.stack
            });
            if touches {
                self.stack += count as f64;
            }
        }
    }

    fn are_many(&self) -> bool {
        self.places >= MIN_INSTRUCTIONS_TO_JUDGE_BUILD
            && self.stack > MIN_STACK_ACCESSES_UNOPTIMISED * self.all
    }
}

/// How assemblers begin their record: GNU's, NASM, Yasm.
const ASSEMBLERS: [&str; 3] = ["GNU AS", "NASM", "yasm"];

/// Whether a compiler's record of its options says that nothing was optimised; `None` where
/// it has no such record (clang, rustc). What an assembler made was written so.
#[must_use]
pub fn unoptimised(producer: Option<&str>) -> Option<bool> {
    let producer = producer?;
    if ASSEMBLERS.iter().any(|name| producer.starts_with(name)) {
        return Some(false);
    }
    if !producer.starts_with("GNU ") {
        return None;
    }
    // The last option counts.
    let level = producer
        .split_whitespace()
        .rfind(|word| word.starts_with("-O"));
    Some(matches!(level, None | Some("-O0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_optimisation_option_of_the_producer_string_decides() {
        assert_eq!(
            unoptimised(Some("GNU C17 12.2.0 -mtune=generic -g -O2")),
            Some(false)
        );
        assert_eq!(unoptimised(Some("GNU C17 12.2.0 -O2 -g -O0")), Some(true));
        assert_eq!(unoptimised(Some("GNU C17 12.2.0 -g")), Some(true));
        assert_eq!(unoptimised(Some("clang LLVM (rustc version 1.95)")), None);
        assert_eq!(unoptimised(None), None);
    }

    #[test]
    fn code_of_an_assembler_is_as_it_was_written() {
        for producer in ["GNU AS 2.40", "NASM 2.16.01", "yasm 1.3.0"] {
            assert_eq!(unoptimised(Some(producer)), Some(false));
        }
    }
}
