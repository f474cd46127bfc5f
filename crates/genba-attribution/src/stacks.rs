//! Inclusive time, call graph and flame graphs from stacks.

use std::collections::HashMap;

use genba_model::StackRow;
use genba_profile::reader::StackId;

use crate::constants::{MAX_STACK_DEPTH, MAX_STACKS};
use crate::resolved_profile::{FunctionId, ResolvedProfile};
use crate::stack_ends::{OTHER_CALLEES, other_stacks, stack_ends, subtree_weights};

/// Totals over the call tree.
#[derive(Debug, Default)]
pub(crate) struct CallTree {
    /// By function: weight of the samples that have it anywhere on their stack.
    pub totals: HashMap<FunctionId, u64>,
    /// By (caller, callee): weight of the samples that have the two next to one another.
    pub edges: HashMap<(FunctionId, FunctionId), u64>,
}

/// Next step of the depth-first traversal.
enum Step {
    Enter(u32),
    Leave(u32),
}

impl CallTree {
    /// Traverses the tree of stacks once; a recursive function counts a sample once.
    pub(crate) fn of(resolved: &ResolvedProfile) -> Self {
        let frames = &resolved.tables.frames;
        let (parents, own) = tree_of(resolved);
        let weights = subtree_weights(&parents, &own);
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); frames.len()];
        let mut steps = Vec::new();
        for (id, frame) in (0u32..).zip(frames) {
            match frame.parent {
                Some(parent) => children[parent.0 as usize].push(id),
                None => steps.push(Step::Enter(id)),
            }
        }
        let mut tree = Self::default();
        let mut open: HashMap<FunctionId, u32> = HashMap::new();
        let mut open_edges: HashMap<(FunctionId, FunctionId), u32> = HashMap::new();
        let function = |id: u32| {
            resolved
                .frame_place(StackId(id))
                .map(|place| place.function)
        };
        while let Some(step) = steps.pop() {
            let (Step::Enter(id) | Step::Leave(id)) = step;
            let Some(callee) = function(id) else { continue };
            let caller = frames[id as usize]
                .parent
                .and_then(|parent| function(parent.0));
            let edge = caller.map(|caller| (caller, callee));
            if matches!(step, Step::Leave(_)) {
                *open.entry(callee).or_default() -= 1;
                if let Some(edge) = edge {
                    *open_edges.entry(edge).or_default() -= 1;
                }
                continue;
            }
            let weight = weights[id as usize];
            let depth = open.entry(callee).or_default();
            if *depth == 0 {
                *tree.totals.entry(callee).or_default() += weight;
            }
            *depth += 1;
            if let Some(edge) = edge {
                let depth = open_edges.entry(edge).or_default();
                if *depth == 0 {
                    *tree.edges.entry(edge).or_default() += weight;
                }
                *depth += 1;
            }
            steps.push(Step::Leave(id));
            steps.extend(
                children[id as usize]
                    .iter()
                    .map(|&child| Step::Enter(child)),
            );
        }
        tree
    }
}

/// The caller of each node of the tree of stacks, and the weight of the samples that end there.
fn tree_of(resolved: &ResolvedProfile) -> (Vec<Option<u32>>, Vec<u64>) {
    let parents = resolved.tables.frames.iter();
    let own = resolved.hits.stacks.iter().map(|hits| hits.weight);
    (
        parents.map(|frame| frame.parent.map(|id| id.0)).collect(),
        own.collect(),
    )
}

/// Stacks by name, inlined frames among them, heaviest first.
pub(crate) fn collapsed(resolved: &ResolvedProfile) -> Vec<StackRow> {
    let (parents, own) = tree_of(resolved);
    let (ends, rest) = stack_ends(&parents, &own, MAX_STACKS);
    let mut names: HashMap<u32, Vec<String>> = HashMap::new();
    let mut merged: HashMap<Vec<String>, u64> = HashMap::new();
    for end in ends {
        let mut stack = Vec::new();
        if end.others {
            stack.push(OTHER_CALLEES.to_owned());
        }
        let mut next = Some(StackId(end.node));
        let mut depth = 0;
        while let Some(id) = next {
            let frame = resolved.tables.frame(id);
            depth += 1;
            if depth > MAX_STACK_DEPTH {
                stack.push("[deeper callers]".to_owned());
                break;
            }
            // One place may be reached by call and by sample: their addresses differ.
            let key = frame.location.0 << 1 | u32::from(frame.is_return_address);
            let of_frame = names
                .entry(key)
                .or_insert_with(|| frame_names(resolved, id));
            stack.extend(of_frame.iter().cloned());
            next = frame.parent;
        }
        stack.reverse();
        *merged.entry(stack).or_default() += end.weight;
    }
    let mut rows: Vec<StackRow> = merged
        .into_iter()
        .map(|(frames, weight)| StackRow { frames, weight })
        .collect();
    rows.sort_by(|a, b| {
        b.weight
            .cmp(&a.weight)
            .then_with(|| a.frames.cmp(&b.frames))
    });
    rows.extend(other_stacks(rest));
    rows
}

/// Names at a frame, the innermost inlined one first.
fn frame_names(resolved: &ResolvedProfile, id: StackId) -> Vec<String> {
    let Some(place) = resolved.frame_place(id) else {
        return vec!["[unknown]".to_owned()];
    };
    let function = &resolved.functions[place.function as usize];
    let outer = if function.known {
        function.name.clone()
    } else {
        match resolved.code.module_name(function.module) {
            module if module.starts_with('[') => "[unknown]".to_owned(),
            module => format!("[unknown in {module}]"),
        }
    };
    let mut names: Vec<String> = resolved
        .code
        .frames_at(function.module, place.address)
        .into_iter()
        .filter(|frame| frame.inlined)
        .map(|frame| {
            frame
                .function
                .map_or_else(|| "[inlined]".to_owned(), |name| name.to_string())
        })
        .collect();
    names.push(outer);
    names
}
