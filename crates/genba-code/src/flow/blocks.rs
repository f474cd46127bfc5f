//! Basic blocks and the edges between them.

use std::ops::Range;

use smallvec::SmallVec;

use super::depth_first_walk::Walk;
use super::dominators;
use super::loops::{self, Loop, Loops};
use crate::instruction::{CostClass, Flow, Instruction};

/// Indices of the instructions that a jump may go to.
type Targets = SmallVec<[u32; 1]>;

/// Index of a basic block in [`ControlFlow::blocks`].
pub type BlockId = u32;

/// A run of instructions that is entered at its first and left after its last only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Indices of its instructions.
    pub instructions: Range<u32>,
    /// Blocks that may come next, without repetition: the fall-through first.
    pub successors: SmallVec<[BlockId; 2]>,
    /// Blocks that may come before, without repetition, in order.
    pub predecessors: SmallVec<[BlockId; 2]>,
    /// Whether a way leads to it from the function's entry along known edges. Blocks behind
    /// an unresolved indirect jump (switch tables) are entries of their own instead.
    pub reachable: bool,
    /// Whether its predecessors are all known: false for the cases of an unresolved switch
    /// table and for landing pads, to which control comes from elsewhere.
    pub known_entry: bool,
}

/// Blocks, edges, dominators and loops of one function.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    blocks: Vec<Block>,
    block_of: Vec<BlockId>,
    /// Times of entry and exit of each block in the dominator tree.
    dominance: Vec<(u32, u32)>,
    loops: Loops,
    has_indirect: bool,
}

impl ControlFlow {
    /// Builds the control flow of instructions in address order, the function's entry first.
    ///
    /// Jumps to addresses outside, or into the middle of an instruction, are exits: they end
    /// their block and have no edge. A block that nothing known leads to, in a function with
    /// an unresolved indirect jump or with landing pads, counts as entered from outside.
    #[must_use]
    pub fn build(instructions: &[Instruction]) -> Self {
        Self::build_with(instructions, |_| Vec::new(), |_| false, |_| false)
    }

    /// The same with what was seen in a run. `seen_targets` gives the targets of indirect jumps where they
    /// are known, as addresses; a jump without any stays unresolved. `ends` says of a call that it
    /// leads nowhere: it never returns (`abort`, what throws), or was never executed though the instruction behind it
    /// was, since compilers put calls that do not return before any code. As an
    /// entry it would make irreducible the loop that happens to come next. `never_ran` says of an instruction that
    /// it was not executed in a run that was counted: what only unseen cases of a `switch` and unused landing pads
    /// lead to has no way on, since as an entry it would make irreducible the loop that it goes back to.
    #[must_use]
    pub fn build_with(
        instructions: &[Instruction],
        seen_targets: impl Fn(&Instruction) -> Vec<u64>,
        ends: impl Fn(&Instruction) -> bool,
        never_ran: impl Fn(&Instruction) -> bool,
    ) -> Self {
        // More than 2³² instructions do not fit in any address space that we read.
        let instructions = &instructions[..instructions.len().min(u32::MAX as usize - 1)];
        let targets: Vec<Targets> = instructions
            .iter()
            .map(|i| match i.flow {
                Flow::IndirectJump => {
                    let seen = seen_targets(i);
                    seen.iter()
                        .filter_map(|&address| index_at(instructions, address))
                        .collect()
                }
                flow => (flow.jump_target())
                    .and_then(|address| index_at(instructions, address))
                    .into_iter()
                    .collect(),
            })
            .collect();
        let starts = block_starts(instructions, &targets);
        let (mut blocks, block_of) = cut(instructions.len(), &starts);
        let mut has_indirect = false;
        for block in &mut blocks {
            let last = block.instructions.end as usize - 1;
            let flow = instructions[last].flow;
            has_indirect |= flow == Flow::IndirectJump && targets[last].is_empty();
            let mut successors: SmallVec<[BlockId; 2]> = SmallVec::new();
            let ended =
                matches!(flow, Flow::Call(_) | Flow::IndirectCall) && ends(&instructions[last]);
            if flow.falls_through() && !ended && last + 1 < instructions.len() {
                successors.push(block_of[last + 1]);
            }
            for &target in &targets[last] {
                let target = block_of[target as usize];
                if !successors.contains(&target) {
                    successors.push(target);
                }
            }
            block.successors = successors;
        }
        drop_padding(&mut blocks, instructions);
        let first = |block: &Block| &instructions[block.instructions.start as usize];
        drop_unseen(&mut blocks, |block| never_ran(first(block)));
        for id in 0..blocks.len() {
            for i in 0..blocks[id].successors.len() {
                let to = blocks[id].successors[i] as usize;
                blocks[to].predecessors.push(id as BlockId);
            }
        }
        Self::finish(blocks, block_of, has_indirect)
    }

