//! Innermost loops that carry time: what the causes about loops start from.

use genba_loop_model::LoopAnalysis;
use genba_model::{Estimate, LoopFact};

use crate::constants::counts::{
    MAX_IN_OTHER_LOOPS, SELDOM_EXECUTIONS, SOME_EXECUTIONS, USUAL_EXECUTIONS,
};
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::values::{Address, Origin, Value};

/// An innermost loop with counts and cycles.
#[derive(Clone, Debug)]
pub struct HotLoop<'a> {
    /// Index of the function in [`AnalysisInput::functions`].
    pub function: usize,
    /// The function.
    pub input: &'a FunctionInput,
    /// Index of the loop.
    pub index: u32,
    /// What it costs.
    pub cost: &'a LoopAnalysis,
    /// Measured cycles per iteration.
    pub cycles: Estimate,
    /// Its instructions in address order.
    pub members: Vec<usize>,
    /// Share of all time.
    pub share: f64,
    /// Iterations per entry, where entries are known.
    pub trips: Option<f64>,
}

/// Innermost loops with at least `least` of all time, most first.
#[must_use]
pub fn hot_loops(input: &AnalysisInput, least: f64) -> Vec<HotLoop<'_>> {
    // A loop inside that hardly ever runs does not shape the iterations.
    let iterations = |function: &FunctionInput| {
        let loops = function.loops.iter();
        loops
            .map(|one| one.as_ref().map_or(0.0, |cost| cost.iterations as f64))
            .collect()
    };
    loops_unless(input, least, iterations, SELDOM_EXECUTIONS)
}

/// The same with loops inside of which others take but a small part of the time.
#[must_use]
pub fn mostly_innermost_loops(input: &AnalysisInput, least: f64) -> Vec<HotLoop<'_>> {
    let heat = |function: &FunctionInput| {
        let loops = 0..function.loops.len() as u32;
        loops.map(|index| function.loop_heat(index)).collect()
    };
    loops_unless(input, least, heat, MAX_IN_OTHER_LOOPS)
}

/// Loops with at least `least` of all time in which no loop has more than the given part of their weight, by the weights
/// of a function's loops.
fn loops_unless(
    input: &AnalysisInput,
    least: f64,
    weights: impl Fn(&FunctionInput) -> Vec<f64>,
    part: f64,
) -> Vec<HotLoop<'_>> {
    let mut found = Vec::new();
    for (number, function) in input.functions.iter().enumerate() {
        let loops = function.flow.loops().len();
        if !function.counted
            || function.counts.len() != function.code.len()
            || function.loops.len() != loops
        {
            continue;
        }
        let weights = weights(function);
        let mut has_inner = vec![false; loops];
        for index in 0..loops {
            let parent = |&index: &usize| {
                let one = &function.flow.loops()[index];
                one.parent.map(|parent| parent as usize)
            };
            // All loops around it: the one directly around may hardly ever iterate.
            for around in std::iter::successors(parent(&index), parent) {
                has_inner[around] |= weights[index] > part * weights[around];
            }
        }
        for (index, cost) in (0u32..).zip(&function.loops) {
            let (Some(cost), false) = (cost, has_inner[index as usize]) else {
                continue;
            };
            let Some(cycles) = cost.cycles.filter(|cycles| cycles.value > 0.0) else {
                continue;
            };
            let members = function.loop_instructions(index);
            let share = function.heat_of(members.iter().copied());
            if share < least {
                continue;
            }
            let entries = cost.entries.filter(|&entries| entries > 0);
            found.push(HotLoop {
                function: number,
                input: function,
                index,
                cost,
                cycles,
                members,
                share,
                trips: entries.map(|entries| cost.iterations as f64 / entries as f64),
            });
        }
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

impl<'a> HotLoop<'a> {
    /// The loop around it, with all that is inside; its cycles are those of the whole iteration.
    #[must_use]
    pub fn parent(&self) -> Option<HotLoop<'a>> {
        let index = self.input.flow.loops()[self.index as usize].parent?;
        let cost = self.input.loops.get(index as usize)?.as_ref()?;
        let members = self.input.loop_instructions(index);
        let share = self.input.heat_of(members.iter().copied());
        let entries = cost.entries.filter(|&entries| entries > 0);
        Some(HotLoop {
            index,
            cost,
            cycles: cost.cycles?,
            members,
            share,
            trips: entries.map(|entries| cost.iterations as f64 / entries as f64),
            ..*self
        })
    }

    /// What the loop takes, as a fact.
    #[must_use]
    pub fn time(&self) -> LoopFact {
        LoopFact::Time {
            share: Some(self.share),
            iterations: self.cost.iterations,
            cycles: self.cycles.value,
            trip_count: self.trips,
        }
    }

    /// Executions of an instruction per iteration.
    #[must_use]
    pub fn times(&self, at: usize) -> f64 {
        let count = self.input.counts.get(at).copied().unwrap_or(0);
        count as f64 / self.cost.iterations.max(1) as f64
    }

    /// Its instructions that nearly every iteration executes.
    pub fn usual(&self) -> impl Iterator<Item = usize> + '_ {
        let members = self.members.iter().copied();
        members.filter(|&at| self.times(at) >= USUAL_EXECUTIONS)
    }

    /// Whether it calls, enters the kernel or repeats: what the model does not see into.
    #[must_use]
    pub fn has_opaque(&self) -> bool {
        let usual = self
            .members
            .iter()
            .filter(|&&at| self.times(at) >= SOME_EXECUTIONS);
        usual
            .copied()
            .any(|at| self.input.data[at].opaque.is_some())
    }

    /// Whether iterations are many enough for what only pays in the long run.
    #[must_use]
    pub fn is_long(&self, least: f64) -> bool {
        self.trips.is_none_or(|trips| trips >= least)
    }

    /// The address from which an iteration loaded a value, as it is.
    #[must_use]
    pub fn loaded_from(&self, value: Value) -> Option<Address> {
        let function = self.input;
        let Origin::Instruction(at) = function.values.origin(value) else {
            return None;
        };
        let at = at as usize;
        let plain = function.code[at].mnemonic.contains("mov") && value.offset == 0;
        let inside = self.members.binary_search(&at).is_ok();
        let address = function.values.addresses(at).first().copied().flatten();
        address.filter(|_| plain && inside && function.data[at].loads())
    }

    /// From where to where an iteration moves a value of memory as it is, if an instruction stores such a one outside of the
    /// stack.
    #[must_use]
    pub fn moved(&self, at: usize) -> Option<(Address, Address)> {
        let (values, data) = (&self.input.values, &self.input.data[at]);
        let [access] = data.memory.as_slice() else {
            return None;
        };
        let stored = |one: &&(u8, Value)| {
            let of_address = access.base == Some(one.0) || access.index == Some(one.0);
            data.data_reads & (1 << one.0) != 0 && !of_address
        };
        let to = values.addresses(at).first().copied().flatten()?;
        let (_, value) = values.reads(at).iter().find(stored)?;
        let from = self.loaded_from(*value)?;
        (access.writes && !access.stack && to.bytes == from.bytes).then_some((from, to))
    }
}

/// What runs of a loop take that have `share` of `all` cycles, as a fact.
pub(crate) fn time_of_runs(share: f64, all: f64, iterations: u64, runs: u64) -> LoopFact {
    LoopFact::Time {
        share: Some(share),
        iterations,
        cycles: share * all / iterations.max(1) as f64,
        trip_count: Some(iterations as f64 / runs.max(1) as f64),
    }
}
