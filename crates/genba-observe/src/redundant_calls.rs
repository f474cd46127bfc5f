//! Calls that do what an earlier call from the same place did: same arguments, same memory read,
//! same result. And calls that do what was done just before at another place.
//!
//! Two calls that take the same integer arguments and read the same values from the same addresses,
//! apart from what they wrote themselves, compute the same: a function follows from its inputs.
//! Not judged are calls whose inputs are not all recorded: functions that take vector registers or
//! whose argument registers are unknown, calls with a system call or a call of the kernel's vDSO in
//! them, and calls that do not begin and end in their burst.
//!
//! Between two places what was read counts, not where: the second one may work on a copy.
//!
//! Source: S. Wen et al., "Redspy: exploring value locality in software", ASPLOS 2017; at the level of
//! calls: L. Della Toffola et al., "Performance problems you can fix: a dynamic analysis of
//! memoization opportunities", OOPSLA 2015.

use std::collections::VecDeque;

use genba_model::{Burst, CodePoint, Estimate, Observed};
use serde::{Deserialize, Serialize};

use crate::byte_map::ByteMap;
use crate::call_stack::{CallStack, Change, Frame};
use crate::code_knowledge::CodeKnowledge;
use crate::fast_hash::{FastMap, FastSet, mix};
use crate::open_calls::{FIRST_ADDRESS, Open, inherit, inside, made, opened, results};
use crate::recaptures::{Recaptured, Recaptures};
use crate::tally::{BurstShare, Seen, Tally};
use crate::unread_results::UnreadResults;

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
    /// Share of the judged calls that left other values in memory outside of their stack frame: their
    /// effect is not only their result. What a call puts back (a buffer allocated and freed) is none, and a
    /// few values stored for a caller, on the stack, are part of the result.
    pub stores_outside: f64,
    /// Share of the bursts in which calls differ in one address among their arguments, from which the other
    /// arguments and what they read follow: each is about one object, which stays as it is.
    #[serde(default)]
    pub about_one_object: f64,
    /// Calls that read the contents of an earlier one from here, wherever they were, an address among
    /// them, and have its telling result (a large number or an address): what they are about has moved.
    #[serde(default)]
    pub moved: Option<Seen>,
    /// How many different inputs there are over all bursts.
    #[serde(default)]
    pub recaptured: Option<Recaptured>,
    /// Calls that do what one of the last calls of the same function from another place did.
    #[serde(default)]
    pub elsewhere: Option<DoneElsewhere>,
    /// Calls that make the same again in memory that they allocate.
    #[serde(default)]
    pub made: Option<MadeAgain>,
}

/// Calls that leave what they make in memory that they allocate, change nothing else, and of which some take the
/// arguments and read the values of an earlier one, wherever these are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MadeAgain {
    /// Calls that repeat any earlier one, also of an earlier burst: they may be so long that a burst sees one of them.
    pub seen: Seen,
    /// Calls that repeat the last one that was seen.
    pub repeats_previous: Seen,
    /// Different inputs seen in a burst, on average.
    pub distinct_per_burst: f64,
    /// Words of 8 bytes that a call leaves in memory that it allocated, on average.
    pub words: f64,
    /// Loads of what it did not write itself.
    pub loads: f64,
    /// Its instructions but those of allocators.
    pub instructions: f64,
}

/// Another place that calls the same function with the same contents shortly before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoneElsewhere {
    /// The call instruction there.
    pub at: CodePoint,
    /// Calls that repeat one from another place, of all.
    pub seen: Seen,
    /// Part of those that repeat one from `at`.
    pub part: f64,
    /// Share of the calls from here whose result is that of the call before from here: so many would agree
    /// with another place by chance.
    pub by_chance: f64,
}

/// Inputs that are remembered of one call site in one burst.
const MAX_INPUTS: usize = 1 << 14;

/// Calls of a function that a call from another place is compared with: enough for a pass over a line or a
/// row, which another pass follows that asks the same of each element. Chosen.
const MAX_CALLS_BEFORE: usize = 32;

/// Results from here on are taken for hashes, numbers of many digits or addresses: two that are equal come
/// of the same.
const MIN_TELLING_RESULT: u64 = 1 << 20;

/// Different inputs ÷ different objects up to which inputs follow from the objects.
const MAX_INPUTS_OF_OBJECT: f64 = 1.05;

