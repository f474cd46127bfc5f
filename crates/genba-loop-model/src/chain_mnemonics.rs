//! The mnemonics along a dependency chain.

use genba_code::{CostClass, Instruction};

/// The mnemonics along a chain; moves from memory are called `load`. `chain` indexes `instructions`.
#[must_use]
pub fn chain_mnemonics(chain: &[u32], instructions: &[Instruction]) -> Vec<String> {
    let found = chain.iter().filter_map(|&at| instructions.get(at as usize));
    let name = |instruction: &Instruction| match instruction.class {
        CostClass::Load if instruction.mnemonic.contains("mov") => "load".to_owned(),
        _ => instruction.mnemonic.to_owned(),
    };
    found.map(name).collect()
}
