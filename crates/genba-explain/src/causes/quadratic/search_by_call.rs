//! Linear searches that compare each element with a call: of the C library, or of a function of the user's own that
//! only reads and whose answer is tested. The call gets the element, or a copy of it that the loop makes in its frame
//! (a structure by reference). The next element may be what another call returns (an iterator's step, or two). Elements
//! may be compared in several parts, one call each, where the search ends with all of them equal; and taken apart by a
//! call that stores in the frame what the comparison then gets. An iterator may go on in memory, by a call that stores
//! nothing else. The function that compares may get something else before the key and the element: the two arguments
//! after it are looked at where the first stays.

use genba_code::{BlockId, Flow, STACK_POINTER};
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
use crate::input::analysis_input::{AnalysisInput, CallSite, FunctionInput};
use crate::input::values::{Origin, Value};
use crate::patterns::calls::{Call, cycles_of_all};
use crate::patterns::invariance::{is_same_each_iteration, value_at};
use crate::patterns::observed_sites::share_of_target;
use crate::patterns::reading_calls::{moved_on, takes, takes_apart};
use crate::patterns::search_loops::{is_comparison, is_usually_innermost, only_answers};
use crate::patterns::text_skips::goes_through_text;
use crate::patterns::value_steps::{Step, address_step};

/// A search that compares each element's name with a call.
pub(crate) fn search_by_call(input: &AnalysisInput, call: &Call<'_>) -> Option<Candidate> {
    let search = Search::of(input, call)?;
    let compared = search.compared();
    (search.compares(compared)
        && search.does_nothing_else(compared)
        && search.is_left_where_equal())
    .then(|| search.candidate())?
}

/// A loop with a call that may compare its elements.
struct Search<'a> {
    input: &'a AnalysisInput,
    call: &'a Call<'a>,
    function: &'a FunctionInput,
    index: u32,
    members: Vec<usize>,
    /// How often the loop is entered and goes round.
    entries: u64,
    iterations: u64,
    /// The library's function that compares.
    known: Option<&'static str>,
    /// The other calls of the loop.
    others: Vec<&'a CallSite>,
    /// What they move on in memory: the call, and the address.
    iterators: Vec<(usize, Value)>,
}

impl<'a> Search<'a> {
    fn of(input: &'a AnalysisInput, call: &'a Call<'a>) -> Option<Self> {
        let function = &input.functions[call.caller];
        let at = call.site.at;
        let bare = call.target.function.trim_start_matches('_');
        let compares = ["strcmp", "strcasecmp", "strncmp", "memcmp", "bcmp"];
        let known = compares.into_iter().find(|name| bare.starts_with(name));
        if !function.own || known.is_none() && !only_answers(input, call.target) {
            return None;
        }
        let index = function.flow.loop_of_instruction(at)?;
        let cost = function.loops.get(index as usize)?.as_ref()?;
        let entries = cost.entries.filter(|&entries| entries >= MIN_SEARCHES)?;
        let members = function.loop_instructions(index);
        let sites = function.call_sites.iter();
        let others: Vec<&CallSite> = sites
            .filter(|site| site.at != at && members.contains(&site.at))
            .collect();
        let iterators = others.iter().flat_map(|site| {
            let moved = moved_on(input, function, index, site).into_iter();
            moved.map(|iterator| (site.at, iterator))
        });
        Some(Search {
            iterators: iterators.collect(),
            input,
            call,
            function,
            index,
            members,
            entries,
            iterations: cost.iterations,
            known,
            others,
        })
    }

    fn at(&self) -> usize {
        self.call.site.at
    }

    /// Whether a value is read through what one of these calls moves on.
    fn comes_of(&self, value: Value, by: impl Fn(usize) -> bool) -> bool {
        let iterators = self.iterators.iter().filter(|one| by(one.0));
        let iterators: Vec<Value> = iterators.map(|one| one.1).collect();
        is_read_through(self.function, value, &iterators, MAX_EXPRESSION_DEPTH)
    }

    /// Whether an argument is another one in each iteration. `other` is the one beside it.
    fn goes_on(&self, value: Option<Value>, other: Option<Value>) -> bool {
        !value.is_some_and(|value| {
            is_same_each_iteration(self.function, self.index, value)
                && !is_copy_of_element(self.function, self.index, self.at(), value, other)
                && !self.comes_of(value, |_| true)
        })
    }

    /// The two arguments that are compared.
    fn compared(&self) -> [Option<Value>; 2] {
        let arguments = [RDI, RSI, RDX].map(|one| value_at(self.function, self.at(), one));
        let [first, second, third] = arguments;
        // What stands in a register is an argument only where the function reads it.
        let takes_third = || {
            let taken = [RSI, RDX];
            self.known.is_none()
                && (taken.iter()).all(|&one| takes(self.input, self.call.target, one))
        };
        let stay = !self.goes_on(first, second) && !self.goes_on(second, first);
        match stay && takes_third() {
            true => [second, third],
            false => [first, second],
        }
    }

