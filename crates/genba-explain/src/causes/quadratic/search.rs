//! Linear searches that compare elements inline.

use genba_code::{BlockId, Flow};

use super::list_links::is_list_element;
use super::residual_fraction;
use genba_model::{Cause, Confirmation, Fix, QuadraticFact};

use crate::candidate::Candidate;
use crate::constants::counts::{
    MIN_CYCLES_OF_SLOW_SEARCH, MIN_ELEMENT_BYTES, MIN_ELEMENTS_PER_SEARCH,
    MIN_ELEMENTS_PER_SLOW_SEARCH, MIN_SEARCHES, SELDOM_EXECUTIONS,
};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::registers::XMM0;
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Origin, Value};
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, address_step};

/// A search from the beginning, for each of many items.
pub(crate) fn search(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let trips = found.trips?;
    let entries = found.cost.entries?;
    let all = cycles_of_all(input)?;
    let each = found.share * all / entries as f64;
    let is_long = trips >= MIN_ELEMENTS_PER_SEARCH
        || trips >= MIN_ELEMENTS_PER_SLOW_SEARCH && each >= MIN_CYCLES_OF_SLOW_SEARCH;
    if !function.own || !is_long || entries < MIN_SEARCHES || found.has_opaque() {
        return None;
    }
    let compare = found.usual().find(|&at| looks_for(found, at))?;
    // What a constant is looked for has no key: a free slot, an end.
    let constant = function.data[compare].form.ends_with(", i");
    let fix = match constant {
        true => Fix::FindDirectly { best: false },
        false => Fix::HashLookup { strings: false },
    };
    let mut one = Candidate::new(Cause::Quadratic, Some(found.function), vec![compare], fix);
    one.affected = found.members.clone();
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::LinearSearches {
            searches: entries,
            elements: trips,
            compared_by: None,
        })
        .fact(QuadraticFact::SearchTime {
            share: found.share,
            cycles: each,
        })
        .facts((!constant).then_some(QuadraticFact::HashLookup)),
    )
}

/// Whether a comparison looks for an equal element: an element of the sequence with a value that
/// stays, and out of the loop if they are equal.
fn looks_for(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.input;
    let next = at + 1;
    if function.code[at].mnemonic != "cmp" || next >= function.code.len() {
        return false;
    }
    let equal = matches!(function.code[next].mnemonic, "je" | "jne");
    let Some(block) = function.flow.block_of(next) else {
        return false;
    };
    let outside = |to: &u32| {
        let first = function.flow.blocks()[*to as usize].instructions.start as usize;
        !found.members.contains(&first)
    };
    let successors = &function.flow.blocks()[block as usize].successors;
    // Equal hashes are compared further, which happens seldom, and then leave.
    let leaves = |to: &u32| outside(to) || leaves_by_rare_code(found, *to);
    let exits =
        matches!(function.code[next].flow, Flow::CondJump(_)) && successors.iter().any(leaves);
    if !equal || !exits {
        return false;
    }
    let (mut elements, mut fixed) = (0, 0);
    for (index, access) in function.data[at].memory.iter().enumerate() {
        let address = function.values.addresses(at).get(index).copied().flatten();
        if access.reads
            && u64::from(access.bytes) >= MIN_ELEMENT_BYTES
            && address.is_some_and(|a| is_of_element(found, &a))
        {
            elements += 1;
        }
    }
    let data = &function.data[at];
    let operand = |location: &u8| *location < XMM0 && data.data_reads & (1 << location) != 0;
    let operands = function
        .values
        .reads(at)
        .iter()
        .filter(|one| operand(&one.0));
    for &(_, value) in operands {
        if function
            .values
            .is_invariant(value, &function.flow, found.index)
        {
            fixed += 1;
        } else if is_loaded_element(found, value) {
            elements += 1;
        }
    }
    elements == 1 && fixed <= 1 && (fixed == 1 || data.form.ends_with(", i"))
}