type Key = (CodePoint, CodePoint);

/// A call of a function in the burst.
struct Earlier {
    at: CodePoint,
    contents: u64,
    result: u64,
}

#[derive(Default)]
struct SiteOfBurst {
    inputs: FastSet<u64>,
    last: Option<u64>,
    last_result: Option<u64>,
    /// Contents and results.
    contents: FastSet<u64>,
    /// Addresses among the arguments, of each call as one number.
    objects: FastSet<u64>,
    /// Inputs of calls that make something.
    makers: FastSet<u64>,
    first: Option<[u64; 6]>,
    /// Registers whose argument is not always that of the first call.
    varying: u8,
}

impl SiteOfBurst {
    fn is_about_one_object(&self) -> bool {
        let varies = |index: &usize| self.varying >> index & 1 == 1;
        let is_address = |index: &usize| self.first.is_some_and(|all| all[*index] >= FIRST_ADDRESS);
        let objects = (0..6).filter(varies).filter(is_address).count();
        objects == 1 && self.inputs.len() as f64 <= MAX_INPUTS_OF_OBJECT * self.objects.len() as f64
    }
}

#[derive(Default)]
struct Totals {
    calls: u64,
    instructions: u64,
    outside: u64,
    distinct: u64,
    bursts: u64,
    bursts_about_one_object: u64,
    /// Calls whose result is that of the call before from the same place.
    same_results: u64,
    /// Calls that repeat one from another place, by that place.
    elsewhere: FastMap<CodePoint, u64>,
    makers: u64,
    distinct_makers: u64,
    bursts_of_makers: u64,
    words: u64,
    loads: u64,
    instructions_of_makers: u64,
}