    /// Whether one of the two stays and the other goes on: from element to element, not from letter to letter of a text.
    fn compares(&self, [first, second]: [Option<Value>; 2]) -> bool {
        let both = || [first, second].into_iter().flatten();
        // What compares loads the elements, unless the loop does so for it.
        let loads = self.known.is_some()
            || is_comparison(self.input, self.call.target)
            || both().any(|one| self.comes_of(one, |_| true));
        let mut through_text = both().map(|one| goes_through_text(self.function, self.index, one));
        loads
            && self.goes_on(first, second) != self.goes_on(second, first)
            && !through_text.any(|is| is)
    }

    /// Whether a call gets what another one returns as an argument, or points into that.
    fn gets_from(&self, site: &CallSite, other: usize) -> bool {
        let arguments = [RDI, RSI].map(|location| value_at(self.function, site.at, location));
        let mut arguments = arguments.into_iter().flatten();
        arguments.any(|one| is_brought_by(self.function, self.index, one, other))
    }

    /// Whether the loop's other calls lead to the next element, compare a part of it, or are made once a search; and this one's
    /// answer is not where the next one begins.
    fn does_nothing_else(&self, compared: [Option<Value>; 2]) -> bool {
        let (input, function) = (self.input, self.function);
        let both = || compared.into_iter().flatten();
        // What a call brings as the next element.
        let brings =
            |site: &CallSite| both().any(|one| is_brought_by(function, self.index, one, site.at));
        // Or a step on the way to it: what it returns is where the next one begins.
        let leads = |site: &CallSite| {
            let mut next = self.others.iter().filter(|other| brings(other));
            next.any(|other| self.gets_from(other, site.at))
        };
        let compares = |site: &CallSite| {
            !site.targets.is_empty() && site.targets.iter().all(|one| is_comparison(input, one))
        };
        // What is called at the end of a search, not for each of several elements.
        let once = |site: &CallSite| function.counts[site.at] <= self.entries;
        let moves_on = |site: &CallSite| both().any(|one| self.comes_of(one, |by| by == site.at));
        let is_step = self.gets_from(self.call.site, self.at())
            || self
                .others
                .iter()
                .any(|site| self.gets_from(site, self.at()));
        !is_step
            && self.others.iter().all(|site| {
                brings(site)
                    || leads(site)
                    || compares(site)
                    || once(site)
                    || takes_apart(input, function, site)
                    || moves_on(site)
            })
    }

    /// Whether the search is long, and ends where the answer says that an element is equal.
    fn is_left_where_equal(&self) -> bool {
        let (function, at) = (self.function, self.at());
        let is_test = |&i: &usize| function.code.get(i).is_some_and(|c| c.mnemonic == "test");
        let Some(branch) = (at + 1..=at + MAX_INSTRUCTIONS_TO_TEST)
            .find(is_test)
            .map(|test| test + 1)
        else {
            return false;
        };
        let branches =
            (function.code.get(branch)).is_some_and(|one| matches!(one.flow, Flow::CondJump(_)));
        let Some(block) = function.flow.block_of(branch).filter(|_| branches) else {
            return false;
        };
        // What is equal so far may be tested further (another part, the end of a name).
        let most = ((RARE_WAY * self.iterations as f64) as u64).max(self.entries);
        let mut successors = function.flow.blocks()[block as usize].successors.iter();
        // A loop that converts the key once for each search may be inside.
        let in_other_loops = (MAX_IN_OTHER_LOOPS * self.iterations as f64) as u64;
        successors.any(|to| leaves_by_rare_code(function, self.index, *to, most))
            && self.trips() >= MIN_ELEMENTS_PER_SEARCH_BY_CALL
            && is_usually_innermost(function, self.index, in_other_loops)
    }

    fn trips(&self) -> f64 {
        self.iterations as f64 / self.entries as f64
    }

    fn candidate(self) -> Option<Candidate> {
        let (input, call, at) = (self.input, self.call, self.at());
        let (inside, _) = crate::causes::loop_invariant_call::cost(input, call)?;
        // What stands at the call and behind it is in both.
        let rest = (self.members.iter().copied()).filter(|&i| i != at && i != at + 1);
        let steps = self.others.iter().flat_map(|site| &site.targets);
        let steps: f64 = steps
            .map(|target| share_of_target(input, call.caller, target))
            .sum();
        let share = (inside + steps + self.function.heat_of(rest)).min(1.0);
        let each = share * cycles_of_all(input)? / self.entries as f64;
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
                strings: self.known.is_some(),
            },
        );
        let elements = self.trips();
        one.affected = self.members;
        one.share = Some(share);
        one.residual_fraction = residual_fraction(each, CYCLES_OF_LOOK_UP_BY_CALL);
        one.executions = Some(call.target.count);
        one.cycles = Some(Estimate::exact(each));
        one.confirmation = Confirmation::InputSweep;
        let name = self.known.unwrap_or(&call.target.function);
        Some(
            one.fact(QuadraticFact::LinearSearches {
                searches: self.entries,
                elements,
                compared_by: Some(name.to_owned()),
            })
            .fact(QuadraticFact::SearchTime {
                share,
                cycles: each,
            }),
        )
    }
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
