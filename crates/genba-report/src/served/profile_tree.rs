//! The figures of the explorer, as JSON of bounded size. Pure.

use std::collections::{HashMap, HashSet};

use genba_model::{Event, FunctionRow, StackTree, Waits};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::safe_text;
use crate::wall_flame_graph::{self, Shown};

/// Most functions; the rest has less time than any of them.
const MAX_FUNCTIONS: usize = 20_000;
/// Most frames; the narrowest are left out with what they call.
const MAX_FRAMES: usize = 20_000;
/// Most levels: deeper calls count for the last.
const MAX_LEVELS: usize = 256;
/// Most characters of a name.
const MAX_NAME: usize = 300;

/// What the explorer shows of a profile, read from its document: lines and edges stay there.
#[derive(Clone, Debug, Deserialize)]
pub struct ExploredProfile {
    /// The sampled event.
    pub event: Event,
    /// Whether samples carry call stacks.
    pub stacks: bool,
    /// Functions, largest self share first.
    pub functions: Vec<FunctionRow>,
}

/// What the explorer shows of a case.
#[derive(Debug, Default)]
pub struct Explored {
    /// The profile and its stacks.
    pub profile: Option<(ExploredProfile, StackTree)>,
    /// What threads waited for; its stacks are drawn, too.
    pub waits: Option<Waits>,
}

/// Functions, and the flame graphs of samples and of wall time, as the script reads them.
#[must_use]
pub fn profile_json(explored: &Explored) -> String {
    let profile = explored.profile.as_ref();
    let functions = profile.map_or(&[][..], |(profile, _)| &profile.functions);
    let has_totals = profile.is_some_and(|(profile, _)| profile.stacks);
    let rows = functions.iter().take(MAX_FUNCTIONS);
    let mut graphs: Vec<Value> = Vec::new();
    if let Some((profile, stacks)) = profile.filter(|(_, stacks)| !stacks.nodes.is_empty()) {
        let unit = if profile.event.hardware {
            "events"
        } else {
            "ns"
        };
        graphs.push(graph("samples on CPUs", stacks, unit, &HashSet::new()));
    }
    if let Some(waits) = (explored.waits.as_ref()).filter(|waits| !waits.stacks.is_empty()) {
        let cold = wall_flame_graph::wait_frames(waits);
        for (label, shown) in [
            ("off CPU: waiting", Shown::OffCpu),
            ("wall time: on and off CPU", Shown::All),
        ] {
            let stacks = wall_flame_graph::tree(waits, shown);
            graphs.push(graph(label, &stacks, "ns", &cold));
        }
    }
    let document = json!({
        "functions": rows.map(|one| function_row(one, has_totals)).collect::<Vec<Value>>(),
        "omitted_functions": functions.len().saturating_sub(MAX_FUNCTIONS),
        "graphs": graphs,
    });
    super::json_text(&document)
}

fn name(text: &str) -> String {
    safe_text::fit(&safe_text::sanitise(text), MAX_NAME)
}

fn function_row(one: &FunctionRow, has_totals: bool) -> Value {
    json!([
        name(&one.function),
        name(safe_text::file_name(&one.module)),
        one.file
            .as_deref()
            .map(|file| place(&name(safe_text::file_name(file)), one.line)),
        one.self_share.value,
        (one.self_share.high - one.self_share.low) / 2.0,
        has_totals.then_some(one.total.value),
        one.calls,
        one.cost_seconds.as_ref().map(|cost| cost.value),
        one.kernel,
    ])
}

/// A flame graph; frames with one of the names in `cold` are waiting.
fn graph(label: &str, stacks: &StackTree, unit: &str, cold: &HashSet<String>) -> Value {
    let mut names: Vec<String> = vec!["all".to_owned()];
    let mut waiting: Vec<usize> = Vec::new();
    let mut known: HashMap<u32, usize> = HashMap::new();
    let tree = tree(stacks);
    let frames: Vec<Value> = tree
        .iter()
        .map(|frame| {
            let index = frame.name.map_or(0, |index| {
                *known.entry(index).or_insert_with(|| {
                    let text = &stacks.names[index as usize];
                    if cold.contains(text) {
                        waiting.push(names.len());
                    }
                    names.push(name(text));
                    names.len() - 1
                })
            });
            json!([index, frame.parent, frame.weight, frame.own])
        })
        .collect();
    let shown = (tree.iter()).fold(0_u64, |sum, frame| sum.saturating_add(frame.own));
    json!({
        "label": label,
        "names": names,
        "frames": frames,
        // Indices of the names that say what was waited for.
        "waiting": waiting,
        // Time of frames that are left out: an inverted graph cannot show it.
        "omitted_weight": tree[0].weight.saturating_sub(shown),
        "unit": unit,
    })
}

fn place(file: &str, line: Option<u32>) -> String {
    line.map_or(file.to_owned(), |line| format!("{file}:{line}"))
}

