//! `tls-lookup`: thread-local data looked up by a function call.
//!
//! **Signature.** Hot calls of `pthread_getspecific` or `__tls_get_addr`.
//!
//! **Confirmation.** The number of calls per operation.
//!
//! **Gain.** One load instead of the call and what it executes.
//!
//! **Source.** U. Drepper, "ELF Handling For Thread-Local Storage", 2013.

use genba_model::{CallFact, Cause, Estimate, Fix};

use crate::candidate::Candidate;
use crate::constants::counts::{MAX_INSTRUCTIONS_OF_SMALL_FUNCTION, MIN_CALLS_IN_HOT_CODE};
use crate::constants::gains::{HOISTED_CYCLES_PER_INSTRUCTION, INLINED_BODY, MAX_RESIDUAL};
use crate::constants::processor::DEFAULT_PLT_CALL_CYCLES;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::calls::{Call, all_calls, around, cycles_of_all};

fn is_lookup(name: &str) -> bool {
    let bare = name
        .split('@')
        .next()
        .unwrap_or(name)
        .trim_start_matches('_');
    matches!(
        bare,
        "tls_get_addr"
            | "tls_get_addr_slow"
            | "pthread_getspecific"
            | "emutls_get_address"
            | "tss_get"
    )
}

/// Finds hot calls of `pthread_getspecific` and `__tls_get_addr`.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    candidate(input).into_iter().collect()
}

fn candidate(input: &AnalysisInput) -> Option<Candidate> {
    let calls: Vec<Call<'_>> = all_calls(input)
        .filter(|call| is_lookup(&call.target.function) && input.functions[call.caller].own)
        .collect();
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let times: u64 = calls.iter().map(|call| call.target.count).sum();
    if times < MIN_CALLS_IN_HOT_CODE {
        return None;
    }
    let all = cycles_of_all(input)?;
    // What is executed there, by its samples.
    let lookups = input.functions.iter().filter(|f| is_lookup(&f.function));
    let inside: f64 = lookups.map(|f| f.share.value).sum();
    let mut near: Vec<(usize, usize)> = Vec::new();
    for call in &calls {
        let function = &input.functions[call.caller];
        // A small function is nothing but its look-up and what it is for.
        let list = match function.code.len() {
            0..=MAX_INSTRUCTIONS_OF_SMALL_FUNCTION => (0..function.code.len()).collect(),
            _ => around(function, call.site.at),
        };
        near.extend(list.into_iter().map(|at| (call.caller, at)));
    }
    near.sort_unstable();
    near.dedup();
    let (mut beside, mut rest) = (0.0, 0.0);
    for &(function, at) in &near {
        let function = &input.functions[function];
        beside += function.heat[at];
        rest += function.counts[at] as f64 / times as f64;
    }
    let share = (inside + beside).min(1.0);
    let each = share * all / times as f64;
    let mut one = Candidate::new(
        Cause::TlsLookup,
        Some(hottest.caller),
        vec![hottest.site.at],
        Fix::ThreadLocalVariable,
    );
    let mine = near.iter().filter(|one| one.0 == hottest.caller);
    one.affected = mine.map(|one| one.1).collect();
    one.share = Some(share);
    let costs = &input.program.costs;
    let overhead = costs
        .throughput("call [PLT] + ret")
        .map_or(DEFAULT_PLT_CALL_CYCLES, |cost| cost.value);
    let within = inside * all / times as f64;
    // What stays are the instructions around, and a load.
    let body = HOISTED_CYCLES_PER_INSTRUCTION * rest + 1.0;
    let after = (each - within - overhead)
        .max(INLINED_BODY.0 * body)
        .min(each);
    one.residual_fraction = Estimate {
        value: after / each,
        low: (INLINED_BODY.1 * body).min(after) / each,
        high: (each - within)
            .max(INLINED_BODY.2 * after)
            .min(MAX_RESIDUAL * each)
            / each,
    };
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(each));
    Some(
        one.fact(CallFact::ThreadLocalLookups {
            function: hottest.target.function.clone(),
            calls: times,
        })
        .fact(CallFact::Time {
            function: None,
            share,
            cycles: each,
        })
        .fact(CallFact::ThreadLocalLoad),
    )
}
