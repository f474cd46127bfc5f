//! The figures of the explorer, as JSON of bounded size. Pure.

use std::collections::HashMap;

use genba_model::{Profile, StackRow};
use serde_json::{Value, json};

use crate::safe_text;

/// Most functions; the rest has less time than any of them.
const MAX_FUNCTIONS: usize = 20_000;
/// Most frames; the narrowest are left out with what they call.
const MAX_FRAMES: usize = 20_000;
/// Most levels: deeper calls count for the last.
const MAX_LEVELS: usize = 256;
/// Most characters of a name.
const MAX_NAME: usize = 300;

/// Functions and the tree of frames of a profile, as the script reads them.
#[must_use]
pub fn profile_json(profile: &Profile) -> String {
    let name = |text: &str| safe_text::fit(&safe_text::sanitise(text), MAX_NAME);
    let functions: Vec<Value> = (profile.functions.iter().take(MAX_FUNCTIONS))
        .map(|one| {
            json!([
                name(&one.function),
                name(safe_text::file_name(&one.module)),
                one.file
                    .as_deref()
                    .map(|file| place(&name(safe_text::file_name(file)), one.line)),
                one.self_share.value,
                (one.self_share.high - one.self_share.low) / 2.0,
                profile.stacks.then_some(one.total.value),
                one.calls,
                one.cost_seconds.as_ref().map(|cost| cost.value),
            ])
        })
        .collect();
    let mut names: Vec<String> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let tree = tree(&profile.collapsed);
    let frames: Vec<Value> = tree
        .iter()
        .map(|frame| {
            let index = *known.entry(frame.name).or_insert_with(|| {
                names.push(name(frame.name));
                names.len() - 1
            });
            json!([index, frame.parent, frame.weight, frame.own])
        })
        .collect();
    let shown = (tree.iter()).fold(0_u64, |sum, frame| sum.saturating_add(frame.own));
    let omitted = tree[0].weight.saturating_sub(shown);
    let document = json!({
        "functions": functions,
        "omitted_functions": profile.functions.len().saturating_sub(MAX_FUNCTIONS),
        "names": names,
        "frames": frames,
        // Time of frames that are left out: an inverted graph cannot show it.
        "omitted_weight": omitted,
        "unit": if profile.event.hardware { "events" } else { "ns" },
    });
    super::json_text(&document)
}

fn place(file: &str, line: Option<u32>) -> String {
    line.map_or(file.to_owned(), |line| format!("{file}:{line}"))
}

/// A frame; a parent stands before its children, frame 0 is the whole.
struct Frame<'a> {
    name: &'a str,
    parent: usize,
    weight: u64,
    /// Time in this frame itself: what its callees have not, also where they are left out.
    own: u64,
}

/// The widest frames of all stacks.
fn tree(stacks: &[StackRow]) -> Vec<Frame<'_>> {
    let mut all = vec![Frame {
        name: "all",
        parent: 0,
        weight: 0,
        own: 0,
    }];
    let mut known: HashMap<(usize, &str), usize> = HashMap::new();
    for row in stacks {
        all[0].weight = all[0].weight.saturating_add(row.weight);
        let mut at = 0;
        for name in row.frames.iter().take(MAX_LEVELS) {
            at = *known.entry((at, name)).or_insert_with(|| {
                all.push(Frame {
                    name,
                    parent: at,
                    weight: 0,
                    own: 0,
                });
                all.len() - 1
            });
            all[at].weight = all[at].weight.saturating_add(row.weight);
        }
        all[at].own = all[at].own.saturating_add(row.weight);
    }
    if all.len() <= MAX_FRAMES {
        return all;
    }
    let mut weights: Vec<u64> = all.iter().map(|frame| frame.weight).collect();
    weights.sort_unstable_by(|a, b| b.cmp(a));
    // Strictly above the weight of the first that is too many: a parent weighs no less than its children.
    let least = weights[MAX_FRAMES];
    let mut moved: Vec<Option<usize>> = vec![Some(0); all.len()];
    let mut kept: Vec<Frame<'_>> = Vec::with_capacity(MAX_FRAMES);
    for (index, frame) in all.into_iter().enumerate() {
        moved[index] = match moved[frame.parent] {
            Some(parent) if index == 0 || frame.weight > least => {
                kept.push(Frame { parent, ..frame });
                Some(kept.len() - 1)
            }
            _ => None,
        };
    }
    kept
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

    #[test]
    fn stacks_share_frames_and_parents_stand_first() {
        let stacks = [
            row(&["main", "f"], 3),
            row(&["main", "g"], 2),
            row(&["f"], 1),
        ];
        let tree = tree(&stacks);
        let shown: Vec<_> = tree
            .iter()
            .map(|one| (one.name, one.parent, one.weight))
            .collect();
        assert_eq!(
            shown,
            [
                ("all", 0, 6),
                ("main", 0, 5),
                ("f", 1, 3),
                ("g", 1, 2),
                ("f", 0, 1)
            ]
        );
        let own: Vec<u64> = tree.iter().map(|one| one.own).collect();
        assert_eq!(own, [0, 0, 3, 2, 1]);
    }

    #[test]
    fn many_and_deep_stacks_stay_bounded() {
        let deep: Vec<String> = (0..100_000).map(|level| level.to_string()).collect();
        let mut stacks = vec![StackRow {
            frames: deep,
            weight: 5,
        }];
        for leaf in 0..50_000 {
            stacks.push(row(&["main", &format!("leaf {leaf}")], 1 + leaf % 3));
        }
        let tree = tree(&stacks);
        assert!(tree.len() <= MAX_FRAMES, "{}", tree.len());
        assert!(
            tree.iter()
                .enumerate()
                .skip(1)
                .all(|(index, one)| one.parent < index)
        );
        assert_eq!(tree[0].weight, 5 + 99_999);
        // What was left out is nobody's own time.
        assert_eq!(tree[0].own, 0);
        assert!(
            tree.iter()
                .filter(|one| one.name == "main")
                .all(|one| one.own == 0)
        );
    }
}
