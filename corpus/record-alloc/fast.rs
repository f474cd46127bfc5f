//! An index of words with positions, its nodes in an arena that grows by chunks.

#[derive(Clone, Copy)]
struct Node {
    key: u32,
    positions: u32,
    left: u32,
    right: u32,
}

struct Arena {
    chunks: Vec<Vec<Node>>,
    current: Vec<Node>,
    grown: Vec<String>,
    limit: usize,
}

const CHUNK: usize = 4096;
const NONE: u32 = u32::MAX;

impl Arena {
    fn new(limit: usize) -> Self {
        Arena { chunks: Vec::new(), current: Vec::with_capacity(CHUNK), grown: Vec::new(), limit }
    }

    /// Keeps the chunk that is full and notes it for the report.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
            let full = std::mem::replace(&mut self.current, Vec::with_capacity(CHUNK));
            let keys = full.iter().map(|n| u64::from(n.key)).sum::<u64>();
            self.chunks.push(full);
            let note = format!("chunk {} with keys of {keys}", self.chunks.len());
            if self.chunks.len() > self.limit {
                panic!("too many nodes: {note}, {:?}", self.grown);
            }
            self.grown.push(note);
    }

    /// Places a node.
    fn place(&mut self, node: Node) -> u32 {
        if self.current.len() == CHUNK {
            self.grow();
        }
        self.current.push(node);
        (self.chunks.len() * CHUNK + self.current.len() - 1) as u32
    }

    fn clear(&mut self) {
        self.chunks.clear();
        self.current.clear();
        self.grown.clear();
    }
}

/// The list of positions of each word's hash, newest first.
struct Index {
    arena: Arena,
    heads: Vec<u32>,
}

impl Index {
    fn add(&mut self, word: u32, position: u32) {
        let slot = (word.wrapping_mul(2_654_435_761) >> 20) as usize;
        let node = Node { key: word, positions: position, left: self.heads[slot], right: NONE };
        self.heads[slot] = self.arena.place(node);
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let words = args.next().unwrap_or(10_000) as u32;
    let mut index = Index { arena: Arena::new(1 << 20), heads: vec![NONE; 4096] };
    let mut sum = 0u64;
    for pass in 0..args.next().unwrap_or(10) as u32 {
        index.arena.clear();
        index.heads.fill(NONE);
        let mut word = pass;
        for position in 0..words {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            index.add(word >> 12, position);
        }
        let last = index.arena.current.last().map_or(0, |n| n.key ^ n.left ^ n.right ^ n.positions);
        sum = sum.wrapping_mul(31).wrapping_add(u64::from(last)) + index.arena.grown.len() as u64;
        sum ^= u64::from(index.heads[pass as usize * 7919 % 4096]);
    }
    println!("{sum:016x}");
}
