//! Joins a profile without stacks (high rate, resolves instructions) with one with stack copies
//! (low rate, has callers) of the same command.

use std::collections::HashMap;

use genba_model::{CallEdge, FunctionRow, Profile};

/// Identifies a function in both profiles.
fn key(row: &FunctionRow) -> (String, String, Option<String>) {
    (
        row.module.clone(),
        row.function.clone(),
        row.linkage_name.clone(),
    )
}

/// `flat` with the totals, call edges and stacks of `stacked`. Self shares, lines and modules
/// stay those of `flat`; functions that only `stacked` has on a stack come at the end.
#[must_use]
pub fn with_stacks_of(mut flat: Profile, stacked: Profile) -> Profile {
    let mut index: HashMap<_, u32> = HashMap::new();
    for (row, number) in flat.functions.iter().zip(0u32..) {
        index.entry(key(row)).or_insert(number);
    }
    let mut place = Vec::with_capacity(stacked.functions.len());
    for mut row in stacked.functions {
        match index.get(&key(&row)) {
            Some(&number) => {
                let own = &mut flat.functions[number as usize];
                // The two runs differ by chance: what a function has itself is part of its total.
                own.total = if row.total.value >= own.self_share.value {
                    row.total
                } else {
                    own.self_share
                };
                place.push(number);
            }
            None => {
                place.push(flat.functions.len() as u32);
                row.self_samples = 0;
                row.self_share.value = 0.0;
                row.self_share.low = 0.0;
                flat.functions.push(row);
            }
        }
    }
    let moved = |edge: &CallEdge| {
        Some(CallEdge {
            caller: *place.get(edge.caller as usize)?,
            callee: *place.get(edge.callee as usize)?,
            share: edge.share,
        })
    };
    flat.edges = stacked.edges.iter().filter_map(moved).collect();
    flat.collapsed = stacked.collapsed;
    flat.stacks = stacked.stacks;
    flat.truncated_stacks = stacked.truncated_stacks;
    flat.notes.push(format!(
        "totals, callers and the flame graph come from separate runs: {} samples with stacks",
        stacked.samples
    ));
    flat
}

#[cfg(test)]
mod tests {
    use genba_model::{Estimate, Event, Precision, StackRow};

    use super::*;

    fn row(name: &str, own: f64, total: f64) -> FunctionRow {
        FunctionRow {
            function: name.to_owned(),
            linkage_name: None,
            module: "m".to_owned(),
            kernel: false,
            file: None,
            line: None,
            self_samples: 1,
            self_share: Estimate::exact(own),
            total: Estimate::exact(total),
            size_bytes: 0,
            calls: None,
            instructions: None,
            cost_seconds: None,
            cost_cycles: None,
        }
    }

    fn profile(functions: Vec<FunctionRow>) -> Profile {
        Profile {
            event: Event {
                name: "cpu-clock".to_owned(),
                hardware: false,
                frequency_hz: 99,
                kernel: false,
                precision: Precision::Skid,
            },
            imported_from: None,
            thread_times: Vec::new(),
            command: Vec::new(),
            samples: 100,
            lost: 0,
            throttled: 0,
            duration_seconds: 1.0,
            kernel_share: Estimate::exact(0.0),
            stacks: false,
            truncated_stacks: 0.0,
            functions,
            lines: Vec::new(),
            modules: Vec::new(),
            threads: Vec::new(),
            edges: Vec::new(),
            collapsed: Vec::new(),
            concentration: None,
            notes: Vec::new(),
            counted: None,
        }
    }

    #[test]
    fn totals_and_edges_follow_the_order_of_the_flat_profile() {
        let flat = profile(vec![row("hot", 0.9, 0.9), row("warm", 0.1, 0.1)]);
        let mut stacked = profile(vec![
            row("warm", 0.5, 0.4),
            row("hot", 0.5, 0.95),
            row("main", 0.0, 1.0),
        ]);
        stacked.stacks = true;
        stacked.edges = vec![CallEdge {
            caller: 2,
            callee: 1,
            share: 0.95,
        }];
        stacked.collapsed = vec![StackRow {
            frames: vec!["main".into(), "hot".into()],
            weight: 7,
        }];
        let merged = with_stacks_of(flat, stacked);
        let names: Vec<&str> = merged
            .functions
            .iter()
            .map(|row| row.function.as_str())
            .collect();
        assert_eq!(names, ["hot", "warm", "main"]);
        assert_eq!(merged.functions[0].self_share.value, 0.9);
        assert_eq!(merged.functions[0].total.value, 0.95);
        assert_eq!(merged.functions[2].total.value, 1.0);
        assert_eq!(merged.functions[2].self_samples, 0);
        assert_eq!((merged.edges[0].caller, merged.edges[0].callee), (2, 0));
        assert!(merged.stacks && merged.collapsed.len() == 1);
    }

    #[test]
    fn total_is_at_least_the_self_share() {
        let merged = with_stacks_of(
            profile(vec![row("f", 0.5, 0.5)]),
            profile(vec![row("f", 0.3, 0.4)]),
        );
        assert_eq!(merged.functions[0].total.value, 0.5);
    }
}
