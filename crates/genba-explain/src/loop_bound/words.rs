//! Figures and chains in words.

use genba_code::{CostClass, Instruction};
use genba_model::Estimate;

/// A number of cycles: one decimal below ten, none above.
pub(super) fn number(number: f64) -> String {
    if number.abs() < 9.95 {
        let text = format!("{number:.1}");
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    } else {
        format!("{number:.0}")
    }
}

/// An estimate: its value, or both ends where they are far apart.
pub(super) fn range(estimate: &Estimate) -> String {
    let (low, high) = (number(estimate.low), number(estimate.high));
    if estimate.high > 1.25 * estimate.low && low != high {
        format!("{low} to {high}")
    } else {
        number(estimate.value)
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A word for `number` cycles.
pub(super) fn cycles(estimate: &Estimate) -> String {
    let text = range(estimate);
    if text == "1" {
        "1 cycle".to_owned()
    } else {
        format!("{text} cycles")
    }
}

/// A chain in short: `div → div`, `load → imul → xor`. Moves from memory are called loads.
/// `chain` indexes `instructions`; of long chains the beginning is named.
#[must_use]
pub fn chain_text(chain: &[u32], instructions: &[Instruction]) -> String {
    let mut names: Vec<(&str, u32)> = Vec::new();
    for &index in chain {
        let Some(instruction) = instructions.get(index as usize) else {
            continue;
        };
        let name = match instruction.class {
            CostClass::Load if instruction.mnemonic.contains("mov") => "load",
            _ => instruction.mnemonic,
        };
        match names.last_mut() {
            Some(last) if last.0 == name => last.1 += 1,
            _ => names.push((name, 1)),
        }
    }
    const MOST: usize = 6;
    let more = names.len() > MOST;
    let mut parts: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|&(name, times)| match times {
            1 => name.to_owned(),
            2 => format!("{name} → {name}"),
            _ => format!("{times} × {name}"),
        })
        .collect();
    if more {
        parts.push("…".to_owned());
    }
    parts.join(" → ")
}
