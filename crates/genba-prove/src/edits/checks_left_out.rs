//! Upper bound: checks that are not made. Branches that nearly always go one way go it always, and comparisons
//! that only they read are left out, with the loads that only these read. Where a check would have failed, the
//! copy of the program goes on, and computes something else.

use genba_count::native::{CodeEdit, EditedBranch};
use genba_model::{CodeChange, FindingSite};
use iced_x86::{FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::{Plan, Plans, left_out};
use crate::DecodedCode;
use crate::branch_shares::BranchShares;
use crate::register_liveness::is_live_after;

/// Share of executions up to which a branch goes the other way.
const MAX_RARE: f64 = 0.05;
/// Branches of a plan at most.
const MAX_BRANCHES: usize = 16;
/// Instructions before a branch in which its comparison is looked for.
const MAX_DISTANCE: usize = 6;

pub fn plans(site: &FindingSite, code: &DecodedCode, shares: &BranchShares) -> Plans {
    let mut edits: Vec<CodeEdit> = Vec::new();
    for &at in site.addresses.iter().take(MAX_BRANCHES) {
        let (Some(index), Some(&share)) = (code.index(at), shares.get(&at)) else {
            continue;
        };
        let instruction = &code.instructions()[index];
        let way = match share {
            share if share <= MAX_RARE => EditedBranch::Never,
            share if share >= 1.0 - MAX_RARE => EditedBranch::Always,
            _ => continue,
        };
        if instruction.flow_control() != FlowControl::ConditionalBranch {
            continue;
        }
        edits.push(left_out(code, instruction, way));
        for index in serving(code, index) {
            let edit = left_out(code, &code.instructions()[index], EditedBranch::AsIs);
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    Ok(vec![Plan::upper_bound(CodeChange::ChecksLeftOut, edits)])
}

/// Returns the comparison of a branch and the load of what it compares, where nothing else reads them.
fn serving(code: &DecodedCode, branch: usize) -> Vec<usize> {
    let all = code.instructions();
    let before = (branch.saturating_sub(MAX_DISTANCE)..branch).rev();
    let straight = before.take_while(|&at| all[at].flow_control() == FlowControl::Next);
    let mut places = straight.filter(|&at| all[at].rflags_modified() != 0);
    let Some(compare) = places.next() else {
        return Vec::new();
    };
    // Flags that the branch alone reads: those after it are not followed, and matter to a copy that ends only.
    if !matches!(all[compare].mnemonic(), Mnemonic::Cmp | Mnemonic::Test) {
        return Vec::new();
    }
    let mut found = vec![compare];
    let operands = (0..2).filter(|&at| all[compare].op_kind(at) == OpKind::Register);
    let read: Vec<Register> = operands
        .map(|at| all[compare].op_register(at).full_register())
        .filter(|&register| !is_live_after(code, compare, register))
        .collect();
    let mut factory = InstructionInfoFactory::new();
    for at in (branch.saturating_sub(MAX_DISTANCE)..compare).rev() {
        let one = &all[at];
        if one.flow_control() != FlowControl::Next {
            break;
        }
        let used = factory.info(one).used_registers();
        let touches = used
            .iter()
            .find(|used| read.contains(&used.register().full_register()));
        let Some(touches) = touches else { continue };
        let loads = matches!(
            one.mnemonic(),
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd
        ) && one.op0_kind() == OpKind::Register
            && touches.access() == OpAccess::Write;
        if loads {
            found.push(at);
        }
        break;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::site;

    #[test]
    fn a_check_goes_with_its_comparison_and_the_load_for_it() {
        // mov edx,[rdi]; cmp edx,ecx; ja +0; mov edx,1; inc eax; ret
        let bytes = [
            0x8B, 0x17, 0x39, 0xCA, 0x77, 0x00, 0xBA, 1, 0, 0, 0, 0xFF, 0xC0, 0xC3,
        ];
        let code = DecodedCode::new(0x1000, &bytes);
        let never = plans(&site(&[0x1004]), &code, &[(0x1004, 0.0)].into()).expect("made");
        let places: Vec<_> = never[0].edits.iter().map(|edit| edit.address).collect();
        assert_eq!(places, [0x1004, 0x1002, 0x1000]);
        assert_eq!(never[0].edits[0].branch, EditedBranch::Never);
        let always = plans(&site(&[0x1004]), &code, &[(0x1004, 1.0)].into()).expect("made");
        assert_eq!(always[0].edits[0].branch, EditedBranch::Always);
        let varying = plans(&site(&[0x1004]), &code, &[(0x1004, 0.5)].into()).expect("made");
        assert_eq!(varying[0].edits, []);
    }

    #[test]
    fn what_is_read_again_stays() {
        // mov edx,[rdi]; cmp edx,ecx; ja +0; mov eax,edx; ret
        let bytes = [0x8B, 0x17, 0x39, 0xCA, 0x77, 0x00, 0x89, 0xD0, 0xC3];
        let code = DecodedCode::new(0x1000, &bytes);
        let never = plans(&site(&[0x1004]), &code, &[(0x1004, 0.0)].into()).expect("made");
        let places: Vec<_> = never[0].edits.iter().map(|edit| edit.address).collect();
        assert_eq!(places, [0x1004, 0x1002]);
    }
}