/// Finds calls that repeat earlier ones, those with the largest share of instructions first.
/// `unseen` says which modules are not watched (the vDSO). What becomes of what calls make is followed beside.
pub(crate) fn redundant_calls(
    bursts: &[Burst],
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
    unread: &mut UnreadResults,
) -> Vec<RedundantCall> {
    let mut found = Found {
        tally: Tally::new(),
        previous: Tally::new(),
        shares: BurstShare::new(),
        elsewhere: Tally::new(),
        moved: Tally::new(),
        made: Tally::new(),
        made_previous: Tally::new(),
        totals: FastMap::default(),
        sites: FastMap::default(),
        before: FastMap::default(),
        makers: FastMap::default(),
        recaptures: FastMap::default(),
        pid: 0,
    };
    for burst in bursts {
        found.pid = burst.pid;
        of_burst(burst, code, unseen, &mut found, unread);
        unread.end_of_burst(burst.instructions, burst.weight);
        found.before.clear();
        for (key, site) in found.sites.drain() {
            let totals = found.totals.entry(key).or_default();
            totals.distinct += site.inputs.len() as u64;
            totals.bursts += 1;
            totals.bursts_about_one_object += u64::from(site.is_about_one_object());
            totals.distinct_makers += site.makers.len() as u64;
            totals.bursts_of_makers += u64::from(!site.makers.is_empty());
            let recaptures = found.recaptures.entry((key, burst.pid)).or_default();
            recaptures.end_of_burst(site.inputs.into_iter());
        }
        found.tally.end_of_burst(burst.weight);
        found.previous.end_of_burst(burst.weight);
        found.elsewhere.end_of_burst(burst.weight);
        found.moved.end_of_burst(burst.weight);
        found.made.end_of_burst(burst.weight);
        found.made_previous.end_of_burst(burst.weight);
        found
            .shares
            .end_of_burst(burst.instructions as f64, burst.weight);
    }
    let recaptured = found.recaptured();
    // Long calls may be seen once in each burst: what they make is compared all the same.
    let mut all: FastMap<Key, Seen> = FastMap::default();
    all.extend((found.made.shares().into_iter()).map(|(key, _)| (key, Seen::nothing())));
    all.extend(found.tally.shares());
    let mut list: Vec<RedundantCall> = (all.into_iter())
        .filter_map(|(key, seen)| {
            let totals = found.totals.get(&key)?;
            let elsewhere = found.done_elsewhere(key, totals);
            let moved = found.moved.seen(key).filter(|one| one.share.value > 0.0);
            let recaptured = recaptured.get(&key).copied();
            let comes_again = seen.share.value > 0.0 || recaptured.is_some();
            let made = found.made_again(key, totals);
            if !comes_again && elsewhere.is_none() && moved.is_none() && made.is_none() {
                return None;
            }
            let calls = totals.calls.max(1) as f64;
            Some(RedundantCall {
                at: key.0,
                target: key.1,
                seen,
                repeats_previous: found.previous.seen(key).unwrap_or_else(Seen::nothing),
                distinct_per_burst: totals.distinct as f64 / totals.bursts.max(1) as f64,
                share_of_instructions: found.shares.share(key),
                instructions_per_call: totals.instructions as f64 / calls,
                stores_outside: totals.outside as f64 / calls,
                about_one_object: totals.bursts_about_one_object as f64
                    / totals.bursts.max(1) as f64,
                moved,
                recaptured,
                elsewhere,
                made,
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
    elsewhere: Tally<Key>,
    moved: Tally<Key>,
    made: Tally<Key>,
    made_previous: Tally<Key>,
    shares: BurstShare<Key>,
    totals: FastMap<Key, Totals>,
    sites: FastMap<Key, SiteOfBurst>,
    /// The last calls of each function in the burst.
    before: FastMap<CodePoint, VecDeque<Earlier>>,
    /// Inputs of all calls that make something, and the last one's.
    makers: FastMap<(Key, i32), (FastSet<u64>, u64)>,
    /// Of each process: inputs are often addresses, which another one has elsewhere.
    recaptures: FastMap<(Key, i32), Recaptures>,
    /// Process of the burst.
    pid: i32,
}

fn of_burst(
    burst: &Burst,
    code: &dyn CodeKnowledge,
    unseen: &dyn Fn(u32) -> bool,
    found: &mut Found,
    unread: &mut UnreadResults,
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
                    let mut one = opened(&frame, stores, code, unseen);
                    one.freeing |= open.last().is_some_and(|(_, above)| above.freeing);
                    if one.gives_back().is_none() {
                        unread.called(&frame);
                    }
                    open.push((frame, one));
                }
            }
            Change::Retargeted => {
                if let (Some(&frame), Some(top)) = (stack.frames().last(), open.last_mut()) {
                    let mut one = opened(&frame, stores, code, unseen);
                    // A stub leads on to where it was called for.
                    one.freeing |= top.1.freeing;
                    *top = (frame, one);
                }
            }
            Change::Left(frames) => {
                for _ in 0..frames {
                    if let Some((frame, one)) = open.pop() {
                        found.closed(&frame, &one, result);
                        match one.gives_back() {
                            Some(begin) => unread.given_back(begin, stack.frames()),
                            None => unread.returned(&frame, &one),
                        }
                        if let Some((above, parent)) = open.last_mut() {
                            // As if it had just been stored there.
                            stores += u32::from(one.allocates());
                            inherit(parent, above, one, result, &mut written, stores);
                        }
                    }
                }
            }
            Change::Lost => open.clear(),
            Change::None => {}
        }
        if let Observed::Load { address, value, .. } = event.what
            && (open.last()).is_none_or(|(_, one)| !one.freeing)
        {
            unread.read(address, value);
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

/// Whether a result is one that tells of what it comes, and no argument handed back (where a structure is returned).
fn is_telling(frame: &Frame, result: u64) -> bool {
    result >= MIN_TELLING_RESULT && !frame.arguments.contains(&result)
}

impl Found {
    fn closed(&mut self, frame: &Frame, one: &Open, result: u64) {
        if !one.arguments_known || !one.watched {
            return;
        }
        let key = (frame.call, frame.target);
        let totals = self.totals.entry(key).or_default();
        totals.calls += 1;
        totals.instructions += one.instructions;
        let left = results(one, frame);
        totals.outside += u64::from(left.is_none());
        let inputs = mix(mix(one.inputs, result), left.unwrap_or(0));
        let site = self.sites.entry(key).or_default();
        let first = *site.first.get_or_insert(frame.arguments);
        for (index, (now, first)) in frame.arguments.iter().zip(first).enumerate() {
            site.varying |= u8::from(*now != first) << index & one.registers;
        }
        if site.objects.len() < MAX_INPUTS {
            site.objects.insert(one.object);
        }
        let known = match site.inputs.len() < MAX_INPUTS {
            true => !site.inputs.insert(inputs),
            false => site.inputs.contains(&inputs),
        };
        let recaptures = self.recaptures.entry((key, self.pid)).or_default();
        recaptures.call(inputs, !known);
        let telling = is_telling(frame, result);
        let contents = mix(mix(one.contents, result), left.unwrap_or(0));
        let known_contents = match site.contents.len() < MAX_INPUTS {
            true => !site.contents.insert(contents),
            false => site.contents.contains(&contents),
        };
        let moved = telling && one.read_address && known_contents;
        self.moved.count(key, moved);
        // A function that returns a structure leaves it on its caller's stack.
        let whole_result = mix(result, left.unwrap_or(0));
        if site.last_result.replace(whole_result) == Some(whole_result) {
            totals.same_results += 1;
        }
        if let Some(last) = site.last.replace(inputs) {
            self.tally.count(key, known);
            self.previous.count(key, last == inputs);
        }
        let made = made(one, frame).is_some_and(|made| {
            totals.makers += 1;
            totals.words += made.words;
            totals.loads += made.loads;
            totals.instructions_of_makers += made.instructions;
            if site.makers.len() < MAX_INPUTS {
                site.makers.insert(one.numbers);
            }
            let (all, last) = self.makers.entry((key, self.pid)).or_default();
            let known = match all.len() < MAX_INPUTS {
                true => !all.insert(one.numbers),
                false => all.contains(&one.numbers),
            };
            let last = std::mem::replace(last, one.numbers);
            if all.len() > 1 || known {
                self.made.count(key, known);
                self.made_previous.count(key, last == one.numbers);
            }
            known
        });
        let elsewhere = self.compare_with_other_places(key, one.contents, result, telling);
        if known || elsewhere || moved || made {
            self.shares.add(key, one.instructions as f64);
        }
    }

    /// Whether one of the last calls from another place read the same, or has the same telling result (what
    /// is read of copies may be followed by other bytes).
    fn compare_with_other_places(
        &mut self,
        key: Key,
        contents: u64,
        result: u64,
        telling: bool,
    ) -> bool {
        let before = self.before.entry(key.1).or_default();
        let is_same = |earlier: &&Earlier| {
            let by_result = telling && earlier.result == result;
            earlier.at != key.0 && (earlier.contents == contents || by_result)
        };
        let at = before.iter().rev().find(is_same).map(|earlier| earlier.at);
        before.push_back(Earlier {
            at: key.0,
            contents,
            result,
        });
        if before.len() > MAX_CALLS_BEFORE {
            before.pop_front();
        }
        self.elsewhere.count(key, at.is_some());
        if let (Some(at), Some(totals)) = (at, self.totals.get_mut(&key)) {
            *totals.elsewhere.entry(at).or_default() += 1;
        }
        at.is_some()
    }

    /// What the process says that saw most inputs again.
    fn recaptured(&self) -> FastMap<Key, Recaptured> {
        let mut most: FastMap<Key, Recaptured> = FastMap::default();
        for ((key, _), one) in &self.recaptures {
            let Some(one) = one.recaptured() else {
                continue;
            };
            let known = most.entry(*key).or_insert(one);
            if (one.again, one.different) > (known.again, known.different) {
                *known = one;
            }
        }
        most
    }

    fn made_again(&self, key: Key, totals: &Totals) -> Option<MadeAgain> {
        let seen = self.made.seen(key).filter(|one| one.share.value > 0.0)?;
        let mean = |all: u64| all as f64 / totals.makers.max(1) as f64;
        Some(MadeAgain {
            seen,
            repeats_previous: self.made_previous.seen(key)?,
            distinct_per_burst: totals.distinct_makers as f64
                / totals.bursts_of_makers.max(1) as f64,
            words: mean(totals.words),
            loads: mean(totals.loads),
            instructions: mean(totals.instructions_of_makers),
        })
    }

    fn done_elsewhere(&self, key: Key, totals: &Totals) -> Option<DoneElsewhere> {
        let all: u64 = totals.elsewhere.values().sum();
        let most = totals.elsewhere.iter().map(|(&at, &calls)| (calls, at));
        let (calls, at) = most.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)))?;
        Some(DoneElsewhere {
            at,
            seen: self.elsewhere.seen(key)?,
            part: calls as f64 / all as f64,
            by_chance: totals.same_results as f64 / totals.calls.max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests;
