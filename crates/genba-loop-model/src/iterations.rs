//! Iterations of a loop laid out one after another.

/// Iterations of a loop, one after another.
pub(super) struct Iterations {
    /// Instructions in the order of execution.
    pub sequence: Vec<u32>,
    /// Where each round begins.
    pub starts: Vec<usize>,
    /// Whether all rounds are the same.
    pub uniform: bool,
}

impl Iterations {
    /// The same round again and again.
    pub(super) fn repeated(path: &[u32], times: usize) -> Self {
        let mut sequence = Vec::with_capacity(path.len() * times);
        let mut starts = Vec::with_capacity(times);
        for _ in 0..times {
            starts.push(sequence.len());
            sequence.extend_from_slice(path);
        }
        Self {
            sequence,
            starts,
            uniform: true,
        }
    }

    /// Iterations that take different ways.
    pub(super) fn various(rounds: &[&[u32]]) -> Self {
        let mut sequence = Vec::new();
        let mut starts = Vec::with_capacity(rounds.len());
        for round in rounds {
            starts.push(sequence.len());
            sequence.extend_from_slice(round);
        }
        Self {
            sequence,
            starts,
            uniform: false,
        }
    }
}

/// The round that a node is in.
pub(super) fn round_of(node: usize, rounds: &Iterations) -> usize {
    rounds.starts.partition_point(|&s| s <= node) - 1
}

/// Where in the rounds an instruction comes first.
pub(super) fn place_in_round(instruction: u32, rounds: &Iterations) -> usize {
    rounds
        .sequence
        .iter()
        .position(|&i| i == instruction)
        .unwrap_or(usize::MAX)
}
