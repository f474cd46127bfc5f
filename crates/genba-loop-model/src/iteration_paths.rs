//! The paths that iterations of a loop take.
//!
//! Counts of edges do not tell how often a whole path was taken, but they bound it: every iteration
//! that is not on the path has left it at one of its blocks, so that the path was taken at least
//! as often as the head was executed less all departures ("definite flow"; Ball, Mataga, Sagiv,
//! "Edge Profiling versus Path Profiling: The Showdown", POPL 1998).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use genba_code::BlockId;

use super::counted_edges::Edges;
use crate::constants::{DRAWN_ITERATIONS, MAX_PATH_BLOCKS, MAX_STEPS_PER_DRAWN_ITERATION};

/// A path from the head of a loop back to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// Its blocks in order.
    pub blocks: Vec<BlockId>,
    /// Share of the iterations that took it, of those that iterated: at least this.
    pub share: f64,
}

/// The path that follows the most frequent edges; `None` if they lead out of the loop or into a
/// loop inside, or are not known.
pub(super) fn dominant(
    edges: &Edges<'_>,
    head: BlockId,
    inside: &dyn Fn(BlockId) -> bool,
) -> Option<Path> {
    let iterations = edges.block(head)?;
    let mut blocks = vec![head];
    let mut departures = 0u64;
    let mut at = head;
    loop {
        let successors = &edges.flow.blocks().get(at as usize)?.successors;
        let mut best: Option<(BlockId, u64)> = None;
        for &next in successors.iter().filter(|&&s| inside(s)) {
            let count = edges.edge(at, next)?;
            if best.is_none_or(|(_, most)| count > most) {
                best = Some((next, count));
            }
        }
        let (next, count) = best?;
        departures = departures.saturating_add(edges.block(at)?.saturating_sub(count));
        if next == head {
            break;
        }
        if blocks.contains(&next) || blocks.len() > MAX_PATH_BLOCKS {
            return None;
        }
        blocks.push(next);
        at = next;
    }
    let back = has_iterated(edges, head, inside).unwrap_or(iterations);
    if back == 0 {
        return None;
    }
    let definite = iterations.saturating_sub(departures);
    Some(Path {
        blocks,
        share: (definite as f64 / back as f64).min(1.0),
    })
}

/// How many iterations ended at the head again.
pub(super) fn has_iterated(
    edges: &Edges<'_>,
    head: BlockId,
    inside: &dyn Fn(BlockId) -> bool,
) -> Option<u64> {
    let head_block = edges.flow.blocks().get(head as usize)?;
    let mut sum = 0u64;
    for &from in head_block.predecessors.iter().filter(|&&p| inside(p)) {
        sum = sum.saturating_add(edges.edge(from, head)?);
    }
    // More than were executed cannot be: counts of different runs, or rounding of scaled ones.
    Some(sum.min(edges.block(head)?))
}

/// Iterations drawn by the counts of the edges, each branch independent of the others, always the
/// same ones; `None` where edges are not known. The paths stand once each, with the order in
/// which they were drawn.
pub(super) fn drawn(
    edges: &Edges<'_>,
    head: BlockId,
    inside: &dyn Fn(BlockId) -> bool,
) -> Option<(Vec<Vec<BlockId>>, Vec<usize>)> {
    let mut paths: Vec<Vec<BlockId>> = Vec::new();
    let mut index: HashMap<Vec<BlockId>, usize> = HashMap::new();
    let mut order = Vec::with_capacity(DRAWN_ITERATIONS);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut steps = 0usize;
    let mut choices: HashMap<BlockId, Vec<(BlockId, u64)>> = HashMap::new();
    while order.len() < DRAWN_ITERATIONS {
        let mut path = vec![head];
        let mut at = head;
        loop {
            steps += 1;
            if steps > MAX_STEPS_PER_DRAWN_ITERATION * DRAWN_ITERATIONS {
                return None;
            }
            let list = match choices.entry(at) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(place) => place.insert(ways_on(edges, at, inside)?),
            };
            let sum = list.iter().fold(0u64, |sum, c| sum.saturating_add(c.1));
            if sum == 0 {
                return None;
            }
            // Xorshift64 (Marsaglia 2003): any generator that does not repeat soon does.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut place = random % sum;
            let next = list.iter().find(|c| {
                let here = place < c.1;
                place = place.saturating_sub(c.1);
                here
            })?;
            if next.0 == head {
                break;
            }
            path.push(next.0);
            at = next.0;
        }
        let id = *index.entry(path.clone()).or_insert_with(|| {
            paths.push(path);
            paths.len() - 1
        });
        order.push(id);
    }
    Some((paths, order))
}

/// Edges from a block that stay in the loop, with counts.
fn ways_on(
    edges: &Edges<'_>,
    from: BlockId,
    inside: &dyn Fn(BlockId) -> bool,
) -> Option<Vec<(BlockId, u64)>> {
    let successors = &edges.flow.blocks().get(from as usize)?.successors;
    let staying = successors.iter().filter(|&&next| inside(next));
    staying
        .map(|&next| Some((next, edges.edge(from, next)?)))
        .collect()
}
