//! Runs of loops that do what the run before did: the same loads from the same addresses with the same
//! values, the same branches. Of nested loops each is a run of its own, and a part of the run around it.
//!
//! What a run loads from one place in all its iterations, and what its callees load, is compared by
//! value alone: the key of a search is elsewhere each time, though it is the same. A pointer that is loaded
//! so and handed to a callee is not compared, but what the callee reads there, and returns. Vectors
//! that callees load are not compared: functions that compare texts load beyond their ends.
//!
//! Registers are not recorded, so that a run may compute something else from the same loads: only of
//! loops whose outcome follows from what they read (searches) does it say that the result is the same.
//!
//! Source: as [`crate::redundant_calls`]; for loops, A. Nistor et al., "Toddler: detecting performance
//! problems via similar memory-access patterns", ICSE 2013.

use std::collections::VecDeque;

use genba_model::{Burst, BurstEvent, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::CallStack;
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::{FastMap, FastSet, mix};
use crate::first_steps::{FirstSteps, Iterations};
use crate::loads_in_common::{LoadsOfRun, in_common};
use crate::loop_runs::{LoopRuns, Run};
use crate::tally::{BurstShare, Seen, Tally};

/// A loop of whose runs some did what the one before did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedLoop {
    /// The first instruction of the loop's head.
    pub head: CodePoint,
    /// Runs that repeat any earlier one of their burst, of all that have one.
    pub seen: Seen,
    /// Runs that repeat the one just before.
    pub repeats_previous: Seen,
    /// Runs that repeat one of the last [`RECENT_RUNS`] different ones.
    #[serde(default)]
    pub repeats_recent: Option<Seen>,
    /// Iterations, counted from the start of their run, up to which it is the same as the run just
    /// before; of those of the longer of both runs. `executions` counts iterations, those of loops inside
    /// with them. What a run loads from one address in all its iterations (a bound, a key) is not compared.
    #[serde(default)]
    pub starts_as_previous: Option<Seen>,
    /// Iterations of runs that do what one of the runs just before did from its beginning to its end, and end a little before
    /// or behind it, not at the same iteration. `executions` counts iterations.
    #[serde(default)]
    pub ends_near_earlier: Option<Seen>,
    /// Loads of what the run just before loaded as well, from the same place with the same value; of those of the run
    /// that has more. `executions` counts loads; what a run stores itself, and what its callees load, is left out.
    #[serde(default)]
    pub loads_as_previous: Option<Seen>,
    /// Different runs in a burst, on average.
    pub distinct_per_burst: f64,
    /// Share of all instructions that were executed in runs that repeat the one just before.
    pub share_of_instructions: Estimate,
    /// Instructions of one run on average, with callees.
    pub instructions_per_run: f64,
    /// Share of the judged runs that changed memory outside of their callees' stack frames.
    pub stores_outside: f64,
}

/// Runs that are remembered of one loop in one burst.
const MAX_RUNS: usize = 1 << 14;

#[derive(Default)]
struct Open {
    results: Vec<ResultOfRun>,
    /// Of branches, callees, and loads beyond [`MAX_LOADS`]; at the end of all.
    trace: u64,
    loads: Vec<LoadOfRun>,
    first: FirstSteps,
    loaded: LoadsOfRun,
    instructions: u64,
    stores_outside: bool,
    /// Where the last event of the loop itself stored something new: if that is a call, which comes next, it
    /// was its return address.
    just_stored: Option<CodePoint>,
}

/// Load instructions of a loop, and ends of functions that it calls, which are followed one by one.
const MAX_LOADS: usize = 48;

/// The largest operand that is not a vector.
const MAX_SCALAR_BYTES: u16 = 8;

/// The lowest number that may be a pointer.
const MIN_POINTER: u64 = 0x1_0000;

/// What a function that the loop calls returned at one place in a run so far.
struct ResultOfRun {
    at: u64,
    first: u64,
    /// Whether it was something else at a later time.
    differs: bool,
}

/// What one instruction loaded in a run so far.
struct LoadOfRun {
    at: u64,
    address: u64,
    value: u64,
    times: u32,
    /// Whether all were from one address.
    still: bool,
    /// Whether the value was handed to a callee.
    handed: bool,
    with_addresses: u64,
    values: u64,
}

impl LoadOfRun {
    fn add(&mut self, address: u64, value: u64) {
        self.still &= self.times == 0 || address == self.address;
        (self.address, self.value) = (address, value);
        self.times += 1;
        self.values = mix(self.values, value);
        self.with_addresses = mix(mix(self.with_addresses, address), value);
    }

    fn trace(&self) -> u64 {
        match self.still && self.times > 1 {
            true if self.handed && self.value >= MIN_POINTER => 0,
            true => self.values,
            false => self.with_addresses,
        }
    }
}

