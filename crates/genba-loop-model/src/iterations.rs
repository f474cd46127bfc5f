//! Iterations of a loop laid out one after another.

/// Iterations of a loop, one after another.
pub(super) struct Iterations {
    /// Instructions in the order of execution.
    pub sequence: Vec<u32>,
    /// Where each iteration begins.
    pub starts: Vec<usize>,
    /// Whether all iterations are the same.
    pub uniform: bool,
}

impl Iterations {
    /// One path repeated.
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

    /// Iterations on different paths.
    pub(super) fn various(iterations: &[&[u32]]) -> Self {
        let mut sequence = Vec::new();
        let mut starts = Vec::with_capacity(iterations.len());
        for iteration in iterations {
            starts.push(sequence.len());
            sequence.extend_from_slice(iteration);
        }
        Self {
            sequence,
            starts,
            uniform: false,
        }
    }
}

/// The iteration that a node is in.
pub(super) fn iteration_of(node: usize, iterations: &Iterations) -> usize {
    iterations.starts.partition_point(|&s| s <= node) - 1
}

/// Where in the iterations an instruction comes first.
pub(super) fn place_in_iteration(instruction: u32, iterations: &Iterations) -> usize {
    iterations
        .sequence
        .iter()
        .position(|&i| i == instruction)
        .unwrap_or(usize::MAX)
}
