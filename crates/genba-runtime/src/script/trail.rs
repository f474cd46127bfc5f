//! From the frames of a thread to a node of the call tree, quickly: most of a stack is as it was
//! at the thread's last sample.

use std::collections::HashMap;

use super::stacks::{Node, Stacks};

/// The last stack of each thread.
#[derive(Default)]
pub struct Trails(HashMap<u64, Vec<Step>>);

/// A frame: its function and line, and the node of the stack up to it. Where an object of the
/// interpreter is does not matter: another may be there by now.
#[derive(Clone, Copy)]
struct Step {
    function: u32,
    line: u32,
    node: u32,
}

/// A stack that is being read, from the outermost frame.
pub struct Trail {
    steps: Vec<Step>,
    at: usize,
}

impl Trails {
    /// Begins with a stack of a thread.
    pub fn begin(&mut self, thread: u64) -> Trail {
        let steps = self.0.remove(&thread).unwrap_or_default();
        Trail { steps, at: 0 }
    }

    /// The node of the innermost frame, if there was a frame.
    pub fn end(&mut self, thread: u64, mut trail: Trail) -> Option<u32> {
        trail.steps.truncate(trail.at);
        let node = trail.steps.last().map(|step| step.node);
        self.0.insert(thread, trail.steps);
        node
    }
}

impl Trail {
    /// The next frame inwards.
    pub fn step(&mut self, function: u32, line: u32, stacks: &mut Stacks) {
        let known = self.steps.get(self.at);
        if known.is_none_or(|step| (step.function, step.line) != (function, line)) {
            self.steps.truncate(self.at);
            let node = stacks.node(Node {
                parent: self.steps.last().map(|step| step.node),
                function,
                line,
            });
            self.steps.push(Step {
                function,
                line,
                node,
            });
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn follow(trails: &mut Trails, frames: &[(u32, u32)], stacks: &mut Stacks) -> Option<u32> {
        let mut trail = trails.begin(7);
        for &(function, line) in frames {
            trail.step(function, line, stacks);
        }
        trails.end(7, trail)
    }

    proptest! {
        #[test]
        fn the_stack_is_the_frames_whatever_was_before(
            samples in prop::collection::vec(prop::collection::vec((0u32..3, 0u32..3), 0..6), 1..8)
        ) {
            let (mut trails, mut stacks) = (Trails::default(), Stacks::default());
            for frames in samples {
                let node = follow(&mut trails, &frames, &mut stacks);
                let mut read: Vec<(u32, u32)> = node
                    .into_iter()
                    .flat_map(|node| stacks.frames(node).collect::<Vec<_>>())
                    .map(|node| (node.function, node.line))
                    .collect();
                read.reverse();
                prop_assert_eq!(read, frames);
            }
        }
    }
}
