//! `bytewise-copy`: runs copied or appended one byte at a time.
//!
//! **Signature.** A loop whose usual path loads a byte, stores it unchanged and advances by one, in
//! runs of 8 bytes or more; it may store them from the other end of a run. A comparison that finds
//! the end of the run is no other use of the byte. Or a loop that appends a byte per iteration to a
//! buffer whose length it loads from memory and stores there again ([`crate::patterns::appends`]). Or
//! calls that hand on a few bytes each and, as bursts show, take up where the one before stopped, or
//! store there.
//!
//! **Confirmation.** The counted run length.
//!
//! **Gain.** `memcpy` moves 16 to 64 bytes per instruction and takes a dozen cycles to start;
//! finding the end first (`memchr`) takes as much again. Of appended bytes the loop is modelled with
//! pointer and length in registers; without them it may be vectorised.
//!
//! **Source.** Agner Fog, "Optimizing subroutines in assembly language", chapter 17.

use genba_model::{ByteOperation, CallFact, Cause, Estimate, Fix, LoopFact};
use genba_observe::PiecewiseCall;

use crate::candidate::Candidate;
use crate::causes::dead_store::is_clearing_function;
use crate::causes::loop_invariant_call::cost;
use crate::constants::counts::{
    MAX_BYTES_OF_PIECE, MIN_BURSTS_FOR_EVENTS, MIN_CALLS_IN_HOT_CODE, MIN_PIECES_OF_RUN,
    MIN_SEEN_EXECUTIONS,
};
use crate::constants::gains::{
    APPENDED_VECTOR_LOW, BYTE_COPY_CYCLES, LOOP_OF_PIECES_SAVED, MAKING_OF_PIECES_SAVED,
    MAX_LOOP_RESIDUAL, PIECES_REST,
};
use crate::constants::search_limits::MAX_CALLS_BETWEEN_PIECES;
use crate::constants::time_shares::{MIN_SHARE_OF_BYTE_LOOP, MIN_SHARE_OF_CALLEE, MOST_OF_IT};
use crate::gain::saved_time::{SavedTime, combined};
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::is_copy_function;
use crate::patterns::appends::append;
use crate::patterns::byte_loops::{ByteLoop, byte_loops};
use crate::patterns::calls::{Call, all_calls, cycles_of_all, reaches};
use crate::patterns::hot_loops::hot_loops;
use crate::patterns::observed_sites::share_of_target;

/// Finds loops that copy bytes unchanged, from the usual path of each loop and its counted run
/// lengths.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    let all = byte_loops(input);
    let copied = all.iter().filter(|one| !one.stores.is_empty());
    let mut found: Vec<Candidate> = copied.map(|one| candidate(input, one)).collect();
    found.extend(appended(input));
    found.extend(piecewise(input));
    found
}

/// The argument of `memcpy` that is the source.
const SOURCE_OF_COPY: usize = 1;

/// Calls that hand on a few bytes each, from or to where the call before stopped, as bursts show.
fn piecewise(input: &AnalysisInput) -> Vec<Candidate> {
    let Some(observed) = &input.observed else {
        return Vec::new();
    };
    let few = observed.piecewise_calls.iter().filter(|one| {
        one.bytes_per_call <= MAX_BYTES_OF_PIECE
            && one.calls_per_run >= MIN_PIECES_OF_RUN
            && one.seen.share.low >= MOST_OF_IT
            && one.seen.executions >= MIN_SEEN_EXECUTIONS
            && one.seen.bursts >= MIN_BURSTS_FOR_EVENTS
    });
    let of_code = few.filter_map(|one| {
        let path = observed.path(one.at);
        let call = all_calls(input).find(|call| {
            let function = &input.functions[call.caller];
            let address = function.code.get(call.site.at).map(|code| code.address);
            function.module == path && address == Some(one.at.address)
        })?;
        (!is_copied_elsewhere(one, &call)).then_some((one, call))
    });
    let all: Vec<(&PiecewiseCall, Call<'_>)> = of_code.collect();
    // Who hands pieces on to who hands them on in turn, as many, is where runs are made.
    let outer = |call: &Call<'_>| {
        let as_many = MOST_OF_IT * call.target.count as f64;
        (all.iter().filter(|one| one.1.caller != call.caller))
            .filter(|one| one.1.target.count as f64 >= as_many)
            .filter_map(|one| one.1.callee)
            .any(|callee| reaches(input, callee, call.caller, MAX_CALLS_BETWEEN_PIECES))
    };
    let outermost = all.iter().filter(|one| !outer(&one.1));
    let found = outermost.filter_map(|(one, call)| {
        let function = &input.functions[call.caller];
        // With all that the callee calls in turn for each piece.
        let inside = share_of_target(input, call.caller, call.target);
        let share = cost(input, call)?.0.max(inside);
        let each = share * cycles_of_all(input)? / call.target.count.max(1) as f64;
        if !function.own || share < MIN_SHARE_OF_CALLEE || call.target.count < MIN_CALLS_IN_HOT_CODE
        {
            return None;
        }
        let site = vec![call.site.at];
        let mut found = Candidate::new(
            Cause::BytewiseCopy,
            Some(call.caller),
            site,
            Fix::HandOnRuns,
        );
        // One call for a run, and what finds the run's end.
        let once = 1.0 / one.calls_per_run;
        let saved = |rest: f64| (1.0 - rest) * (1.0 - once);
        let (likely, least, most) = PIECES_REST;
        // Other calls of the same callee end a run that these begin.
        let beside = share_of_others(input, call);
        found.saves(&[
            SavedTime::of(share, (saved(likely), saved(most), saved(least))),
            SavedTime::of(beside, (0.0, 0.0, saved(least))),
            SavedTime::of(share_of_loop(input, call), LOOP_OF_PIECES_SAVED),
            SavedTime::of(share_of_makers(input, call), MAKING_OF_PIECES_SAVED),
        ]);
        found.executions = Some(call.target.count);
        found.cycles = Some(Estimate::exact(each));
        Some(
            found
                .fact(CallFact::Pieces {
                    function: call.target.function.clone(),
                    calls: call.target.count,
                    bytes: one.bytes_per_call,
                    continued: one.seen.share,
                    appended: one.appended,
                })
                .fact(CallFact::Time {
                    function: None,
                    share,
                    cycles: each,
                }),
        )
    });
    found.collect()
}

