//! `repeated-copy`: the same bytes are copied several times unchanged.
//!
//! **Signature.** Observed: most of the bytes that a place copies had been copied to where they are
//! copied from. Bytes that go back to where they came from do not count: they were kept on purpose.
//! Places that copy what another one copied are one finding. Copies of a buffer that grows are `realloc-growth`.
//! A place that copies what it copied itself, to a block that was just allocated, changes a structure by copying it,
//! as does a loop that copies long arrays again and again between few other stores ([`super::copies_for_changes`]).
//!
//! **Confirmation.** One of the copies left out.
//!
//! **Gain.** The measured time of the bytes that had been copied before; of the allocator's time for the
//! buffers in between a part.
//!
//! **Source.** G. Xu et al., "Go with the flow: profiling copies to find runtime bloat", PLDI 2009.

use std::collections::HashMap;

use genba_model::{Cause, CodePoint, Confirmation, Estimate, Fix, ObservedFact};
use genba_observe::RepeatedCopy;

use crate::candidate::Candidate;
use crate::causes::copies_again::copies_again;
use crate::causes::copies_for_changes::copies_for_changes;
use crate::causes::realloc_growth;
use crate::constants::observations::{
    BUFFERS_BETWEEN_SAVED, BYTES_OF_UNSEEN_COPY, COPIES_FOR_CHANGES_SAVED, FIRST_COPY_SAVED,
    MIN_BYTES_OF_REPEATED_COPY, MIN_COPIED_BEFORE, MIN_SHARE_OF_REPEATED_WORK,
    REPEATED_COPIES_SAVED,
};
use crate::constants::time_shares::MOST_OF_IT;
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, CallTarget};
use crate::input::runtime_services::{is_allocator, is_copy_function};
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// One place of a chain.
struct Copying<'a> {
    seen: &'a RepeatedCopy,
    function: usize,
    at: usize,
    share: f64,
}

/// Finds chains of copies of the same bytes.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    if !realloc_growth::detect(input).is_empty() {
        return Vec::new();
    }
    let counted = copies_for_changes(input);
    let Some(sites) = ObservedSites::of(input) else {
        return counted;
    };
    let bytes = BytesOfCalls::of(&sites);
    let all = all_copying(&sites, &bytes);
    let mut found: Vec<Candidate> = chains(&all)
        .into_iter()
        .filter_map(|chain| candidate(&sites, &bytes, &chain))
        .collect();
    found.extend(copies_again(&sites, |at| bytes.share(&sites, at)));
    let known = |one: &Candidate| found.iter().any(|other| other.function == one.function);
    let new: Vec<Candidate> = counted.into_iter().filter(|one| !known(one)).collect();
    found.extend(new);
    found
}

/// Share of the time that goes into copies of what had been copied before, and into those first copies.
pub(crate) fn time_of_copies(input: &AnalysisInput) -> f64 {
    let Some(sites) = ObservedSites::of(input) else {
        return 0.0;
    };
    let bytes = BytesOfCalls::of(&sites);
    let all = all_copying(&sites, &bytes);
    let again: f64 = all.iter().map(|one| one.share).sum();
    let first = first_copies(&sites, &bytes, &all.iter().collect::<Vec<_>>());
    (again + first).min(1.0)
}

fn all_copying<'a>(sites: &ObservedSites<'a>, bytes: &BytesOfCalls) -> Vec<Copying<'a>> {
    (sites.observed.repeated_copies.iter())
        .filter_map(|seen| copying(sites, bytes, seen))
        .collect()
}

/// Share of the time of the copies that made what these copy.
fn first_copies(sites: &ObservedSites<'_>, bytes: &BytesOfCalls, chain: &[&Copying<'_>]) -> f64 {
    let mut origins: Vec<CodePoint> = chain.iter().map(|one| one.seen.previous).collect();
    origins.sort_unstable();
    origins.dedup();
    origins.retain(|&at| chain.iter().all(|one| one.seen.at != at));
    origins.into_iter().map(|at| bytes.share(sites, at)).sum()
}

