//! Dominators by Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a
//! Flowgraph" (TOPLAS 1979), the simple version with path compression, O(m log n): iterative
//! data-flow methods need quadratic time on graphs that an unfriendly file can contain.

use super::depth_first_walk::Walk;

const NONE: u32 = u32::MAX;

/// Immediate dominators by position in the walk; position 0 is the virtual root, which has
/// itself.
pub(super) fn immediate(walk: &Walk) -> Vec<u32> {
    let n = walk.len();
    let mut semi: Vec<u32> = (0..n as u32).collect();
    let mut forest = Forest::new(n);
    let mut idom = vec![0u32; n];
    // Singly linked buckets: the vertices whose semidominator a vertex is.
    let mut bucket_head = vec![NONE; n];
    let mut bucket_next = vec![NONE; n];
    for w in (1..n as u32).rev() {
        for &v in walk.predecessors(w) {
            let u = forest.eval(v, &semi);
            semi[w as usize] = semi[w as usize].min(semi[u as usize]);
        }
        let s = semi[w as usize] as usize;
        bucket_next[w as usize] = bucket_head[s];
        bucket_head[s] = w;
        let parent = walk.parent(w);
        forest.link(parent, w);
        let mut v = std::mem::replace(&mut bucket_head[parent as usize], NONE);
        while v != NONE {
            let u = forest.eval(v, &semi);
            idom[v as usize] = if semi[u as usize] < semi[v as usize] {
                u
            } else {
                parent
            };
            v = bucket_next[v as usize];
        }
    }
    for w in 1..n {
        if idom[w] != semi[w] {
            idom[w] = idom[idom[w] as usize];
        }
    }
    idom
}

/// The forest of linked vertices; `eval` finds the vertex of least semidominator on the way
/// to the root of a tree, and shortens that way.
struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    fn new(n: usize) -> Self {
        Self {
            ancestor: vec![NONE; n],
            label: (0..n as u32).collect(),
            path: Vec::new(),
        }
    }

    fn link(&mut self, parent: u32, child: u32) {
        self.ancestor[child as usize] = parent;
    }

    fn eval(&mut self, v: u32, semi: &[u32]) -> u32 {
        if self.ancestor[v as usize] == NONE {
            return v;
        }
        self.path.clear();
        let mut at = v;
        while self.ancestor[self.ancestor[at as usize] as usize] != NONE {
            self.path.push(at);
            at = self.ancestor[at as usize];
        }
        // From the top down, as the recursive formulation unwinds.
        while let Some(at) = self.path.pop() {
            let above = self.ancestor[at as usize] as usize;
            let (mine, theirs) = (self.label[at as usize], self.label[above]);
            if semi[theirs as usize] < semi[mine as usize] {
                self.label[at as usize] = theirs;
            }
            self.ancestor[at as usize] = self.ancestor[above];
        }
        self.label[v as usize]
    }
}

/// Entry and exit times of a walk of the dominator tree: `a` dominates `b` if and only if
/// `a`'s interval holds `b`'s entry.
pub(super) fn intervals(idom: &[u32]) -> Vec<(u32, u32)> {
    let n = idom.len();
    // A vertex's dominator comes before it in the walk, so that sizes add up backwards and
    // entry times go out forwards, without a stack.
    let mut size = vec![1u32; n];
    for v in (1..n).rev() {
        size[idom[v] as usize] += size[v];
    }
    let mut next_free: Vec<u32> = vec![0; n];
    let mut out = vec![(0u32, 0u32); n];
    for v in 0..n {
        let enter = if v == 0 {
            0
        } else {
            let d = idom[v] as usize;
            let enter = next_free[d];
            next_free[d] += size[v];
            enter
        };
        out[v] = (enter, enter + size[v]);
        next_free[v] = enter + 1;
    }
    out
}
