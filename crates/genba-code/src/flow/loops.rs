//! The loop nesting forest by Havlak, "Nesting of Reducible and Irreducible Loops" (TOPLAS
//! 1997): near-linear with union-find, and irreducible regions are loops of their own, marked
//! as such, instead of a reason to give up.

use std::ops::Range;

use super::blocks::{Block, BlockId};
use super::depth_first_walk::Walk;

const NONE: u32 = u32::MAX;

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that it is entered by; for an irreducible loop the one of its entries that
    /// the walk from the function's entry comes to first.
    pub head: BlockId,
    /// The loop around it: index into [`ControlFlow::loops`](super::ControlFlow::loops).
    pub parent: Option<u32>,
    /// Nesting: 1 for an outermost loop.
    pub depth: u32,
    /// Index of the instruction at its highest address.
    pub last: u32,
    /// Entered elsewhere than at its head, so that it is not a natural loop.
    pub irreducible: bool,
    /// Where its blocks are in the list that all loops share.
    pub(super) range: Range<u32>,
}

/// All loops of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops {
    /// Outer loops before inner ones.
    pub(super) loops: Vec<Loop>,
    /// Innermost loop of each block.
    pub(super) of_block: Vec<Option<u32>>,
    /// Blocks, those of each loop side by side, those of inner loops within.
    pub(super) blocks: Vec<BlockId>,
}

/// Finds the loops.
pub(super) fn find(blocks: &[Block], walk: &Walk) -> Loops {
    let headers = headers(walk);
    arrange(blocks, walk, &headers)
}

struct Headers {
    /// Head of the innermost loop around each vertex (the vertex itself excepted).
    header: Vec<u32>,
    is_head: Vec<bool>,
    irreducible: Vec<bool>,
}

fn headers(walk: &Walk) -> Headers {
    let n = walk.len();
    let mut found = Headers {
        header: vec![NONE; n],
        is_head: vec![false; n],
        irreducible: vec![false; n],
    };
    let mut sets = UnionFind::new(n);
    // Edges that inner irreducible loops hand to the loops around them.
    let mut handed: Vec<Vec<u32>> = vec![Vec::new(); n];
    // Vertex → the head during whose turn it was last put into the body.
    let mut in_body = vec![NONE; n];
    let mut body: Vec<u32> = Vec::new();
    for w in (1..n as u32).rev() {
        body.clear();
        for &v in walk.predecessors(w) {
            if !walk.is_ancestor(w, v) {
                continue;
            }
            found.is_head[w as usize] = true;
            let v = sets.find(v);
            if v != w && in_body[v as usize] != w {
                in_body[v as usize] = w;
                body.push(v);
            }
        }
        let mut i = 0;
        while i < body.len() {
            let x = body[i];
            i += 1;
            let from_inner = std::mem::take(&mut handed[x as usize]);
            for k in 0..walk.predecessors(x).len() + from_inner.len() {
                let y = match walk.predecessors(x).get(k) {
                    Some(&y) => y,
                    None => from_inner[k - walk.predecessors(x).len()],
                };
                if walk.is_ancestor(x, y) {
                    // An edge that closes a loop at x: dealt with in x's own turn.
                    continue;
                }
                let y = sets.find(y);
                if !walk.is_ancestor(w, y) {
                    found.irreducible[w as usize] = true;
                    handed[w as usize].push(y);
                } else if y != w && in_body[y as usize] != w {
                    in_body[y as usize] = w;
                    body.push(y);
                }
            }
        }
        handed[w as usize].sort_unstable();
        handed[w as usize].dedup();
        for &x in &body {
            found.header[x as usize] = w;
            sets.join(x, w);
        }
    }
    found
}

fn arrange(blocks: &[Block], walk: &Walk, headers: &Headers) -> Loops {
    let n = walk.len();
    let mut out = Loops {
        of_block: vec![None; blocks.len()],
        ..Loops::default()
    };
    let mut loop_of_head = vec![NONE; n];
    // A head is discovered after the head of the loop around it.
    for v in 1..n {
        let around = headers.header[v];
        let around = (around != NONE).then(|| loop_of_head[around as usize]);
        let mut innermost = around;
        if headers.is_head[v] {
            let id = out.loops.len() as u32;
            loop_of_head[v] = id;
            out.loops.push(Loop {
                head: walk.block(v as u32),
                parent: around,
                depth: around.map_or(0, |l| out.loops[l as usize].depth) + 1,
                last: 0,
                irreducible: headers.irreducible[v],
                range: 0..0,
            });
            innermost = Some(id);
        }
        out.of_block[walk.block(v as u32) as usize] = innermost;
    }
    place_blocks(blocks, &mut out);
    out
}

/// Gives every loop its part of the shared list: first its own blocks, then its inner loops'.
fn place_blocks(blocks: &[Block], out: &mut Loops) {
    let mut own = vec![0u32; out.loops.len()];
    for &innermost in out.of_block.iter().flatten() {
        own[innermost as usize] += 1;
    }
    let mut total = own.clone();
    for i in (0..out.loops.len()).rev() {
        if let Some(parent) = out.loops[i].parent {
            total[parent as usize] += total[i];
        }
    }
    // Next free place inside each loop for an inner loop, and one for the outermost ones.
    let mut free = vec![0u32; out.loops.len()];
    let mut top = 0u32;
    let mut fill = vec![0u32; out.loops.len()];
    for i in 0..out.loops.len() {
        let slot = match out.loops[i].parent {
            Some(parent) => &mut free[parent as usize],
            None => &mut top,
        };
        let start = *slot;
        *slot += total[i];
        out.loops[i].range = start..start + total[i];
        fill[i] = start;
        free[i] = start + own[i];
    }
    out.blocks = vec![0; top as usize];
    for (block, innermost) in out.of_block.iter().enumerate() {
        if let Some(innermost) = *innermost {
            let place = &mut fill[innermost as usize];
            out.blocks[*place as usize] = block as BlockId;
            *place += 1;
            let last = &mut out.loops[innermost as usize].last;
            *last = (*last).max(blocks[block].instructions.end.saturating_sub(1));
        }
    }
    for i in (0..out.loops.len()).rev() {
        if let Some(parent) = out.loops[i].parent {
            let last = out.loops[i].last;
            let outer = &mut out.loops[parent as usize].last;
            *outer = (*outer).max(last);
        }
    }
}

/// Disjoint sets whose representative is the head that they were collapsed into.
struct UnionFind {
    above: Vec<u32>,
}

impl UnionFind {
    fn new(n: usize) -> Self {
        Self {
            above: (0..n as u32).collect(),
        }
    }

    fn find(&mut self, v: u32) -> u32 {
        let mut root = v;
        while self.above[root as usize] != root {
            root = self.above[root as usize];
        }
        let mut at = v;
        while self.above[at as usize] != root {
            at = std::mem::replace(&mut self.above[at as usize], root);
        }
        root
    }

    fn join(&mut self, v: u32, head: u32) {
        self.above[v as usize] = head;
    }
}
