//! Locked instructions without the lock, while there is one thread.

use std::collections::BTreeSet;

use genba_count::native::{CodeEdit, EditedBranch, Side};
use genba_model::{CodeChange, FindingSite, ProofKind};
use iced_x86::Instruction;

use super::{Plan, Plans};
use crate::DecodedCode;

/// Instructions of a plan at most.
const MAX_INSTRUCTIONS: usize = 32;

/// Edits all locked instructions of the function: the finding names the hottest of them.
pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let known = site.addresses.iter().any(|&at| code.index(at).is_some());
    let lock = |one: &&Instruction| code.bytes(one).first() == Some(&0xF0);
    let all = code.instructions().iter().filter(lock).filter(|_| known);
    // The nearest to the site first.
    let distance = |one: &Instruction| {
        let at = site.addresses.first().copied().unwrap_or_default();
        (one.ip().abs_diff(at), one.ip())
    };
    let nearest: BTreeSet<_> = all.map(distance).collect();
    let edit = |(_, address): (u64, u64)| {
        let instruction = &code.instructions()[code.index(address)?];
        let original = code.bytes(instruction).to_vec();
        Some(CodeEdit {
            address,
            code: original.clone(),
            original,
            original_at: Some(0),
            without_lock: true,
            group: 0,
            executed_at: None,
            saved: Vec::new(),
            side: Side::Edited,
            branch: EditedBranch::AsIs,
        })
    };
    let edits = nearest.into_iter().filter_map(edit).take(MAX_INSTRUCTIONS);
    Ok(vec![Plan {
        change: CodeChange::PlainOperations,
        kind: ProofKind::Equivalent,
        edits: edits.collect(),
        single_thread: true,
        replicas: None,
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::site;

    #[test]
    fn all_locked_instructions_of_the_function_lose_their_prefix() {
        // lock inc [rdi]; inc [rdi]; lock add [rip],1; ret
        let bytes = [
            0xF0, 0xFF, 0x07, 0xFF, 0x07, 0xF0, 0x83, 0x05, 0, 0, 0, 0, 1, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1005]), &code).expect("made");
        let places: Vec<_> = found[0].edits.iter().map(|edit| edit.address).collect();
        assert_eq!(places, [0x1005, 0x1000]);
        assert!(found[0].single_thread && found[0].edits[0].without_lock);
        // A site elsewhere.
        assert!(
            plans(&site(&[0x9000]), &code).expect("made")[0]
                .edits
                .is_empty()
        );
    }
}
