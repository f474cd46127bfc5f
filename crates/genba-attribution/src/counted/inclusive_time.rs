//! Sampled time of functions with what they called.

use std::collections::HashMap;

use genba_model::CodePoint;

use super::calls::{call_sites, node};
use super::executed_functions::ExecutedFunctions;
use super::inclusive::{Edge, Inclusive, Node};
use crate::ResolvedProfile;

/// Shares of all time in executed functions and in what they called; functions by their index in
/// [`ExecutedFunctions::list`].
pub struct InclusiveTime {
    model: Inclusive,
    /// By caller, then callee; those of one pair together.
    edges: Vec<Edge>,
    own: Vec<f64>,
    all: f64,
}

/// A callee's part of its caller's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalleeTime {
    /// The callee.
    pub callee: u32,
    /// Share of all time that it takes, with what it calls, for this caller.
    pub share: f64,
    /// Counted: calls from this caller, in the counted run.
    pub calls: u64,
}

impl InclusiveTime {
    /// Share of all time in a function and in what it called.
    #[must_use]
    pub fn share(&self, function: u32) -> f64 {
        self.model.total(function) / self.all
    }

    /// Share of all time in the function itself.
    #[must_use]
    pub fn own_share(&self, function: u32) -> f64 {
        self.own[function as usize] / self.all
    }

    /// Whether the function is called by what it calls: then its share is that of all functions that
    /// call one another.
    #[must_use]
    pub fn is_recursive(&self, function: u32) -> bool {
        self.model.cycle(function).is_some()
    }

    /// What a function calls, most time first.
    #[must_use]
    pub fn callees(&self, function: u32) -> Vec<CalleeTime> {
        let begin = self.edges.partition_point(|one| one.caller < function);
        let own = self.edges[begin..].iter();
        let mut found: Vec<CalleeTime> = own
            .take_while(|one| one.caller == function)
            .map(|edge| CalleeTime {
                callee: edge.callee,
                share: self.model.of_calls(edge) / self.all,
                calls: edge.calls,
            })
            .collect();
        found.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.callee.cmp(&b.callee)));
        found
    }
}

/// Inclusive time by the model of [`super::inclusive`], with sampled time in place of
/// instructions. The kernel's time is nobody's: it has no calls. `None` without counts.
#[must_use]
pub fn inclusive_time(
    resolved: &ResolvedProfile,
    names: &ExecutedFunctions,
) -> Option<InclusiveTime> {
    let joined = resolved.joined.as_ref()?;
    let index = &joined.index;
    let mut own: HashMap<u32, u64> = HashMap::new();
    for (id, hits) in resolved.function_hits() {
        let function = &resolved.functions[id as usize];
        let path = resolved.code.module_name(function.module);
        let build_id = resolved.code.build_id(function.module);
        let Some(module) = index.module(&path, build_id.as_deref()) else {
            continue;
        };
        for (address, hit) in hits {
            if let Some(executed) = names.at(CodePoint { module, address }) {
                *own.entry(executed).or_default() += hit.weight;
            }
        }
    }
    let nodes: Vec<Node> = (0u32..)
        .zip(&names.list)
        .map(|(id, one)| Node {
            own: own.get(&id).copied().unwrap_or(0),
            ..node(index, one)
        })
        .collect();
    let mut edges: Vec<Edge> = Vec::new();
    let mut sites = call_sites(index, names);
    sites.sort_unstable_by_key(|site| (site.caller, site.callee));
    for site in sites {
        match edges.last_mut() {
            Some(last) if (last.caller, last.callee) == (site.caller, site.callee) => {
                last.calls = last.calls.saturating_add(site.count);
            }
            _ => edges.push(Edge {
                caller: site.caller,
                callee: site.callee,
                calls: site.count,
            }),
        }
    }
    Some(InclusiveTime {
        model: Inclusive::of(&nodes, &edges),
        edges,
        own: nodes.iter().map(|node| node.own as f64).collect(),
        all: (resolved.hits.all.weight as f64).max(1.0),
    })
}
