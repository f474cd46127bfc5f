//! `tls-lookup`: a function call to find a thread's own data, again and again.
//!
//! **Signature.** Hot calls of `pthread_getspecific` or `__tls_get_addr`.
//!
//! **Confirmation.** Calls an operation.
//!
//! **Gain.** One load instead of the call and what it executes.
//!
//! **Source.** U. Drepper, "ELF Handling For Thread-Local Storage", 2013.

use genba_model::Estimate;

use super::calls::{Call, all_calls, around, cycles_of_all};
use super::candidate::Candidate;
use super::frame::Frame;
use super::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "tls-lookup";

/// Calls that are worth a look.
const LEAST_CALLS: u64 = 100_000;

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

/// Looks for it.
#[must_use]
pub fn detect(frame: &Frame) -> Vec<Candidate> {
    candidate(frame).into_iter().collect()
}

fn candidate(frame: &Frame) -> Option<Candidate> {
    let calls: Vec<Call<'_>> = all_calls(frame)
        .filter(|call| is_lookup(&call.target.function) && frame.functions[call.caller].own)
        .collect();
    let hottest = calls.iter().max_by_key(|call| call.target.count)?;
    let times: u64 = calls.iter().map(|call| call.target.count).sum();
    if times < LEAST_CALLS {
        return None;
    }
    let all = cycles_of_all(frame)?;
    // What is executed there, by its samples.
    let lookups = frame.functions.iter().filter(|f| is_lookup(&f.function));
    let inside: f64 = lookups.map(|f| f.share.value).sum();
    let mut near: Vec<(usize, usize)> = Vec::new();
    for call in &calls {
        let function = &frame.functions[call.caller];
        let list = around(function, call.site.at);
        let close = |at: &usize| at.abs_diff(call.site.at) <= 2;
        near.extend(list.into_iter().filter(close).map(|at| (call.caller, at)));
    }
    near.sort_unstable();
    near.dedup();
    let beside: f64 = near
        .iter()
        .map(|&(f, at)| frame.functions[f].heat[at])
        .sum();
    let share = (inside + beside).min(1.0);
    let each = share * all / times as f64;
    let mut one = Candidate::new(ID, Some(hottest.caller), vec![hottest.site.at]);
    let mine = near.iter().filter(|one| one.0 == hottest.caller);
    one.affected = mine.map(|one| one.1).collect();
    one.share = Some(share);
    let stays = |cycles: f64| (cycles / each).clamp(0.02, 1.0);
    one.remains = Estimate {
        value: stays(1.0),
        low: stays(0.3),
        high: stays(3.0).max(1.0 - inside / share.max(1e-9)).min(0.95),
    };
    one.executions = Some(times);
    one.cycles = Some(Estimate::exact(each));
    let name = &hottest.target.function;
    one.fix = "Keep a pointer to the thread's data in a `_Thread_local` (`thread_local`) variable of the program itself \
               (initial-exec model: -ftls-model=initial-exec in libraries that are not loaded by dlopen), \
               or look it up once and pass it on."
        .to_owned();
    one.example = Some((
        "struct context *c = pthread_getspecific(key);",
        "static _Thread_local struct context *current;\nstruct context *c = current;",
    ));
    one.confirm = "change it, then: genba bench ./old ./new".to_owned();
    Some(
        one.counted(format!("`{name}` was called {} times", count(times)))
            .measured(format!(
                "looking up takes {} of the time, {} cycles each",
                percent(share),
                cycles(each)
            ))
            .model("a variable of the thread's own is one load"),
    )
}
