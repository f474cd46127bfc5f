//! Dependency chains in words.

use crate::constants::MAX_NAMED_LINKS;
use genba_code::{CostClass, Instruction};

/// The mnemonics along a chain; moves from memory are called loads.
fn mnemonics<'a>(
    chain: &'a [u32],
    instructions: &'a [Instruction],
) -> impl Iterator<Item = &'a str> {
    let found = chain.iter().filter_map(|&at| instructions.get(at as usize));
    found.map(|instruction| match instruction.class {
        CostClass::Load if instruction.mnemonic.contains("mov") => "load",
        _ => instruction.mnemonic,
    })
}

/// The same, owned: what a fact about a chain holds.
#[must_use]
pub fn chain_mnemonics(chain: &[u32], instructions: &[Instruction]) -> Vec<String> {
    mnemonics(chain, instructions).map(str::to_owned).collect()
}

/// A chain in short: `div → div`, `load → imul → xor`. Moves from memory are called loads.
/// `chain` indexes `instructions`; of long chains the beginning is named.
#[must_use]
pub fn chain_text(chain: &[u32], instructions: &[Instruction]) -> String {
    let mut names: Vec<(&str, u32)> = Vec::new();
    for name in mnemonics(chain, instructions) {
        match names.last_mut() {
            Some(last) if last.0 == name => last.1 += 1,
            _ => names.push((name, 1)),
        }
    }
    let more = names.len() > MAX_NAMED_LINKS;
    let mut parts: Vec<String> = names
        .iter()
        .take(MAX_NAMED_LINKS)
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
