//! How often control took each edge inside a function, from counts of instructions and of jumps
//! taken.

use genba_code::{BlockId, ControlFlow, Flow, Instruction};

/// Counts of blocks and edges.
pub(super) struct Edges<'a> {
    pub flow: &'a ControlFlow,
    pub instructions: &'a [Instruction],
    pub counts: &'a [Option<u64>],
    pub taken: &'a dyn Fn(usize) -> Option<u64>,
}

impl Edges<'_> {
    /// Executions of a block.
    pub(super) fn block(&self, block: BlockId) -> Option<u64> {
        let range = &self.flow.blocks().get(block as usize)?.instructions;
        *self.counts.get(range.start as usize)?
    }

    /// Whether control ever iterated in a set of blocks, as far as is known: whether the edges
    /// that were taken between them make a circle.
    pub(super) fn has_iterated(&self, blocks: &[BlockId]) -> bool {
        let mut sorted = blocks.to_vec();
        sorted.sort_unstable();
        let place = |block: BlockId| sorted.binary_search(&block).ok();
        let taken = |from: BlockId, to: BlockId| {
            self.block(from) != Some(0) && self.edge(from, to) != Some(0)
        };
        // Blocks that nothing leads to any more are removed; what remains are cycles.
        let mut before = vec![0u32; sorted.len()];
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); sorted.len()];
        for (index, &from) in sorted.iter().enumerate() {
            for &to in &self.flow.blocks()[from as usize].successors {
                if let Some(other) = place(to).filter(|_| taken(from, to)) {
                    before[other] += 1;
                    after[index].push(other);
                }
            }
        }
        let mut free: Vec<usize> = (0..sorted.len()).filter(|&i| before[i] == 0).collect();
        let mut gone = 0;
        while let Some(index) = free.pop() {
            gone += 1;
            for &other in &after[index] {
                before[other] -= 1;
                if before[other] == 0 {
                    free.push(other);
                }
            }
        }
        gone < sorted.len()
    }

    /// Index of a block's last instruction.
    pub(super) fn last(&self, block: BlockId) -> Option<usize> {
        let range = &self.flow.blocks().get(block as usize)?.instructions;
        (range.end as usize).checked_sub(1)
    }

    /// Whether this is the edge along which a conditional jump is taken.
    fn is_taken_edge(&self, from: BlockId, to: BlockId) -> Option<bool> {
        let last = self.instructions.get(self.last(from)?)?;
        let Flow::CondJump(target) = last.flow else {
            return None;
        };
        let start = self.flow.blocks().get(to as usize)?.instructions.start;
        Some(self.instructions.get(start as usize)?.address == target)
    }

    /// How often control went from one block to another.
    pub(super) fn edge(&self, from: BlockId, to: BlockId) -> Option<u64> {
        let blocks = self.flow.blocks();
        let successors = &blocks.get(from as usize)?.successors;
        if !successors.contains(&to) {
            return Some(0);
        }
        let all = self.block(from)?;
        let last = self.last(from)?;
        let Some(by_jump) = self.is_taken_edge(from, to) else {
            // Without a conditional jump there is one successor.
            return (successors.len() == 1).then_some(all);
        };
        if let Some(taken) = (self.taken)(last) {
            let taken = taken.min(all);
            if successors.len() == 1 {
                // Either both outcomes lead there, or the jump leaves the function.
                let next = self.instructions.get(last + 1)?.address;
                let start = blocks.get(to as usize)?.instructions.start;
                let falls = self.instructions.get(start as usize)?.address == next;
                return Some(match (by_jump, falls) {
                    (true, true) => all,
                    (true, false) => taken,
                    (false, _) => all - taken,
                });
            }
            return Some(if by_jump { taken } else { all - taken });
        }
        if successors.len() == 1 {
            return None;
        }
        // Nobody counted the jump. A block that can be come to by one edge only tells.
        let alone = |block: BlockId| {
            let found = blocks.get(block as usize)?;
            (found.known_entry && found.predecessors.len() == 1 && block != 0)
                .then(|| self.block(block))
                .flatten()
        };
        if let Some(count) = alone(to) {
            return Some(count.min(all));
        }
        let other = successors.iter().copied().find(|&s| s != to)?;
        alone(other).map(|count| all.saturating_sub(count))
    }

    /// How often the conditional jump at the end of a block was taken.
    pub(super) fn taken_at_end(&self, block: BlockId) -> Option<u64> {
        let last = self.last(block)?;
        let Flow::CondJump(target) = self.instructions.get(last)?.flow else {
            return None;
        };
        if let Some(taken) = (self.taken)(last) {
            return Some(taken);
        }
        let successors = &self.flow.blocks().get(block as usize)?.successors;
        let to = successors.iter().copied().find(|&s| {
            let start = self.flow.blocks()[s as usize].instructions.start;
            self.instructions
                .get(start as usize)
                .is_some_and(|i| i.address == target)
        })?;
        self.edge(block, to)
    }
}