fn copying<'a>(
    sites: &ObservedSites<'a>,
    bytes: &BytesOfCalls,
    seen: &'a RepeatedCopy,
) -> Option<Copying<'a>> {
    let (function, at) = sites.users_site(seen.at)?;
    let again = is_enough(&seen.seen) && seen.seen.share.low >= MIN_COPIED_BEFORE;
    if !again || seen.bytes_per_copy < MIN_BYTES_OF_REPEATED_COPY {
        return None;
    }
    let one = &sites.input.functions[function];
    let share = match seen.target {
        Some(_) => bytes.share(sites, seen.at),
        None => match one.flow.loop_of_instruction(at) {
            // A loop around others, or around a string instruction, does more than copy.
            Some(index) if one.is_innermost(index) && !one.code[at].text.starts_with("rep") => {
                one.loop_heat(index)
            }
            _ => one.heat[at] + string_copy_behind(sites, (function, at)),
        },
    };
    Some(Copying {
        seen,
        function,
        at,
        share,
    })
}

/// Share of the time of the repeated string instruction that goes on with a copy whose first bytes are moved one by one,
/// in the same block; if it is not a place of its own.
fn string_copy_behind(sites: &ObservedSites<'_>, (number, at): (usize, usize)) -> f64 {
    let function = &sites.input.functions[number];
    let Some(block) = function.flow.block_of(at) else {
        return 0.0;
    };
    let end = function.flow.blocks()[block as usize].instructions.end as usize;
    let known = |next: usize| {
        let mut places = sites.observed.repeated_copies.iter();
        places.any(|one| sites.site(one.at) == Some((number, next)))
    };
    let mut behind = at + 1..end;
    let copy = behind.find(|&next| function.code[next].text.starts_with("rep movs"));
    copy.filter(|&next| !known(next))
        .map_or(0.0, |next| function.heat[next])
}

/// Bytes that the user's calls of copying functions copy in one run.
struct BytesOfCalls {
    by_call: HashMap<(String, u64), f64>,
    all: f64,
}

impl BytesOfCalls {
    fn of(sites: &ObservedSites<'_>) -> Self {
        let seen: HashMap<CodePoint, f64> = (sites.observed.repeated_copies.iter())
            .filter(|one| one.target.is_some())
            .map(|one| (one.at, one.bytes_per_copy))
            .collect();
        let mut by_call: HashMap<(String, u64), f64> = HashMap::new();
        let users = sites
            .input
            .service("copy")
            .map_or(&[][..], |one| &one.users);
        for user in users {
            let module = sites.observed.module(&user.module);
            let address = user.address;
            let at = module.map(|module| CodePoint { module, address });
            let known = at.and_then(|at| {
                let handed = length_at(sites, at);
                handed.or_else(|| seen.get(&at).copied())
            });
            let bytes = user.calls * known.unwrap_or(BYTES_OF_UNSEEN_COPY);
            *by_call.entry((user.module.clone(), address)).or_default() += bytes;
        }
        // Instances of a library's templates copy for the user, whose calls are of them.
        for seen in (sites.observed.repeated_copies.iter()).filter(|one| one.target.is_some()) {
            let key = (sites.observed.path(seen.at).to_owned(), seen.at.address);
            if let Some(calls) = calls_of_copies(sites, seen.at) {
                by_call
                    .entry(key)
                    .or_insert(calls as f64 * seen.bytes_per_copy);
            }
        }
        let all = by_call.values().sum();
        Self { by_call, all }
    }

    /// Share of all time that the copies of a call take.
    fn share(&self, sites: &ObservedSites<'_>, at: CodePoint) -> f64 {
        let key = (sites.observed.path(at).to_owned(), at.address);
        let bytes = self.by_call.get(&key).copied().unwrap_or(0.0);
        sites.input.copy_share() * bytes / self.all.max(1.0)
    }
}

