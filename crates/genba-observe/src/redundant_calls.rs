//! Calls that do what an earlier call from the same place did: same arguments, same memory read,
//! same result.
//!
//! Two calls that take the same integer arguments and read the same values from the same addresses,
//! apart from what they wrote themselves, compute the same: a function follows from its inputs.
//! Not judged are calls whose inputs are not all recorded: functions that take vector registers or
//! whose argument registers are unknown, calls with a system call or a call of the kernel's vDSO in
//! them, and calls that do not begin and end in their burst.
//!
//! Source: S. Wen et al., "Redspy: exploring value locality in software", ASPLOS 2017; at the level of
//! calls: L. Della Toffola et al., "Performance problems you can fix: a dynamic analysis of
//! memoization opportunities", OOPSLA 2015.

use genba_model::{Burst, BurstEvent, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::byte_map::ByteMap;
use crate::call_stack::{CallStack, Change, Frame};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::{FastMap, FastSet, mix};
use crate::tally::{BurstShare, Seen, Tally};

/// A call instruction of whose executions some did the same as an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedundantCall {
    /// The call instruction.
    pub at: CodePoint,
    /// The callee's entry.
    pub target: CodePoint,
    /// Calls that repeat any earlier one from here in their burst, of all that have one.
    pub seen: Seen,
    /// Calls that repeat the one just before.
    pub repeats_previous: Seen,
    /// Different inputs seen in a burst, on average.
    pub distinct_per_burst: f64,
    /// Share of all instructions that were executed in repeating calls, with their callees.
    pub share_of_instructions: Estimate,
    /// Instructions of one call on average, with its callees.
    pub instructions_per_call: f64,
    /// Share of the judged calls that stored to memory outside of their stack frame: their effect
    /// is not only their result.
    pub stores_outside: f64,
}

/// Inputs that are remembered of one call site in one burst.
const MAX_INPUTS: usize = 1 << 14;

/// The deepest stack frame that a call may have of its own, with its callees'.
const MAX_FRAME_BYTES: u64 = 1 << 16;

/// A call that has not returned.
struct Open {
    /// Hash of arguments and of what was read.
    inputs: u64,
    /// Stores of the burst before it.
    began: u32,
    instructions: u64,
    judged: bool,
    stores_outside: bool,
}

type Key = (CodePoint, CodePoint);

#[derive(Default)]
struct SiteOfBurst {
    inputs: FastSet<u64>,
    last: Option<u64>,
}

#[derive(Default)]
struct Totals {
    calls: u64,
    instructions: u64,
    outside: u64,
    distinct: u64,
    bursts: u64,
}

/// Finds calls that repeat earlier ones, those with the largest share of instructions first.
/// `unseen` says which modules are not watched (the vDSO).
pub(crate) fn redundant_calls(
    bursts: &[Burst],
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
) -> Vec<RedundantCall> {
    let mut found = Found {
        tally: Tally::new(),
        previous: Tally::new(),
        shares: BurstShare::new(),
        totals: FastMap::default(),
        sites: FastMap::default(),
    };
    for burst in bursts {
        of_burst(burst, code, unseen, &mut found);
        for (key, site) in found.sites.drain() {
            let totals = found.totals.entry(key).or_default();
            totals.distinct += site.inputs.len() as u64;
            totals.bursts += 1;
        }
        found.tally.end_of_burst(burst.weight);
        found.previous.end_of_burst(burst.weight);
        found
            .shares
            .end_of_burst(burst.instructions as f64, burst.weight);
    }
    let mut list: Vec<RedundantCall> = (found.tally.shares().into_iter())
        .filter(|(_, seen)| seen.share.value > 0.0)
        .filter_map(|(key, seen)| {
            let totals = found.totals.get(&key)?;
            let calls = totals.calls.max(1) as f64;
            Some(RedundantCall {
                at: key.0,
                target: key.1,
                seen,
                repeats_previous: found.previous.seen(key)?,
                distinct_per_burst: totals.distinct as f64 / totals.bursts.max(1) as f64,
                share_of_instructions: found.shares.share(key),
                instructions_per_call: totals.instructions as f64 / calls,
                stores_outside: totals.outside as f64 / calls,
            })
        })
        .collect();
    list.sort_by(|a, b| {
        let share = |one: &RedundantCall| one.share_of_instructions.value;
        share(b).total_cmp(&share(a)).then(a.at.cmp(&b.at))
    });
    list
}

