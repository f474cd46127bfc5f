//! Loops that go from node to node by one of several links, chosen by what the loop works out: descents through trees.

use genba_code::Flow;

use crate::constants::registers::XMM0;
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};

/// Whether a loop loads its next node from the one before, at a place that also depends on something else that changes
/// from node to node (a part of the key, what a call returned). A list has its next element at a fixed place.
#[must_use]
pub(crate) fn follows_chosen_links(function: &FunctionInput, index: u32) -> bool {
    let head = function.flow.loops()[index as usize].head;
    let body = function.flow.loop_blocks(index);
    let before = &function.flow.blocks()[head as usize].predecessors;
    function.values.joins().any(|(number, _)| {
        let node = Value { number, offset: 0 };
        function.values.origin(node) == Origin::Join(head)
            && (before.iter().zip(function.values.met(node)))
                .filter(|one| body.contains(one.0))
                .any(|(_, &next)| is_chosen_link(function, index, node, next))
    })
}

/// Whether a value was loaded from a node at a place that depends on something else.
fn is_chosen_link(function: &FunctionInput, index: u32, node: Value, next: Value) -> bool {
    let values = &function.values;
    let head = function.flow.loops()[index as usize].head;
    let body = function.flow.loop_blocks(index);
    let (mut of_node, mut of_other) = (false, false);
    // Each with whether it is an address of a load on the way.
    let mut met = vec![(next.number, false)];
    let mut at = 0;
    while let Some(&(number, loaded)) = met.get(at) {
        at += 1;
        if met.len() > MAX_VALUES_FOLLOWED {
            return false;
        }
        let one = Value { number, offset: 0 };
        let sources: Vec<(u32, bool)> = match values.origin(one) {
            Origin::Join(block) if block == head => {
                of_node |= number == node.number && loaded;
                of_other |= number != node.number;
                continue;
            }
            Origin::Join(block) if body.contains(&block) => values
                .met(one)
                .iter()
                .map(|one| (one.number, loaded))
                .collect(),
            Origin::Instruction(made) if is_inside(function, index, made) => {
                let made = made as usize;
                if matches!(function.code[made].flow, Flow::Call(_) | Flow::IndirectCall) {
                    of_other = true;
                    continue;
                }
                let loaded = loaded || function.data[made].loads();
                let reads = values.reads(made).iter().filter(|one| one.0 < XMM0);
                reads.map(|one| (one.1.number, loaded)).collect()
            }
            _ => continue,
        };
        for source in sources {
            if !met.contains(&source) {
                met.push(source);
            }
        }
    }
    of_node && of_other
}

fn is_inside(function: &FunctionInput, index: u32, at: u32) -> bool {
    let block = function.flow.block_of(at as usize);
    block.is_some_and(|block| function.flow.loop_blocks(index).contains(&block))
}