impl Open {
    fn load(&mut self, at: u64, address: u64, value: u64) {
        let index = match self.loads.iter().position(|one| one.at == at) {
            Some(index) => index,
            None if self.loads.len() < MAX_LOADS => {
                self.loads.push(LoadOfRun {
                    at,
                    address,
                    value,
                    times: 0,
                    still: true,
                    handed: false,
                    with_addresses: 0,
                    values: 0,
                });
                self.loads.len() - 1
            }
            None => {
                self.trace = mix(mix(mix(self.trace, at), address), value);
                return;
            }
        };
        self.loads[index].add(address, value);
    }

    fn result(&mut self, at: u64, value: u64) {
        if let Some(one) = self.results.iter_mut().find(|one| one.at == at) {
            one.differs |= value != one.first;
        } else if self.results.len() < MAX_LOADS {
            self.results.push(ResultOfRun {
                at,
                first: value,
                differs: false,
            });
        }
    }

    /// What the run did, as one number.
    fn whole_trace(&mut self) -> u64 {
        self.loads.sort_unstable_by_key(|one| one.at);
        let loads = self.loads.iter();
        loads.fold(self.trace, |trace, one| {
            mix(mix(trace, one.at), one.trace())
        })
    }
}

/// Different runs among which one is a repetition of a recent one: as many as could be kept beside what they follow from.
pub const RECENT_RUNS: usize = 64;

/// Runs of a loop to which the next one is compared: it may walk along several texts or lists in turn.
const COMPARED_RUNS: usize = 4;

#[derive(Default)]
struct LoopOfBurst {
    runs: FastSet<u64>,
    last: Option<u64>,
    /// The latest different runs, the last one at the end.
    recent: VecDeque<u64>,
    /// The latest runs, the last one at the end.
    latest: VecDeque<Iterations>,
    /// What the last run loaded.
    loaded: Option<Vec<u64>>,
}

impl LoopOfBurst {
    /// Whether a run repeats one of the latest different ones; it is the last of these from now on.
    fn repeats_recent(&mut self, run: u64) -> bool {
        let known = self.recent.iter().rposition(|one| *one == run);
        match known {
            Some(at) => drop(self.recent.remove(at)),
            None if self.recent.len() == RECENT_RUNS => drop(self.recent.pop_front()),
            None => {}
        }
        self.recent.push_back(run);
        known.is_some()
    }
}

#[derive(Default)]
struct Totals {
    runs: u64,
    instructions: u64,
    outside: u64,
    distinct: u64,
    bursts: u64,
}

struct Found {
    tally: Tally<CodePoint>,
    previous: Tally<CodePoint>,
    recent: Tally<CodePoint>,
    starts: Tally<CodePoint>,
    near: Tally<CodePoint>,
    common: Tally<CodePoint>,
    shares: BurstShare<CodePoint>,
    totals: FastMap<CodePoint, Totals>,
    loops: FastMap<CodePoint, LoopOfBurst>,
    /// Loads that were from several addresses in one run, and ends of functions that returned several values in one.
    moving: FastSet<u64>,
}

