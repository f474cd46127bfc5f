//! Exact counts of a base and a change, function by function.

use std::collections::BTreeMap;

use genba_model::{FunctionChange, InstructionChange, RawCounts};

use super::counts_without_lines;
use crate::AttributionError;

/// Functions that are named.
const MAX_FUNCTIONS: usize = 50;

/// Compares the counts of a change with those of its base. Functions are matched by name; of two
/// with one name the counts are added.
///
/// # Errors
/// As [`counts_without_lines`].
pub fn instruction_change(
    base: &RawCounts,
    change: &RawCounts,
) -> Result<InstructionChange, AttributionError> {
    let (before, _) = counts_without_lines(base, None, None)?;
    let (mut after, lines) = counts_without_lines(change, None, None)?;
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for one in &before.functions {
        sums.entry(&one.function).or_default().0 += one.instructions as f64;
    }
    let names: Vec<String> = after
        .functions
        .iter()
        .map(|one| one.function.clone())
        .collect();
    for (name, one) in names.iter().zip(&after.functions) {
        sums.entry(name).or_default().1 += one.instructions as f64;
    }
    let mut differing: Vec<(&str, (f64, f64))> = sums
        .into_iter()
        .filter(|(_, (base, change))| base != change)
        .collect();
    differing.sort_by(|a, b| (b.1.1 - b.1.0).total_cmp(&(a.1.1 - a.1.0)));
    differing.truncate(MAX_FUNCTIONS);
    let functions = (differing.into_iter())
        .map(|(function, (base, change))| {
            let index = names.iter().position(|name| name == function);
            lines.fill(&mut after, index);
            let row = index.and_then(|index| after.functions.get(index));
            FunctionChange {
                function: function.to_owned(),
                file: row.and_then(|row| row.file.clone()),
                line: row.and_then(|row| row.line),
                base,
                change,
            }
        })
        .collect();
    Ok(InstructionChange {
        engine: after.engine.clone(),
        base: before.instructions as f64,
        change: after.instructions as f64,
        functions,
    })
}
