//! Dependency chains in words.

use genba_code::{CostClass, Instruction};

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
