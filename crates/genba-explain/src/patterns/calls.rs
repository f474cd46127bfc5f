//! What a call costs beside the work of what it calls: what the causes about calls share.
//!
//! Measured: the time in the callee and around the call. Model after the callee is inlined: the
//! instructions that stay, side by side as the processor takes the cheapest ones, or the chain
//! through the callee where each call needs the result of the one before.

use genba_code::{DataFlow, Flow, Location, MemoryAccess, STACK_POINTER, Shortcut};
use genba_loop_model::misprediction_penalty;
use genba_model::{CallFact, CallKind, Estimate};

use crate::candidate::Candidate;
use crate::constants::counts::MAX_INSTRUCTIONS_OF_SMALL_LOOP;
use crate::constants::gains::{CALL_OVERHEAD, INLINED_BODY, INLINED_CHAIN_LOW, MISSED_LOW};
use crate::constants::processor::{
    DEFAULT_SLOT_CYCLES, L1D_CYCLES_IN_CHAIN, MAX_CHAIN_CYCLES, MIN_SLOT_CYCLES, NEVER_READY,
    SAMPLED_CALL_NEIGHBOURS, STORE_FORWARDING_CYCLES,
};
use crate::constants::registers::{ARGUMENTS, LOCATIONS, POINTER_ARGUMENTS, RESULTS};
use crate::input::analysis_input::{AnalysisInput, CallSite, CallTarget, FunctionInput};
use crate::input::values::{Origin, Value, bits};
use crate::patterns::far_loads::cycles_beyond_first_cache;
use crate::patterns::invariance::value_at;
use crate::patterns::observed_sites::ObservedSites;

/// A call with one target.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Index of the calling function in [`AnalysisInput::functions`].
    pub caller: usize,
    /// Place of the call, with its counts.
    pub site: &'a CallSite,
    /// What it calls.
    pub target: &'a CallTarget,
    /// Index of the callee in [`AnalysisInput::functions`], if it carries time.
    pub callee: Option<usize>,
}

/// Calls to each target, of all functions whose executions were counted.
pub fn all_calls(input: &AnalysisInput) -> impl Iterator<Item = Call<'_>> {
    let counted = input
        .functions
        .iter()
        .enumerate()
        .filter(|(_, f)| f.counted);
    // Stubs of the linker are not callers: calls through them are reported at the call.
    let counted = counted.filter(|(_, function)| !function.function.ends_with("@plt"));
    counted.flat_map(move |(caller, function)| {
        let sites = function.call_sites.iter();
        sites.flat_map(move |site| {
            site.targets.iter().map(move |target| Call {
                caller,
                site,
                target,
                callee: index_of(input, &target.function, &target.module),
            })
        })
    })
}

/// A function by name and module.
#[must_use]
pub fn index_of(input: &AnalysisInput, name: &str, module: &str) -> Option<usize> {
    let same = |f: &FunctionInput| f.function == name && f.module == module;
    input.functions.iter().position(same)
}

