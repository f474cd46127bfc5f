//! Places that bursts recorded, as instructions of the input's functions.

use std::collections::HashMap;

use genba_model::{CodePoint, ObservedFact};
use genba_observe::{Observations, OverwrittenBuffer, RedundantCall, RepeatedLoop, Seen, Stride};

use crate::constants::counts::MIN_MISS_RATE;
use crate::constants::observations::{
    MAX_CALLS_WITH_EFFECTS, MAX_DEPTH_OF_CALLEES, MAX_PART_OF_REPEATED_CALL, MIN_BURSTS,
    MIN_ONE_VALUE, MIN_ONE_VALUE_LOW, MIN_REPEATED, MIN_SEEN,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::input::analysis_input::{AnalysisInput, CallTarget, FunctionInput};
use crate::patterns::calls::index_of;

/// What bursts showed, joined with the input's functions.
pub(crate) struct ObservedSites<'a> {
    pub(crate) input: &'a AnalysisInput,
    pub(crate) observed: &'a Observations,
    sites: HashMap<CodePoint, (usize, usize)>,
    modules: HashMap<&'a str, u32>,
}

impl<'a> ObservedSites<'a> {
    /// `None` without bursts, or with too few.
    pub(crate) fn of(input: &'a AnalysisInput) -> Option<Self> {
        let observed = input.observed.as_ref()?;
        if observed.bursts < MIN_BURSTS {
            return None;
        }
        let modules: HashMap<&str, u32> = (observed.modules.iter().map(String::as_str))
            .zip(0..)
            .collect();
        let mut sites = HashMap::new();
        for (number, function) in input.functions.iter().enumerate() {
            let Some(&module) = modules.get(function.module.as_str()) else {
                continue;
            };
            for (at, code) in function.code.iter().enumerate() {
                let address = code.address;
                sites.insert(CodePoint { module, address }, (number, at));
            }
        }
        Some(Self {
            input,
            observed,
            sites,
            modules,
        })
    }

    /// Index of the function and of the instruction.
    pub(crate) fn site(&self, at: CodePoint) -> Option<(usize, usize)> {
        self.sites.get(&at).copied()
    }

    /// The same if the user can change that code.
    pub(crate) fn users_site(&self, at: CodePoint) -> Option<(usize, usize)> {
        let (function, at) = self.site(at)?;
        let one = &self.input.functions[function];
        (one.can_be_changed() && one.counted && one.counts.len() == one.code.len())
            .then_some((function, at))
    }

    /// The loop of the user's own code with this head.
    pub(crate) fn loop_with_head(&self, head: CodePoint) -> Option<(usize, u32)> {
        let (number, at) = self.users_site(head)?;
        let function = &self.input.functions[number];
        let block = function.flow.block_of(at)?;
        let loops = function.flow.loops();
        let index = (0..loops.len() as u32).find(|&index| loops[index as usize].head == block)?;
        Some((number, index))
    }

    /// The loop whose runs these are. None where more were observed than counts know entries, by far (bursts may be of two
    /// runs of the program): a jump through a table led out of what the observation takes for the loop, and each iteration
    /// was a run to it.
    pub(crate) fn loop_of_runs(&self, seen: &RepeatedLoop) -> Option<(usize, u32)> {
        let (number, index) = self.loop_with_head(seen.head)?;
        let cost = self.input.functions[number].loops.get(index as usize);
        let counted = cost.and_then(|cost| cost.as_ref()?.entries);
        let fits = counted.is_none_or(|entries| entries.saturating_mul(2) >= seen.seen.executions);
        fits.then_some((number, index))
    }

    /// Whether one value is most of what a store stores.
    pub(crate) fn stores_one_value(&self, function: usize, at: usize) -> bool {
        let point = self.point(function, at);
        (self.observed.operand_values.iter())
            .filter(|one| Some(one.at) == point && one.stored)
            .filter_map(|one| one.values.first())
            .any(|first| first.share.value >= MOST_OF_IT)
    }

