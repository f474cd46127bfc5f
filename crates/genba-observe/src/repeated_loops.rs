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
    /// Iterations, counted from the start of their run, up to which it is the same as the run just
    /// before; of those of the longer of both runs. `executions` counts iterations, those of loops inside
    /// with them. What a run loads from one address in all its iterations (a bound, a key) is not compared.
    #[serde(default)]
    pub starts_as_previous: Option<Seen>,
    /// Iterations of runs that do what one of the runs just before did from its beginning to its end, and end a little before
    /// or behind it. `executions` counts iterations.
    #[serde(default)]
    pub ends_near_earlier: Option<Seen>,
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

/// Runs of a loop to which the next one is compared: it may walk along several texts or lists in turn.
const COMPARED_RUNS: usize = 4;

#[derive(Default)]
struct LoopOfBurst {
    runs: FastSet<u64>,
    last: Option<u64>,
    /// The latest runs, the last one at the end.
    latest: VecDeque<Iterations>,
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
    starts: Tally<CodePoint>,
    near: Tally<CodePoint>,
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
        starts: Tally::new(),
        near: Tally::new(),
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
        found.starts.end_of_burst(burst.weight);
        found.near.end_of_burst(burst.weight);
        found
            .shares
            .end_of_burst(burst.instructions as f64, burst.weight);
    }
    let mut list: Vec<RepeatedLoop> = (found.tally.shares().into_iter())
        .filter_map(|(head, seen)| {
            let totals = found.totals.get(&head)?;
            let starts = found.starts.seen(head);
            let near = found.near.seen(head);
            let is_nothing =
                |one: &Option<Seen>| one.as_ref().is_none_or(|one| one.share.value <= 0.0);
            if seen.share.value <= 0.0 && is_nothing(&starts) && is_nothing(&near) {
                return None;
            }
            let runs = totals.runs.max(1) as f64;
            Some(RepeatedLoop {
                head,
                seen,
                repeats_previous: found.previous.seen(head)?,
                starts_as_previous: starts,
                ends_near_earlier: near,
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
                value,
                before,
                ..
            } => {
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
        if let Some(last) = state.last.replace(one.trace) {
            self.tally.count(head, known);
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
        if state.latest.len() == COMPARED_RUNS {
            state.latest.pop_front();
        }
        state.latest.push_back(iterations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, COMPARER, at, block, branch, burst, call, load, ret, store};

    /// Instructions from 0x100 to 0x1ff are of the loop with its head at 0x100.
    fn search(steps: u64, first: u64) -> Vec<BurstEvent> {
        let mut events = vec![block(0x80, 5)];
        for step in 0..steps {
            events.extend([
                block(0x100, 4),
                load(0x104, first + 8 * step, 8, step),
                branch(0x108, step + 1 < steps),
            ]);
        }
        events.push(block(0x200, 3));
        events
    }

    fn found(events: Vec<BurstEvent>) -> Vec<RepeatedLoop> {
        repeated_loops(&[burst(events.clone()), burst(events)], &AllOwn)
    }

    #[test]
    fn search_that_takes_the_same_steps_again_repeats_itself() {
        let all = found((0..10).flat_map(|_| search(6, 0x1000)).collect());
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!((one.head, one.repeats_previous.executions), (at(0x100), 18));
        assert!((one.repeats_previous.share.value - 1.0).abs() < 1e-12);
        assert!(one.stores_outside == 0.0 && (one.instructions_per_run - 24.0).abs() < 1e-9);
        // Nine of ten runs of 24 of 32 instructions.
        let share = one.share_of_instructions.value;
        assert!((share - 216.0 / 320.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn searches_that_end_elsewhere_do_not_repeat_the_one_before() {
        let all = found(
            (0..10)
                .flat_map(|one| search(3 + one % 2, 0x1000))
                .collect(),
        );
        assert!(all[0].repeats_previous.share.value == 0.0);
        assert!(all[0].seen.share.value > 0.8 && all[0].distinct_per_burst == 2.0);
        let all = found((0..10).flat_map(|one| search(3 + one, 0x1000)).collect());
        assert!(all.iter().all(|one| one.seen.share.value == 0.0));
    }

    #[test]
    fn iterations_up_to_the_first_difference_are_the_start_of_the_run_before() {
        // Runs of five and six steps in turn: the fifth step differs, since one leaves there.
        let turns = |one: u64| search(5 + one % 2, 0x1000);
        let all = found((0..20).flat_map(turns).collect());
        let starts = all[0].starts_as_previous.expect("it was compared");
        assert!((starts.share.value - 4.0 / 6.0).abs() < 0.02, "{starts:?}");
        // Beyond what is compared nothing is alike.
        let long = found((0..20).flat_map(|one| search(3000 + one, 0x1000)).collect());
        let starts = long[0].starts_as_previous.expect("it was compared");
        assert!(starts.share.value < 0.5, "{starts:?}");
        // From other places on nothing is the same.
        let elsewhere = |one: u64| search(6, 0x1000 + 64 * one);
        assert!(found((0..20).flat_map(elsewhere).collect()).is_empty());
    }

    #[test]
    fn walks_that_go_a_step_further_than_an_earlier_one_end_near_it() {
        // Along two texts in turn, a byte further each time.
        let turns = |one: u64| search(8 + one / 2, 0x1000 + 0x1000 * (one % 2));
        let all = found((0..40).flat_map(turns).collect());
        let near = all[0].ends_near_earlier.expect("it was compared");
        assert!(near.share.value > 0.9, "{near:?}");
        // Searches that end anywhere, and walks that begin anywhere.
        let anywhere = |one: u64| search(5 + one * 7 % 41, 0x1000);
        let elsewhere = |one: u64| search(8 + one, 0x1000 + 64 * one);
        for events in [
            (0..40).flat_map(anywhere).collect(),
            (0..40).flat_map(elsewhere).collect::<Vec<_>>(),
        ] {
            let near = found(events).first().and_then(|one| one.ends_near_earlier);
            assert!(near.is_none_or(|one| one.share.value < 0.3), "{near:?}");
        }
    }

    /// Two nested loops: the inner one loads the elements of a row, the outer one where the rows begin.
    fn nest(values: u64) -> Vec<BurstEvent> {
        let mut events = vec![block(0x80, 5)];
        for row in 0..4u64 {
            events.extend([
                block(0x300, 2),
                load(0x304, 0x1000 + 8 * row, 8, 0x2000 * row),
            ]);
            for column in 0..5u64 {
                events.extend([
                    block(0x340, 3),
                    load(0x344, 0x2000 * row + 8 * column, 8, values + row + column),
                    branch(0x348, column < 4),
                ]);
            }
            events.extend([block(0x380, 1), branch(0x384, row < 3)]);
        }
        events.push(block(0x400, 3));
        events
    }

    #[test]
    fn nest_whose_inner_loops_differ_is_one_run_that_repeats() {
        let all = found((0..10).flat_map(|_| nest(7)).collect());
        let of = |head: u64| all.iter().find(|one| one.head == at(head)).expect("seen");
        let (outer, inner) = (of(0x300), of(0x340));
        assert!((outer.repeats_previous.share.value - 1.0).abs() < 1e-12);
        assert!((outer.instructions_per_run - 4.0 * 18.0).abs() < 1e-9);
        assert_eq!(inner.repeats_previous.share.value, 0.0);
        assert_eq!(
            (outer.distinct_per_burst, inner.distinct_per_burst),
            (1.0, 4.0)
        );
        // Other elements in an inner loop make another run of the nest.
        let all = found((0..10).flat_map(nest).collect());
        assert!(all.iter().all(|one| one.head != at(0x300)), "{all:?}");
    }

    #[test]
    fn run_that_began_before_the_burst_is_not_judged() {
        let events = search(6, 0x1000).split_off(4);
        assert!(found(events).is_empty());
    }

    /// A search that compares elements with a key at this address by a function.
    fn compared(key: u64, text: u64, first: u64) -> Vec<BurstEvent> {
        let mut events = vec![block(0x80, 5)];
        for step in 0..5u64 {
            events.extend([
                block(0x100, 4),
                load(0x104, first + 8 * step, 8, 0x7000_0000 + step),
                load(0x108, key, 8, text),
                // The return address, where another call had put its own.
                store(0x10c, 0x7fff_0000, 8, 0x777 * u64::from(step == 0), 0x110),
                call(0x10c, at(0x900), [0x7000_0000 + step, text, 8, 0, 0, 0]),
                block(0x900, 3),
                load(0x904, text, 8, 0x6162),
                load(0x908, 0x7000_0000 + step, 8, 0x6100 + step),
                ret(0x90c, 1),
                block(0x110, 2),
                branch(0x114, step < 4),
            ]);
        }
        events.push(block(0x200, 3));
        events
    }

    #[test]
    fn same_key_elsewhere_is_the_same_search() {
        let moved = |one: u64| compared(0x9000 + 64 * one, 0x50_0000 + 64 * one, 0x1000);
        let all = found((0..10).flat_map(moved).collect());
        let one = all.iter().find(|one| one.head == at(0x100)).expect("seen");
        assert!(
            (one.repeats_previous.share.value - 1.0).abs() < 1e-12,
            "{one:?}"
        );
        assert!(one.stores_outside == 0.0, "{one:?}");
    }

    #[test]
    fn how_a_library_compares_depends_on_pages() {
        // Where a text ends near its page, the comparison branches and loads in another way.
        let inside =
            |near: bool, answer: u64| {
                let mut events = vec![block(0x80, 5)];
                for step in 0..5u64 {
                    let of = |address| CodePoint {
                        address,
                        ..COMPARER
                    };
                    events.extend([
                        block(0x100, 4),
                        load(0x104, 0x1000 + 8 * step, 8, 0x7000_0000 + step),
                        call(0x10c, COMPARER, [0x7000_0000 + step, 0x50_0000, 8, 0, 0, 0]),
                    ]);
                    let what = [
                        Observed::Block { instructions: 3 },
                        Observed::Branch { taken: near },
                        Observed::Return {
                            value: answer + step,
                        },
                    ];
                    events.extend((0xc03b..).step_by(4).zip(what).map(|(address, what)| {
                        BurstEvent {
                            at: of(address),
                            what,
                        }
                    }));
                    events.extend([block(0x110, 2), branch(0x114, step < 4)]);
                }
                events.push(block(0x200, 3));
                events
            };
        let share = |answer: fn(u64) -> u64| {
            let runs = (0..10).flat_map(|one| inside(one % 3 == 0, answer(one)));
            let all = found(runs.collect());
            let one = all.iter().find(|one| one.head == at(0x100));
            one.map_or(0.0, |one| one.repeats_previous.share.value)
        };
        assert!((share(|_| 1) - 1.0).abs() < 1e-12);
        assert!(share(|one| one) < 0.1, "another answer");
    }

    #[test]
    fn same_elements_elsewhere_are_another_search() {
        let other = |one: u64| compared(0x9000, 0x50_0000, 0x1000 + 0x100 * one);
        let all = found((0..10).flat_map(other).collect());
        let one = all.iter().find(|one| one.head == at(0x100));
        assert!(one.is_none_or(|one| one.repeats_previous.share.value == 0.0));
    }

    #[test]
    fn loop_that_writes_is_marked() {
        let with = |mut events: Vec<BurstEvent>, number: u64| {
            events.insert(3, store(0x10c, 0x9000, 8, number, number + 1));
            events
        };
        let all = found(
            (0..10)
                .flat_map(|one| with(search(6, 0x1000), one))
                .collect(),
        );
        assert!((all[0].stores_outside - 1.0).abs() < 1e-12);
    }
}
