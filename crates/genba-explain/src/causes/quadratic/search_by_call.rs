//! Linear searches that compare each element with a call: of the C library, or of a function of the
//! user's own that only reads and whose answer is tested. The call gets the element, or a copy of it that the loop
//! makes in its frame (a structure by reference). The next element may be what another call returns (an iterator's step, or two).
//! Elements may be compared in several parts, one call each, where the search ends with all of them equal; and taken
//! apart by a call that stores in the frame what the comparison then gets. An iterator may go on in memory, by a call that
//! stores nothing else. The function that compares may get something else before the key and the element: the two arguments
//! after it are looked at where the first stays.

use genba_code::{BlockId, Flow, Location, STACK_POINTER};
use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::residual_fraction;
use crate::candidate::Candidate;
use crate::constants::counts::{
    MAX_IN_OTHER_LOOPS, MIN_ELEMENTS_PER_SEARCH_BY_CALL, MIN_SEARCHES, RARE_WAY, SEARCH_OF_LOOK_UPS,
};
use crate::constants::gains::CYCLES_OF_LOOK_UP_BY_CALL;
use crate::constants::registers::{FLAGS, RAX, RDI, RDX, RSI};
use crate::constants::search_limits::{
    MAX_BYTES_OF_KEY_COPY, MAX_EXPRESSION_DEPTH, MAX_INSTRUCTIONS_TO_TEST, MAX_VALUES_FOLLOWED,
};
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::{AnalysisInput, CallSite, CallTarget, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{Call, cycles_of_all, index_of};
use crate::patterns::invariance::{is_same_each_iteration, value_at};
use crate::patterns::observed_sites::share_of_target;
use crate::patterns::reading_calls::{moved_on, takes_apart};
use crate::patterns::search_loops::{is_comparison, is_usually_innermost, only_answers};
use crate::patterns::text_skips::goes_through_text;
use crate::patterns::value_steps::{Step, address_step};

/// A search that compares each element's name with a call.
pub(crate) fn search_by_call(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let function = &input.functions[call.caller];
    let at = call.site.at;
    let bare = call.target.function.trim_start_matches('_');
    let compares = ["strcmp", "strcasecmp", "strncmp", "memcmp", "bcmp"];
    let known = compares.iter().find(|name| bare.starts_with(**name));
    if !function.own || known.is_none() && !only_answers(input, call.target) {
        return None;
    }
    let index = function.flow.loop_of_instruction(at)?;
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let entries = cost.entries.filter(|&entries| entries >= MIN_SEARCHES)?;
    let members = function.loop_instructions(index);
    let arguments = [RDI, RSI, RDX].map(|location| value_at(function, at, location));
    let others = function.call_sites.iter();
    let others: Vec<&CallSite> = others
        .filter(|site| site.at != at && members.contains(&site.at))
        .collect();
    let iterators: Vec<(usize, Value)> = (others.iter())
        .flat_map(|site| {
            let moved = moved_on(input, function, index, site).into_iter();
            moved.map(|iterator| (site.at, iterator))
        })
        .collect();
    let comes_of = |value: Value, iterators: &[Value]| {
        is_read_through(function, value, iterators, MAX_EXPRESSION_DEPTH)
    };
    let all_iterators: Vec<Value> = iterators.iter().map(|one| one.1).collect();
    let goes_on = |value: Option<Value>, other| {
        !value.is_some_and(|value| {
            is_same_each_iteration(function, index, value)
                && !is_copy_of_element(function, index, at, value, other)
                && !comes_of(value, &all_iterators)
        })
    };
    let [first, second] = match arguments {
        // What stands in a register is an argument only where the function reads it.
        [first, second, third]
            if known.is_none() && [RSI, RDX].iter().all(|&one| takes(input, call.target, one)) =>
        {
            match !goes_on(first, second) && !goes_on(second, first) {
                true => [second, third],
                false => [first, second],
            }
        }
        [first, second, _] => [first, second],
    };
    // What compares loads the elements, unless the loop does so for it.
    if known.is_none()
        && !is_comparison(input, call.target)
        && ![first, second]
            .into_iter()
            .flatten()
            .any(|one| comes_of(one, &all_iterators))
    {
        return None;
    }
    let moves_on = |site: &CallSite| {
        let own = iterators.iter().filter(|one| one.0 == site.at);
        let own: Vec<Value> = own.map(|one| one.1).collect();
        let mut elements = [first, second].into_iter().flatten();
        elements.any(|one| comes_of(one, &own))
    };
    // What a call brings as the next element.
    let brings = |site: &CallSite| {
        let mut elements = [first, second].into_iter().flatten();
        elements.any(|one| is_brought_by(function, index, one, site.at))
    };
    // Or a step on the way to it: what it returns is where the next one begins.
    let leads = |site: &CallSite| {
        let mut next = others.iter().filter(|other| brings(other));
        next.any(|other| {
            let arguments = [RDI, RSI].map(|location| value_at(function, other.at, location));
            let mut arguments = arguments.into_iter().flatten();
            arguments.any(|one| is_brought_by(function, index, one, site.at))
        })
    };
    // A call that returns the next element of another call, or of itself, does not compare.
    let sites = function.call_sites.iter();
    let mut inside = sites.filter(|site| members.contains(&site.at));
    let is_step = inside.any(|site| {
        let arguments = [RDI, RSI].map(|location| value_at(function, site.at, location));
        let mut arguments = arguments.into_iter().flatten();
        arguments.any(|one| is_brought_by(function, index, one, at))
    });
    if is_step {
        return None;
    }
    let compares = |site: &CallSite| {
        !site.targets.is_empty() && site.targets.iter().all(|one| is_comparison(input, one))
    };
    let most = (RARE_WAY * cost.iterations as f64) as u64;
    // What is called at the end of a search, not for each of several elements.
    let once = |site: &CallSite| function.counts[site.at] <= entries;
    // Out of the loop where it is equal.
    let test = (at + 1..=at + MAX_INSTRUCTIONS_TO_TEST)
        .find(|&i| function.code.get(i).is_some_and(|c| c.mnemonic == "test"))?;
    let leaves = matches!(function.code.get(test + 1)?.flow, Flow::CondJump(_)) && {
        let block = function.flow.block_of(test + 1)?;
        let successors = &function.flow.blocks()[block as usize].successors;
        // What is equal so far may be tested further (another part, the end of a name).
        (successors.iter()).any(|to| leaves_by_rare_code(function, index, *to, most.max(entries)))
    };
    let trips = cost.iterations as f64 / entries as f64;
    // A loop that converts the key once for each search may be inside.
    let in_other_loops = MAX_IN_OTHER_LOOPS * cost.iterations as f64;
    if !leaves
        || !(others.iter()).all(|site| {
            brings(site)
                || leads(site)
                || compares(site)
                || once(site)
                || takes_apart(input, function, site)
                || moves_on(site)
        })
        || trips < MIN_ELEMENTS_PER_SEARCH_BY_CALL
        || !is_usually_innermost(function, index, in_other_loops as u64)
    {
        return None;
    }
    // One of the two stays, the other goes on: from element to element, not from letter to letter of a text.
    let through_text =
        |value: Option<Value>| value.is_some_and(|value| goes_through_text(function, index, value));
    if goes_on(first, second) == goes_on(second, first)
        || through_text(first)
        || through_text(second)
    {
        return None;
    }
    let (inside, _) = crate::causes::loop_invariant_call::cost(input, call)?;
    // What stands at the call and behind it is in both.
    let rest = members.iter().copied().filter(|&i| i != at && i != at + 1);
    let steps = others.iter().flat_map(|site| &site.targets);
    let steps: f64 = steps
        .map(|target| share_of_target(input, call.caller, target))
        .sum();
    let share = (inside + steps + function.heat_of(rest)).min(1.0);
    let each = share * cycles_of_all(input)? / entries as f64;
    if share < MIN_SHARE_OF_QUADRATIC_LOOP
        || each < SEARCH_OF_LOOK_UPS * CYCLES_OF_LOOK_UP_BY_CALL[0]
    {
        return None;
    }
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(call.caller),
        vec![at],
        Fix::HashLookup {
            strings: known.is_some(),
        },
    );
    one.affected = members;
    one.share = Some(share);
    one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP_BY_CALL);
    one.executions = Some(call.target.count);
    one.cycles = Some(Estimate::exact(each));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::LinearSearches {
            searches: entries,
            elements: trips,
            compared_by: Some(
                known.map_or_else(|| call.target.function.clone(), |name| (*name).to_owned()),
            ),
        })
        .fact(QuadraticFact::SearchTime {
            share,
            cycles: each,
        }),
    )
}