    /// A control-flow graph given by edges alone, each block standing for one instruction;
    /// the material of tests and of tools that bring their own blocks. Edges to blocks that
    /// do not exist are left out.
    #[must_use]
    pub fn from_edges(blocks: u32, edges: &[(BlockId, BlockId)]) -> Self {
        let mut list: Vec<Block> = (0..blocks).map(|i| Block::empty(i..i + 1)).collect();
        for &(from, to) in edges {
            if from < blocks && to < blocks && !list[from as usize].successors.contains(&to) {
                list[from as usize].successors.push(to);
                list[to as usize].predecessors.push(from);
            }
        }
        Self::finish(list, (0..blocks).collect(), false)
    }

    fn finish(mut blocks: Vec<Block>, block_of: Vec<BlockId>, has_indirect: bool) -> Self {
        let entries = mark_entries(&mut blocks);
        let walk = Walk::new(&blocks, &entries);
        let idom = dominators::immediate(&walk);
        let times = dominators::intervals(&idom);
        let vertices = (0..blocks.len() as BlockId).map(|b| walk.vertex(b));
        let dominance = vertices.map(|v| times[v as usize]).collect();
        let loops = loops::find(&blocks, &walk);
        Self {
            blocks,
            block_of,
            dominance,
            loops,
            has_indirect,
        }
    }

    /// The blocks in address order.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The block of an instruction.
    #[must_use]
    pub fn block_of(&self, instruction: usize) -> Option<BlockId> {
        self.block_of.get(instruction).copied()
    }

    /// Whether there is a jump whose targets are not known.
    #[must_use]
    pub fn has_indirect_jumps(&self) -> bool {
        self.has_indirect
    }

    /// The instructions of this function that may have run just before this one. Within a
    /// block the one before; after a call the call itself; at the head of a block the last
    /// instruction of every block that leads to it. Empty at the function's entry and where
    /// control comes from somewhere unknown only.
    #[must_use]
    pub fn predecessors(&self, instruction: usize) -> SmallVec<[u32; 2]> {
        let Some(block) = self.block_of(instruction) else {
            return SmallVec::new();
        };
        let block = &self.blocks[block as usize];
        if block.instructions.start as usize != instruction {
            return SmallVec::from_slice(&[instruction as u32 - 1]);
        }
        block
            .predecessors
            .iter()
            .map(|&p| self.blocks[p as usize].instructions.end - 1)
            .collect()
    }

    /// Whether every way from an entry to `b` passes `a` (a block dominates itself).
    #[must_use]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (
            self.dominance.get(a as usize),
            self.dominance.get(b as usize),
        ) {
            (Some(a), Some(b)) => a.0 <= b.0 && b.0 < a.1,
            _ => false,
        }
    }

    /// The loops, an outer one before those inside it.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops.loops
    }

    /// The blocks of a loop, those of the loops inside it among them, in no useful order.
    #[must_use]
    pub fn loop_blocks(&self, index: u32) -> &[BlockId] {
        match self.loops.loops.get(index as usize) {
            Some(l) => &self.loops.blocks[l.range.start as usize..l.range.end as usize],
            None => &[],
        }
    }

    /// Innermost loop of a block: index into [`Self::loops`].
    #[must_use]
    pub fn innermost_loop(&self, block: BlockId) -> Option<u32> {
        self.loops.of_block.get(block as usize).copied().flatten()
    }

    /// Innermost loop of an instruction: index into [`Self::loops`].
    #[must_use]
    pub fn loop_of_instruction(&self, instruction: usize) -> Option<u32> {
        self.innermost_loop(self.block_of(instruction)?)
    }
}

impl Block {
    fn empty(instructions: Range<u32>) -> Self {
        Self {
            instructions,
            successors: SmallVec::new(),
            predecessors: SmallVec::new(),
            reachable: false,
            known_entry: true,
        }
    }
}

