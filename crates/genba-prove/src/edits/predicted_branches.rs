//! Upper bound: branches that are never mispredicted. They go by a pattern that repeats after 64 executions, each
//! way as often as in the program. Which way they go is wrong, so what the copy of the program computes is, too.

use genba_count::native::{EditedBranch, PATTERN_OFFSET, Replicas};
use genba_model::{CodeChange, FindingSite};
use iced_x86::{Code, FlowControl, Instruction};

use super::{Plan, Plans};
use crate::DecodedCode;
use crate::branch_shares::BranchShares;
use crate::edit_assembler::{EditAssembler, state_word};

/// Number of the condition "carry" in opcodes.
const CARRY: u8 = 2;
/// Branches of a plan at most.
const MAX_BRANCHES: usize = 8;

pub fn plans(site: &FindingSite, code: &DecodedCode, shares: &BranchShares) -> Plans {
    let branches = site.addresses.iter().filter_map(|&at| {
        let instruction = &code.instructions()[code.index(at)?];
        let share = *shares.get(&at)?;
        (instruction.flow_control() == FlowControl::ConditionalBranch)
            .then_some((instruction, share))
    });
    let branches: Vec<_> = branches.take(MAX_BRANCHES).collect();
    let Some(&(_, share)) = branches.first() else {
        return Ok(Vec::new());
    };
    let mut edits = Vec::new();
    for (instruction, _) in branches {
        let mut edit = EditAssembler::new(code, instruction)?;
        edit.instruction(Instruction::with2(
            Code::Rol_rm64_1,
            state_word(PATTERN_OFFSET),
            1,
        )?)?;
        let mut edit = edit.finish()?;
        edit.branch = EditedBranch::If(CARRY);
        edits.push(edit);
    }
    let mut plan = Plan::upper_bound(CodeChange::BranchesPredicted, edits);
    plan.replicas = Some(Replicas {
        log_entry: 0,
        pattern: pattern(share),
        ignored: 0,
    });
    Ok(vec![plan])
}

/// Returns 64 bits of which this share is set, spread evenly.
fn pattern(share: f64) -> u64 {
    let ones = (share.clamp(0.0, 1.0) * 64.0).round() as u64;
    (0..64).fold(0, |bits, at| {
        let before = at * ones / 64;
        let after = (at + 1) * ones / 64;
        bits | (after - before) << at
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::tests::{site, text};

    #[test]
    fn a_pattern_has_the_share_of_ones_spread_evenly() {
        assert_eq!(pattern(0.5), 0xAAAA_AAAA_AAAA_AAAA);
        assert_eq!((pattern(0.0), pattern(1.0)), (0, u64::MAX));
        assert_eq!(pattern(0.3).count_ones(), 19);
    }

    #[test]
    fn a_branch_goes_by_the_pattern() {
        // cmp eax,ebx; jl 1000h; ret
        let code = DecodedCode::new(0x1000, &[0x39, 0xD8, 0x7C, 0xFC, 0xC3]);
        let shares = [(0x1002, 0.25)].into();
        let found = plans(&site(&[0x1002]), &code, &shares).expect("encodes");
        assert_eq!(text(&found[0].edits[0]), ["rol qword ptr gs:[938h],1"]);
        assert_eq!(found[0].edits[0].branch, EditedBranch::If(2));
        assert_eq!(
            found[0].replicas.map(|one| one.pattern.count_ones()),
            Some(16)
        );
        // One that was not executed, and what is not a branch.
        let none = plans(&site(&[0x1000]), &code, &shares);
        assert!(none.is_ok_and(|all| all.is_empty()));
    }
}
