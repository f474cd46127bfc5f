//! Shortest paths in a random graph: `driver NODES EDGES TIMES`.

use petgraph::graph::{Graph, NodeIndex};

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|arg| arg.parse().expect("a number")).collect();
    let (nodes, edges, times) = (numbers[0], numbers[1], numbers[2]);
    let mut state = 1u64;
    let mut chance = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut graph = Graph::<(), u64>::new();
    for _ in 0..nodes {
        graph.add_node(());
    }
    for _ in 0..edges {
        let (from, to) = (chance(nodes) as usize, chance(nodes) as usize);
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), 1 + chance(1000));
    }
    let far = |start| -> u64 {
        let scores = petgraph::algo::dijkstra(&graph, NodeIndex::new(start as usize), None, |edge| *edge.weight());
        scores.values().sum()
    };
    println!("{}", (0..times).map(far).sum::<u64>());
}