/// Whether a function calls another one, directly or by at most so many calls.
pub(crate) fn reaches(input: &AnalysisInput, from: usize, to: usize, depth: u32) -> bool {
    if from == to {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let sites = input.functions[from].call_sites.iter();
    let mut targets = sites.flat_map(|site| &site.targets);
    targets.any(|target| {
        let callee = index_of(input, &target.function, &target.module);
        callee.is_some_and(|callee| callee != from && reaches(input, callee, to, depth))
    })
}

/// How often a function is called from outside, and by itself.
pub(crate) struct Recursion {
    /// Counted: calls from other functions.
    pub from_outside: u64,
    /// Counted: calls from its own code.
    pub by_itself: u64,
    /// The instructions that call it there.
    pub sites: Vec<usize>,
}

impl Recursion {
    /// `None` for a function that does not call itself, and where nobody else calls it.
    pub fn of(function: &FunctionInput) -> Option<Self> {
        let is_same = |target: &CallTarget| {
            target.function == function.function && target.module == function.module
        };
        let (mut sites, mut by_itself) = (Vec::new(), 0);
        for site in &function.call_sites {
            let calls: u64 = (site.targets.iter())
                .filter(|target| is_same(target))
                .map(|target| target.count)
                .sum();
            if calls > 0 {
                sites.push(site.at);
                by_itself += calls;
            }
        }
        let from_outside = function.calls?.saturating_sub(by_itself);
        (by_itself > 0 && from_outside > 0).then_some(Self {
            from_outside,
            by_itself,
            sites,
        })
    }
}

/// Cycles that all the time stands for.
#[must_use]
pub fn cycles_of_all(input: &AnalysisInput) -> Option<f64> {
    let mut best: Option<(f64, f64)> = None;
    for function in &input.functions {
        for (at, cycles) in function.cycles.iter().enumerate() {
            let (Some(cycles), heat) = (cycles, function.heat[at]) else {
                continue;
            };
            if heat > 0.0 && best.is_none_or(|(before, _)| heat > before) {
                best = Some((heat, cycles.value * function.counts[at] as f64 / heat));
            }
        }
    }
    best.map(|(_, all)| all)
        .filter(|all| all.is_finite() && *all > 0.0)
}

/// Instructions in a caller whose time a call changes: its loop, if that is small, or its
/// neighbours.
#[must_use]
pub fn around(function: &FunctionInput, at: usize) -> Vec<usize> {
    if let Some(index) = function.flow.loop_of_instruction(at) {
        let members = function.loop_instructions(index);
        let executed = members.iter().filter(|&&i| function.counts[i] > 0).count();
        if executed <= MAX_INSTRUCTIONS_OF_SMALL_LOOP {
            return members;
        }
    }
    let Some(block) = function.flow.block_of(at) else {
        return vec![at];
    };
    let range = &function.flow.blocks()[block as usize].instructions;
    // Arguments before it; after it the next instructions, wherever they are.
    let begin = at
        .saturating_sub(SAMPLED_CALL_NEIGHBOURS)
        .max(range.start as usize);
    let end = (at + SAMPLED_CALL_NEIGHBOURS).min(function.code.len());
    let stops = |i: &usize| matches!(function.code[*i].flow, Flow::Jump(_) | Flow::Return);
    let last = (at + 1..end).find(stops).map_or(end, |stop| stop + 1);
    (begin..last).collect()
}

/// Cycles of the cheapest instruction when many are independent.
pub(crate) fn slot(input: &AnalysisInput) -> f64 {
    let cost = input.program.costs.throughput("add r64, r64");
    cost.map_or(DEFAULT_SLOT_CYCLES, |cost| {
        cost.value.clamp(MIN_SLOT_CYCLES, 1.0)
    })
}

/// What inlining the targets of some calls leaves.
#[derive(Clone, Debug)]
pub struct Inlined {
    /// Share of all time in callees and around the calls.
    pub share: f64,
    /// What stays of it.
    pub residual_fraction: Estimate,
    /// Measured cycles a call, callee and surroundings.
    pub each: f64,
    /// What they would be.
    pub after: Estimate,
    /// Calls.
    pub calls: u64,
    /// Instructions around the calls in the functions that call, by function.
    pub around: Vec<(usize, usize)>,
}

impl Inlined {
    /// The candidate with what these calls cost and would cost; `call_cycles` are those of a call and its return.
    pub fn told(&self, one: Candidate, kind: CallKind, call_cycles: f64) -> Candidate {
        let mut one = one
            .fact(CallFact::Time {
                function: None,
                share: self.share,
                cycles: self.each,
            })
            .fact(CallFact::InlinedCost {
                kind,
                call_cycles,
                inlined_cycles: self.after,
            });
        one.share = Some(self.share);
        one.residual_fraction = self.residual_fraction;
        one.executions = Some(self.calls);
        one.cycles = Some(Estimate::exact(self.each));
        one
    }
}

/// What stays when the targets of these calls are inlined. `overhead`: cycles of the calls and
/// returns themselves by the host's table; `extra`: instructions that come in their place.
#[must_use]
pub fn inlined(
    input: &AnalysisInput,
    calls: &[Call<'_>],
    overhead: f64,
    extra: f64,
) -> Option<Inlined> {
    let all = cycles_of_all(input)?;
    let count: u64 = calls.iter().map(|call| call.target.count).sum();
    if count == 0 {
        return None;
    }
    let mut share = 0.0;
    let mut work = 0.0;
    let mut chain: f64 = 0.0;
    let mut through_memory: f64 = 0.0;
    let mut missed: f64 = 0.0;
    let mut far: f64 = 0.0;
    let sites = ObservedSites::of(input);
    let waits = |function: usize, members: &[usize]| {
        let of = |sites: &ObservedSites<'_>| cycles_beyond_first_cache(sites, function, members);
        sites.as_ref().map_or(0.0, of)
    };
    let mut members: Vec<(usize, usize)> = Vec::new();
    for call in calls {
        let target = call.target;
        let times = target.count as f64;
        if let Some((index, callee)) = call.callee.map(|at| (at, &input.functions[at])) {
            let entered = callee
                .calls
                .unwrap_or(target.count)
                .max(target.count)
                .max(1);
            share += callee.share.value * times / entered as f64;
            let inside: Vec<usize> = (0..callee.code.len()).collect();
            missed += mispredictions(input, index, &inside) * times / entered as f64;
            far += waits(index, &inside) * times / entered as f64;
            let from = fed(&input.functions[call.caller], call.site.at);
            chain += latency(input, callee, &from) * times / count as f64;
        }
        if call.site.plt {
            share += stub_share(input, call);
        }
        let beside = around(&input.functions[call.caller], call.site.at);
        if passes_memory(input, call, &beside) {
            through_memory += times / count as f64;
        }
        // The return goes, what saves registers mostly does.
        work += (target.instructions_per_call - 1.0).max(0.0) * times;
        members.extend(beside.into_iter().map(|at| (call.caller, at)));
    }
    members.sort_unstable();
    members.dedup();
    for &(caller, at) in &members {
        let function = &input.functions[caller];
        share += function.heat[at];
        let copy = function.data[at].shortcut == Shortcut::Copy;
        if !copy && !calls.iter().any(|c| c.caller == caller && c.site.at == at) {
            work += function.counts[at] as f64;
        }
    }
    for function in members.chunk_by(|a, b| a.0 == b.0) {
        let beside: Vec<usize> = function.iter().map(|one| one.1).collect();
        missed += mispredictions(input, function[0].0, &beside);
        far += waits(function[0].0, &beside);
    }
    let share = share.min(1.0);
    let each = share * all / count as f64;
    let body = slot(input) * (work / count as f64 + extra);
    // Branches are mispredicted with and without calls. The rest of the time bounds what a model of a predictor says.
    let missed = missed / count as f64 * misprediction_penalty(&input.program.costs).value;
    let missed = missed.min((each - overhead - body).max(0.0));
    // So are loads waited for, of which some overlap.
    let far = (far / count as f64).min((each - overhead - body - missed).max(0.0));
    let missed = missed + far;
    // Arguments and results in the caller's frame are stored, loaded and waited for, each way.
    let forwarded = 2.0 * STORE_FORWARDING_CYCLES * through_memory;
    let least = each - (CALL_OVERHEAD.0 * overhead + CALL_OVERHEAD.1) - forwarded;
    // Of what stays, arguments' moves and what the loop has computed before go as well.
    let value = (INLINED_BODY.0 * body + missed)
        .max(chain)
        .max(least)
        .min(each);
    let after = Estimate {
        value,
        low: (INLINED_BODY.1 * body + MISSED_LOW * missed)
            .max(INLINED_CHAIN_LOW * chain)
            .max(least - overhead)
            .min(value),
        high: (each - CALL_OVERHEAD.2 * overhead)
            .max(INLINED_BODY.2 * value)
            .min(each),
    };
    (each > 0.0).then(|| Inlined {
        share,
        residual_fraction: after.scaled(1.0 / each),
        each,
        after,
        calls: count,
        around: members,
    })
}

/// Mispredicted branches among these instructions in one run, where they were counted or observed.
fn mispredictions(input: &AnalysisInput, function: usize, members: &[usize]) -> f64 {
    let events = input.program.follow_up.mispredictions.as_ref();
    events.map_or(0.0, |events| events.times(function, members))
}

/// Share of all time in the stub that a call goes through, as far as it is this call's.
fn stub_share(input: &AnalysisInput, call: &Call<'_>) -> f64 {
    let module = &input.functions[call.caller].module;
    let bare = call.target.function.split('@').next().unwrap_or_default();
    let is = |f: &&FunctionInput| {
        f.module == *module
            && f.function
                .strip_suffix("@plt")
                .is_some_and(|name| name == bare)
    };
    input.functions.iter().find(is).map_or(0.0, |stub| {
        let all = stub.calls.unwrap_or(0).max(call.target.count).max(1);
        stub.share.value * call.target.count as f64 / all as f64
    })
}

/// Whether a call hands over arguments or a result through the caller's own frame: the callee reads what the caller
/// stores beside the call, or writes what it uses there. An object that only lives in the frame is in memory in
/// any case.
fn passes_memory(input: &AnalysisInput, call: &Call<'_>, beside: &[usize]) -> bool {
    let caller = &input.functions[call.caller];
    let Some(stack) = value_at(caller, call.site.at, STACK_POINTER) else {
        return false;
    };
    let in_caller: Vec<(i64, MemoryAccess)> = (beside.iter())
        .flat_map(|&at| accesses_from(caller, at, stack.number))
        .collect();
    POINTER_ARGUMENTS.iter().any(|&location| {
        let handed = value_at(caller, call.site.at, location);
        let Some(handed) = handed.filter(|value| value.number == stack.number) else {
            return false;
        };
        let Some(callee) = call.callee.map(|callee| &input.functions[callee]) else {
            return true;
        };
        let Some(argument) = argument(callee, location) else {
            return false;
        };
        let in_callee = (0..callee.code.len()).flat_map(|at| accesses_from(callee, at, argument));
        in_callee.into_iter().any(|(offset, access)| {
            let place = handed.offset + offset;
            let mut same = in_caller.iter().filter(|one| one.0 == place);
            same.any(|(_, other)| access.reads && other.writes || access.writes && other.reads)
        })
    })
}

/// The number of the value that a function gets in a register, if it uses it.
fn argument(function: &FunctionInput, location: Location) -> Option<u32> {
    let values = &function.values;
    let reads = (0..function.code.len()).flat_map(|at| values.reads(at));
    let mut of_location = reads.filter(|one| one.0 == location);
    let found = of_location.find(|one| values.origin(one.1) == Origin::Entry);
    found.map(|one| one.1.number)
}

/// What an executed instruction accesses at constant distances from a value, with the distances.
fn accesses_from(
    function: &FunctionInput,
    at: usize,
    base: u32,
) -> impl Iterator<Item = (i64, MemoryAccess)> + '_ {
    let accesses = function.data[at].memory.iter();
    let executed = function.counts.get(at).is_some_and(|&count| count > 0);
    accesses
        .zip(function.values.addresses(at))
        .filter_map(move |(access, address)| {
            let address = address.filter(|one| one.base.number == base && one.index.is_none())?;
            executed.then_some((address.base.offset, *access))
        })
}

/// Registers of arguments that are made of the result of the same call in the previous iteration.
fn fed(function: &FunctionInput, at: usize) -> Vec<Location> {
    let Some(index) = function.flow.loop_of_instruction(at) else {
        return Vec::new();
    };
    let results = RESULTS.map(|location| function.values.written(at, location));
    let made = |value: Value| results.iter().flatten().any(|r| r.number == value.number);
    let from_result =
        |value: Value| made(value) || function.values.met(value).iter().any(|&v| made(v));
    let mut found: Vec<Location> = Vec::new();
    for member in function.loop_instructions(index) {
        let writes = function.values.writes(member).iter();
        if member != at {
            let mine = writes.filter(|(to, value)| ARGUMENTS.contains(to) && from_result(*value));
            found.extend(mine.map(|one| one.0));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Cycles from some of a function's arguments to its result along its executed instructions.
fn latency(input: &AnalysisInput, callee: &FunctionInput, from: &[Location]) -> f64 {
    let costs = &input.program.costs;
    let mut ready = [NEVER_READY; LOCATIONS];
    for &location in from {
        ready[usize::from(location)] = 0.0;
    }
    for (at, data) in callee.data.iter().enumerate() {
        if callee.counts.get(at).copied().unwrap_or(0) == 0 {
            continue;
        }
        let of = |set| {
            bits(set)
                .map(|l: u8| ready[usize::from(l)])
                .fold(NEVER_READY, f64::max)
        };
        let start = of(data.data_reads);
        let load = if data.loads() {
            of(data.address_reads) + L1D_CYCLES_IN_CHAIN
        } else {
            NEVER_READY
        };
        let done = start.max(load) + step(costs, data);
        for location in bits(data.writes) {
            ready[usize::from(location)] = done;
        }
    }
    RESULTS
        .iter()
        .map(|&at| ready[usize::from(at)])
        .fold(NEVER_READY, f64::max)
        .clamp(0.0, MAX_CHAIN_CYCLES)
}

fn step(costs: &crate::input::analysis_input::CostTable, data: &DataFlow) -> f64 {
    match data.shortcut {
        Shortcut::Copy | Shortcut::Constant | Shortcut::Nothing => 0.0,
        Shortcut::None if data.writes == 0 => 0.0,
        Shortcut::None => match (&data.without_memory, data.memory.is_empty()) {
            (None, false) => 0.0,
            (form, _) => {
                let form = form.as_ref().unwrap_or(&data.form);
                costs.latency(form).map_or(1.0, |cost| cost.value)
            }
        },
    }
}
