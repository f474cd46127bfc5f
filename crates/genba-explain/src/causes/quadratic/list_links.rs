//! The links that a loop follows along a list: one for each iteration, or several where the compiler unrolled it.

use crate::constants::search_limits::MAX_LINKS_PER_ITERATION;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::edge_counts::edge_at_most;
use crate::patterns::hot_loops::HotLoop;

use super::search::begins_anew;

/// Whether an address is in a list's element: its base was loaded from the element before.
pub(super) fn is_list_element(found: &HotLoop<'_>, address: &Address) -> bool {
    address.index.is_none() && !links_from(found, address.base).is_empty()
}

/// The links that an iteration loads, of the list in whose element this pointer points; the last is where the
/// iteration begins. Nothing where no list is followed, or where the walk goes on from an earlier one.
pub(super) fn links_from(found: &HotLoop<'_>, pointer: Value) -> Vec<u32> {
    let head = found.input.flow.loops()[found.index as usize].head;
    let is_first = |value: Value| found.input.values.origin(value) == Origin::Join(head);
    let Some(first) = loaded_from(found, pointer).find(|&one| is_first(one)) else {
        return Vec::new();
    };
    let body = found.input.flow.loop_blocks(found.index);
    let before = &found.input.flow.blocks()[head as usize].predecessors;
    let met = before.iter().zip(found.input.values.met(first));
    let around = met.filter(|one| body.contains(one.0)).map(|one| *one.1);
    let Some(next) = around.into_iter().next().map(|one| executed(found, one)) else {
        return Vec::new();
    };
    let mut links = Vec::new();
    for one in loaded_from(found, next) {
        links.push(one.number);
        if one.number == first.number {
            break;
        }
    }
    let goes_round = links.len() > 1 && links.last() == Some(&first.number);
    // What is loaded from an element for another purpose is not on the way; the next element is another's base.
    let passed = pointer.number == first.number || links[1..].contains(&pointer.number);
    match goes_round && passed && begins_anew(found, first) {
        true => links,
        false => Vec::new(),
    }
}

/// A value, or the one that all executed ways to where it meets others bring, if that is one.
fn executed(found: &HotLoop<'_>, value: Value) -> Value {
    let function = found.input;
    let Origin::Join(block) = function.values.origin(value) else {
        return value;
    };
    let before = &function.flow.blocks()[block as usize].predecessors;
    let ways = before.iter().zip(function.values.met(value));
    let mut met = ways.filter(|way| edge_at_most(function, *way.0, block) > 0);
    match (met.next(), met.next()) {
        (Some((_, only)), None) => *only,
        _ => value,
    }
}

/// A pointer, where it was loaded from, and so on.
fn loaded_from<'a>(found: &'a HotLoop<'_>, pointer: Value) -> impl Iterator<Item = Value> + 'a {
    let (values, data) = (&found.input.values, &found.input.data);
    let before = move |&one: &Value| {
        let Origin::Instruction(at) = values.origin(one) else {
            return None;
        };
        let at = at as usize;
        let mut from = values.addresses(at).iter().flatten();
        let (address, other) = (from.next()?, from.next());
        let link = data[at].loads() && other.is_none() && address.index.is_none();
        let inside = found.members.binary_search(&at).is_ok();
        (link && inside).then_some(address.base)
    };
    std::iter::successors(Some(pointer), before).take(MAX_LINKS_PER_ITERATION + 1)
}
