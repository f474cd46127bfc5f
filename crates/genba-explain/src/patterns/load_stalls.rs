//! Loads that stall for longer than an L1d hit: where, how long, and what makes their address.
//!
//! Instructions retire in order, so that the time which stands at one is what it came later than
//! all before it. Time at a load and at the cheap instructions that do little but use what it
//! loaded is therefore what was waited for its memory, unless the load overlaps an earlier store
//! or comes first after a branch with varying outcome.

use crate::constants::model_fit::MAX_CYCLES_OF_CHEAP_LOAD;
use crate::constants::processor::{
    CACHE_LINE_STEP, DEFAULT_L1D_CYCLES, INSTRUCTIONS_AFTER_BRANCH, INSTRUCTIONS_AFTER_LOAD,
    MIN_BYTES_OF_STREAM,
};
use crate::constants::registers::FLAGS;
use crate::constants::search_limits::MAX_VALUES_FOLLOWED;
use crate::constants::time_shares::{MIN_SHARE_OF_STALLED_LOAD, MOST_OF_IT};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::value_uses::Uses;
use crate::input::values::{Address, Origin, Value};
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::value_steps::{Step, address_step, value_step};
use genba_code::Flow;
use genba_loop_model::misprediction_penalty;

/// What makes the address of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Loaded in the previous iteration by the same load, or by one that it alternates with.
    Chase,
    /// A step of at least a line, or one that is only known at run time.
    Strides(Step),
    /// The element of one number in each of many rows that pointers name, of the next number in the next run of the
    /// loop; the bytes from one element to the next.
    ColumnOfRows(u64),
    /// Small steps: memory is read through.
    Streams,
    /// Anything else: another load, a hash.
    Scattered,
    /// It stays the same.
    Fixed,
}

/// A load with what it waits for.
#[derive(Clone, Debug)]
pub struct Stall {
    /// The instruction.
    pub at: usize,
    /// It and those that wait with it.
    pub group: Vec<usize>,
    /// Innermost loop around it.
    pub around: Option<u32>,
    /// What makes its address.
    pub pattern: Pattern,
    /// Cycles for each execution, of the whole group.
    pub each: f64,
    /// What they would take on an L1d hit.
    pub usual: f64,
    /// Share of all time.
    pub share: f64,
}

