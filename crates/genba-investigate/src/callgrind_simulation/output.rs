//! Reads callgrind's output with simulated caches and branches. Pure; the files are hostile input,
//! since a target can write to them: memory grows with the wanted instructions, not with the file.
//!
//! The format is that of valgrind's manual, "Callgrind Format Specification", with one position (the
//! instruction) and uncompressed positions and names.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

/// Maximum length of a line, bytes: C++ names can have tens of kilobytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Simulated events of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Number of executions.
    pub executions: u64,
    /// Branch mispredictions.
    pub mispredictions: u64,
    /// L1d load misses.
    pub misses: u64,
}

/// Returns function and instruction for a module's path and an address in its file; `None` for
/// instructions that are not wanted.
pub type Wanted<'a> = dyn Fn(&str, u64) -> Option<(usize, usize)> + 'a;

/// Columns of the events in a line of costs.
#[derive(Default)]
struct Columns {
    executions: Option<usize>,
    misses: Option<usize>,
    mispredictions: Vec<usize>,
}

impl Columns {
    fn of(names: &str) -> Self {
        let mut found = Self::default();
        for (index, name) in names.split_whitespace().enumerate() {
            match name {
                "Ir" => found.executions = Some(index),
                "D1mr" => found.misses = Some(index),
                "Bcm" | "Bim" => found.mispredictions.push(index),
                _ => {}
            }
        }
        found
    }
}

/// Adds the costs in one file to those of the wanted instructions.
///
/// # Errors
/// When the file cannot be read. Malformed lines are skipped.
pub fn add(
    mut file: impl BufRead,
    wanted: &Wanted<'_>,
    found: &mut HashMap<(usize, usize), Simulated>,
) -> io::Result<()> {
    let mut columns = Columns::default();
    let mut object = String::new();
    let mut inclusive = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut file)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(());
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            continue;
        };
        let text = text.trim_end();
        if let Some(costs) = text.strip_prefix("0x") {
            // The line after `calls=` has the inclusive cost of the call.
            if !std::mem::take(&mut inclusive) {
                costs_of(costs, &columns, &object, wanted, found);
            }
        } else if let Some(name) = text.strip_prefix("ob=") {
            name.clone_into(&mut object);
        } else if let Some(names) = text.strip_prefix("events:") {
            columns = Columns::of(names);
        } else {
            inclusive = text.starts_with("calls=");
        }
    }
}

fn costs_of(
    text: &str,
    columns: &Columns,
    object: &str,
    wanted: &Wanted<'_>,
    found: &mut HashMap<(usize, usize), Simulated>,
) {
    let (address, costs) = text.split_once(' ').unwrap_or((text, ""));
    let Ok(address) = u64::from_str_radix(address, 16) else {
        return;
    };
    let Some(place) = wanted(object, address) else {
        return;
    };
    let one = found.entry(place).or_default();
    for (index, number) in costs.split_whitespace().enumerate() {
        let Ok(number) = number.parse::<u64>() else {
            return;
        };
        let sum = if columns.executions == Some(index) {
            &mut one.executions
        } else if columns.misses == Some(index) {
            &mut one.misses
        } else if columns.mispredictions.contains(&index) {
            &mut one.mispredictions
        } else {
            continue;
        };
        *sum = sum.saturating_add(number);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "\
version: 1
positions: instr
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
ob=/tmp/a
fn=main
0x10 5 5 0 0 3
0x14 7 0 0 0 0 0 0 0 0 7 2 0 1
cob=/usr/lib/libc.so.6
cfn=puts
calls=5 0x99
0x14 900 9 9 9 900 9 9 9 9 9 900 9 9
0x14 1 0 0 0 0 0 0 0 0 1 1
ob=/usr/lib/libc.so.6
fn=puts
0x10 100 1 1 1 100
";

    fn read(text: &[u8]) -> HashMap<(usize, usize), Simulated> {
        let mut found = HashMap::new();
        let wanted = |object: &str, address: u64| {
            let at = [0x10, 0x14].iter().position(|&one| one == address)?;
            (object == "/tmp/a").then_some((0, at))
        };
        add(text, &wanted, &mut found).unwrap();
        found
    }

    #[test]
    fn self_costs_of_wanted_instructions_are_summed() {
        let found = read(FILE.as_bytes());
        assert_eq!(found.len(), 2);
        let load = Simulated {
            executions: 5,
            mispredictions: 0,
            misses: 3,
        };
        assert_eq!(found[&(0, 0)], load);
        let branch = Simulated {
            executions: 8,
            mispredictions: 4,
            misses: 0,
        };
        assert_eq!(found[&(0, 1)], branch);
    }

    proptest! {
        #[test]
        fn damaged_files_do_not_panic(
            at in 0..FILE.len(),
            with in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut bytes = FILE.as_bytes().to_vec();
            bytes.splice(at..at, with);
            prop_assert!(read(&bytes).len() <= 2);
            prop_assert!(read(&bytes[..at]).len() <= 2);
        }
    }
}
