//! Stacks from a call graph: costs of functions, and of calls with all that they call.
//!
//! The cost of a function is divided among its callers in proportion to what their calls of it cost, as gprof
//! and KCachegrind's call map do. Self costs remain those of the file, whatever is left out.

use std::collections::BTreeMap;

use genba_model::{Sampled, SampledFrame};

use crate::Result;
use crate::stacks::{MAX_DEPTH, Stacks};

/// Stacks of less than this share of all are not followed.
const MIN_SHARE: f64 = 1e-6;
/// Most nodes of the tree that is made.
const MAX_NODES: usize = 200_000;
/// What rounding may leave of a whole.
const ROUNDING: f64 = 1e-9;

/// Weight and number of samples.
type Cost = (u64, u64);

#[derive(Default)]
struct Node {
    /// By file and line.
    own: BTreeMap<(Option<u32>, Option<u32>), Cost>,
    /// By callee.
    calls: BTreeMap<u32, u64>,
    file: Option<u32>,
}

impl Node {
    fn self_cost(&self) -> Cost {
        let add =
            |sum: Cost, one: &Cost| (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1));
        self.own.values().fold((0, 0), add)
    }
}

/// Costs and calls by function.
#[derive(Default)]
pub(crate) struct CallGraph {
    nodes: BTreeMap<u32, Node>,
}

/// A place in the tree that is made: a function under its caller, with the part of its costs that is due to it.
struct Visit {
    function: u32,
    part: f64,
    /// Index of the caller's visit.
    caller: Option<usize>,
    depth: usize,
}

impl CallGraph {
    pub(crate) fn own(
        &mut self,
        function: u32,
        file: Option<u32>,
        line: Option<u32>,
        weight: u64,
        samples: u64,
    ) {
        let node = self.nodes.entry(function).or_default();
        let cost = node.own.entry((file, line)).or_default();
        cost.0 = cost.0.saturating_add(weight);
        cost.1 = cost.1.saturating_add(samples);
    }

    pub(crate) fn call(&mut self, caller: u32, callee: u32, weight: u64) {
        let sum = self.nodes.entry(caller).or_default();
        let sum = sum.calls.entry(callee).or_default();
        *sum = sum.saturating_add(weight);
        self.nodes.entry(callee).or_default();
    }

    /// Names the file of a function; the first one stays.
    pub(crate) fn file_of(&mut self, function: u32, file: u32) {
        self.nodes
            .entry(function)
            .or_default()
            .file
            .get_or_insert(file);
    }

    /// Adds the samples of all stacks; returns whether every cost has all its callers.
    pub(crate) fn add_stacks(&self, stacks: &mut Stacks, thread: u32) -> Result<bool> {
        for (&function, node) in &self.nodes {
            stacks.builder.detail.functions[function as usize].file = node.file;
        }
        let (visits, is_exact) = self.visits();
        // What each function's self cost has not yet been given to.
        let mut rest: BTreeMap<u32, Cost> = (self.nodes.iter())
            .map(|(&function, node)| (function, node.self_cost()))
            .collect();
        let mut nodes: Vec<Option<u32>> = Vec::with_capacity(visits.len());
        for visit in &visits {
            let frame = stacks.builder.frame(SampledFrame {
                function: visit.function,
                ..SampledFrame::default()
            });
            let parent = visit.caller.and_then(|caller| nodes[caller]);
            nodes.push(Some(stacks.child(parent, frame)?));
            let node = &self.nodes[&visit.function];
            let left = rest.entry(visit.function).or_default();
            for (&place, cost) in &node.own {
                let part = |of: u64| (of as f64 * visit.part).round() as u64;
                let cost = (part(cost.0).min(left.0), part(cost.1).min(left.1));
                *left = (left.0 - cost.0, left.1 - cost.1);
                self.sample(stacks, thread, parent, visit.function, place, cost)?;
            }
        }
        // Under the first caller, which has most of it, unless callers are missing.
        let mut parents: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        for visit in visits.iter().filter(|_| is_exact) {
            let parent = visit.caller.and_then(|caller| nodes[caller]);
            parents.entry(visit.function).or_insert(parent);
        }
        for (function, cost) in rest {
            // What rounding and missing callers have left, where the function has most.
            let own = &self.nodes[&function].own;
            let place = own.iter().max_by_key(|(_, cost)| cost.0);
            if let Some((&place, _)) = place {
                let parent = parents.get(&function).copied().flatten();
                self.sample(stacks, thread, parent, function, place, cost)?;
            }
        }
        Ok(is_exact)
    }

