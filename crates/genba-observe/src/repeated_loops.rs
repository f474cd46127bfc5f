//! Runs of innermost loops that do what the run before did: the same loads from the same addresses
//! with the same values, the same branches.
//!
//! Registers are not recorded, so that a run may compute something else from the same loads: only of
//! loops whose outcome follows from what they read (searches) does it say that the result is the same.
//! Calls in the loop belong to its run, loops of callees are runs of their own as well. A run that
//! began before its burst or ends after it is not judged.
//!
//! Source: as [`crate::redundant_calls`]; for loops, A. Nistor et al., "Toddler: detecting performance
//! problems via similar memory-access patterns", ICSE 2013.

use genba_model::{Burst, BurstEvent, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::{CallStack, Change};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::{FastMap, FastSet, mix};
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

/// The deepest stack frame of a callee.
const MAX_FRAME_BYTES: u64 = 1 << 16;

struct Open {
    head: CodePoint,
    activation: u32,
    trace: u64,
    instructions: u64,
    stores_outside: bool,
    judged: bool,
}

#[derive(Default)]
struct LoopOfBurst {
    runs: FastSet<u64>,
    last: Option<u64>,
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
    shares: BurstShare<CodePoint>,
    totals: FastMap<CodePoint, Totals>,
    loops: FastMap<CodePoint, LoopOfBurst>,
}

/// Finds loops whose runs repeat earlier ones, those with the largest share of instructions first.
pub(crate) fn repeated_loops(bursts: &[Burst], code: &dyn CodeKnowledge) -> Vec<RepeatedLoop> {
    let mut found = Found {
        tally: Tally::new(),
        previous: Tally::new(),
        shares: BurstShare::new(),
        totals: FastMap::default(),
        loops: FastMap::default(),
    };
    for burst in bursts {
        of_burst(burst, code, &mut found);
        for (head, one) in found.loops.drain() {
            let totals = found.totals.entry(head).or_default();
            totals.distinct += one.runs.len() as u64;
            totals.bursts += 1;
        }
        found.tally.end_of_burst(burst.weight);
        found.previous.end_of_burst(burst.weight);
        found.shares.end_of_burst(burst.instructions as f64, burst.weight);
    }
    let mut list: Vec<RepeatedLoop> = (found.tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value > 0.0)
        .filter_map(|(head, seen)| {
            let totals = found.totals.get(&head)?;
            let runs = totals.runs.max(1) as f64;
            Some(RepeatedLoop {
                head,
                seen,
                repeats_previous: found.previous.seen(head)?,
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

fn of_burst(burst: &Burst, code: &dyn CodeKnowledge, found: &mut Found) {
    let mut stack = CallStack::default();
    let mut open: Vec<Open> = Vec::new();
    // The last activation that was seen outside of its innermost loops: a run that follows is whole.
    let mut outside: Option<u32> = None;
    for event in &burst.events {
        match stack.event(event) {
            Change::Entered => outside = Some(stack.activation()),
            Change::Lost => {
                open.clear();
                outside = None;
            }
            Change::Left(_) => {
                let is_open = |activation: u32| {
                    let frames = stack.frames();
                    activation == stack.activation()
                        || frames.iter().any(|frame| frame.activation == activation)
                };
                while open.last().is_some_and(|top| !is_open(top.activation)) {
                    found.close(&mut open);
                }
            }
            Change::Retargeted | Change::None => {}
        }
        let here = stack.activation();
        if matches!(
            event.what,
            Observed::Block { .. } | Observed::Branch { .. } | Observed::Load { .. }
        ) {
            let around = code.innermost_loop(event.at);
            let same = |top: &Open| top.activation == here && Some(top.head) == around;
            if !open.last().is_some_and(same) {
                if open.last().is_some_and(|top| top.activation == here) {
                    found.close(&mut open);
                    outside = Some(here);
                }
                if let Some(head) = around {
                    open.push(Open {
                        head,
                        activation: here,
                        trace: 0,
                        instructions: 0,
                        stores_outside: false,
                        judged: outside == Some(here),
                    });
                }
            }
            if around.is_none() {
                outside = Some(here);
            }
        }
        inside(event, &mut open, &stack);
    }
}

/// Adds an event to the innermost run; those around inherit it when it ends.
fn inside(event: &BurstEvent, open: &mut [Open], stack: &CallStack) {
    let Some(top) = open.last_mut() else {
        return;
    };
    match event.what {
        Observed::Load { address, value, .. } => {
            top.trace = mix(mix(mix(top.trace, event.at.address), address), value);
        }
        Observed::Branch { taken } => {
            top.trace = mix(mix(top.trace, event.at.address), u64::from(taken));
        }
        Observed::Store {
            address,
            value,
            before,
            ..
        } => {
            let frame = (stack.frames().last())
                .filter(|_| stack.activation() != top.activation)
                .and_then(|frame| frame.stack);
            let of_callee =
                frame.is_some_and(|stack| address <= stack && stack - address <= MAX_FRAME_BYTES);
            top.stores_outside |= !of_callee && before != value;
        }
        Observed::Block { instructions } => top.instructions += u64::from(instructions),
        Observed::SystemCall { .. } => top.judged = false,
        _ => {}
    }
}

impl Found {
    fn close(&mut self, open: &mut Vec<Open>) {
        let Some(one) = open.pop() else {
            return;
        };
        if let Some(around) = open.last_mut() {
            around.trace = mix(around.trace, one.trace);
            around.instructions += one.instructions;
            around.stores_outside |= one.stores_outside;
            around.judged &= one.judged;
        }
        if !one.judged {
            return;
        }
        let totals = self.totals.entry(one.head).or_default();
        totals.runs += 1;
        totals.instructions += one.instructions;
        totals.outside += u64::from(one.stores_outside);
        let state = self.loops.entry(one.head).or_default();
        let known = match state.runs.len() < MAX_RUNS {
            true => !state.runs.insert(one.trace),
            false => state.runs.contains(&one.trace),
        };
        if let Some(last) = state.last.replace(one.trace) {
            self.tally.count(one.head, known);
            self.previous.count(one.head, last == one.trace);
            if last == one.trace {
                self.shares.add(one.head, one.instructions as f64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, branch, burst, load, store};

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
        assert!(found((0..10).flat_map(|one| search(3 + one, 0x1000)).collect()).is_empty());
    }

    #[test]
    fn run_that_began_before_the_burst_is_not_judged() {
        let events = search(6, 0x1000).split_off(4);
        assert!(found(events).is_empty());
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
