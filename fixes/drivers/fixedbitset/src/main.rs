//! Walks through made-up graphs, with a bit for each node that was seen: driver NODES TIMES.

use fixedbitset::FixedBitSet;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>().expect("a number"));
    let (nodes, times) = (arguments.next().expect("nodes"), arguments.next().expect("times"));
    let mut state = 1u32;
    let edges: Vec<[u32; 4]> = (0..nodes)
        .map(|node| {
            std::array::from_fn(|_| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                ((node + (state >> 20) as usize) % nodes) as u32
            })
        })
        .collect();
    let (mut seen, mut reached) = (FixedBitSet::with_capacity(nodes), 0usize);
    let mut waiting = Vec::new();
    for start in 0..times {
        seen.clear();
        waiting.push(start as u32);
        while let Some(node) = waiting.pop() {
            if seen.contains(node as usize) {
                continue;
            }
            seen.insert(node as usize);
            reached += 1;
            waiting.extend(edges[node as usize].iter().filter(|&&next| !seen.contains(next as usize)));
        }
    }
    println!("{reached}");
}