/// Share of all time in the other calls of the same callee from the function, with all that they call.
fn share_of_others(input: &AnalysisInput, call: &Call<'_>) -> f64 {
    let sites = input.functions[call.caller].call_sites.iter();
    let targets = sites
        .filter(|site| site.at != call.site.at)
        .flat_map(|site| &site.targets)
        .filter(|one| (&one.function, &one.module) == (&call.target.function, &call.target.module));
    targets
        .map(|target| share_of_target(input, call.caller, target))
        .sum()
}

/// Share of all time in calls of other functions that the innermost loop makes for each piece: what finds the
/// piece, once for a run then.
fn share_of_makers(input: &AnalysisInput, call: &Call<'_>) -> f64 {
    let function = &input.functions[call.caller];
    let Some(index) = function.flow.loop_of_instruction(call.site.at) else {
        return 0.0;
    };
    let members = function.loop_instructions(index);
    let inside = (function.call_sites.iter())
        .filter(|site| site.at != call.site.at && members.binary_search(&site.at).is_ok());
    let for_each = MOST_OF_IT * call.target.count as f64;
    let targets = inside.flat_map(|site| &site.targets).filter(|one| {
        let same = (&one.function, &one.module) == (&call.target.function, &call.target.module);
        !same && one.count as f64 >= for_each
    });
    targets
        .map(|target| share_of_target(input, call.caller, target))
        .sum()
}

/// Share of all time in the innermost loop around a call, without the call.
fn share_of_loop(input: &AnalysisInput, call: &Call<'_>) -> f64 {
    let function = &input.functions[call.caller];
    let at = call.site.at;
    let members = (function.flow.loop_of_instruction(at))
        .map(|index| function.loop_instructions(index))
        .unwrap_or_default();
    // What stands at the call and behind it is the call's.
    let rest = members
        .into_iter()
        .filter(|&one| one != at && one != at + 1);
    function.heat_of(rest)
}

/// Whether a call of the library's copying and filling functions puts behind one another what comes from
/// several places, or puts elsewhere what comes from behind one another (random bytes, a few for each
/// caller): no run that one call could copy.
fn is_copied_elsewhere(one: &PiecewiseCall, call: &Call<'_>) -> bool {
    let name = &call.target.function;
    let source_goes_on = !one.appended && one.pointer == SOURCE_OF_COPY;
    let is_run = source_goes_on && one.first_goes_on >= MOST_OF_IT;
    is_clearing_function(name) || is_copy_function(name) && !is_run
}

/// Loops that append bytes through memory: one candidate for all of a function, whose fix is one.
fn appended(input: &AnalysisInput) -> Vec<Candidate> {
    let mut found: Vec<(Candidate, f64)> = Vec::new();
    for one in hot_loops(input, MIN_SHARE_OF_BYTE_LOOP) {
        let appends = one.input.own.then(|| append(input, &one)).flatten();
        let Some(append) = appends.filter(|append| append.bytes == 1) else {
            continue;
        };
        let residual = append.gain.residual_fraction;
        let value = residual.value.min(MAX_LOOP_RESIDUAL);
        let residual = Estimate {
            value,
            low: (APPENDED_VECTOR_LOW * residual.low).min(value),
            high: (1.0 + value) / 2.0,
        };
        let same = |before: &&mut (Candidate, f64)| before.0.function == Some(one.function);
        if let Some((before, share)) = found.iter_mut().find(same) {
            let both = [(*share, before.residual_fraction), (one.share, residual)];
            (*share, before.residual_fraction) = combined(&both);
            before.affected.extend(&one.members);
            before.site.push(append.store);
            continue;
        }
        let fix = Fix::ReserveOnce;
        let site = vec![append.store];
        let mut candidate = Candidate::new(Cause::BytewiseCopy, Some(one.function), site, fix);
        candidate.affected.clone_from(&one.members);
        candidate.residual_fraction = residual;
        candidate.executions = Some(one.cost.iterations);
        candidate.cycles = Some(one.cycles);
        let candidate = candidate
            .fact(LoopFact::AppendedBytes {
                bytes: one.cost.iterations,
                mean_run: one.trips,
                reloads: append.reloads,
            })
            .fact(LoopFact::ByteTime {
                share: one.share,
                cycles: one.cycles.value,
            })
            .fact(append.gain.fact());
        found.push((candidate, one.share));
    }
    found.into_iter().map(|one| one.0).collect()
}

fn candidate(input: &AnalysisInput, found: &ByteLoop) -> Candidate {
    let mut site = found.stores.clone();
    site.extend(&found.loads);
    let mut one = Candidate::new(
        Cause::BytewiseCopy,
        Some(found.function),
        site,
        match found.turns_round {
            true => Fix::TurnRoundWords,
            false => Fix::CopyRuns,
        },
    );
    one.affected = found.path.clone();
    one.residual_fraction = found.residual_fraction(input, BYTE_COPY_CYCLES);
    one.executions = Some(found.iterations);
    one.cycles = Some(Estimate::exact(found.each));
    found.facts(ByteOperation::Copy, one)
}
