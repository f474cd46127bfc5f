//! Inclusive cost of functions from exact calls, by gprof's model.
//!
//! Counts say what ran in a function and who called whom how often, but not which part of a
//! callee's cost belongs to which of its callers. The model (Graham, Kessler and McKusick,
//! "gprof: a call graph execution profiler", SIGPLAN '82, sections 3 and 4) lets every call of a
//! function cost the same and collapses functions that call one another into one node, so that
//! what is left has no cycles. Costs are then added up from the leaves to the roots.
//!
//! The components are found by Tarjan's algorithm ("Depth-first search and linear graph
//! algorithms", SIAM J. Comput. 1, 1972), which gives callees before their callers; without
//! recursion of its own, so that a call graph of any depth will do.

/// A function of the call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Instructions executed in the function itself.
    pub own: u64,
    /// How many times it was entered, from wherever.
    pub calls: u64,
}

/// Calls from one function to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub caller: u32,
    pub callee: u32,
    pub calls: u64,
}

/// What the model makes of a call graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inclusive {
    /// Of each node, the component that it belongs to: functions that call one another.
    component: Vec<u32>,
    /// Of each component, what is executed in it and in what it calls.
    total: Vec<f64>,
    /// Of each component, how many functions it has.
    size: Vec<u32>,
    /// Of each component, how many times it was entered from outside.
    entries: Vec<u64>,
}

impl Inclusive {
    /// Adds costs up from the leaves to the roots. Edges to nodes that are not there are passed
    /// over.
    pub(crate) fn of(nodes: &[Node], edges: &[Edge]) -> Self {
        let graph = Graph::new(nodes.len(), edges);
        let (component, components) = graph.components();
        let mut own = vec![0u64; components];
        let mut entered = vec![0u64; components];
        let mut size = vec![0u32; components];
        for (node, &at) in nodes.iter().zip(&component) {
            let at = at as usize;
            size[at] += 1;
            own[at] = own[at].saturating_add(node.own);
            entered[at] = entered[at].saturating_add(node.calls);
        }
        let (mut inner, mut outer) = (vec![0u64; components], vec![0u64; components]);
        for edge in &graph.edges {
            let (from, to) = (
                component[edge.caller as usize],
                component[edge.callee as usize],
            );
            let sum = if from == to { &mut inner } else { &mut outer };
            let sum = &mut sum[to as usize];
            *sum = sum.saturating_add(edge.calls);
        }
        // What was entered more often than by the calls that are known (from the kernel, say)
        // has callers that are not known: a part of its cost goes to nobody.
        let entries: Vec<u64> = (0..components)
            .map(|at| entered[at].saturating_sub(inner[at]).max(outer[at]))
            .collect();
        let mut inclusive = Self {
            component,
            total: own.iter().map(|&own| own as f64).collect(),
            size,
            entries,
        };
        // Edges by the caller's component: callees have the smaller numbers, so that their
        // totals are complete when they are added to those of their callers.
        let mut by_caller: Vec<&Edge> = graph.edges.iter().collect();
        by_caller.sort_by_key(|edge| {
            let caller = inclusive.component[edge.caller as usize];
            (caller, edge.caller, edge.callee)
        });
        for edge in by_caller {
            let at = inclusive.component[edge.caller as usize] as usize;
            inclusive.total[at] += inclusive.of_calls(edge);
        }
        inclusive
    }

    /// Instructions in a function and in what it called. All functions that call one another
    /// have the same total: that of all of them together.
    pub(crate) fn total(&self, node: u32) -> f64 {
        self.total[self.component[node as usize] as usize]
    }

    /// How many functions call one another, this one among them, where it is not alone.
    pub(crate) fn cycle(&self, node: u32) -> Option<u32> {
        Some(self.size[self.component[node as usize] as usize]).filter(|&size| size > 1)
    }

    /// The part of the callee's total that these calls bring to the caller: none within
    /// functions that call one another, whose total has it already.
    pub(crate) fn of_calls(&self, edge: &Edge) -> f64 {
        let (from, to) = (
            self.component[edge.caller as usize],
            self.component[edge.callee as usize] as usize,
        );
        let entries = self.entries[to];
        if from as usize == to || entries == 0 {
            return 0.0;
        }
        self.total[to] * (edge.calls as f64 / entries as f64)
    }
}

/// Edges in order of their callers.
struct Graph {
    edges: Vec<Edge>,
    /// Where the edges of each caller begin, and the end of the last.
    first: Vec<u32>,
}

/// Where the search stands in one function.
struct Frame {
    node: u32,
    /// The next edge to follow.
    edge: u32,
}

