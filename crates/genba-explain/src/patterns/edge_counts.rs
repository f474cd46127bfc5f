//! How often control went from one block to another: by a branch's outcomes, or by what did not come from elsewhere.

use genba_code::{BlockId, Flow};

use crate::input::analysis_input::FunctionInput;

/// Executions of the way from one block to a successor; `None` of branches whose outcomes were not counted, and of ways of
/// a jump through a table to where another such jump leads as well.
pub(crate) fn edge(function: &FunctionInput, from: BlockId, to: BlockId) -> Option<u64> {
    by_outcomes(function, from, to).or_else(|| {
        let mut before = function.flow.blocks()[to as usize].predecessors.iter();
        let elsewhere = before.try_fold(0, |all: u64, &one| match one == from {
            true => Some(all),
            false => Some(all + by_outcomes(function, one, to)?),
        });
        let rest = executions(function, to).checked_sub(elsewhere?)?;
        (rest <= last_count(function, from)).then_some(rest)
    })
}

/// Executions of the way from one block to a successor, at most.
pub(crate) fn edge_at_most(function: &FunctionInput, from: BlockId, to: BlockId) -> u64 {
    let known = edge(function, from, to).unwrap_or(last_count(function, from));
    known.min(executions(function, to))
}

/// Executions of a block.
pub(crate) fn executions(function: &FunctionInput, block: BlockId) -> u64 {
    let first = function.flow.blocks()[block as usize].instructions.start as usize;
    function.counts.get(first).copied().unwrap_or(0)
}

fn last_count(function: &FunctionInput, block: BlockId) -> u64 {
    let end = function.flow.blocks()[block as usize].instructions.end as usize;
    let last = end
        .checked_sub(1)
        .and_then(|last| function.counts.get(last));
    last.copied().unwrap_or(0)
}

fn by_outcomes(function: &FunctionInput, from: BlockId, to: BlockId) -> Option<u64> {
    let blocks = function.flow.blocks();
    let last = (blocks[from as usize].instructions.end as usize).checked_sub(1)?;
    let all = last_count(function, from);
    let Flow::CondJump(target) = function.code.get(last)?.flow else {
        return (blocks[from as usize].successors.len() == 1).then_some(all);
    };
    let taken = function.taken.get(last).copied().flatten()?;
    let first = blocks[to as usize].instructions.start as usize;
    match function.code.get(first)?.address == target {
        true => Some(taken),
        false => Some(all.saturating_sub(taken)),
    }
}

#[cfg(test)]
mod tests {
    use genba_code::{ControlFlow, Instruction};
    use iced_x86::code_asm::*;

    use super::*;
    use crate::tests::synthetic::function;

    /// Blocks: a jump through a table to two places, of which a branch also leads to the second.
    #[test]
    fn ways_of_a_table_are_what_does_not_come_from_elsewhere() {
        let mut one = function(
            "dispatch",
            |a| {
                let (mut first, mut second) = (a.create_label(), a.create_label());
                a.test(eax, eax)?;
                a.je(second)?;
                a.jmp(rdx)?;
                a.set_label(&mut first)?;
                a.nop()?;
                a.ret()?;
                a.set_label(&mut second)?;
                a.ret()
            },
            &[100, 100, 70, 20, 20, 80],
            &[0.0; 6],
            &[(1, 30)],
        );
        let [table, first, second] = [2, 3, 5].map(|at: usize| one.code[at].address);
        let seen = |code: &Instruction| match code.address == table {
            true => vec![first, second],
            false => Vec::new(),
        };
        one.flow = ControlFlow::build_with(&one.code, seen, |_| false, |_| false);
        let block = |at: usize| one.flow.block_of(at).expect("a block");
        let (test, table, first, second) = (block(0), block(2), block(3), block(5));
        assert_eq!(edge(&one, test, second), Some(30));
        assert_eq!(edge(&one, table, first), Some(20));
        assert_eq!(edge(&one, table, second), Some(50));
        // Where the outcomes of the branch were not counted only a bound is known.
        one.taken[1] = None;
        assert_eq!(edge(&one, table, second), None);
        assert_eq!(edge_at_most(&one, table, second), 70);
    }
}