    /// How often a store stores what is there already, where enough of its executions were seen.
    pub(crate) fn stored_again(&self, function: usize, at: usize) -> Option<&'a Seen> {
        let point = self.point(function, at)?;
        let mut silent = self.observed.silent_stores.iter();
        silent
            .find(|one| one.at == point && is_enough(&one.seen))
            .map(|one| &one.seen)
    }

    /// Whether a load brings one value nearly always.
    pub(crate) fn loads_one_value(&self, function: usize, at: usize) -> bool {
        let Some(point) = self.point(function, at) else {
            return false;
        };
        (self.observed.operand_values.iter())
            .filter(|one| one.at == point && !one.stored && one.executions >= MIN_SEEN)
            .filter_map(|one| one.values.first())
            .any(|first| first.share.value >= MIN_ONE_VALUE && first.share.low >= MIN_ONE_VALUE_LOW)
    }

    /// Whether a load was observed to miss the first cache more than now and then; `None` if it was not observed.
    pub(crate) fn misses(&self, function: usize, at: usize) -> Option<bool> {
        let point = self.point(function, at)?;
        let seen = self.observed.loads.iter().find(|load| load.at == point)?;
        Some(seen.l2.value + seen.l3.value + seen.memory.value >= MIN_MISS_RATE)
    }

    /// The most frequent step of a load's address; `None` if it was not observed.
    pub(crate) fn stride(&self, function: usize, at: usize) -> Option<Stride> {
        let point = self.point(function, at)?;
        let seen = self.observed.loads.iter().find(|load| load.at == point)?;
        seen.stride
    }

    /// The point of an instruction.
    pub(crate) fn point(&self, function: usize, at: usize) -> Option<CodePoint> {
        let function = self.input.functions.get(function)?;
        let module = *self.modules.get(function.module.as_str())?;
        let address = function.code.get(at)?.address;
        Some(CodePoint { module, address })
    }

    /// The source line of a place.
    pub(crate) fn line(&self, at: CodePoint) -> Option<u32> {
        let (function, at) = self.site(at)?;
        self.input.functions[function].places.get(at)?.line
    }

    /// What was seen of a buffer that a call fills and other code overwrites unread.
    pub(crate) fn overwritten_buffer(
        &self,
        one: &OverwrittenBuffer,
        function: String,
    ) -> ObservedFact {
        ObservedFact::OverwrittenBuffer {
            function,
            bytes: one.bytes_per_call,
            share: one.seen.share,
            overwritten_line: self.line(one.overwritten_by),
            bursts: one.seen.bursts,
        }
    }

    /// The name of the innermost function at a place.
    pub(crate) fn function_name(&self, at: CodePoint) -> Option<String> {
        let (function, at) = self.site(at)?;
        let function = &self.input.functions[function];
        let place = function.places.get(at)?;
        (place.function.clone()).or_else(|| Some(function.function.clone()))
    }

    /// Whether the program does all its work again and again, as benchmarks do that parse one text many times: one
    /// call with results in memory has most of the instructions, and repeats the one before. What it finds out is
    /// then the same as well, and need not be so in another program.
    pub(crate) fn repeats_as_a_whole(&self) -> bool {
        self.does_most_again(|call| &call.repeats_previous)
    }

    /// The same of a program that does its work on a few texts in turn.
    pub(crate) fn repeats_in_turn(&self) -> bool {
        self.does_most_again(|call| &call.seen)
    }

    fn does_most_again(&self, repeated: impl Fn(&RedundantCall) -> &Seen) -> bool {
        self.observed.redundant_calls.iter().any(|call| {
            call.stores_outside > MAX_CALLS_WITH_EFFECTS
                && call.share_of_instructions.value > MAX_PART_OF_REPEATED_CALL
                && repeated(call).share.low >= MIN_REPEATED
        })
    }

    /// The counted target of a call whose entry bursts saw.
    pub(crate) fn target(
        &self,
        (function, at): (usize, usize),
        entry: CodePoint,
    ) -> Option<&'a CallTarget> {
        let function = &self.input.functions[function];
        let site = function.call_sites.iter().find(|site| site.at == at)?;
        let callee = self.site(entry).map(|one| &self.input.functions[one.0]);
        let same = |target: &&CallTarget| {
            callee.is_none_or(|callee| {
                callee.function == target.function && callee.module == target.module
            })
        };
        site.targets.iter().find(same)
    }
}

/// Whether a share rests on enough executions and bursts.
pub(crate) fn is_enough(seen: &Seen) -> bool {
    seen.executions >= MIN_SEEN && seen.bursts >= MIN_BURSTS
}

/// Share of all time in a function with what it calls, as far as those are in the input: callees
/// take part in proportion to their calls.
fn inclusive(input: &AnalysisInput, index: usize, depth: u32) -> f64 {
    let function = &input.functions[index];
    let own = function.share.value;
    let Some(depth) = depth.checked_sub(1) else {
        return own;
    };
    own + (function.call_sites.iter().flat_map(|site| &site.targets))
        .map(|target| share_of_call(input, target, index, depth))
        .sum::<f64>()
}

fn share_of_call(input: &AnalysisInput, target: &CallTarget, caller: usize, depth: u32) -> f64 {
    let Some(callee) = index_of(input, &target.function, &target.module) else {
        return 0.0;
    };
    if callee == caller {
        return 0.0;
    }
    let calls = calls_of(&input.functions[callee]).max(target.count).max(1);
    inclusive(input, callee, depth) * target.count as f64 / calls as f64
}

fn calls_of(function: &FunctionInput) -> u64 {
    function.calls.unwrap_or(0)
}

/// Share of all time in a function with all that it calls.
pub(crate) fn share_with_callees(input: &AnalysisInput, index: usize) -> f64 {
    inclusive(input, index, MAX_DEPTH_OF_CALLEES).min(1.0)
}

/// Share of all time that the calls of one site take, with all that they call. A function that calls itself has its time
/// by its calls.
pub(crate) fn share_of_target(input: &AnalysisInput, caller: usize, target: &CallTarget) -> f64 {
    let share = match index_of(input, &target.function, &target.module) == Some(caller) {
        true => {
            let calls = calls_of(&input.functions[caller]).max(target.count).max(1);
            share_with_callees(input, caller) * target.count as f64 / calls as f64
        }
        false => share_of_call(input, target, caller, MAX_DEPTH_OF_CALLEES),
    };
    share.min(1.0)
}