/// Whether a function reads what a register holds when it is called.
fn takes(input: &AnalysisInput, target: &CallTarget, location: Location) -> bool {
    let callee = index_of(input, &target.function, &target.module);
    callee.is_some_and(|callee| {
        let callee = &input.functions[callee];
        let executed = (0..callee.code.len()).filter(|&at| callee.counts.get(at) > Some(&0));
        executed.into_iter().any(|at| {
            let reads = callee.values.reads(at).iter();
            let mut data = reads.filter(|one| callee.data[at].data_reads & (1 << one.0) != 0);
            data.any(|one| callee.values.location_at_entry(one.1) == Some(location))
        })
    })
}

/// Whether a value was loaded through one of these pointers, or from where such a value points.
fn is_read_through(function: &FunctionInput, value: Value, through: &[Value], steps: u32) -> bool {
    let (Some(steps), Origin::Instruction(at)) =
        (steps.checked_sub(1), function.values.origin(value))
    else {
        return false;
    };
    let (values, at) = (&function.values, at as usize);
    let data = &function.data[at];
    if through.is_empty() || data.opaque.is_some() {
        return false;
    }
    let mut from = values.addresses(at).iter().flatten();
    let reads = values.reads(at).iter().filter(|one| one.0 < FLAGS);
    data.loads() && from.any(|from| through.iter().any(|one| one.number == from.base.number))
        || reads
            .map(|one| one.1)
            .any(|one| is_read_through(function, one, through, steps))
}

