//! Which registers a function returns nothing in, as its code tells.

use super::Function;
use super::held::Held;
use crate::dataflow::Locations;
use crate::flow::BlockId;
use crate::instruction::Flow;

impl Function<'_> {
    /// Whether the function may return with a register as its caller left it: then it returns nothing in it.
    pub(super) fn leaves_as_entered(&self, register: Locations) -> bool {
        let Self {
            code, data, flow, ..
        } = *self;
        let blocks = flow.blocks();
        let mut met = vec![false; blocks.len()];
        let mut work: Vec<BlockId> = flow.block_of(0).into_iter().collect();
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut met[block as usize], true) {
                continue;
            }
            let changes = |at: &u32| {
                let flow = code[*at as usize].flow;
                let calls = matches!(flow, Flow::Call(_) | Flow::IndirectCall);
                calls || data[*at as usize].writes & register != 0
            };
            let range = blocks[block as usize].instructions.clone();
            if range.clone().any(|at| changes(&at)) {
                continue;
            }
            let last = range.last().map(|at| code[at as usize].flow);
            if last == Some(Flow::Return) {
                return true;
            }
            work.extend(&blocks[block as usize].successors);
        }
        false
    }

    /// Whether the function writes a register itself and returns before anybody reads it, whichever way it goes: compilers
    /// do so for a result only, and there is one.
    pub(super) fn sets_for_return(&self, register: Locations) -> bool {
        let Self {
            code, data, flow, ..
        } = *self;
        let blocks = flow.blocks();
        let returns = |at: usize| code[at].flow == Flow::Return;
        let mut met = vec![false; blocks.len()];
        // Blocks whose end leads to a return with the register unread.
        let mut work: Vec<BlockId> = (0..blocks.len() as BlockId)
            .filter(|&block| {
                let last = blocks[block as usize].instructions.clone().last();
                last.is_some_and(|at| returns(at as usize))
            })
            .collect();
        while let Some(block) = work.pop() {
            if std::mem::replace(&mut met[block as usize], true) {
                continue;
            }
            let mut passed = true;
            for at in (blocks[block as usize].instructions.clone().rev()).map(|at| at as usize) {
                let calls = matches!(code[at].flow, Flow::Call(_) | Flow::IndirectCall);
                let reads = data[at].reads() & register != 0 && !returns(at);
                let writes = data[at].writes & register != 0 && !returns(at);
                // A `pop` may be there for the stack's sake.
                if writes && !calls && !reads && code[at].mnemonic != "pop" {
                    let set = Held {
                        registers: register,
                        slots: Vec::new(),
                    };
                    if self.is_read_from((block, at + 1), set) == Some(false) {
                        return true;
                    }
                }
                if calls || reads || writes {
                    passed = false;
                    break;
                }
            }
            if passed {
                work.extend(&blocks[block as usize].predecessors);
            }
        }
        false
    }
}