struct Found {
    tally: Tally<Key>,
    previous: Tally<Key>,
    shares: BurstShare<Key>,
    totals: FastMap<Key, Totals>,
    sites: FastMap<Key, SiteOfBurst>,
}

fn of_burst(
    burst: &Burst,
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
    found: &mut Found,
) {
    let mut stack = CallStack::default();
    let mut open: Vec<(Frame, Open)> = Vec::new();
    // When each byte was last written, in stores of this burst.
    let mut written = ByteMap::<u32>::new();
    let mut stores = 0u32;
    let mut result = 0u64;
    for event in &burst.events {
        let change = stack.event(event);
        match change {
            Change::Entered => {
                if let Some(&frame) = stack.frames().last() {
                    open.push((frame, opened(&frame, stores, code, unseen)));
                }
            }
            Change::Retargeted => {
                if let (Some(&frame), Some(top)) = (stack.frames().last(), open.last_mut()) {
                    *top = (frame, opened(&frame, stores, code, unseen));
                }
            }
            Change::Left(frames) => {
                for _ in 0..frames {
                    if let Some((frame, one)) = open.pop() {
                        if let Some((_, parent)) = open.last_mut() {
                            inherit(parent, &one);
                        }
                        found.closed(&frame, &one, result);
                    }
                }
            }
            Change::Lost => open.clear(),
            Change::None => {}
        }
        inside(
            event,
            &mut open,
            &mut written,
            &mut stores,
            &mut result,
            &stack,
        );
    }
}

/// Adds an event to the innermost open call; its callers inherit it when it returns.
fn inside(
    event: &BurstEvent,
    open: &mut [(Frame, Open)],
    written: &mut ByteMap<u32>,
    stores: &mut u32,
    result: &mut u64,
    stack: &CallStack,
) {
    match event.what {
        Observed::Load {
            address,
            size,
            value,
        } => {
            let Some((_, top)) = open.last_mut() else {
                return;
            };
            let mut own = true;
            written.update(address, size, |when| own &= *when > top.began);
            if !own {
                top.inputs = mix(mix(top.inputs, address), value);
            }
        }
        Observed::Store {
            address,
            size,
            value,
            before,
            reads,
        } => {
            if let Some((_, top)) = open.last_mut() {
                if reads {
                    let mut own = true;
                    written.update(address, size, |when| own &= *when > top.began);
                    if !own {
                        top.inputs = mix(mix(top.inputs, address), before);
                    }
                }
                let frame = stack.frames().last().and_then(|frame| frame.stack);
                let own_frame = frame
                    .is_some_and(|stack| address <= stack && stack - address <= MAX_FRAME_BYTES);
                top.stores_outside |= !own_frame && before != value;
            }
            *stores += 1;
            let now = *stores;
            written.update(address, size, |when| *when = now);
        }
        Observed::Block { instructions } => {
            if let Some((_, top)) = open.last_mut() {
                top.instructions += u64::from(instructions);
            }
        }
        Observed::Return { value } => *result = value,
        Observed::SystemCall { .. } => {
            if let Some((_, top)) = open.last_mut() {
                top.judged = false;
            }
        }
        _ => {}
    }
}

fn opened(
    frame: &Frame,
    stores: u32,
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
) -> Open {
    let registers = code.arguments(frame.target);
    let known = registers.filter(|registers| !registers.vector);
    let mut inputs = 0;
    for (index, &argument) in frame.arguments.iter().enumerate() {
        if known.is_some_and(|registers| registers.integer >> index & 1 == 1) {
            inputs = mix(mix(inputs, index as u64), argument);
        }
    }
    Open {
        inputs,
        began: stores,
        instructions: 0,
        judged: known.is_some() && !unseen(frame.target.module),
        stores_outside: false,
    }
}

