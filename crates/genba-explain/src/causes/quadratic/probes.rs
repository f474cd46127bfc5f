//! A hash table with open addressing whose look-ups go through hundreds of slots: its keys fall together, or it is too
//! full.
//!
//! **Signature.** A loop goes from slot to slot of one table, to a position that it makes of the last one and
//! cuts down by a mask that stays, and compares what the slot holds with a value that stays. It begins anew for
//! each look-up and reads hundreds of slots. What it calls where hashes are equal belongs to it.
//!
//! **Near misses.** Look-ups of a few slots; positions that are not cut down (a scan of an array: [`super::search`]);
//! slots that are not compared with a key (a copy to a larger table); loops that store.
//!
//! **Gain.** One look-up with a compare is left.
//!
//! **Source.** D. E. Knuth, *The Art of Computer Programming* 3, 6.4: clusters of open addressing.

use std::collections::BTreeSet;

use genba_code::BlockId;
use genba_model::{Cause, Confirmation, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::causes::loop_invariant_call::cost;
use crate::constants::counts::{MIN_ELEMENT_BYTES, MIN_ELEMENTS_PER_SEARCH, MIN_SEARCHES};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::calls::{all_calls, cycles_of_all};
use crate::patterns::hot_loops::HotLoop;

/// A hash table probed at length for each of many look-ups.
pub(super) fn probes(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.input;
    let (slots, look_ups) = (found.trips?, found.cost.entries?);
    let stores = |at: usize| function.data[at].memory.iter().any(|one| one.writes);
    if !function.own
        || slots < MIN_ELEMENTS_PER_SEARCH
        || look_ups < MIN_SEARCHES
        || found.usual().any(stores)
    {
        return None;
    }
    let positions = masked_positions(found);
    let compare = (!positions.is_empty()).then(|| {
        found
            .usual()
            .find(|&at| compares_slot(found, &positions, at))
    })??;
    let inside = |at: usize| found.members.binary_search(&at).is_ok();
    let calls =
        all_calls(input).filter(|call| call.caller == found.function && inside(call.site.at));
    let called: f64 = calls.filter_map(|call| Some(cost(input, &call)?.0)).sum();
    let share = (found.share + called).min(1.0);
    if share < MIN_SHARE_OF_QUADRATIC_LOOP {
        return None;
    }
    let each = share * cycles_of_all(input)? / look_ups as f64;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![compare],
        Fix::SpreadKeys,
    );
    one.affected.clone_from(&found.members);
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::Probes { look_ups, slots })
            .fact(QuadraticFact::SearchTime {
                share,
                cycles: each,
            }),
    )
}

/// Values at the loop's head that the iteration before made of themselves, cut down by a mask that stays.
fn masked_positions(found: &HotLoop<'_>) -> BTreeSet<u32> {
    let function = found.input;
    let (flow, values) = (&function.flow, &function.values);
    let head = flow.loops()[found.index as usize].head;
    let body = flow.loop_blocks(found.index);
    let before: &[BlockId] = &flow.blocks()[head as usize].predecessors;
    let of_head = |value: u32| {
        values.origin(Value {
            number: value,
            offset: 0,
        }) == Origin::Join(head)
    };
    let mut positions = BTreeSet::new();
    let masks = found.usual().filter(|&at| {
        let operands = || values.reads(at).iter().filter(|one| one.0 < FLAGS);
        let stays = |value: Value| values.is_invariant(value, flow, found.index);
        function.code[at].mnemonic == "and"
            && (function.data[at].form.ends_with(", i") || operands().any(|one| stays(one.1)))
    });
    for at in masks {
        let masked: Vec<u32> = values.writes(at).iter().map(|one| one.1.number).collect();
        for &(_, source) in values.reads(at) {
            for number in made_of(found, source)
                .into_iter()
                .filter(|&one| of_head(one))
            {
                let met = before.iter().zip(values.met(Value { number, offset: 0 }));
                let mut around = met.filter(|one| body.contains(one.0)).peekable();
                if around.peek().is_some() && around.all(|one| masked.contains(&one.1.number)) {
                    positions.insert(number);
                }
            }
        }
    }
    positions
}

/// Whether an instruction compares what a slot at one of these positions holds with a value that stays.
fn compares_slot(found: &HotLoop<'_>, positions: &BTreeSet<u32>, at: usize) -> bool {
    let function = found.input;
    let values = &function.values;
    let jump = function.code.get(at + 1).map(|next| next.mnemonic);
    if function.code[at].mnemonic != "cmp" || !matches!(jump, Some("je" | "jne")) {
        return false;
    }
    let at_position = |address: &Address| {
        let from = [Some(address.base), address.index.map(|one| one.0)];
        (from.into_iter().flatten()).any(|value| {
            made_of(found, value)
                .iter()
                .any(|one| positions.contains(one))
        })
    };
    let reads_slot = |at: usize| {
        let accesses = function.data[at].memory.iter().zip(values.addresses(at));
        accesses.into_iter().any(|(access, address)| {
            access.reads
                && u64::from(access.bytes) >= MIN_ELEMENT_BYTES
                && address.as_ref().is_some_and(at_position)
        })
    };
    let loaded = |value: Value| match values.origin(value) {
        Origin::Instruction(from) => {
            function.code[from as usize].mnemonic.starts_with("mov") && reads_slot(from as usize)
        }
        _ => false,
    };
    let operands = || values.reads(at).iter().filter(|one| one.0 < FLAGS);
    let stays = |one: Value| values.is_invariant(one, &function.flow, found.index);
    operands().any(|one| stays(one.1)) && (reads_slot(at) || operands().any(|one| loaded(one.1)))
}

/// A value, and all that it was computed from in the loop without a load.
fn made_of(found: &HotLoop<'_>, value: Value) -> Vec<u32> {
    let function = found.input;
    let mut numbers = vec![value.number];
    let mut next = 0;
    while let Some(&number) = numbers.get(next) {
        next += 1;
        let Origin::Instruction(at) = function.values.origin(Value { number, offset: 0 }) else {
            continue;
        };
        let at = at as usize;
        if function.data[at].loads() || found.members.binary_search(&at).is_err() {
            continue;
        }
        for &(location, source) in function.values.reads(at) {
            let room = numbers.len() < MAX_VALUES_FOLLOWED;
            if location < FLAGS && room && !numbers.contains(&source.number) {
                numbers.push(source.number);
            }
        }
    }
    numbers
}
