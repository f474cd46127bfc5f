//! Part of `dead-store`: clears of memory of which the program loads a small part.
//!
//! **Signature.** A call clears a long buffer, the same each time, and all loads of the program that go there bring fewer bytes than
//! these calls clear (observed, over all bursts: [`genba_observe::LongRange`]). Whatever the loads read, the rest of what was
//! cleared is never read, or only after another store. So buffers count that no burst sees from one clear to the next.
//!
//! **Near misses.** Tables that are read at random all over, and buffers that are filled and read; memory that is another one each
//! time; programs that hand memory to the kernel as often as they clear it, which reads it unseen.
//!
//! **Gain.** The clear's time, as far as it is of bytes that are not read, and what the clear evicts.

use genba_model::{Cause, CodePoint, Estimate, Fix, ObservedFact};
use genba_observe::LongRange;

use super::dead_store::{is_clearing_function, residual};
use crate::candidate::Candidate;
use crate::constants::counts::{EVICTING_CLEAR_BYTES, MIN_SEARCHES};
use crate::constants::gains::REST_SAVED_WITHOUT_EVICTION;
use crate::constants::observations::{
    DEAD_STORES_SAVED, MIN_BURSTS, MIN_SAME_ADDRESS, MIN_SHARE_OF_REPEATED_WORK, MIN_UNREAD,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, UserCall};
use crate::input::runtime_services::plain;
use crate::input::user_lines::site_of;
use crate::patterns::observed_sites::ObservedSites;

/// Clears that the user's own code asks for, most of whose bytes nothing reads.
pub(crate) fn candidates(sites: &ObservedSites<'_>) -> Vec<Candidate> {
    let functions = sites.input.functions.iter().enumerate();
    let clearing = functions.filter(|(_, one)| is_clearing_function(&one.function));
    clearing
        .flat_map(|(number, callee)| {
            let users = callee.user_callers.iter();
            users.filter_map(move |user| candidate(sites, number, user))
        })
        .collect()
}

fn candidate(sites: &ObservedSites<'_>, number: usize, user: &UserCall) -> Option<Candidate> {
    let input = sites.input;
    let callee = &input.functions[number];
    let range = range_of(sites, user)?;
    if range.same_place.share.value < MIN_SAME_ADDRESS
        || range.same_place.bursts < MIN_BURSTS
        || range.bytes_per_call < EVICTING_CLEAR_BYTES
        || user.through_library
        || user.calls < MIN_SEARCHES as f64
        || calls_that_hand_over(input) as f64 >= user.calls
    {
        return None;
    }
    let instructions = input.program.instructions?;
    let cleared = user.calls * range.bytes_per_call;
    let bytes = |per_instruction: f64| per_instruction * instructions as f64;
    let loaded = Estimate {
        value: bytes(range.loaded_per_instruction.value),
        low: bytes(range.loaded_per_instruction.low),
        high: bytes(range.loaded_per_instruction.high),
    };
    let unread = 1.0 - loaded.value / cleared;
    // Of the time of the function, by bytes; what bursts did not see is short.
    let all: f64 = (callee.user_callers.iter())
        .filter_map(|other| Some(other.calls * range_of(sites, other)?.bytes_per_call))
        .sum();
    let share = callee.share.value * cleared / all.max(cleared);
    if 1.0 - loaded.high / cleared < MIN_UNREAD || share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let mut found = Candidate::new(
        Cause::DeadStore,
        Some(number),
        Vec::new(),
        Fix::ClearUsedPart,
    );
    found.at = Some(site_of(
        &user.function,
        &user.module,
        user.address,
        &user.place,
    ));
    found.residual_fraction = residual(unread);
    let (value, low, high) = DEAD_STORES_SAVED;
    found.saves(&[
        SavedTime::of(share, (value * unread, low * unread, high)),
        SavedTime::of(1.0 - share, REST_SAVED_WITHOUT_EVICTION),
    ]);
    found.executions = Some(user.calls as u64);
    Some(
        found
            .fact(ObservedFact::UnreadClears {
                function: callee.function.clone(),
                calls: user.calls as u64,
                bytes: range.bytes_per_call,
                loaded_bytes: loaded,
                bursts: sites.observed.bursts,
            })
            .fact(ObservedFact::FillTime { share }),
    )
}

/// What bursts saw of the memory that a caller hands on.
fn range_of<'a>(sites: &'a ObservedSites<'_>, user: &UserCall) -> Option<&'a LongRange> {
    let at = CodePoint {
        module: sites.observed.module(&user.module)?,
        address: user.address,
    };
    sites.observed.long_ranges.iter().find(|one| one.at == at)
}

/// Calls of the C library that let the kernel read memory.
fn calls_that_hand_over(input: &AnalysisInput) -> u64 {
    let hands_over = |name: &str| {
        matches!(
            plain(name),
            "write"
                | "pwrite"
                | "pwrite64"
                | "writev"
                | "pwritev"
                | "send"
                | "sendto"
                | "sendmsg"
                | "sendmmsg"
        )
    };
    let called = input.program.called.iter();
    let calls = called.filter(|one| hands_over(&one.function));
    calls.map(|one| one.calls).sum()
}