/// A call inside a call: its inputs follow from those of the outer one or are inputs of it.
fn inherit(parent: &mut Open, child: &Open) {
    parent.inputs = mix(parent.inputs, child.inputs);
    parent.instructions += child.instructions;
    parent.stores_outside |= child.stores_outside;
    parent.judged &= child.judged;
}

impl Found {
    fn closed(&mut self, frame: &Frame, one: &Open, result: u64) {
        if !one.judged {
            return;
        }
        let key = (frame.call, frame.target);
        let totals = self.totals.entry(key).or_default();
        totals.calls += 1;
        totals.instructions += one.instructions;
        totals.outside += u64::from(one.stores_outside);
        let inputs = mix(one.inputs, result);
        let site = self.sites.entry(key).or_default();
        let known = match site.inputs.len() < MAX_INPUTS {
            true => !site.inputs.insert(inputs),
            false => site.inputs.contains(&inputs),
        };
        if let Some(last) = site.last.replace(inputs) {
            self.tally.count(key, known);
            self.previous.count(key, last == inputs);
        }
        if known {
            self.shares.add(key, one.instructions as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{AllOwn, at, block, burst, call, load, ret, store};

    /// A call at 0x10 of 0x100: reads what its argument points to, returns twice that.
    fn once(argument: u64, value: u64) -> Vec<BurstEvent> {
        vec![
            store(0x10, 0x7ff8, 8, 0, 0x15),
            call(0x10, at(0x100), [argument, 0, 0, 0, 0, 0]),
            block(0x100, 10),
            load(0x104, argument, 8, value),
            store(0x108, 0x7ff0, 8, 0, value),
            load(0x10c, 0x7ff0, 8, value),
            ret(0x110, 2 * value),
            block(0x15, 2),
        ]
    }

    fn found(events: Vec<BurstEvent>) -> Vec<RedundantCall> {
        let bursts = vec![burst(events.clone()), burst(events)];
        redundant_calls(&bursts, &AllOwn, &|_| false)
    }

    #[test]
    fn call_with_same_arguments_and_memory_is_redundant() {
        let all = found((0..20).flat_map(|_| once(0x1000, 7)).collect());
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!((one.at, one.target), (at(0x10), at(0x100)));
        assert_eq!((one.seen.executions, one.instructions_per_call), (38, 10.0));
        assert!((one.seen.share.value - 1.0).abs() < 1e-12);
        assert!((one.distinct_per_burst - 1.0).abs() < 1e-12);
        assert!(one.stores_outside == 0.0);
        // 19 of 20 calls of 10 of 12 instructions each.
        let share = one.share_of_instructions.value;
        assert!((share - 190.0 / 240.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn other_memory_behind_the_same_pointer_is_another_input() {
        let all = found((0..20).flat_map(|one| once(0x1000, one)).collect());
        assert!(all.is_empty());
    }

    #[test]
    fn few_inputs_in_turn_repeat_earlier_calls_but_not_the_one_before() {
        let all = found(
            (0..20)
                .flat_map(|one| once(0x1000 + 8 * (one % 2), 7))
                .collect(),
        );
        assert!(all[0].seen.share.value > 0.9 && all[0].repeats_previous.share.value == 0.0);
        assert!((all[0].distinct_per_burst - 2.0).abs() < 1e-12);
    }

    #[test]
    fn system_calls_and_callers_of_them_are_not_judged() {
        let with = |mut events: Vec<BurstEvent>| {
            let call = BurstEvent {
                at: at(0x109),
                what: Observed::SystemCall { number: 39 },
            };
            events.insert(4, call);
            events
        };
        assert!(found((0..20).flat_map(|_| with(once(0x1000, 7))).collect()).is_empty());
    }

    #[test]
    fn stores_to_memory_of_others_are_reported() {
        let with = |mut events: Vec<BurstEvent>| {
            events.insert(4, store(0x106, 0x9000, 8, 0, 1));
            events
        };
        let all = found((0..20).flat_map(|_| with(once(0x1000, 7))).collect());
        assert!(all[0].stores_outside > 0.99);
    }
}
