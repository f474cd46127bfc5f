//! Names of the functions that a process generated, of its perf map. They are kept with the counts: the
//! map may be gone, or another process's, when the counts are read again.

use genba_model::{GeneratedFunction, InstructionCount};
use genba_symbols::PerfMap;

/// The functions that were executed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GeneratedFunctions {
    /// In address order.
    pub functions: Vec<GeneratedFunction>,
    /// How many of them are where others had been before.
    pub replaced: usize,
}

impl GeneratedFunctions {
    /// Returns what users should know of the names.
    pub fn note(&self) -> Option<String> {
        let is = match self.replaced {
            0 => return None,
            1 => "1 function that was generated at run time is".to_owned(),
            many => format!("{many} functions that were generated at run time are"),
        };
        Some(format!(
            "{is} at addresses that had another name before: counts of both have the last name"
        ))
    }
}

/// Returns the generated functions of a process that were executed; `None` if it left no perf map.
pub fn of_process(pid: i32, executed: &[InstructionCount]) -> Option<GeneratedFunctions> {
    PerfMap::for_process(pid).map(|map| executed_functions(&map, executed))
}

/// Returns the functions of a map with an instruction that was executed; `executed` is in address
/// order.
fn executed_functions(map: &PerfMap, executed: &[InstructionCount]) -> GeneratedFunctions {
    let mut found = GeneratedFunctions::default();
    for symbol in map.symbols() {
        let first = executed.partition_point(|one| one.address < symbol.start);
        let at = executed.get(first);
        if at.is_none_or(|one| one.address >= symbol.end) {
            continue;
        }
        found.replaced += usize::from(symbol.replaces);
        found.functions.push(GeneratedFunction {
            address: symbol.start,
            size: symbol.end - symbol.start,
            name: symbol.name.clone(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executed_functions_are_kept_with_a_note_on_addresses_of_two_names() {
        let map = PerfMap::parse(b"10 8 first\n10 8 second\n20 8 never\n30 8 third\n");
        let executed = [(0x14, 5), (0x28, 1), (0x37, 2)].map(InstructionCount::from);
        let found = executed_functions(&map, &executed);
        let names: Vec<&str> = (found.functions.iter())
            .map(|function| function.name.as_str())
            .collect();
        assert_eq!(names, ["second", "third"]);
        assert_eq!(
            (found.functions[0].address, found.functions[0].size),
            (0x10, 8)
        );
        assert_eq!(
            found.note().as_deref(),
            Some(
                "1 function that was generated at run time is at addresses that had another name \
                 before: counts of both have the last name"
            )
        );
        assert_eq!(GeneratedFunctions::default().note(), None);
    }
}
