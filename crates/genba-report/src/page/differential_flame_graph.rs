//! The differential flame graph (Gregg, "Differential Flame Graphs", 2014): the stacks of one profile, coloured by the
//! change from the other. Of both, since a frame that is only in one has no width in the other.

use std::collections::HashMap;
use std::fmt::Write as _;

use genba_model::{ProfileDiff, StackTree};
use genba_units::format;

use super::flame_graph::{Graph, MAX_LEVELS, MIN_FRAME_SHARE, Node, draw};
use crate::wording::profile_diff::TimeUnit;

/// Changes of less than this share of the larger total have no colour. Chosen.
const MIN_COLOURED_SHARE: f64 = 0.005;
/// Changes from these shares on have a stronger colour. Chosen.
const STRONGER_SHARES: [f64; 2] = [0.02, 0.1];
/// Frames of the other profile are looked up down to this part of the least share that is drawn.
const OTHER_PER_DRAWN: f64 = 0.1;

/// Adds the flame graphs of both profiles; nothing where one has no stacks.
pub(super) fn graphs(out: &mut String, diff: &ProfileDiff, stacks: [&StackTree; 2]) {
    let [before, after] = stacks.map(StackTree::total);
    if before == 0 || after == 0 {
        return;
    }
    let unit = TimeUnit::of(diff);
    let (of_before, of_after) = (unit.whole(&diff.before), unit.whole(&diff.after));
    let before = Side {
        stacks: stacks[0],
        unit_per_weight: of_before / before as f64,
    };
    let after = Side {
        stacks: stacks[1],
        unit_per_weight: of_after / after as f64,
    };
    let _ = write!(
        out,
        "<h2>Differential flame graph</h2>\n<p class=\"note\">Width is {} after; \
         <span class=\"swatch more\"></span> more than before, <span class=\"swatch less\"></span> less, \
         <span class=\"swatch same\"></span> changed by less than {} of all.</p>\n",
        unit.name(),
        format::share(MIN_COLOURED_SHARE)
    );
    let largest = of_before.max(of_after);
    graph(out, &after, &before, 1.0, unit, largest);
    let _ = writeln!(
        out,
        "<details><summary>by {} before: also shows what is gone</summary>",
        unit.name()
    );
    graph(out, &before, &after, -1.0, unit, largest);
    out.push_str("</details>\n");
}

/// The stacks of one profile.
struct Side<'a> {
    stacks: &'a StackTree,
    unit_per_weight: f64,
}

/// Adds the graph of `shown`; `sign` is −1 where that is the profile before.
fn graph(
    out: &mut String,
    shown: &Side<'_>,
    other: &Side<'_>,
    sign: f64,
    unit: TimeUnit,
    largest: f64,
) {
    let least = shown.stacks.total() as f64 * MIN_FRAME_SHARE;
    let pruned = shown.stacks.pruned(least as u64, MAX_LEVELS);
    let looked_up = least * shown.unit_per_weight / other.unit_per_weight * OTHER_PER_DRAWN;
    let others = other.stacks.pruned(looked_up as u64, MAX_LEVELS);
    let (nodes, weights) = merged(&pruned, &others);
    let values: Vec<(f64, f64)> = (nodes.iter().zip(&weights))
        .map(|(node, other_weight)| {
            let value = node.weight as f64 * shown.unit_per_weight;
            (value, *other_weight as f64 * other.unit_per_weight)
        })
        .collect();
    let change = |index: usize| (values[index].0 - values[index].1) * sign;
    draw(
        out,
        &Graph {
            nodes: &nodes,
            lead: "Callees are above their caller.",
            class: &|index| class(change(index) / largest),
            amount: &|index| {
                let (value, other) = values[index];
                let (before, after) = if sign < 0.0 {
                    (value, other)
                } else {
                    (other, value)
                };
                format!(
                    "{} before, {} after: {}",
                    unit.amount(before),
                    unit.amount(after),
                    unit.change(change(index))
                )
            },
        },
    );
}

