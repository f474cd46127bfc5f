//! Calls whose result nobody asks for: they change nothing, and a test behind them that does not need the result
//! leads to where it is not read.
//!
//! What the test is follows from the code of the caller ([`CodeKnowledge::asked_if`]); bursts say how it came out
//! for each call. Work inside a discarded call is that call's, whatever is discarded in it in turn. A call whose
//! test is not seen in its burst is not judged.

use genba_model::{Burst, BurstEvent, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::call_stack::{CallStack, Change, Frame};
use crate::code_knowledge::{Asked, CodeKnowledge};
use crate::fast_hash::FastMap;
use crate::net_stores::NetStores;
use crate::tally::{BurstShare, Seen, Tally};

/// A call instruction whose result is not always asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnaskedResult {
    /// The call instruction.
    pub at: CodePoint,
    /// The branch or conditional move that decides.
    pub test: CodePoint,
    /// Calls whose result nobody asked for, of those whose test was seen.
    pub seen: Seen,
    /// Share of the calls that changed memory of others, or did what is not recorded: their result is not all.
    pub with_effects: f64,
    /// Share of all instructions that were executed in such calls, with their callees. Calls that are cut off by
    /// an end of their burst are discarded as often as the others, by the value; never, by the lower end.
    pub share_of_instructions: Estimate,
    /// Instructions of one call on average, with its callees.
    pub instructions_per_call: f64,
}

/// A call that has not returned, or the burst's own code below all of them.
#[derive(Default)]
struct Activation {
    frame: Option<Frame>,
    instructions: u64,
    /// What is discarded in it, by call.
    lost: Vec<(CodePoint, u64)>,
    /// Calls that it made whose test has not come.
    pending: Vec<Pending>,
    stored: NetStores,
    /// Whether something was done that is not recorded: the kernel.
    unknown: bool,
}

struct Pending {
    call: CodePoint,
    asked: Asked,
    instructions: u64,
    lost: Vec<(CodePoint, u64)>,
}

#[derive(Default)]
struct Totals {
    calls: u64,
    instructions: u64,
    with_effects: u64,
}

struct Found {
    tally: Tally<CodePoint>,
    shares: BurstShare<CodePoint>,
    /// Instructions in calls that were open when their burst ended.
    cut_off: BurstShare<CodePoint>,
    totals: FastMap<CodePoint, Totals>,
    /// By call.
    asked: FastMap<CodePoint, Option<Asked>>,
}

/// Calls that are pending in one activation.
const MAX_PENDING: usize = 8;

/// Finds calls whose result is not always asked for, those with most calls first.
pub(crate) fn unasked_results(
    bursts: &[Burst],
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
) -> Vec<UnaskedResult> {
    let mut found = Found {
        tally: Tally::new(),
        shares: BurstShare::new(),
        cut_off: BurstShare::new(),
        totals: FastMap::default(),
        asked: FastMap::default(),
    };
    for burst in bursts {
        of_burst(burst, code, unseen, &mut found);
        found.tally.end_of_burst(burst.weight);
        let all = burst.instructions as f64;
        found.shares.end_of_burst(all, burst.weight);
        found.cut_off.end_of_burst(all, burst.weight);
    }
    (found.tally.shares().into_iter())
        .filter_map(|(at, seen)| {
            let totals = found.totals.get(&at)?;
            let asked = found.asked.get(&at).copied().flatten()?;
            let calls = totals.calls.max(1) as f64;
            (seen.share.value > 0.0).then(|| UnaskedResult {
                at,
                test: asked.test(),
                seen,
                with_effects: totals.with_effects as f64 / calls,
                share_of_instructions: found.work(at, seen.share.value),
                instructions_per_call: totals.instructions as f64 / calls,
            })
        })
        .collect()
}

