//! Nodes of the call tree for the frames of a thread. Most of a stack is as it was at the thread's
//! last sample, so its nodes are looked up only from the first frame that differs.

use std::collections::HashMap;

use super::script_stacks::{Node, Stacks};

/// The nodes of each thread's last stack.
#[derive(Default)]
pub struct StackNodeCache(HashMap<u64, Vec<Step>>);

/// A frame: its function and line, and the node of the stack up to it. Where an object of the
/// interpreter is does not matter: another may be there by now.
#[derive(Clone, Copy)]
struct Step {
    function: u32,
    line: u32,
    node: u32,
}

/// A stack that is being read, from the outermost frame.
pub struct StackNodes {
    steps: Vec<Step>,
    at: usize,
}

impl StackNodeCache {
    /// Begins a stack of a thread.
    pub fn begin(&mut self, thread: u64) -> StackNodes {
        let steps = self.0.remove(&thread).unwrap_or_default();
        StackNodes { steps, at: 0 }
    }

    /// Ends a stack; the node of its innermost frame, if it has a frame.
    pub fn end(&mut self, thread: u64, mut nodes: StackNodes) -> Option<u32> {
        nodes.steps.truncate(nodes.at);
        let node = nodes.steps.last().map(|step| step.node);
        self.0.insert(thread, nodes.steps);
        node
    }
}

impl StackNodes {
    /// Adds the next frame inwards.
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

    fn follow(
        node_cache: &mut StackNodeCache,
        frames: &[(u32, u32)],
        stacks: &mut Stacks,
    ) -> Option<u32> {
        let mut nodes = node_cache.begin(7);
        for &(function, line) in frames {
            nodes.step(function, line, stacks);
        }
        node_cache.end(7, nodes)
    }

    proptest! {
        #[test]
        fn node_has_the_frames_of_its_stack_after_any_other_stack(
            samples in prop::collection::vec(prop::collection::vec((0u32..3, 0u32..3), 0..6), 1..8)
        ) {
            let (mut node_cache, mut stacks) = (StackNodeCache::default(), Stacks::default());
            for frames in samples {
                let node = follow(&mut node_cache, &frames, &mut stacks);
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
