//! Copies of what has not changed since it was copied last: part of `repeated-copy`.
//!
//! **Signature.** Observed: most of the bytes that a place copies are as they were when they were copied
//! last, and that copy is gone; nobody writes to the copies, and what reads them reads no more bytes than
//! were copied. A structure handed over by value for each call is so; an area that is packed once to
//! be read many times is not.
//!
//! **Confirmation.** The original in place of the copy.
//!
//! **Gain.** The measured time of the instructions that copy (of calls, of the callee by its bytes). What
//! reads the copy first waits for the stores, often of another width: of its time a part.
//!
//! **Source.** As [`super::repeated_copy`]; S. Meyers, "Effective C++", 3rd ed., 2005, item 20 (pass by
//! reference to const).

use genba_model::{Cause, CodePoint, Fix, ObservedFact};
use genba_observe::CopiedAgain;

use crate::candidate::Candidate;
use crate::constants::observations::{
    MAX_COPIES_WRITTEN, MAX_READS_OF_COPY, MIN_BYTES_OF_REPEATED_COPY, MIN_COPIED_BEFORE,
    MIN_SHARE_OF_REPEATED_WORK, READERS_OF_COPY_SAVED, REPEATED_COPIES_SAVED,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::FunctionInput;
use crate::patterns::observed_sites::{ObservedSites, is_enough};

/// Candidates, of each function one; `share_of_call` says what the copies of a call take.
pub(crate) fn copies_again(
    sites: &ObservedSites<'_>,
    share_of_call: impl Fn(CodePoint) -> f64,
) -> Vec<Candidate> {
    let mut functions: Vec<(usize, Vec<Copying<'_>>)> = Vec::new();
    for seen in sites
        .observed
        .copied_again
        .iter()
        .filter(|one| is_needless(one))
    {
        let Some((function, at)) = sites.users_site(seen.at) else {
            continue;
        };
        let instructions = instructions(sites, function, seen);
        let share = match seen.target {
            Some(_) => share_of_call(seen.at),
            None => sites.input.functions[function].heat_of(instructions.iter().copied()),
        };
        let one = Copying {
            seen,
            at,
            instructions,
            share,
        };
        match functions.iter_mut().find(|known| known.0 == function) {
            Some(known) => known.1.push(one),
            None => functions.push((function, vec![one])),
        }
    }
    (functions.into_iter())
        .filter_map(|(function, list)| candidate(sites, function, &list))
        .collect()
}

/// A place that copies again.
struct Copying<'a> {
    seen: &'a CopiedAgain,
    at: usize,
    instructions: Vec<usize>,
    share: f64,
}

fn is_needless(one: &CopiedAgain) -> bool {
    is_enough(&one.seen)
        && one.seen.share.low >= MIN_COPIED_BEFORE
        && one.modified.share.value <= MAX_COPIES_WRITTEN
        && one.reads_per_byte <= MAX_READS_OF_COPY
        && one.bytes_per_copy >= MIN_BYTES_OF_REPEATED_COPY
}

/// The stores with their loads, which are just before them, and what waits for them.
fn instructions(sites: &ObservedSites<'_>, function: usize, seen: &CopiedAgain) -> Vec<usize> {
    let data = &sites.input.functions[function].data;
    let stores = seen.stores.iter().filter_map(|&at| sites.site(at));
    let mut all: Vec<usize> = stores
        .filter(|site| site.0 == function)
        .flat_map(|(_, at)| {
            let before = at.checked_sub(1).filter(|&before| data[before].loads());
            [
                before,
                Some(at),
                Some(at + 1).filter(|&next| next < data.len()),
            ]
        })
        .flatten()
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The instructions of the block of a load: what waits for it is there.
fn block_of(function: &FunctionInput, at: usize) -> std::ops::Range<usize> {
    let Some(block) = function.flow.block_of(at) else {
        return at..at + 1;
    };
    let range = &function.flow.blocks()[block as usize].instructions;
    range.start as usize..range.end as usize
}

fn candidate(
    sites: &ObservedSites<'_>,
    function: usize,
    list: &[Copying<'_>],
) -> Option<Candidate> {
    let input = sites.input;
    let share = list.iter().map(|one| one.share).sum::<f64>().min(1.0);
    if share < MIN_SHARE_OF_REPEATED_WORK {
        return None;
    }
    let first = list.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let mut readers: Vec<(usize, usize)> = (list.iter())
        .flat_map(|one| &one.seen.readers)
        .filter_map(|&at| sites.site(at))
        .flat_map(|(of, at)| block_of(&input.functions[of], at).map(move |at| (of, at)))
        .filter(|&(of, at)| {
            of != function || list.iter().all(|one| !one.instructions.contains(&at))
        })
        .collect();
    readers.sort_unstable();
    readers.dedup();
    let waiting: f64 = (readers.iter())
        .filter_map(|&(of, at)| input.functions[of].heat.get(at))
        .sum();
    let waiting = waiting.min(1.0 - share);
    let site: Vec<usize> = std::iter::once(first.at)
        .chain(list.iter().map(|one| one.at).filter(|&at| at != first.at))
        .collect();
    let mut one = Candidate::new(
        Cause::RepeatedCopy,
        Some(function),
        site,
        Fix::PassByReference,
    );
    one.affected = (list.iter())
        .flat_map(|one| one.instructions.iter().copied().chain([one.at]))
        .collect();
    one.affected.sort_unstable();
    one.affected.dedup();
    let again = &first.seen.seen.share;
    let (value, low, high) = REPEATED_COPIES_SAVED;
    one.saves(&[
        SavedTime::within(
            (share * again.value, share * again.low, share),
            (value, low, high),
        ),
        SavedTime::of(waiting, READERS_OF_COPY_SAVED),
    ]);
    one.executions = Some(input.functions[function].counts[first.at]);
    Some(
        one.fact(ObservedFact::CopiedAgain {
            share: first.seen.seen.share,
            bytes: first.seen.bytes_per_copy,
            reads: first.seen.reads_per_byte,
            bursts: first.seen.seen.bursts,
        })
        .fact(ObservedFact::CopyChainTime {
            share,
            places: list.len(),
            again: again.value,
            readers: waiting,
        }),
    )
}