/// A frame; a parent stands before its children, frame 0 is the whole.
struct Frame {
    /// Index into the names of the tree; `None` for the whole.
    name: Option<u32>,
    parent: usize,
    weight: u64,
    /// Time in this frame itself: what its callees have not, also where they are left out.
    own: u64,
}

/// The widest frames of all stacks.
fn tree(stacks: &StackTree) -> Vec<Frame> {
    // What deeper frames have is their caller's at the last level.
    let mut at: Vec<(u32, usize)> = Vec::with_capacity(stacks.nodes.len());
    let mut own: Vec<u64> = Vec::with_capacity(stacks.nodes.len());
    let mut totals: Vec<u64> = Vec::new();
    for (index, node) in (0u32..).zip(&stacks.nodes) {
        let caller = node.parent.map(|parent| at[parent as usize]);
        own.push(0);
        let place = match caller {
            Some((caller, MAX_LEVELS)) => (caller, MAX_LEVELS),
            caller => {
                totals.push(node.total);
                (index, caller.map_or(1, |(_, level)| level + 1))
            }
        };
        let sum = &mut own[place.0 as usize];
        *sum = sum.saturating_add(node.own);
        at.push(place);
    }
    // Strictly above the weight of the first that is too many: a parent weighs no less than its children.
    let mut least = 0;
    if totals.len() >= MAX_FRAMES {
        let (_, first_too_many, _) = totals.select_nth_unstable_by(MAX_FRAMES - 1, |a, b| b.cmp(a));
        least = *first_too_many;
    }
    let mut moved: Vec<Option<usize>> = Vec::with_capacity(stacks.nodes.len());
    let mut kept = vec![Frame {
        name: None,
        parent: 0,
        weight: stacks.total(),
        own: 0,
    }];
    for (index, node) in stacks.nodes.iter().enumerate() {
        let parent = node.parent.map_or(Some(0), |parent| moved[parent as usize]);
        let is_shown = at[index].0 as usize == index && node.total > least;
        moved.push(parent.filter(|_| is_shown).map(|parent| {
            kept.push(Frame {
                name: Some(node.name),
                parent,
                weight: node.total,
                own: own[index],
            });
            kept.len() - 1
        }));
    }
    kept
}

#[cfg(test)]
mod tests {
    use genba_model::StackRow;

    use super::*;

    fn row(frames: &[&str], weight: u64) -> StackRow {
        StackRow {
            frames: frames.iter().map(|&name| name.to_owned()).collect(),
            weight,
        }
    }

    #[test]
    fn waits_are_graphs_beside_that_of_samples() {
        let waits = crate::test_fixtures::waits();
        let explored = Explored {
            profile: None,
            waits: Some(waits),
        };
        let found: Value = serde_json::from_str(&profile_json(&explored)).unwrap();
        let graphs = found["graphs"].as_array().unwrap();
        let labels: Vec<&str> = (graphs.iter())
            .map(|graph| graph["label"].as_str().unwrap())
            .collect();
        assert_eq!(labels, ["off CPU: waiting", "wall time: on and off CPU"]);
        let weight = |graph: &Value| graph["frames"][0][2].as_u64().unwrap();
        assert!(0 < weight(&graphs[0]) && weight(&graphs[0]) < weight(&graphs[1]));
        // Off a CPU every stack ends with what was waited for.
        let graph = &graphs[0];
        let waiting = graph["waiting"].as_array().unwrap();
        for frame in graph["frames"].as_array().unwrap() {
            assert_eq!(frame[3] != 0, waiting.contains(&frame[0]), "{frame}");
        }
        assert_eq!(found["functions"], json!([]));
    }

    fn named<'a>(stacks: &'a StackTree, frame: &Frame) -> &'a str {
        frame
            .name
            .map_or("all", |name| &stacks.names[name as usize])
    }

    #[test]
    fn stacks_share_frames_and_parents_stand_first() {
        let stacks = [
            row(&["main", "f"], 3),
            row(&["main", "g"], 2),
            row(&["f"], 1),
        ];
        let stacks = StackTree::of_rows(&stacks, MAX_LEVELS);
        let tree = tree(&stacks);
        let shown: Vec<_> = tree
            .iter()
            .map(|one| (named(&stacks, one), one.parent, one.weight))
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
        let stacks = StackTree::of_rows(&stacks, usize::MAX);
        let tree = tree(&stacks);
        assert!(tree.len() <= MAX_FRAMES, "{}", tree.len());
        assert!(
            tree.iter()
                .enumerate()
                .skip(1)
                .all(|(index, one)| one.parent < index)
        );
        assert_eq!(tree[0].weight, 5 + 99_999);
        // What is too deep is the last level's; what was left out is nobody's own time.
        let deepest = tree.iter().filter(|one| one.own == 5).count();
        assert_eq!((deepest, tree[0].own), (1, 0));
        assert!(
            tree.iter()
                .filter(|one| named(&stacks, one) == "main")
                .all(|one| one.own == 0)
        );
    }
}
