//! The table that benchmark_driver prints: iterations per second of each executable.
//!
//! ```text
//! Calculating -------------------------------------
//!                      ruby-2.6.0  ruby-2.5.1
//!               nil?      45.001M     39.000M i/s -     30.0M times in 0.66s 0.76s
//! ```

use genba_model::Direction;

use super::{ImportError, Imported, ImportedBenchmark};

/// Most executables of a table.
const MAX_EXECUTABLES: usize = 1000;

pub(super) fn read(text: &str) -> Result<Imported, ImportError> {
    let mut lines = text.lines().map(str::trim_end).peekable();
    if !lines.any(|line| line.starts_with("Calculating ---")) {
        return Err(ImportError::Unknown);
    }
    let mut executables: Vec<String> = Vec::new();
    let mut benchmarks = Vec::new();
    for line in lines {
        if line.starts_with("Comparison:") {
            break;
        }
        let Some((before, _)) = line.split_once(" i/s") else {
            if benchmarks.is_empty() {
                let names = line.split_whitespace().take(MAX_EXECUTABLES);
                executables = names.map(str::to_owned).collect();
            }
            continue;
        };
        let words: Vec<&str> = before.split_whitespace().collect();
        let columns = executables.len().max(1).min(words.len().saturating_sub(1));
        let (name, values) = words.split_at(words.len() - columns);
        for (index, value) in values.iter().enumerate() {
            // "ERROR" and "-" are columns without a value.
            let Some(value) = rate(value) else {
                continue;
            };
            benchmarks.push(ImportedBenchmark {
                name: name.join(" "),
                variant: executables.get(index).cloned().unwrap_or_default(),
                metric: "rate".to_owned(),
                unit: "i/s".to_owned(),
                direction: Direction::MoreIsBetter,
                values: vec![value],
            });
        }
    }
    Ok(Imported {
        tool: "benchmark_driver".to_owned(),
        benchmarks,
        ..Imported::default()
    })
}

/// `45.001M` as a number.
fn rate(text: &str) -> Option<f64> {
    let factor = match text.chars().last()? {
        'k' => 1e3,
        'M' => 1e6,
        'G' | 'B' => 1e9,
        'T' => 1e12,
        _ => 1.0,
    };
    let number = text.trim_end_matches(['k', 'M', 'G', 'B', 'T']);
    Some(number.parse::<f64>().ok()? * factor)
}