/// Whether a block of the loop that hardly ever runs leads out of it by others of its kind.
fn leaves_by_rare_code(found: &HotLoop<'_>, first: BlockId) -> bool {
    let function = found.input;
    let blocks = function.flow.blocks();
    let head = function.flow.loops()[found.index as usize].head;
    let body = function.flow.loop_blocks(found.index);
    let is_rare = |block: BlockId| {
        let start = blocks[block as usize].instructions.start as usize;
        block != head && found.times(start) <= SELDOM_EXECUTIONS
    };
    let mut reached = vec![first];
    let mut next = 0;
    while let Some(&block) = reached.get(next) {
        next += 1;
        if !body.contains(&block) {
            return next > 1;
        }
        if !is_rare(block) || reached.len() > MAX_VALUES_FOLLOWED {
            continue;
        }
        for &to in &blocks[block as usize].successors {
            if !reached.contains(&to) {
                reached.push(to);
            }
        }
    }
    false
}

/// Whether an address goes through a sequence from its beginning: the beginning is not where an
/// earlier search stopped.
pub(super) fn is_element(found: &HotLoop<'_>, address: &crate::input::values::Address) -> bool {
    let function = found.input;
    let steps = matches!(
        address_step(function, found.index, address),
        Some(Step::Constant(step)) if step.unsigned_abs() >= MIN_ELEMENT_BYTES
    );
    is_list_element(found, address)
        || steps
            && begins_anew(found, address.base)
            && address.index.is_none_or(|(i, _)| begins_anew(found, i))
}

/// Whether an address is that of an element, or is in a record that an element points to.
fn is_of_element(found: &HotLoop<'_>, address: &crate::input::values::Address) -> bool {
    is_element(found, address)
        || address.index.is_none() && is_loaded_from(found, address.base, is_element)
}

fn is_loaded_element(found: &HotLoop<'_>, value: Value) -> bool {
    is_loaded_from(found, value, is_of_element)
}

/// Whether a value was loaded from an address of this kind, and is not a link to the next element.
fn is_loaded_from(
    found: &HotLoop<'_>,
    value: Value,
    is_kind: fn(&HotLoop<'_>, &crate::input::values::Address) -> bool,
) -> bool {
    let function = found.input;
    let Origin::Instruction(at) = function.values.origin(value) else {
        return false;
    };
    let at = at as usize;
    let wide = function.data[at]
        .memory
        .iter()
        .any(|access| access.reads && u64::from(access.bytes) >= MIN_ELEMENT_BYTES);
    let addresses = function.values.addresses(at).iter().flatten();
    // The link itself is compared to know the end.
    let is_link = |address: &crate::input::values::Address| {
        let met = function.values.met(address.base);
        met.iter().any(|one| one.number == value.number)
    };
    wide && function.code[at].mnemonic.starts_with("mov")
        && addresses
            .into_iter()
            .any(|a| is_kind(found, a) && !is_link(a))
}

/// Whether a value that moves through the loop begins anew each time: with nothing that an earlier
/// pass of the loop made.
pub(super) fn begins_anew(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let head = function.flow.loops()[found.index as usize].head;
    if function.values.origin(value) != Origin::Join(head) {
        return true;
    }
    let before = &function.flow.blocks()[head as usize].predecessors;
    let body = function.flow.loop_blocks(found.index);
    let met = before.iter().zip(function.values.met(value));
    let first: Vec<Value> = met
        .filter(|one| !body.contains(one.0))
        .map(|one| *one.1)
        .collect();
    !first.is_empty() && !first.into_iter().any(|one| is_made_by(found, one))
}

/// Whether a value comes out of the loop on any path.
fn is_made_by(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.input;
    let body = function.flow.loop_blocks(found.index);
    let mut numbers = vec![value.number];
    let mut next = 0;
    while let Some(&number) = numbers.get(next) {
        next += 1;
        let one = Value { number, offset: 0 };
        let block = match function.values.origin(one) {
            Origin::Constant | Origin::Entry => None,
            Origin::Join(block) => Some(block),
            Origin::Instruction(at) => function.flow.block_of(at as usize),
        };
        if numbers.len() > MAX_VALUES_FOLLOWED || block.is_some_and(|block| body.contains(&block)) {
            return true;
        }
        let sources = match function.values.origin(one) {
            // Sums of it; not what is loaded from where it points.
            Origin::Instruction(at) if !function.data[at as usize].loads() => {
                let reads = function.values.reads(at as usize).iter();
                reads
                    .filter(|one| one.0 < XMM0)
                    .map(|one| one.1.number)
                    .collect()
            }
            _ => function
                .values
                .met(one)
                .iter()
                .map(|one| one.number)
                .collect::<Vec<_>>(),
        };
        for source in sources {
            if !numbers.contains(&source) {
                numbers.push(source);
            }
        }
    }
    false
}