/// Finds loops whose runs repeat earlier ones, those with the largest share of instructions first.
pub(crate) fn repeated_loops(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<RepeatedLoop> {
    let mut found = Found {
        tally: Tally::new(),
        previous: Tally::new(),
        recent: Tally::new(),
        starts: Tally::new(),
        near: Tally::new(),
        common: Tally::new(),
        shares: BurstShare::new(),
        totals: FastMap::default(),
        loops: FastMap::default(),
        moving: FastSet::default(),
    };
    for burst in bursts {
        let mut runs = LoopRuns::<Open>::new();
        for event in &burst.events {
            runs.event(event, code, &mut |head, run| found.ended(head, run));
        }
        for (head, one) in found.loops.drain() {
            let totals = found.totals.entry(head).or_default();
            totals.distinct += one.runs.len() as u64;
            totals.bursts += 1;
        }
        found.tally.end_of_burst(burst.weight);
        found.previous.end_of_burst(burst.weight);
        found.recent.end_of_burst(burst.weight);
        found.starts.end_of_burst(burst.weight);
        found.near.end_of_burst(burst.weight);
        found.common.end_of_burst(burst.weight);
        found
            .shares
            .end_of_burst(burst.instructions as f64, burst.weight);
    }
    let mut list: Vec<RepeatedLoop> = (found.tally.shares().into_iter())
        .filter_map(|(head, seen)| {
            let totals = found.totals.get(&head)?;
            let starts = found.starts.seen(head);
            let near = found.near.seen(head);
            let common = found.common.seen(head);
            let is_nothing =
                |one: &Option<Seen>| one.as_ref().is_none_or(|one| one.share.value <= 0.0);
            let others = [&starts, &near, &common];
            if seen.share.value <= 0.0 && others.into_iter().all(is_nothing) {
                return None;
            }
            let runs = totals.runs.max(1) as f64;
            Some(RepeatedLoop {
                head,
                seen,
                repeats_previous: found.previous.seen(head)?,
                repeats_recent: found.recent.seen(head),
                starts_as_previous: starts,
                ends_near_earlier: near,
                loads_as_previous: common,
                distinct_per_burst: totals.distinct as f64 / totals.bursts.max(1) as f64,
                share_of_instructions: found.shares.share(head),
                instructions_per_run: totals.instructions as f64 / runs,
                stores_outside: totals.outside as f64 / runs,
            })
        })
        .collect();
    list.sort_by(|a, b| {
        let share = |one: &RepeatedLoop| one.share_of_instructions.value;
        share(b).total_cmp(&share(a)).then(a.head.cmp(&b.head))
    });
    list
}

impl Run for Open {
    fn event(&mut self, event: &BurstEvent, own: bool, head: bool, stack: &CallStack) {
        let stored = self.just_stored.take();
        if stored.is_some_and(|at| at != event.at || !matches!(event.what, Observed::Call { .. })) {
            self.stores_outside = true;
        }
        match event.what {
            Observed::Load {
                address,
                size,
                value,
            } => {
                if own {
                    let at = event.at.address;
                    self.first.load(at, address, value);
                    self.load(at, address, value);
                    self.loaded.load(address, value);
                } else if size <= MAX_SCALAR_BYTES {
                    self.trace = mix(mix(self.trace, event.at.address), value);
                }
            }
            Observed::Return { value } => {
                self.trace = mix(self.trace, value);
                if own {
                    self.first.result(event.at.address, value);
                    self.result(event.at.address, value);
                }
            }
            Observed::Call { arguments, .. } => {
                for load in &mut self.loads {
                    load.handed |= arguments.contains(&load.value);
                }
            }
            Observed::Branch { taken } => {
                self.trace = mix(mix(self.trace, event.at.address), u64::from(taken));
                if own {
                    self.first.branch(event.at.address, taken);
                }
            }
            Observed::Store {
                address,
                size,
                value,
                before,
                ..
            } => {
                if own {
                    self.loaded.store(address, size);
                }
                let new = before != value && (own || !stack.is_in_frame(address));
                match own {
                    true if new => self.just_stored = Some(event.at),
                    true => {}
                    false => self.stores_outside |= new,
                }
            }
            Observed::Block { instructions } => {
                self.instructions += u64::from(instructions);
                if head {
                    self.first.end_iteration();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self) {
        self.stores_outside |= self.just_stored.is_some();
        self.trace = self.whole_trace();
        self.first.end_iteration();
    }

    fn inner(&mut self, inner: &Self, own: bool) {
        self.trace = mix(self.trace, inner.trace);
        self.first.inner(&inner.first, own);
        if own {
            self.loaded.inner(&inner.loaded);
        }
        self.instructions += inner.instructions;
        self.stores_outside |= inner.stores_outside;
    }
}

impl Found {
    fn ended(&mut self, head: CodePoint, one: Open) {
        let totals = self.totals.entry(head).or_default();
        totals.runs += 1;
        totals.instructions += one.instructions;
        totals.outside += u64::from(one.stores_outside);
        let moving = one.loads.iter().filter(|one| !one.still);
        self.moving.extend(moving.map(|one| one.at));
        let results = one.results.iter().filter(|one| one.differs);
        self.moving.extend(results.map(|one| one.at));
        let iterations = one.first.iterations(&self.moving);
        let state = self.loops.entry(head).or_default();
        let known = match state.runs.len() < MAX_RUNS {
            true => !state.runs.insert(one.trace),
            false => state.runs.contains(&one.trace),
        };
        let recent = state.repeats_recent(one.trace);
        if let Some(last) = state.last.replace(one.trace) {
            self.tally.count(head, known);
            self.recent.count(head, recent);
            self.previous.count(head, last == one.trace);
            if last == one.trace {
                self.shares.add(head, one.instructions as f64);
            }
        }
        let all = iterations.all();
        if let Some(last) = state.latest.back() {
            let longer = all.max(last.all());
            (self.starts).add(head, iterations.alike(last) as f64, longer as f64);
            let is_near = state.latest.iter().any(|one| iterations.ends_near(one));
            let near = if is_near { all as f64 } else { 0.0 };
            self.near.add(head, near, all as f64);
        }
        let loaded = one.loaded.distinct();
        if let (Some(last), Some(loaded)) = (&state.loaded, &loaded) {
            let longer = last.len().max(loaded.len());
            (self.common).add(head, in_common(last, loaded) as f64, longer as f64);
        }
        state.loaded = loaded;
        if state.latest.len() == COMPARED_RUNS {
            state.latest.pop_front();
        }
        state.latest.push_back(iterations);
    }
}

#[cfg(test)]
mod tests;