/// Whether a block leads out of a loop, by way of blocks of it that run at most so often.
fn leaves_by_rare_code(function: &FunctionInput, index: u32, first: BlockId, most: u64) -> bool {
    let blocks = function.flow.blocks();
    let body = function.flow.loop_blocks(index);
    let head = function.flow.loops()[index as usize].head;
    let mut reached = vec![first];
    let mut next = 0;
    while let Some(&block) = reached.get(next) {
        next += 1;
        if !body.contains(&block) {
            return true;
        }
        let start = blocks[block as usize].instructions.start as usize;
        if block == head || function.counts[start] > most || reached.len() > MAX_VALUES_FOLLOWED {
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

/// Whether an argument points into what a call returned, in this iteration or at the end of the one before.
fn is_brought_by(function: &FunctionInput, index: u32, argument: Value, call: usize) -> bool {
    let values = &function.values;
    let Some(result) = values.written(call, RAX) else {
        return false;
    };
    let head = function.flow.loops()[index as usize].head;
    argument.number == result.number
        || values.origin(argument) == Origin::Join(head)
            && (values.met(argument).iter()).any(|met| met.number == result.number)
}

/// Whether an argument is an address in the caller's frame where the loop stores what it loads of one element
/// after the other. `other` is the other argument: what is stored there is not this one's.
fn is_copy_of_element(
    function: &FunctionInput,
    index: u32,
    at: usize,
    argument: Value,
    other: Option<Value>,
) -> bool {
    let values = &function.values;
    let in_frame = |value: &Value| {
        let stack = value_at(function, at, STACK_POINTER);
        stack.is_some_and(|stack| stack.number == value.number)
    };
    let end = other
        .filter(|other| in_frame(other) && other.offset > argument.offset)
        .map_or(i64::MAX, |other| other.offset)
        .min(argument.offset.saturating_add(MAX_BYTES_OF_KEY_COPY));
    let of_element = |value: Value| {
        let Origin::Instruction(load) = values.origin(value) else {
            return false;
        };
        let mut from = values.addresses(load as usize).iter().flatten();
        function.data[load as usize].loads()
            && from.any(|address| {
                let step = address_step(function, index, address);
                matches!(step, Some(Step::Constant(bytes)) if bytes != 0)
            })
    };
    in_frame(&argument)
        && function.loop_instructions(index).iter().any(|&store| {
            let data = &function.data[store];
            let accesses = data.memory.iter().zip(values.addresses(store));
            let mut places = accesses.filter_map(|(access, to)| (*to).filter(|_| access.writes));
            let stored = values.reads(store).iter();
            let mut stored = stored.filter(|one| data.data_reads & (1 << one.0) != 0);
            function.counts[store] > 0
                && places.any(|to| {
                    let base = to.base;
                    base.number == argument.number
                        && to.index.is_none()
                        && (argument.offset..end).contains(&base.offset)
                })
                && stored.any(|one| of_element(one.1))
        })
}
