//! Stores that nobody reads are skipped. That nobody reads them was observed, not proven: a proof holds
//! only if the output is the same.

use genba_count::native::EditedBranch;
use genba_model::{CodeChange, FindingSite};
use iced_x86::{Mnemonic, OpKind};

use super::{Plan, Plans, left_out};
use crate::DecodedCode;

/// Stores of a register or a number to memory, that change nothing else.
const STORES: [Mnemonic; 12] = [
    Mnemonic::Mov,
    Mnemonic::Movups,
    Mnemonic::Movaps,
    Mnemonic::Movupd,
    Mnemonic::Movapd,
    Mnemonic::Movdqa,
    Mnemonic::Movdqu,
    Mnemonic::Movss,
    Mnemonic::Movsd,
    Mnemonic::Movd,
    Mnemonic::Movq,
    Mnemonic::Vmovdqu,
];

pub fn plans(site: &FindingSite, code: &DecodedCode) -> Plans {
    let edit = |&address: &u64| {
        let instruction = &code.instructions()[code.index(address)?];
        let store =
            STORES.contains(&instruction.mnemonic()) && instruction.op0_kind() == OpKind::Memory;
        store.then(|| left_out(code, instruction, EditedBranch::AsIs))
    };
    let edits = site.addresses.iter().filter_map(edit).collect();
    Ok(vec![Plan::equivalent(CodeChange::StoreSkipped, edits)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::site;

    #[test]
    fn stores_are_skipped_and_nothing_else() {
        // mov [rdi],eax; mov eax,[rdi]; movups [rdi],xmm0; rep stosb
        let bytes = [0x89, 0x07, 0x8B, 0x07, 0x0F, 0x11, 0x07, 0xF3, 0xAA];
        let code = DecodedCode::new(0x1000, &bytes);
        let found = plans(&site(&[0x1000, 0x1002, 0x1004, 0x1007]), &code).expect("made");
        let places: Vec<_> = found[0].edits.iter().map(|edit| edit.address).collect();
        assert_eq!(places, [0x1000, 0x1004]);
        assert!(found[0].edits.iter().all(|edit| edit.code.is_empty()));
    }
}
