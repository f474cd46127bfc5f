//! Call stacks as a tree: what a case stores, and what flame graphs are drawn of, without writing out each stack.

use std::collections::HashMap;

use crate::StackRow;

/// Stands for outermost frames that are left out.
const OTHERS: &str = "[other stacks]";

/// A frame under its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackNode {
    /// The caller: index into [`StackTree::nodes`], smaller than this node's; `None` for an outermost frame.
    pub parent: Option<u32>,
    /// Index into [`StackTree::names`].
    pub name: u32,
    /// Weight of the samples whose innermost frame this is.
    pub own: u64,
    /// Weight of all samples with this frame: its own, and those of its callees.
    pub total: u64,
}

/// Call stacks as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackTree {
    /// Names of frames.
    pub names: Vec<String>,
    /// Frames, callers before callees.
    pub nodes: Vec<StackNode>,
}

impl StackTree {
    /// Returns the tree of stacks; of each at most `max_depth` frames, the outermost ones.
    #[must_use]
    pub fn of_rows(rows: &[StackRow], max_depth: usize) -> Self {
        let mut tree = Self::default();
        let mut names: HashMap<&str, u32> = HashMap::new();
        let mut nodes: HashMap<(Option<u32>, u32), u32> = HashMap::new();
        for row in rows {
            let mut at = None;
            for frame in row.frames.iter().take(max_depth) {
                let name = *names.entry(frame).or_insert_with(|| {
                    tree.names.push(frame.clone());
                    tree.names.len() as u32 - 1
                });
                let node = *nodes.entry((at, name)).or_insert_with(|| {
                    tree.nodes.push(StackNode {
                        parent: at,
                        name,
                        own: 0,
                        total: 0,
                    });
                    tree.nodes.len() as u32 - 1
                });
                at = Some(node);
            }
            if let Some(at) = at {
                let own = &mut tree.nodes[at as usize].own;
                *own = own.saturating_add(row.weight);
            }
        }
        tree.add_totals();
        tree
    }

    /// Computes the totals from the nodes' own weights.
    pub fn add_totals(&mut self) {
        for node in &mut self.nodes {
            node.total = node.own;
        }
        for index in (0..self.nodes.len()).rev() {
            let node = self.nodes[index];
            if let Some(parent) = node.parent {
                let total = &mut self.nodes[parent as usize].total;
                *total = total.saturating_add(node.total);
            }
        }
    }

    /// Returns the weight of all samples.
    #[must_use]
    pub fn total(&self) -> u64 {
        let outermost = self.nodes.iter().filter(|node| node.parent.is_none());
        outermost.fold(0, |sum, node| sum.saturating_add(node.total))
    }

    /// Returns the name of a node.
    #[must_use]
    pub fn name(&self, node: &StackNode) -> &str {
        &self.names[node.name as usize]
    }

    /// Returns the tree without the frames of less than `min_total`, and those deeper than `max_depth`: what they weigh
    /// becomes their callers' own, or one frame's for all that have none. The widths of all other frames remain.
    #[must_use]
    pub fn pruned(&self, min_total: u64, max_depth: usize) -> Self {
        let mut kept = Self {
            names: self.names.clone(),
            nodes: Vec::new(),
        };
        // The kept node that stands for each, and its depth.
        let mut moved: Vec<Option<(u32, usize)>> = Vec::with_capacity(self.nodes.len());
        let mut others = 0u64;
        for node in &self.nodes {
            let caller = node.parent.map(|parent| moved[parent as usize]);
            let depth = match caller {
                None => 0,
                Some(Some((_, depth))) => depth,
                // A frame that is left out has no caller: neither have its callees.
                Some(None) => {
                    others = others.saturating_add(node.own);
                    moved.push(None);
                    continue;
                }
            };
            let parent = caller.flatten().map(|(parent, _)| parent);
            if node.total < min_total || depth >= max_depth {
                let sum = match parent {
                    Some(parent) => &mut kept.nodes[parent as usize].own,
                    None => &mut others,
                };
                *sum = sum.saturating_add(node.own);
                moved.push(caller.flatten());
                continue;
            }
            kept.nodes.push(StackNode { parent, ..*node });
            moved.push(Some((kept.nodes.len() as u32 - 1, depth + 1)));
        }
        if others > 0 {
            kept.names.push(OTHERS.to_owned());
            kept.nodes.push(StackNode {
                parent: None,
                name: kept.names.len() as u32 - 1,
                own: others,
                total: others,
            });
        }
        kept
    }

    /// Returns the stacks with samples, each with all its frames.
    #[must_use]
    pub fn rows(&self) -> Vec<StackRow> {
        let leaves = self.nodes.iter().filter(|node| node.own > 0);
        let row = |leaf: &StackNode| {
            let mut frames = vec![self.name(leaf).to_owned()];
            let mut next = leaf.parent;
            while let Some(node) = next.map(|index| &self.nodes[index as usize]) {
                frames.push(self.name(node).to_owned());
                next = node.parent;
            }
            frames.reverse();
            StackRow {
                frames,
                weight: leaf.own,
            }
        };
        leaves.map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(frames: &[&str], weight: u64) -> StackRow {
        StackRow {
            frames: frames.iter().map(|&name| name.to_owned()).collect(),
            weight,
        }
    }

    fn rows() -> Vec<StackRow> {
        vec![
            row(&["main", "f", "g"], 90),
            row(&["main", "f", "h"], 4),
            row(&["main"], 3),
            row(&["start", "x"], 2),
            row(&["y", "z"], 1),
        ]
    }

    #[test]
    fn stacks_become_a_tree_and_stacks_again() {
        let tree = StackTree::of_rows(&rows(), 100);
        assert_eq!(tree.total(), 100);
        let totals: Vec<(&str, u64)> = (tree.nodes.iter())
            .map(|node| (tree.name(node), node.total))
            .collect();
        assert_eq!(totals[..3], [("main", 97), ("f", 94), ("g", 90)]);
        let mut back = tree.rows();
        back.sort_by_key(|row| std::cmp::Reverse(row.weight));
        assert_eq!(back, rows());
    }

    #[test]
    fn pruned_frames_are_their_callers_own_time() {
        let tree = StackTree::of_rows(&rows(), 100).pruned(2, 2);
        let mut found = tree.rows();
        found.sort_by_key(|row| std::cmp::Reverse(row.weight));
        assert_eq!(
            found,
            [
                row(&["main", "f"], 94),
                row(&["main"], 3),
                row(&["start", "x"], 2),
                row(&["[other stacks]"], 1)
            ]
        );
        // Totals are as before.
        assert_eq!((tree.nodes[0].total, tree.total()), (97, 100));
    }

    #[test]
    fn stacks_deeper_than_the_limit_end_there() {
        let deep: Vec<String> = (0..10_000).map(|level| level.to_string()).collect();
        let rows = [StackRow {
            frames: deep,
            weight: 5,
        }];
        let tree = StackTree::of_rows(&rows, 256);
        assert_eq!((tree.nodes.len(), tree.nodes[255].own), (256, 5));
    }
}
