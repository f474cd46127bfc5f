//! Which stacks of a tree are written out, where it has more than a flame graph can show. Pure.

use std::collections::HashMap;

use genba_model::StackRow;

/// Stands for the callees of a frame that are too many to be told apart.
pub(crate) const OTHER_CALLEES: &str = "[other callees]";

/// The end of a stack: a node of the tree, or all its callees that have no end of their own.
#[derive(Debug, PartialEq)]
pub(crate) struct StackEnd {
    pub node: u32,
    pub weight: u64,
    /// Whether it is the other callees that end there.
    pub others: bool,
}

/// The ends of at most `most` stacks with samples each, and the weight of outermost frames that have none. Where there are more
/// stacks, those nodes are left out that weigh least with all below them: their callers have their weight.
pub(crate) fn stack_ends(
    parents: &[Option<u32>],
    own: &[u64],
    most: usize,
) -> (Vec<StackEnd>, u64) {
    let sampled = own.iter().filter(|weight| **weight > 0).count();
    let weights = subtree_weights(parents, own);
    let mut least = 1;
    if sampled > most {
        let mut sorted = weights.clone();
        let (_, first_too_many, _) = sorted.select_nth_unstable_by(most, |a, b| b.cmp(a));
        least = first_too_many.saturating_add(1);
    }
    let mut ends = Vec::new();
    let mut others: HashMap<u32, u64> = HashMap::new();
    let mut without_caller = 0;
    for ((node, parent), &weight) in (0u32..).zip(parents).zip(&weights) {
        let own = own[node as usize];
        match *parent {
            _ if weight >= least && own > 0 => ends.push(StackEnd {
                node,
                weight: own,
                others: false,
            }),
            _ if weight >= least => {}
            // It weighs no less than its callees: they are left out as well.
            Some(caller) if weights[caller as usize] >= least => {
                let sum = others.entry(caller).or_default();
                *sum = sum.saturating_add(weight);
            }
            Some(_) => {}
            None => without_caller = weight.saturating_add(without_caller),
        }
    }
    ends.extend(
        others
            .into_iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(node, weight)| StackEnd {
                node,
                weight,
                others: true,
            }),
    );
    ends.sort_by_key(|end| (std::cmp::Reverse(end.weight), end.node, end.others));
    (ends, without_caller)
}

/// The row of stacks without a frame of their own, if they weigh anything.
pub(crate) fn other_stacks(weight: u64) -> Option<StackRow> {
    (weight > 0).then(|| StackRow {
        frames: vec!["[other stacks]".to_owned()],
        weight,
    })
}

/// Weight of every node of the tree with all under it: parents stand before their children.
pub(crate) fn subtree_weights(parents: &[Option<u32>], own: &[u64]) -> Vec<u64> {
    let mut weights = own.to_vec();
    for index in (0..weights.len()).rev() {
        if let Some(parent) = parents[index] {
            let own = weights[index];
            let sum = &mut weights[parent as usize];
            *sum = sum.saturating_add(own);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes by (caller, own weight).
    fn ends(nodes: &[(Option<u32>, u64)], most: usize) -> (Vec<(u32, u64, bool)>, u64) {
        let (parents, own): (Vec<_>, Vec<_>) = nodes.iter().copied().unzip();
        let (ends, rest) = stack_ends(&parents, &own, most);
        let ends = ends
            .into_iter()
            .map(|end| (end.node, end.weight, end.others));
        (ends.collect(), rest)
    }

    #[test]
    fn all_stacks_are_written_out_where_they_are_few() {
        let nodes = [(None, 0), (Some(0), 5), (Some(1), 2), (Some(0), 1)];
        assert_eq!(
            ends(&nodes, 3),
            (vec![(1, 5, false), (2, 2, false), (3, 1, false)], 0)
        );
    }

    #[test]
    fn light_stacks_weigh_for_their_callers_where_there_are_many() {
        // main (0) calls f (1), which calls 100 functions of weight 1; g (102) is light as well.
        let mut nodes = vec![(None, 3), (Some(0), 10)];
        nodes.extend((0..100).map(|_| (Some(1), 1)));
        nodes.push((Some(0), 2));
        nodes.push((None, 1));
        let (found, rest) = ends(&nodes, 2);
        assert_eq!(
            found,
            [(1, 100, true), (1, 10, false), (0, 3, false), (0, 2, true)]
        );
        assert_eq!(rest, 1);
        let all: u64 = nodes.iter().map(|node| node.1).sum();
        assert_eq!(found.iter().map(|end| end.1).sum::<u64>() + rest, all);
    }
}
