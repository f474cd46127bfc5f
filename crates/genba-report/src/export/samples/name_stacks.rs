//! Collapsed stacks: the text of `stackcollapse`, by names alone.

use std::collections::HashMap;

use genba_model::{SampledDetail, StackRow};

use super::by_stack;
use crate::flame_graph;

/// Renders one line per stack of names, heaviest first.
pub(super) fn collapsed(detail: &SampledDetail) -> String {
    flame_graph::collapsed_rows(&rows(detail))
}

/// Returns the stacks by name, heaviest first.
fn rows(detail: &SampledDetail) -> Vec<StackRow> {
    let mut merged: HashMap<Vec<&str>, u64> = HashMap::new();
    for (stack, weight, _) in by_stack(detail) {
        let mut names: Vec<&str> = detail
            .frames_of(stack)
            .map(|frame| detail.function(frame).name.as_str())
            .collect();
        names.reverse();
        *merged.entry(names).or_default() += weight;
    }
    let mut rows: Vec<StackRow> = merged
        .into_iter()
        .map(|(names, weight)| StackRow {
            frames: names.into_iter().map(str::to_owned).collect(),
            weight,
        })
        .collect();
    rows.sort_by(|a, b| {
        b.weight
            .cmp(&a.weight)
            .then_with(|| a.frames.cmp(&b.frames))
    });
    rows
}