/// Loads of a function with the time at them, waiting or not, most time first.
#[must_use]
pub fn stalls(input: &AnalysisInput, function: &FunctionInput) -> Vec<Stall> {
    if !function.counted || function.counts.len() != function.code.len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut uses: Option<Uses> = None;
    let penalty =
        misprediction_penalty(&input.program.costs).value * mispredicted_fraction(input, function);
    for at in 0..function.code.len() {
        let data = &function.data[at];
        let load = data.memory.iter().position(|m| m.reads && !m.stack);
        let Some(load) = load.filter(|_| data.opaque.is_none()) else {
            continue;
        };
        let locked = data.form.starts_with("lock ") || data.form.starts_with("xchg ");
        if function.counts[at] == 0 || locked {
            continue;
        }
        // Cheap tests first: functions may be large.
        let near =
            (at..function.code.len().min(at + INSTRUCTIONS_AFTER_LOAD)).map(|i| function.heat[i]);
        if near.sum::<f64>() < MIN_SHARE_OF_STALLED_LOAD {
            continue;
        }
        let uses = uses.get_or_insert_with(|| Uses::of(function));
        found.extend(stall(input, function, uses, penalty, at, load));
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

fn stall(
    input: &AnalysisInput,
    function: &FunctionInput,
    uses: &Uses,
    penalty: f64,
    at: usize,
    load: usize,
) -> Option<Stall> {
    let costs = &input.program.costs;
    let l1 = costs
        .latency("load [L1]")
        .map_or(DEFAULT_L1D_CYCLES, |cost| cost.value);
    let around = function.flow.loop_of_instruction(at);
    let mut group = vec![at];
    let mut usual = l1;
    for reader in waiting(function, uses, at) {
        let form = &function.data[reader].form;
        let cost = costs.latency(form).map_or(1.0, |cost| cost.value);
        if cost > MAX_CYCLES_OF_CHEAP_LOAD {
            continue;
        }
        group.push(reader);
        usual += cost;
    }
    let share = function.heat_of(group.iter().copied());
    let times = function.counts[at] as f64;
    let each: f64 = group
        .iter()
        .filter_map(|&one| {
            let cycles = function.cycles.get(one).copied().flatten()?;
            Some(cycles.value * function.counts[one] as f64 / times)
        })
        .sum();
    let each = each - misprediction_cycles_before(function, penalty, at);
    if share < MIN_SHARE_OF_STALLED_LOAD || each <= 0.0 {
        return None;
    }
    let address = function.values.addresses(at).get(load).copied().flatten();
    let pattern = pattern(function, around, at, address.as_ref());
    Some(Stall {
        at,
        group,
        around,
        pattern,
        each,
        usual,
        share,
    })
}

/// Instructions close behind a load in its block that use what it loaded and nothing slow
/// besides.
fn waiting(function: &FunctionInput, uses: &Uses, at: usize) -> Vec<usize> {
    let Some(block) = function.flow.block_of(at) else {
        return Vec::new();
    };
    let end = function.flow.blocks()[block as usize].instructions.end as usize;
    let end = end.min(at + INSTRUCTIONS_AFTER_LOAD);
    let around = function.flow.loop_of_instruction(at);
    let chain: &[u32] = around
        .and_then(|index| function.loops.get(index as usize)?.as_ref())
        .map_or(&[], |cost| &cost.chain);
    let mut found = Vec::new();
    for &(location, value) in function.values.writes(at) {
        if location >= FLAGS {
            continue;
        }
        for reader in uses.readers(value) {
            let loads = function.data[reader].loads();
            let in_chain = chain.contains(&(reader as u32)) && !chain.contains(&(at as u32));
            if reader > at && reader < end && !loads && !in_chain && !found.contains(&reader) {
                found.push(reader);
            }
        }
    }
    // A comparison and its jump are one.
    let compares = |&one: &usize| {
        let form = &function.data[one].form;
        form.starts_with("cmp") || form.starts_with("test")
    };
    let own = std::iter::once(at).chain(found.iter().copied());
    let jump = own
        .filter(compares)
        .map(|one| one + 1)
        .find(|&next| next < end && matches!(function.code[next].flow, Flow::CondJump(_)));
    found.extend(jump.filter(|next| !found.contains(next)));
    found.sort_unstable();
    found
}

/// Cycles per iteration of a loop that its branch mispredictions cost: as counted, or the most that
/// they can.
#[must_use]
pub fn misprediction_cycles(input: &AnalysisInput, one: &HotLoop<'_>) -> f64 {
    let iterations = one.cost.iterations.max(1) as f64;
    let mispredictions = match &input.program.follow_up.mispredictions {
        Some(events) => events.times(one.function, &one.members),
        None => possible(one.input, one.members.iter().copied()),
    };
    mispredictions / iterations * misprediction_penalty(&input.program.costs).value
}

/// Mispredictions of these branches if the rarer outcome was never predicted.
fn possible(function: &FunctionInput, instructions: impl Iterator<Item = usize>) -> f64 {
    let rare = |at: usize| {
        if !matches!(function.code[at].flow, Flow::CondJump(_)) {
            return 0.0;
        }
        let all = function.counts[at] as f64;
        let taken = function.taken.get(at).copied().flatten();
        taken.map_or(0.0, |taken| (taken as f64).min(all - taken as f64).max(0.0))
    };
    instructions.map(rare).sum()
}

/// The fraction of the possible mispredictions of a function that occurred, where counted.
fn mispredicted_fraction(input: &AnalysisInput, function: &FunctionInput) -> f64 {
    let number = || {
        input
            .functions
            .iter()
            .position(|one| std::ptr::eq(one, function))
    };
    let Some((events, number)) = input
        .program
        .follow_up
        .mispredictions
        .as_ref()
        .zip(number())
    else {
        return 1.0;
    };
    let all: Vec<usize> = (0..function.code.len()).collect();
    let possible = possible(function, all.iter().copied());
    (events.times(number, &all) / possible.max(1.0)).min(1.0)
}

/// Cycles for each execution that mispredictions of the branch before may have put here.
fn misprediction_cycles_before(function: &FunctionInput, penalty: f64, at: usize) -> f64 {
    let Some(block) = function.flow.block_of(at) else {
        return 0.0;
    };
    let blocks = function.flow.blocks();
    let this = &blocks[block as usize];
    if at >= this.instructions.start as usize + INSTRUCTIONS_AFTER_BRANCH {
        return 0.0;
    }
    let times = function.counts[at] as f64;
    let mispredictions = this.predecessors.iter().map(|&before| {
        let last = blocks[before as usize].instructions.end as usize - 1;
        let all = function.counts[last] as f64;
        match function.taken.get(last).copied().flatten() {
            Some(taken) => (taken as f64).min(all - taken as f64).max(0.0),
            None => 0.0,
        }
    });
    mispredictions.sum::<f64>() * penalty / times
}

fn pattern(
    function: &FunctionInput,
    around: Option<u32>,
    at: usize,
    address: Option<&Address>,
) -> Pattern {
    let (Some(index), Some(address)) = (around, address) else {
        return Pattern::Scattered;
    };
    match address_step(function, index, address) {
        Some(Step::Constant(0)) => Pattern::Fixed,
        Some(Step::Constant(step)) if step.abs() < CACHE_LINE_STEP => {
            match is_short_stream(function, index, step) {
                // The first address of each run decides: it may be anywhere.
                true => {
                    let parent = function.flow.loops()[index as usize].parent;
                    self::pattern(function, parent, at, Some(address))
                }
                false => Pattern::Streams,
            }
        }
        Some(step) => Pattern::Strides(step),
        None if chases(function, index, at, address) => Pattern::Chase,
        None => column_of_rows(function, index, address)
            .map_or(Pattern::Scattered, Pattern::ColumnOfRows),
    }
}

/// The bytes from one element to the next where a loop goes from row to row, whose beginnings it loads one after the
/// other, for an element whose number advances in the loop around it (`for (c…) for (r…) sum += rows[r][c]`).
fn column_of_rows(function: &FunctionInput, index: u32, address: &Address) -> Option<u64> {
    let around = function.flow.loops()[index as usize].parent?;
    let advances = |loop_index, value, scale: u8| match value_step(function, loop_index, value)? {
        Step::Constant(step) => Some(step.wrapping_mul(i64::from(scale))),
        Step::Invariant => None,
    };
    let is_next_row = |value: Value| {
        let load = function.values.loaded_from(value);
        load.is_some_and(|from| {
            matches!(address_step(function, index, &from), Some(Step::Constant(step)) if step != 0)
        })
    };
    let (number, scale) = address.index?;
    let parts = [(address.base, number, scale), (number, address.base, 1)];
    let (_, element, scale) = parts
        .into_iter()
        .filter(|&(row, _, _)| row != number || scale == 1)
        .find(|&(row, _, _)| is_next_row(row))?;
    let fixed = advances(index, element, scale)? == 0;
    let step = advances(around, element, scale)?;
    (fixed && step != 0 && step.abs() < CACHE_LINE_STEP).then_some(step.unsigned_abs())
}

/// Whether runs of a loop step through so few bytes that no prefetcher learns of them.
fn is_short_stream(function: &FunctionInput, index: u32, step: i64) -> bool {
    let cost = function.loops.get(index as usize).and_then(Option::as_ref);
    cost.is_some_and(|cost| {
        let bytes = cost.iterations as f64 * step.unsigned_abs() as f64;
        let entries = cost.entries.filter(|&entries| entries > 0);
        entries.is_some_and(|entries| bytes < MIN_BYTES_OF_STREAM * entries as f64)
    })
}

/// Whether a load waits for one of the previous iteration: its address is a link that the previous
/// iteration loaded through the link before, or what it loads itself goes into its next address.
/// Loads that follow another's links (`node->key->length`) wait for it, but not for one another.
fn chases(function: &FunctionInput, index: u32, at: usize, address: &Address) -> bool {
    let mut roots = vec![address.base];
    roots.extend(address.index.map(|index| index.0));
    let all = sources(function, index, &roots);
    let own = direct_sources(function, index, &roots);
    let mut links: Vec<usize> = Vec::new();
    for value in &all {
        let Origin::Instruction(load) = function.values.origin(*value) else {
            continue;
        };
        let load = load as usize;
        let itself = load == at || own.iter().any(|one| one.number == value.number);
        if !function.data[load].loads() || !itself || links.contains(&load) {
            continue;
        }
        let address = address_values(function, load);
        let again = sources(function, index, &address);
        // The value comes to the load over the loop's head: of the previous iteration. Or the loop
        // is entered behind the load, which comes first to an element whose link is followed next:
        // then it comes so to the load of the link.
        let before = direct_sources(function, index, &address);
        let over_head = load == at
            || meets_at_head(function, index, &own, *value)
            || meets_at_head(function, index, &before, *value);
        if over_head && again.iter().any(|source| source.number == value.number) {
            links.push(load);
        }
    }
    // A link that few iterations follow is not what they wait for.
    let times: u64 = (links.iter()).fold(0, |sum, &load| sum.saturating_add(function.counts[load]));
    let iterations = (function.loops.get(index as usize).and_then(Option::as_ref))
        .map_or(function.counts[at], |cost| cost.iterations);
    times as f64 >= MOST_OF_IT * iterations as f64
}

/// Whether one of these values, made at the loop's head, is the given one by way of the previous
/// iteration.
fn meets_at_head(function: &FunctionInput, index: u32, among: &[Value], value: Value) -> bool {
    let head = function.flow.loops()[index as usize].head;
    among.iter().any(|one| {
        function.values.origin(*one) == Origin::Join(head)
            && direct_sources(function, index, function.values.met(*one))
                .iter()
                .any(|source| source.number == value.number)
    })
}

/// Values made in the loop that these are made of without another load in between; the loads' own
/// values are the last.
fn direct_sources(function: &FunctionInput, index: u32, roots: &[Value]) -> Vec<Value> {
    sources_where(function, index, roots, &|at| !function.data[at].loads())
}

fn address_values(function: &FunctionInput, at: usize) -> Vec<Value> {
    let reads = function.data[at].address_reads;
    let list = function.values.reads(at).iter();
    list.filter(|(location, _)| reads & (1 << location) != 0)
        .map(|one| one.1)
        .collect()
}

/// Values made in the loop that these are made of, conditions apart.
pub(crate) fn sources(function: &FunctionInput, index: u32, roots: &[Value]) -> Vec<Value> {
    sources_where(function, index, roots, &|_| true)
}

/// The same through the instructions that `follows` names only.
pub(crate) fn sources_where(
    function: &FunctionInput,
    index: u32,
    roots: &[Value],
    follows: &dyn Fn(usize) -> bool,
) -> Vec<Value> {
    let values = &function.values;
    let mut found: Vec<Value> = Vec::new();
    let add = |list: &mut Vec<Value>, value: Value| {
        let known = list.iter().any(|one| one.number == value.number);
        if !known
            && list.len() < MAX_VALUES_FOLLOWED
            && !values.is_invariant(value, &function.flow, index)
        {
            list.push(value);
        }
    };
    for &root in roots {
        add(&mut found, root);
    }
    let mut next = 0;
    while let Some(&value) = found.get(next) {
        next += 1;
        match values.origin(value) {
            Origin::Constant | Origin::Entry => {}
            Origin::Join(_) => {
                for &input in values.met(value) {
                    add(&mut found, input);
                }
            }
            Origin::Instruction(at) => {
                let reads = values.reads(at as usize).iter();
                for &(location, read) in reads.filter(|_| follows(at as usize)) {
                    if location < FLAGS {
                        add(&mut found, read);
                    }
                }
            }
        }
    }
    found
}
