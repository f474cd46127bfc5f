//! Sampled time of functions with what they called.

use std::collections::HashMap;

use genba_model::CodePoint;

use super::calls::{call_sites, node};
use super::inclusive::{Edge, Inclusive, Node};
use super::names::ExecutedFunctions;
use crate::ResolvedProfile;

/// Share of all time in each executed function and in what it called, in the order of
/// [`ExecutedFunctions::list`], by the model of [`super::inclusive`] with sampled time in place of
/// instructions. The kernel's time is nobody's: it has no calls. Empty without counts.
#[must_use]
pub fn inclusive_shares(resolved: &ResolvedProfile, names: &ExecutedFunctions) -> Vec<f64> {
    let Some(joined) = &resolved.joined else {
        return Vec::new();
    };
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
    let edges: Vec<Edge> = call_sites(index, names)
        .iter()
        .map(|site| Edge {
            caller: site.caller,
            callee: site.callee,
            calls: site.count,
        })
        .collect();
    let inclusive = Inclusive::of(&nodes, &edges);
    let all = (resolved.hits.all.weight as f64).max(1.0);
    (0..nodes.len() as u32)
        .map(|id| inclusive.total(id) / all)
        .collect()
}