    fn sample(
        &self,
        stacks: &mut Stacks,
        thread: u32,
        parent: Option<u32>,
        function: u32,
        (file, line): (Option<u32>, Option<u32>),
        (weight, samples): Cost,
    ) -> Result<()> {
        if weight == 0 {
            return Ok(());
        }
        let frame = stacks.builder.frame(SampledFrame {
            function,
            address: None,
            file: file.or(self.nodes[&function].file),
            line,
            inlined: false,
        });
        let stack = stacks.child(parent, frame)?;
        stacks.sample(Sampled {
            thread,
            stack,
            time_ns: None,
            weight,
            samples,
        });
        Ok(())
    }

    /// The tree of calls, callers before callees, and whether nothing is missing in it.
    fn visits(&self) -> (Vec<Visit>, bool) {
        let mut incoming: BTreeMap<u32, u64> = BTreeMap::new();
        for (caller, node) in &self.nodes {
            for (callee, weight) in node.calls.iter().filter(|(callee, _)| *callee != caller) {
                let sum = incoming.entry(*callee).or_default();
                *sum = sum.saturating_add(*weight);
            }
        }
        // With what it calls. A call of itself is a part of that already.
        let inclusive: BTreeMap<u32, u64> = (self.nodes.iter())
            .map(|(&function, node)| {
                let calls = node.calls.iter().filter(|(callee, _)| **callee != function);
                let called = calls.fold(0u64, |sum, (_, weight)| sum.saturating_add(*weight));
                (function, called.saturating_add(node.self_cost().0))
            })
            .collect();
        let total =
            (self.nodes.values()).fold(0u64, |sum, node| sum.saturating_add(node.self_cost().0));
        let smallest = total as f64 * MIN_SHARE;
        let mut visits: Vec<Visit> = Vec::new();
        let mut is_exact = true;
        for (&function, &inclusive) in &inclusive {
            // Callers do not account for all of its cost: the rest has none.
            let called = incoming.get(&function).copied().unwrap_or(0);
            let part = 1.0 - called as f64 / (inclusive.max(1)) as f64;
            if part > ROUNDING {
                visits.push(Visit {
                    function,
                    part,
                    caller: None,
                    depth: 1,
                });
            }
        }
        visits.sort_by(|a, b| {
            let cost = |visit: &Visit| inclusive[&visit.function] as f64 * visit.part;
            cost(b)
                .total_cmp(&cost(a))
                .then(a.function.cmp(&b.function))
        });
        if visits.len() > MAX_NODES {
            visits.truncate(MAX_NODES);
            is_exact = false;
        }
        let mut next = 0;
        while next < visits.len() {
            let (function, part, depth) =
                (visits[next].function, visits[next].part, visits[next].depth);
            for (&callee, &weight) in &self.nodes[&function].calls {
                let cost = weight as f64 * part;
                if callee == function || weight == 0 {
                    continue;
                }
                let whole = inclusive[&callee].max(1) as f64;
                let is_open = || {
                    let mut at = Some(next);
                    while let Some(index) = at {
                        if visits[index].function == callee {
                            return true;
                        }
                        at = visits[index].caller;
                    }
                    false
                };
                if cost < smallest || depth >= MAX_DEPTH || visits.len() >= MAX_NODES || is_open() {
                    is_exact = false;
                    continue;
                }
                visits.push(Visit {
                    function: callee,
                    part: (cost / whole).min(1.0),
                    caller: Some(next),
                    depth: depth + 1,
                });
            }
            next += 1;
        }
        (visits, is_exact)
    }
}