/// How often an instruction calls a copying function, if it calls nothing else.
fn calls_of_copies(sites: &ObservedSites<'_>, at: CodePoint) -> Option<u64> {
    let (number, index) = sites.site(at)?;
    let mut calls = sites.input.functions[number].call_sites.iter();
    let copies = |target: &CallTarget| is_copy_function(&target.function);
    let site = calls.find(|site| site.at == index && site.targets.iter().all(copies))?;
    Some(site.targets.iter().map(|target| target.count).sum())
}

/// Share of the time in page faults: buffers in between are memory that is new each time.
fn faults(input: &AnalysisInput) -> f64 {
    let of_pages = |reason: &str| reason == "page fault" || reason == "page clearing";
    let works = input
        .program
        .kernel
        .iter()
        .filter(|one| of_pages(one.reason));
    works.map(|one| one.share).sum()
}

/// Mean bytes of a call of a copying function, by its arguments.
fn length_at(sites: &ObservedSites<'_>, at: CodePoint) -> Option<f64> {
    calls_of_copies(sites, at)?;
    let lengths = &sites.observed.call_lengths;
    let index = lengths.binary_search_by_key(&at, |one| one.at).ok()?;
    Some(lengths.get(index)?.bytes_per_call)
}

/// Places of which one copies what another copied.
fn chains<'a, 'b>(all: &'b [Copying<'a>]) -> Vec<Vec<&'b Copying<'a>>> {
    let mut list: Vec<Vec<&Copying<'_>>> = Vec::new();
    for one in all {
        let linked = |other: &&Copying<'_>| {
            other.seen.previous == one.seen.at
                || one.seen.previous == other.seen.at
                || one.seen.previous == other.seen.previous
                || one.seen.at == other.seen.at
        };
        let mut joined = vec![one];
        let (with, without): (Vec<_>, Vec<_>) =
            (list.into_iter()).partition(|chain: &Vec<&Copying<'_>>| chain.iter().any(linked));
        joined.extend(with.into_iter().flatten());
        list = without;
        list.push(joined);
    }
    list
}

fn candidate(
    sites: &ObservedSites<'_>,
    bytes: &BytesOfCalls,
    chain: &[&Copying<'_>],
) -> Option<Candidate> {
    let input = sites.input;
    let share: f64 = chain.iter().map(|one| one.share).sum::<f64>().min(1.0);
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let first = chain.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let weighed = |of: fn(&Estimate) -> f64| {
        let parts = chain.iter().map(|one| one.share * of(&one.seen.seen.share));
        parts.sum::<f64>() / share
    };
    let again = weighed(|share| share.value);
    let for_changes =
        first.seen.previous == first.seen.at && first.seen.to_new_blocks >= MOST_OF_IT;
    let (fix, saved) = match for_changes {
        true => (Fix::ChangeInPlace, COPIES_FOR_CHANGES_SAVED),
        false => (Fix::CopyOnce, REPEATED_COPIES_SAVED),
    };
    let mut one = Candidate::new(
        Cause::RepeatedCopy,
        Some(first.function),
        vec![first.at],
        fix,
    );
    let allocator = input.share_where(|f| is_allocator(&f.function));
    let (value, low, high) = saved;
    // Where the last copy serves as well as what was copied first, that goes, too.
    let origins = first_copies(sites, bytes, chain);
    one.saves(&[
        SavedTime::of(origins, FIRST_COPY_SAVED),
        SavedTime::within(
            (
                share * again,
                share * weighed(|share| share.low),
                share * weighed(|share| share.high),
            ),
            (value, low, high),
        ),
        SavedTime::of(allocator + faults(input), BUFFERS_BETWEEN_SAVED),
    ]);
    one.executions = Some(input.functions[first.function].counts[first.at]);
    one.confirmation = Confirmation::CopySizes;
    Some(
        one.fact(ObservedFact::RepeatedCopies {
            share: first.seen.seen.share,
            bytes: first.seen.bytes_per_copy,
            previous_function: sites.function_name(first.seen.previous),
            previous_line: sites.line(first.seen.previous),
            bursts: first.seen.seen.bursts,
        })
        .fact(ObservedFact::CopyChainTime {
            share,
            places: chain.len(),
            again,
            readers: 0.0,
        }),
    )
}