/// Takes the way out of padding: no-operations behind a jump or return, which align what comes
/// after them and never run. As an entry they would make irreducible every loop that is entered
/// at its test, and stand as predecessors where samples are put right.
fn drop_padding(blocks: &mut [Block], instructions: &[Instruction]) {
    let mut entered = vec![false; blocks.len()];
    for block in blocks.iter() {
        for &to in &block.successors {
            entered[to as usize] = true;
        }
    }
    for (block, _) in blocks.iter_mut().zip(entered).skip(1).filter(|(_, e)| !e) {
        let range = block.instructions.start as usize..block.instructions.end as usize;
        let padding = instructions[range]
            .iter()
            .all(|i| i.class == CostClass::Nop && !i.mnemonic.starts_with("endbr"));
        if padding {
            block.successors.clear();
        }
    }
}

/// Takes the way out of blocks that never ran and to which no way leads from the entry or from one that ran.
fn drop_unseen(blocks: &mut [Block], never_ran: impl Fn(&Block) -> bool) {
    let ran = |block: &usize| *block == 0 || !never_ran(&blocks[*block]);
    let mut stack: Vec<usize> = (0..blocks.len()).filter(ran).collect();
    let mut reached = vec![false; blocks.len()];
    stack.iter().for_each(|&block| reached[block] = true);
    while let Some(block) = stack.pop() {
        for &to in &blocks[block].successors {
            if !std::mem::replace(&mut reached[to as usize], true) {
                stack.push(to as usize);
            }
        }
    }
    for (block, _) in blocks.iter_mut().zip(reached).filter(|one| !one.1) {
        block.successors.clear();
    }
}

/// Index of the instruction that starts at `address`.
fn index_at(instructions: &[Instruction], address: u64) -> Option<u32> {
    instructions
        .binary_search_by_key(&address, |i| i.address)
        .ok()
        .map(|i| i as u32)
}

fn block_starts(instructions: &[Instruction], targets: &[Targets]) -> Vec<bool> {
    let mut starts = vec![false; instructions.len()];
    if let Some(first) = starts.first_mut() {
        *first = true;
    }
    for (i, instruction) in instructions.iter().enumerate() {
        for &target in &targets[i] {
            starts[target as usize] = true;
        }
        if instruction.flow.ends_block()
            && let Some(next) = starts.get_mut(i + 1)
        {
            *next = true;
        }
        // Code that is not contiguous (parts of a split function) falls nowhere.
        if let Some(next) = instructions.get(i + 1)
            && next.address != instruction.end()
        {
            starts[i + 1] = true;
        }
    }
    starts
}

fn cut(length: usize, starts: &[bool]) -> (Vec<Block>, Vec<BlockId>) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = Vec::with_capacity(length);
    for (i, &start) in starts.iter().enumerate() {
        if start {
            blocks.push(Block::empty(i as u32..i as u32));
        }
        if let Some(block) = blocks.last_mut() {
            block.instructions.end = i as u32 + 1;
        }
        block_of.push(blocks.len().saturating_sub(1) as BlockId);
    }
    (blocks, block_of)
}

/// The function's entry, then the first block in address order of everything that is not
/// reached from those before: switch cases, landing pads, dead code.
fn mark_entries(blocks: &mut [Block]) -> Vec<BlockId> {
    let mut entries = Vec::new();
    let mut seen = vec![false; blocks.len()];
    let mut stack = Vec::new();
    // Blocks that nothing leads to come first: they are the true heads of unreached parts.
    let orphans = (0..blocks.len()).filter(|&b| b != 0 && blocks[b].predecessors.is_empty());
    let candidates: Vec<usize> = (0..blocks.len().min(1))
        .chain(orphans)
        .chain(1..blocks.len())
        .collect();
    for candidate in candidates {
        if seen[candidate] {
            continue;
        }
        entries.push(candidate as BlockId);
        blocks[candidate].known_entry = candidate == 0;
        seen[candidate] = true;
        stack.push(candidate);
        while let Some(block) = stack.pop() {
            blocks[block].reachable = entries.len() == 1;
            for &next in &blocks[block].successors {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push(next as usize);
                }
            }
        }
    }
    entries
}