fn of_burst(
    burst: &Burst,
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
    found: &mut Found,
) {
    let mut stack = CallStack::default();
    let mut open: Vec<Activation> = vec![Activation::default()];
    for event in &burst.events {
        match stack.event(event) {
            Change::Entered => open.push(Activation {
                frame: stack.frames().last().copied(),
                unknown: (stack.frames().last()).is_some_and(|one| unseen(one.target.module)),
                ..Activation::default()
            }),
            Change::Retargeted => {
                if let Some(top) = open.last_mut() {
                    top.frame = stack.frames().last().copied();
                }
            }
            Change::Left(frames) => {
                for _ in 0..frames.min(open.len() - 1) {
                    let left = open.pop();
                    if let (Some(left), Some(above)) = (left, open.last_mut()) {
                        found.left(left, above, code);
                    }
                }
            }
            Change::Lost => {
                found.end(&mut open, code);
                open.push(Activation::default());
            }
            Change::None => {}
        }
        if let Some(top) = open.last_mut() {
            // Where its frame is may be known since its call's own store.
            if let (Some(frame), Some(known)) = (&mut top.frame, stack.frames().last()) {
                *frame = *known;
            }
            inside(event, top);
            found.decide(event, top);
        }
    }
    found.end(&mut open, code);
}

fn inside(event: &BurstEvent, top: &mut Activation) {
    match event.what {
        Observed::Store {
            address,
            size,
            before,
            value,
            ..
        } if !(top.frame.as_ref()).is_some_and(|frame| frame.holds(address)) => {
            top.stored.store(address, size, before, value);
        }
        Observed::Block { instructions } => top.instructions += u64::from(instructions),
        Observed::SystemCall { .. } => top.unknown = true,
        _ => {}
    }
}

impl Found {
    /// A call that has returned to the one above.
    fn left(&mut self, mut one: Activation, above: &mut Activation, code: &dyn CodeKnowledge) {
        let Some(frame) = one.frame else {
            return;
        };
        for pending in one.pending.drain(..) {
            add(&mut one.lost, pending.lost);
        }
        above.instructions += one.instructions;
        above.unknown |= one.unknown;
        let asked = *(self.asked.entry(frame.call)).or_insert_with(|| code.asked_if(frame.call));
        let changes = one.unknown || one.stored.results(0, |_| false, |_| false).is_none();
        (above.stored).inherit(one.stored, |address| !frame.holds(address));
        let Some(asked) = asked else {
            add(&mut above.lost, one.lost);
            return;
        };
        let totals = self.totals.entry(frame.call).or_default();
        totals.calls += 1;
        totals.instructions += one.instructions;
        totals.with_effects += u64::from(changes);
        // Whoever changes something is wanted for that.
        if changes {
            add(&mut above.lost, one.lost);
            return;
        }
        if above.pending.len() >= MAX_PENDING {
            let oldest = above.pending.remove(0);
            add(&mut above.lost, oldest.lost);
        }
        above.pending.push(Pending {
            call: frame.call,
            asked,
            instructions: one.instructions,
            lost: one.lost,
        });
    }

    /// What an event decides of the results that the innermost activation holds.
    fn decide(&mut self, event: &BurstEvent, top: &mut Activation) {
        if top.pending.is_empty() {
            return;
        }
        let mut index = 0;
        while let Some(one) = top.pending.get(index) {
            let Some(wanted) = one.asked.decided(event) else {
                index += 1;
                continue;
            };
            let one = top.pending.remove(index);
            self.tally.count(one.call, !wanted);
            match wanted {
                true => add(&mut top.lost, one.lost),
                false => add(&mut top.lost, vec![(one.call, one.instructions)]),
            }
        }
    }

    /// The burst loses sight of what is open.
    fn end(&mut self, open: &mut Vec<Activation>, code: &dyn CodeKnowledge) {
        // The outermost call that may be discarded, with what is in it.
        let mut cut: Option<(CodePoint, u64)> = None;
        for mut one in open.drain(..) {
            for pending in one.pending.drain(..) {
                add(&mut one.lost, pending.lost);
            }
            let lost: u64 = one.lost.iter().map(|one| one.1).sum();
            let call = one.frame.map(|frame| frame.call);
            let call = call.filter(|&call| {
                let asked = self.asked.entry(call);
                asked.or_insert_with(|| code.asked_if(call)).is_some()
            });
            // Instructions of what has not returned are not those of its caller yet.
            let rest = one.instructions.saturating_sub(lost);
            match (&mut cut, call) {
                (Some(cut), _) => cut.1 += rest,
                (None, Some(call)) => cut = Some((call, rest)),
                (None, None) => {}
            }
            for (call, instructions) in one.lost {
                self.shares.add(call, instructions as f64);
            }
        }
        if let Some((call, instructions)) = cut {
            self.cut_off.add(call, instructions as f64);
        }
    }