impl Graph {
    fn new(nodes: usize, edges: &[Edge]) -> Self {
        let known = |edge: &&Edge| (edge.caller as usize) < nodes && (edge.callee as usize) < nodes;
        let mut edges: Vec<Edge> = edges.iter().filter(known).copied().collect();
        edges.sort_unstable_by_key(|edge| (edge.caller, edge.callee));
        let first = (0..=nodes as u32)
            .map(|node| edges.partition_point(|edge| edge.caller < node) as u32)
            .collect();
        Self { edges, first }
    }

    /// The strongly connected component of each node, callees before their callers, and how
    /// many there are.
    fn components(&self) -> (Vec<u32>, usize) {
        const NOT_SEEN: u32 = u32::MAX;
        let nodes = self.first.len() - 1;
        let mut seen = vec![NOT_SEEN; nodes];
        let mut low = vec![NOT_SEEN; nodes];
        let mut component = vec![NOT_SEEN; nodes];
        let (mut number, mut components) = (0u32, 0u32);
        let mut open: Vec<u32> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        for root in 0..nodes as u32 {
            if seen[root as usize] != NOT_SEEN {
                continue;
            }
            frames.push(Frame {
                node: root,
                edge: self.first[root as usize],
            });
            while let Some(frame) = frames.last_mut() {
                let node = frame.node as usize;
                if seen[node] == NOT_SEEN {
                    seen[node] = number;
                    low[node] = number;
                    number += 1;
                    open.push(frame.node);
                }
                if frame.edge < self.first[node + 1] {
                    let to = self.edges[frame.edge as usize].callee;
                    frame.edge += 1;
                    if seen[to as usize] == NOT_SEEN {
                        frames.push(Frame {
                            node: to,
                            edge: self.first[to as usize],
                        });
                    } else if component[to as usize] == NOT_SEEN {
                        low[node] = low[node].min(seen[to as usize]);
                    }
                    continue;
                }
                frames.pop();
                if let Some(caller) = frames.last() {
                    let caller = caller.node as usize;
                    low[caller] = low[caller].min(low[node]);
                }
                if low[node] == seen[node] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member as usize == node {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        (component, components as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn edge(caller: u32, callee: u32, calls: u64) -> Edge {
        Edge {
            caller,
            callee,
            calls,
        }
    }

    /// Nodes that were entered as often as the edges say, those without callers once.
    fn nodes(own: &[u64], edges: &[Edge]) -> Vec<Node> {
        (0u32..)
            .zip(own)
            .map(|(at, &own)| {
                let to = edges.iter().filter(|edge| edge.callee == at);
                Node {
                    own,
                    calls: to.map(|edge| edge.calls).sum::<u64>().max(1),
                }
            })
            .collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    /// The figure of the paper: two callers share a callee by their calls.
    #[test]
    fn inclusive_cost_is_split_by_number_of_calls() {
        let edges = [edge(0, 1, 1), edge(0, 2, 1), edge(1, 3, 4), edge(2, 3, 6)];
        let nodes = nodes(&[10, 5, 20, 300], &edges);
        let found = Inclusive::of(&nodes, &edges);
        let totals: Vec<f64> = (0..4).map(|at| found.total(at)).collect();
        assert_eq!(totals, [335.0, 125.0, 200.0, 300.0]);
        assert!(close(found.of_calls(&edges[2]), 120.0));
    }

    #[test]
    fn mutually_recursive_functions_share_one_total() {
        // 0 → 1 ⇄ 2 → 3, and 3 calls itself.
        let edges = [
            edge(0, 1, 2),
            edge(1, 2, 7),
            edge(2, 1, 5),
            edge(2, 3, 1),
            edge(3, 3, 90),
        ];
        let nodes = nodes(&[1, 10, 100, 1000], &edges);
        let found = Inclusive::of(&nodes, &edges);
        let totals: Vec<f64> = (0..4).map(|at| found.total(at)).collect();
        assert_eq!(totals, [1111.0, 1110.0, 1110.0, 1000.0]);
        // One that only calls itself is alone.
        let cycles: Vec<Option<u32>> = (0..4).map(|at| found.cycle(at)).collect();
        assert_eq!(cycles, [None, Some(2), Some(2), None]);
        assert!(close(found.of_calls(&edges[0]), 1110.0));
        assert_eq!(found.of_calls(&edges[1]), 0.0);
    }

    /// A signal handler, say: entered from nowhere, and by a call as well.
    #[test]
    fn functions_without_callers_add_to_no_total() {
        let edges = [edge(0, 1, 1)];
        let mut nodes = nodes(&[5, 300], &edges);
        nodes[1].calls = 3;
        assert!(close(Inclusive::of(&nodes, &edges).total(0), 105.0));
    }

    #[test]
    fn deep_call_chains_and_invalid_edges_are_accepted() {
        const LONG: u32 = 300_000;
        let mut edges: Vec<Edge> = (1..LONG).map(|at| edge(at - 1, at, 1)).collect();
        edges.push(edge(LONG, 0, 1));
        edges.push(edge(0, u32::MAX, 1));
        let nodes = vec![Node { own: 1, calls: 1 }; LONG as usize];
        let found = Inclusive::of(&nodes, &edges);
        assert_eq!(found.total(0), f64::from(LONG));
        assert_eq!(Inclusive::of(&[], &edges).total.len(), 0);
    }

    fn reachable(from: u32, edges: &[Edge]) -> HashSet<u32> {
        let mut found = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for edge in edges.iter().filter(|edge| edge.caller == at) {
                if found.insert(edge.callee) {
                    open.push(edge.callee);
                }
            }
        }
        found
    }

    /// What one call costs, by walking the tree of calls.
    fn one_call(at: u32, nodes: &[Node], edges: &[Edge]) -> f64 {
        let calls = nodes[at as usize].calls as f64;
        let callees = edges.iter().filter(|edge| edge.caller == at);
        let below: f64 = callees
            .map(|edge| edge.calls as f64 * one_call(edge.callee, nodes, edges))
            .sum();
        (nodes[at as usize].own as f64 + below) / calls
    }

    fn graph(acyclic: bool) -> impl Strategy<Value = (Vec<u64>, Vec<Edge>)> {
        (1usize..9).prop_flat_map(move |n| {
            let own = prop::collection::vec(0u64..1000, n);
            let ends = (0..n as u32, 0..n as u32, 1u64..50);
            let edges = prop::collection::vec(ends, 0..16).prop_map(move |list| {
                let mut edges: Vec<Edge> = list
                    .into_iter()
                    .filter(|&(a, b, _)| !acyclic || a != b)
                    .map(|(a, b, calls)| {
                        if acyclic {
                            edge(a.min(b), a.max(b), calls)
                        } else {
                            edge(a, b, calls)
                        }
                    })
                    .collect();
                edges.sort_by_key(|edge| (edge.caller, edge.callee));
                edges.dedup_by_key(|edge| (edge.caller, edge.callee));
                edges
            });
            (own, edges)
        })
    }

    proptest! {
        #[test]
        fn without_recursion_it_is_what_walking_the_calls_gives((own, edges) in graph(true)) {
            let nodes = nodes(&own, &edges);
            let found = Inclusive::of(&nodes, &edges);
            for at in 0..nodes.len() as u32 {
                let walked = one_call(at, &nodes, &edges) * nodes[at as usize].calls as f64;
                prop_assert!(close(found.total(at), walked), "{at}: {} {walked}", found.total(at));
            }
        }

        /// Nothing is lost and nothing counted twice: what the roots have is all there is.
        #[test]
        fn the_roots_have_everything((own, edges) in graph(false)) {
            let nodes = nodes(&own, &edges);
            let found = Inclusive::of(&nodes, &edges);
            let within = |a: u32, b: u32| reachable(a, &edges).contains(&b) && reachable(b, &edges).contains(&a);
            let mut roots: Vec<u32> = (0..nodes.len() as u32)
                .filter(|&at| edges.iter().all(|e| !within(e.callee, at) || within(e.caller, at)))
                .collect();
            roots.dedup_by_key(|at| found.component[*at as usize]);
            let mut seen = HashSet::new();
            let sum: f64 = roots
                .iter()
                .filter(|&&at| seen.insert(found.component[at as usize]))
                .map(|&at| found.total(at))
                .sum();
            prop_assert!(close(sum, own.iter().sum::<u64>() as f64), "{sum}");
            if let [root] = roots[..] && reachable(root, &edges).len() == nodes.len() {
                prop_assert!(close(found.total(root), sum));
            }
        }

        #[test]
        fn a_component_is_those_that_reach_one_another((own, edges) in graph(false)) {
            let nodes = nodes(&own, &edges);
            let found = Inclusive::of(&nodes, &edges);
            for a in 0..nodes.len() as u32 {
                let reached = reachable(a, &edges);
                let all: u64 = reached.iter().map(|&at| own[at as usize]).sum();
                prop_assert!(found.total(a) >= own[a as usize] as f64);
                prop_assert!(found.total(a) <= all as f64 * (1.0 + 1e-9));
                for b in 0..nodes.len() as u32 {
                    let both = reached.contains(&b) && reachable(b, &edges).contains(&a);
                    let same = found.component[a as usize] == found.component[b as usize];
                    prop_assert_eq!(both, same);
                }
            }
        }
    }
}
