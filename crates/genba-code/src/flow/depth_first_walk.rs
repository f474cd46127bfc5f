//! A depth-first walk of the blocks from a virtual root that leads to every entry.

use super::blocks::{Block, BlockId};

/// The walk: vertices numbered in the order of discovery, 0 the virtual root.
pub(super) struct Walk {
    /// Block of each vertex; that of the root means nothing.
    block: Vec<BlockId>,
    /// Vertex of each block.
    number: Vec<u32>,
    parent: Vec<u32>,
    /// Last vertex discovered below each vertex.
    last: Vec<u32>,
    predecessors: Vec<u32>,
    predecessor_start: Vec<u32>,
}

impl Walk {
    /// Walks from the entries; every block must be reached from one of them.
    pub(super) fn new(blocks: &[Block], entries: &[BlockId]) -> Self {
        let n = blocks.len() + 1;
        let mut walk = Self {
            block: Vec::with_capacity(n),
            number: vec![0; blocks.len()],
            parent: Vec::with_capacity(n),
            last: vec![0; n],
            predecessors: Vec::new(),
            predecessor_start: Vec::with_capacity(n + 1),
        };
        walk.block.push(0);
        walk.parent.push(0);
        let mut stack: Vec<(u32, usize)> = Vec::new();
        for &entry in entries {
            if walk.number[entry as usize] != 0 {
                continue;
            }
            stack.push((walk.discover(entry, 0), 0));
            while let Some((vertex, next)) = stack.last_mut() {
                let (at, index) = (*vertex, *next);
                *next += 1;
                let block = walk.block[at as usize] as usize;
                match blocks[block].successors.get(index) {
                    Some(&to) if walk.number[to as usize] == 0 => {
                        let vertex = walk.discover(to, at);
                        stack.push((vertex, 0));
                    }
                    Some(_) => {}
                    None => {
                        walk.last[at as usize] = walk.block.len() as u32 - 1;
                        stack.pop();
                    }
                }
            }
        }
        walk.last[0] = walk.block.len() as u32 - 1;
        walk.fill_predecessors(blocks, entries);
        walk
    }

    fn discover(&mut self, block: BlockId, parent: u32) -> u32 {
        let vertex = self.block.len() as u32;
        self.number[block as usize] = vertex;
        self.block.push(block);
        self.parent.push(parent);
        vertex
    }

    fn fill_predecessors(&mut self, blocks: &[Block], entries: &[BlockId]) {
        let mut is_entry = vec![false; blocks.len()];
        for &entry in entries {
            is_entry[entry as usize] = true;
        }
        self.predecessor_start.push(0);
        self.predecessor_start.push(0);
        for vertex in 1..self.block.len() {
            let block = self.block[vertex] as usize;
            if is_entry[block] {
                self.predecessors.push(0);
            }
            for &before in &blocks[block].predecessors {
                self.predecessors.push(self.number[before as usize]);
            }
            self.predecessor_start.push(self.predecessors.len() as u32);
        }
    }

    /// Vertices, the root among them.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    pub(super) fn block(&self, vertex: u32) -> BlockId {
        self.block[vertex as usize]
    }

    pub(super) fn vertex(&self, block: BlockId) -> u32 {
        self.number[block as usize]
    }

    pub(super) fn parent(&self, vertex: u32) -> u32 {
        self.parent[vertex as usize]
    }

    /// Whether `a` is `b` or was on the way when `b` was discovered.
    pub(super) fn is_ancestor(&self, a: u32, b: u32) -> bool {
        a <= b && b <= self.last[a as usize]
    }

    pub(super) fn predecessors(&self, vertex: u32) -> &[u32] {
        let start = self.predecessor_start[vertex as usize] as usize;
        let end = self.predecessor_start[vertex as usize + 1] as usize;
        &self.predecessors[start..end]
    }
}