    /// Share of all instructions in the calls from here whose result is not asked for, as `discarded` of them.
    fn work(&self, at: CodePoint, discarded: f64) -> Estimate {
        let seen = self.shares.share(at);
        // Bursts begin in the middle of a call as often as they end there.
        let unknown = (2.0 * self.cut_off.share(at).value).min(1.0 - seen.value);
        Estimate {
            value: seen.value + discarded * unknown,
            low: seen.low,
            high: (seen.high + (2.0 * discarded).min(1.0) * unknown).min(1.0),
        }
    }
}

fn add(to: &mut Vec<(CodePoint, u64)>, list: Vec<(CodePoint, u64)>) {
    for (call, instructions) in list {
        match to.iter_mut().find(|one| one.0 == call) {
            Some(one) => one.1 += instructions,
            None => to.push((call, instructions)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, load, ret, store};

    /// A call at 0x800 of 100 instructions, which stores, and the load behind it that decides.
    fn measured(address: u64, wanted: u64) -> Vec<BurstEvent> {
        vec![
            store(0x800, 0x7f00, 8, 0, 0x805),
            call(0x800, at(0x9000), [1; 6]),
            block(0x9000, 100),
            store(0x9010, address, 8, 0, 7),
            ret(0x9080, 3),
            block(0x805, 10),
            load(0x806, 0x5000, 4, wanted),
        ]
    }

    fn of(address: u64) -> Vec<UnaskedResult> {
        let bursts: Vec<Burst> = (0..6)
            .map(|_| {
                let calls = (0..40).flat_map(|one| measured(address, u64::from(one % 4 == 0)));
                burst(calls.collect())
            })
            .collect();
        unasked_results(&bursts, &AllOwn, &|_| false)
    }

    #[test]
    fn call_whose_result_a_loaded_value_drops_is_found_with_its_work() {
        // In its own frame.
        let found = of(0x7e00);
        assert_eq!((found.len(), found[0].at), (1, at(0x800)));
        assert!((found[0].seen.share.value - 0.75).abs() < 1e-9);
        let share = found[0].share_of_instructions.value;
        assert!((share - 0.75 * 100.0 / 110.0).abs() < 1e-9, "{share}");
        assert!(found[0].with_effects.abs() < 1e-9);
    }

    #[test]
    fn call_that_changes_memory_of_others_is_not_discarded() {
        assert!(of(0x50_0000).is_empty());
    }

    #[test]
    fn discarded_call_in_a_discarded_one_is_part_of_it() {
        let events = (0..40).flat_map(|_| {
            let mut all = vec![
                store(0x800, 0x7f00, 8, 0, 0x805),
                call(0x800, at(0x9000), [1; 6]),
                block(0x9000, 50),
            ];
            let inner = measured(0x7000, 0).into_iter().map(|mut event| {
                if let Observed::Store { address, .. } = &mut event.what {
                    *address -= 0x400;
                }
                event
            });
            all.extend(inner);
            all.extend([ret(0x9080, 3), block(0x805, 10), load(0x806, 0x5000, 4, 0)]);
            all
        });
        let found = unasked_results(&[burst(events.collect())], &AllOwn, &|_| false);
        let share = found[0].share_of_instructions.value;
        assert!((share - 160.0 / 170.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn call_that_the_end_of_the_burst_cuts_off_widens_the_interval() {
        let bursts: Vec<Burst> = (0..6)
            .map(|_| {
                let calls = (0..40).flat_map(|one| measured(0x7e00, u64::from(one % 4 == 0)));
                let last = [
                    store(0x800, 0x7f00, 8, 0, 0x805),
                    call(0x800, at(0x9000), [1; 6]),
                    block(0x9000, 1100),
                ];
                burst(calls.chain(last).collect())
            })
            .collect();
        let work = unasked_results(&bursts, &AllOwn, &|_| false)[0].share_of_instructions;
        assert!(work.low <= 3000.0 / 5500.0, "{work:?}");
        let (value, most) = ((3000.0 + 0.75 * 2200.0) / 5500.0, 5200.0 / 5500.0);
        assert!((work.value - value).abs() < 1e-9, "{work:?}");
        assert!(work.high >= most, "{work:?}");
    }
}
