//! `needless-atomic`: locked instructions in a single-threaded program, and locks that are taken more often than need be.
//!
//! **Signature.** A lock that is taken for each element of a loop and free each time
//! ([`super::uncontended_locks`]). Or hot instructions with a lock prefix (or `xchg` with memory), while all samples
//! are of one thread. Those of several functions on one word of the program (an allocator's statistics)
//! are one finding.
//!
//! **Confirmation.** The number of threads; a version with plain operations.
//!
//! **Gain.** From the measured cycles to the cost of the plain operation by the host table.
//!
//! **Source.** Agner Fog, "Instruction tables"; P. McKenney, "Is Parallel Programming Hard",
//! chapter 3.

use genba_model::{Cause, Estimate, Fix, ThreadFact};

use crate::candidate::Candidate;
use crate::causes::uncontended_locks::uncontended_locks;
use crate::constants::gains::{ATOMIC_CYCLES_LOW, ATOMIC_RESIDUAL_MARGIN, MAX_RESIDUAL};
use crate::constants::time_shares::MIN_SHARE_OF_LOCKED_INSTRUCTIONS;
use crate::gain::loop_gain::LoopGain;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use genba_loop_model::Change;

/// Finds locks that a loop takes one by one, and hot instructions with a lock prefix where all samples are of one thread.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let found = uncontended_locks(input);
    if !found.is_empty() || input.program.threads > 1 {
        return found;
    }
    let mut groups: Vec<Vec<Locked>> = Vec::new();
    for (index, function) in input.functions.iter().enumerate() {
        let Some(one) = Locked::of(index, function) else {
            continue;
        };
        let same = |group: &&mut Vec<Locked>| {
            one.word.is_some()
                && group[0].word == one.word
                && input.functions[group[0].function].module == function.module
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    (groups.into_iter())
        .filter_map(|group| candidate(input, group))
        .collect()
}

/// The locked instructions of a function that were executed.
struct Locked {
    function: usize,
    /// Those with most time first.
    at: Vec<usize>,
    /// With what skids from them, in order.
    affected: Vec<usize>,
    share: f64,
    times: u64,
    /// Address of the word of the program that all of them are about.
    word: Option<i64>,
}

impl Locked {
    fn of(index: usize, function: &FunctionInput) -> Option<Self> {
        if !function.own || !function.counted {
            return None;
        }
        let mut at: Vec<usize> = (0..function.code.len())
            .filter(|&at| function.code[at].is_lock && function.counts[at] > 0)
            .collect();
        let heat = |at: usize| function.heat_of(near(function, at));
        at.sort_by(|&a, &b| heat(b).total_cmp(&heat(a)));
        let word = static_word(function, *at.first()?);
        let mut affected: Vec<usize> = at.iter().flat_map(|&at| near(function, at)).collect();
        affected.sort_unstable();
        affected.dedup();
        Some(Self {
            function: index,
            share: function.heat_of(affected.iter().copied()),
            times: at.iter().map(|&at| function.counts[at]).sum(),
            word: word.filter(|_| at.iter().all(|&one| static_word(function, one) == word)),
            at,
            affected,
        })
    }
}

/// The address of what an instruction writes to, if it is the same each time.
fn static_word(function: &FunctionInput, at: usize) -> Option<i64> {
    let access = function.data[at].memory.iter().find(|one| one.writes)?;
    let fixed = access.base.is_none() && access.index.is_none() && !access.segment;
    fixed.then_some(access.displacement)
}

fn candidate(input: &AnalysisInput, mut group: Vec<Locked>) -> Option<Candidate> {
    group.sort_by(|a, b| b.share.total_cmp(&a.share));
    let share: f64 = group.iter().map(|one| one.share).sum();
    let times: u64 = group.iter().map(|one| one.times).sum();
    let others = group.split_off(1);
    let Locked {
        function: index,
        at: locked,
        affected,
        ..
    } = group.pop()?;
    let function = &input.functions[index];
    let first = locked[0];
    if share < MIN_SHARE_OF_LOCKED_INSTRUCTIONS {
        return None;
    }
    let all = crate::patterns::calls::cycles_of_all(input)?;
    let each = share * all / times.max(1) as f64;
    let form = &function.data[first].form;
    let cost = |form: &str| {
        let costs = &input.program.costs;
        costs.latency(form).or_else(|| costs.throughput(form))
    };
    let here = cost(form).or_else(|| cost("lock add m64, r64"))?;
    // A locked operation that takes no longer than a plain one is none to replace.
    let saved = (here.value - 1.0).max(0.0);
    let value = ((each - saved).max(1.0) / each).min(1.0);
    let mut one = Candidate::new(
        Cause::NeedlessAtomic,
        Some(index),
        locked.clone(),
        Fix::PlainOperations,
    );
    one.site.truncate(1);
    one.affected = affected;
    let high = (value + ATOMIC_RESIDUAL_MARGIN)
        .min(MAX_RESIDUAL)
        .max(value);
    one.residual_fraction = Estimate {
        value,
        low: (ATOMIC_CYCLES_LOW / each).min(value),
        high,
    };
    let mut modelled = None;
    if let Some((members, gain)) =
        whole_loop(input, function, &locked).filter(|_| others.is_empty())
    {
        // The least is what the operations' own time gives, of all of the loop.
        let part = function.heat_of(one.affected.iter().copied())
            / function.heat_of(members.iter().copied()).max(1e-9);
        let high = 1.0 - part.min(1.0) * (1.0 - high);
        one.residual_fraction = Estimate {
            value: gain.residual_fraction.value.min(high),
            low: gain.residual_fraction.low.min(high),
            high,
        };
        one.affected = members;
        modelled = Some(gain.fact());
    }
    one.share = (!others.is_empty()).then_some(share);
    one.copies = (others.into_iter())
        .map(|other| (other.function, other.affected))
        .collect();
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(ThreadFact::LockedOperations {
            form: form.clone(),
            executions: times,
        })
        .fact(ThreadFact::SingleThread)
        .fact(ThreadFact::LockedTime {
            share,
            cycles: each,
        })
        .fact(ThreadFact::LockedCost {
            form: form.clone(),
            cycles: here.value,
        })
        .facts(modelled),
    )
}

/// The innermost loop that has all locked operations, and what it takes without them: a locked
/// operation waits for all stores before it and holds up all loads behind it, so that with it the
/// iterations, which could overlap, come one after the other.
fn whole_loop(
    input: &AnalysisInput,
    function: &FunctionInput,
    locked: &[usize],
) -> Option<(Vec<usize>, LoopGain)> {
    let index = function.flow.loop_of_instruction(*locked.first()?)?;
    let members = function.loop_instructions(index);
    let executed = |&&at: &&usize| function.counts[at] > 0;
    let opaque = members
        .iter()
        .filter(executed)
        .any(|&at| function.data[at].opaque.is_some());
    if opaque || !locked.iter().all(|at| members.contains(at)) {
        return None;
    }
    let change = Change {
        gone: locked.to_vec(),
        ..Change::default()
    };
    let gain = function.loop_after(&input.program.costs, index, &change)?;
    Some((members, gain))
}

/// The locked operation and the next instruction, to which its samples may skid.
fn near(function: &FunctionInput, at: usize) -> Vec<usize> {
    let next = at + 1;
    let behind = (next < function.code.len() && function.counts[next] == function.counts[at])
        .then_some(next);
    std::iter::once(at).chain(behind).collect()
}
