//! Loops that wait for a chain which could be several: what the causes about floating-point and
//! integer chains share.

use genba_model::{Cause, Estimate, Fix, LoopFact, Reduction};

use crate::candidate::Candidate;
use crate::constants::counts::MIN_TRIPS_TO_SPLIT_CHAIN;
use crate::constants::gains::{
    CYCLES_OF_HASH_END, MAX_RESIDUAL, UNROLL_FACTOR, UNROLL_FACTOR_OF_HASHES,
};
use crate::constants::model_fit::{
    MAX_MODEL_OF_CYCLES, MIN_CHAIN_OF_CYCLES, MIN_CHAIN_OF_THROUGHPUT,
};
use crate::constants::search_limits::MAX_CHAINS;
use crate::constants::time_shares::MIN_SHARE_OF_CHAIN_LOOP;
use crate::gain::loop_gain::LoopGain;
use crate::input::analysis_input::AnalysisInput;
use crate::input::value_uses::Uses;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::reductions::reduction;
use genba_loop_model::{Change, chain_mnemonics};

/// A loop whose iterations wait for chains that gather.
pub(crate) struct Chained<'a> {
    pub one: HotLoop<'a>,
    /// Reduction of the longest.
    pub kind: Reduction,
    /// Instructions of that.
    pub links: Vec<usize>,
    /// With all such chains split.
    pub gain: LoopGain,
}

/// Loops of the wanted kinds, where a whole run was counted: that a loop takes the cycles of its chain rests on the cost
/// of an iteration.
pub(crate) fn chained<'a>(input: &'a AnalysisInput, wanted: &[Reduction]) -> Vec<Chained<'a>> {
    let mut found = Vec::new();
    if input.program.part_counted {
        return found;
    }
    let mut uses: Option<(usize, Uses)> = None;
    for one in hot_loops(input, MIN_SHARE_OF_CHAIN_LOOP) {
        if !one.input.own
            || !waits(&one)
            || !one.is_long(MIN_TRIPS_TO_SPLIT_CHAIN)
            || one.has_opaque()
        {
            continue;
        }
        if uses.as_ref().is_none_or(|known| known.0 != one.function) {
            uses = Some((one.function, Uses::of(one.input)));
        }
        let Some((_, uses)) = &uses else { continue };
        found.extend(split(input, one, uses, wanted));
    }
    found
}

/// Whether the loop's time is that of its longest chain.
pub(crate) fn waits(one: &HotLoop<'_>) -> bool {
    let (Some(chain), Some(throughput)) = (one.cost.chain_cycles, one.cost.throughput_cycles)
    else {
        return false;
    };
    !one.cost.chain.is_empty()
        && chain.value >= MIN_CHAIN_OF_CYCLES * one.cycles.value
        && chain.low <= MAX_MODEL_OF_CYCLES * one.cycles.high
        && chain.value >= MIN_CHAIN_OF_THROUGHPUT * throughput.value
}