/// The nodes of a tree below a root for all of it, and the weight of each in the other tree.
fn merged<'a>(shown: &'a StackTree, other: &'a StackTree) -> (Vec<Node<'a>>, Vec<u64>) {
    let mut nodes = vec![Node {
        name: "all",
        level: 0,
        parent: 0,
        weight: shown.total(),
    }];
    let mut known: HashMap<(usize, &str), usize> = HashMap::new();
    let mut places: Vec<usize> = Vec::with_capacity(shown.nodes.len());
    for node in &shown.nodes {
        let parent = node.parent.map_or(0, |parent| places[parent as usize]);
        let name = shown.name(node);
        let place = *known.entry((parent, name)).or_insert_with(|| {
            nodes.push(Node {
                name,
                level: nodes[parent].level + 1,
                parent,
                weight: 0,
            });
            nodes.len() - 1
        });
        nodes[place].weight = nodes[place].weight.saturating_add(node.total);
        places.push(place);
    }
    let mut weights = vec![0u64; nodes.len()];
    weights[0] = other.total();
    let mut places: Vec<Option<usize>> = Vec::with_capacity(other.nodes.len());
    for node in &other.nodes {
        let parent = node
            .parent
            .map_or(Some(0), |parent| places[parent as usize]);
        let place = parent.and_then(|parent| known.get(&(parent, other.name(node))).copied());
        if let Some(place) = place {
            weights[place] = weights[place].saturating_add(node.total);
        }
        places.push(place);
    }
    (nodes, weights)
}

/// The CSS class of a change, as a share of the larger total.
fn class(share: f64) -> &'static str {
    let steps = STRONGER_SHARES
        .iter()
        .filter(|step| share.abs() >= **step)
        .count();
    match (share.abs() < MIN_COLOURED_SHARE, share < 0.0) {
        (true, _) => "d0",
        (false, true) => ["l1", "l2", "l3"][steps],
        (false, false) => ["m1", "m2", "m3"][steps],
    }
}

#[cfg(test)]
mod tests {
    use genba_model::StackRow;

    use super::*;

    fn tree(rows: &[(&str, u64)]) -> StackTree {
        let row = |(frames, weight): &(&str, u64)| StackRow {
            frames: frames.split(';').map(str::to_owned).collect(),
            weight: *weight,
        };
        let rows: Vec<StackRow> = rows.iter().map(row).collect();
        StackTree::of_rows(&rows, 100)
    }

    #[test]
    fn frames_have_the_weight_of_the_same_stack_in_the_other_profile() {
        let after = tree(&[("main;f", 30), ("main;g", 10), ("other;f", 5)]);
        let before = tree(&[("main;f", 50), ("main;gone", 7), ("f", 9)]);
        let (nodes, weights) = merged(&after, &before);
        let found: Vec<(&str, u64, u64)> = (nodes.iter().zip(weights))
            .map(|(node, other)| (node.name, node.weight, other))
            .collect();
        assert_eq!(
            found,
            [
                ("all", 45, 66),
                ("main", 40, 57),
                ("f", 30, 50),
                ("g", 10, 0),
                ("other", 5, 0),
                ("f", 5, 0)
            ]
        );
    }

    #[test]
    fn graph_says_the_change_per_run_and_colours_it() {
        let mut diff = crate::test_fixtures::try_variants::difference();
        (diff.before.seconds, diff.after.seconds) = (Some(1.0), Some(0.5));
        let before = tree(&[("main;f", 800), ("main;gone<i>", 200)]);
        let after = tree(&[("main;f", 900), ("main;new", 100)]);
        let mut out = String::new();
        graphs(&mut out, &diff, [&before, &after]);
        // 0.8 s before, 0.45 s after.
        assert!(
            out.contains("800 ms before, 450 ms after: −350 ms"),
            "{out}"
        );
        assert!(out.contains("0 s before, 50.0 ms after: +50.0 ms"), "{out}");
        assert!(
            out.contains("gone&lt;i&gt;") && !out.contains("gone<i>"),
            "{out}"
        );
        assert!(
            out.contains("\"f l3\"") && out.contains("\"f m2\""),
            "{out}"
        );
    }

    #[test]
    fn graph_is_missing_where_a_profile_has_no_stacks() {
        let diff = crate::test_fixtures::try_variants::difference();
        let mut out = String::new();
        graphs(
            &mut out,
            &diff,
            [&tree(&[("main", 1)]), &StackTree::default()],
        );
        assert_eq!(out, "");
    }
}