/// Splits one gathering chain after the other until something else is longest.
fn split<'a>(
    input: &AnalysisInput,
    one: HotLoop<'a>,
    uses: &Uses,
    wanted: &[Reduction],
) -> Option<Chained<'a>> {
    let first = reduction(&one, uses, &one.cost.chain)?;
    if !wanted.contains(&first.kind) {
        return None;
    }
    if first.kind == Reduction::Remainder {
        return deferred(input, one, uses);
    }
    let ways = match first.kind {
        Reduction::Table | Reduction::Mixing => UNROLL_FACTOR_OF_HASHES,
        _ => UNROLL_FACTOR,
    };
    let mut change = Change {
        fewer: overhead(&one).into_iter().map(|at| (at, ways)).collect(),
        ..Change::default()
    };
    let mut links = one.cost.chain.clone();
    let mut gain = None;
    // Other chains beside it would hold the loop up in its place.
    for _ in 0..MAX_CHAINS {
        let Some(found) = reduction(&one, uses, &links) else {
            break;
        };
        let known = change.split.len();
        for &at in &found.instructions {
            if !change.split.iter().any(|known| known.0 == at) {
                change.split.push((at, ways));
            }
        }
        if change.split.len() == known {
            break;
        }
        let now = one
            .input
            .loop_after(&input.program.costs, one.index, &change)?;
        links.clone_from(&now.after.links);
        let chain = now.after.chain.map_or(0.0, |chain| chain.value);
        let others = now.after.throughput.map_or(0.0, |other| other.value);
        gain = Some(now);
        if chain <= others {
            break;
        }
    }
    let links = one.cost.chain.iter().map(|&at| at as usize).collect();
    // Half as many ways are a fix as well.
    let gain = gain.map(|mut gain| {
        let half: Vec<(usize, f64)> = change
            .split
            .iter()
            .map(|one| (one.0, one.1 / 2.0))
            .collect();
        let half = Change {
            split: half,
            ..change.clone()
        };
        if let Some(less) = one.input.loop_after(&input.program.costs, one.index, &half) {
            gain.residual_fraction.high =
                gain.residual_fraction.high.max(less.residual_fraction.high);
        }
        gain
    });
    let gain = gain.map(|mut gain| {
        if let (Reduction::Mixing, Some(trips)) = (first.kind, one.trips) {
            let end = CYCLES_OF_HASH_END / (trips * one.cycles.value);
            let left = &mut gain.residual_fraction;
            left.value = (left.value + end).min(MAX_RESIDUAL);
            left.high = (left.high + 2.0 * end).min(MAX_RESIDUAL);
        }
        gain
    });
    gain.map(|gain| Chained {
        kind: first.kind,
        links,
        gain,
        one,
    })
}

/// Leaves remainders out of the iterations, those of one sum after the other: what remains of the chains are
/// additions.
fn deferred<'a>(input: &AnalysisInput, one: HotLoop<'a>, uses: &Uses) -> Option<Chained<'a>> {
    let mut change = Change::default();
    let mut links = one.cost.chain.clone();
    let mut gain = None;
    for _ in 0..MAX_CHAINS {
        let found = reduction(&one, uses, &links);
        let Some(found) = found.filter(|found| found.kind == Reduction::Remainder) else {
            break;
        };
        let known = change.gone.len();
        change.gone.extend(found.inner);
        change.gone.sort_unstable();
        change.gone.dedup();
        if change.gone.len() == known {
            break;
        }
        let now = one
            .input
            .loop_after(&input.program.costs, one.index, &change)?;
        links.clone_from(&now.after.links);
        gain = Some(now);
    }
    let links = one.cost.chain.iter().map(|&at| at as usize).collect();
    gain.map(|gain| Chained {
        kind: Reduction::Remainder,
        links,
        gain,
        one,
    })
}

/// Counting and comparing: what an unrolled loop has less of.
pub(crate) fn overhead(one: &HotLoop<'_>) -> Vec<usize> {
    let function = one.input;
    let counts = |at: usize| {
        let data = &function.data[at];
        let name = data.form.split(' ').next().unwrap_or_default();
        let own = data.sum.is_some_and(|sum| sum.source == Some(sum.to));
        own || matches!(name, "cmp" | "test") && !data.loads() || name.starts_with('j')
    };
    one.usual().filter(|&at| counts(at)).collect()
}

/// The candidate of either cause for such a loop.
pub(crate) fn candidate(cause: Cause, chained: &Chained<'_>) -> Candidate {
    let one = &chained.one;
    let chain = one.cost.chain_cycles.unwrap_or(Estimate::exact(0.0));
    let fix = Fix::Accumulators(chained.kind);
    let mut found = Candidate::new(cause, Some(one.function), chained.links.clone(), fix);
    found.affected = one.members.clone();
    found.residual_fraction = chained.gain.residual_fraction;
    found.executions = Some(one.cost.iterations);
    found.cycles = Some(one.cycles);
    found
        .fact(LoopFact::Time {
            share: None,
            iterations: one.cost.iterations,
            cycles: one.cycles.value,
            trip_count: one.trips,
        })
        .fact(LoopFact::Chain {
            instructions: chain_mnemonics(&one.cost.chain, &one.input.code),
            cycles: chain.value,
            throughput_cycles: one.cost.throughput_cycles.map_or(0.0, |t| t.value),
        })
        .fact(chained.gain.fact())
}
