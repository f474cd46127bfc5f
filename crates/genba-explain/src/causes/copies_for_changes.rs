//! Long arrays copied element by element, of which next to nothing was changed since: part of `repeated-copy`.
//!
//! **Signature.** A loop that loads elements and stores them unchanged elsewhere, a thousand or more for each of many
//! copies. What it copies in all is many times what the program stores otherwise, reads, and has in memory: most of
//! it must be as it was when it was copied last. Bursts do not show that where one copy is longer than a burst.
//!
//! **Near misses.** Buffers that are filled anew between copies (as much is stored or read as is copied); elements that
//! are moved within their array ([`super::quadratic`]); tables that grow ([`super::realloc_growth`]); a program that
//! does all its work again; elements that are changed on the way.
//!
//! **Gain.** The measured time of the loop. Other loops that go over as many elements as often (who drops the old copy)
//! may become needless with it.
//!
//! **Source.** As [`super::repeated_copy`].

use genba_model::{Cause, Estimate, Fix, LoopFact};

use crate::candidate::Candidate;
use crate::constants::counts::{
    AS_MANY_ELEMENTS, MIN_ELEMENTS_PER_SWEEP, MIN_LOADED_PER_STORED, MIN_PASSES_OVER_ALL_MEMORY,
    MIN_SEARCHES,
};
use crate::constants::observations::{
    COPIES_FOR_CHANGES_SAVED, LOOPS_BESIDE_COPIES_SAVED, MIN_SHARE_OF_REPEATED_WORK,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::input::values::Address;
use crate::patterns::hot_loops::{HotLoop, hot_loops};
use crate::patterns::observed_sites::ObservedSites;
use crate::patterns::value_steps::{Step, address_step};

/// Loops that copy what has hardly changed since it was copied last.
pub(crate) fn copies_for_changes(input: &AnalysisInput) -> Vec<Candidate> {
    if ObservedSites::of(input).is_some_and(|sites| sites.repeats_as_a_whole()) {
        return Vec::new();
    }
    let loops = hot_loops(input, MIN_SHARE_OF_REPEATED_WORK);
    loops
        .iter()
        .filter_map(|one| candidate(input, one, &loops))
        .collect()
}

fn candidate(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    loops: &[HotLoop<'_>],
) -> Option<Candidate> {
    let (elements, copies) = (found.trips?, found.cost.entries?);
    if !found.input.own || elements < MIN_ELEMENTS_PER_SWEEP || copies < MIN_SEARCHES {
        return None;
    }
    let stores: Vec<usize> = found.usual().filter(|&at| is_copied(found, at)).collect();
    let &first = stores.first()?;
    let of_element = |&at: &usize| found.input.bytes_moved(at, true);
    let copied: f64 = stores.iter().map(of_element).sum();
    let memory = input.program.max_rss_bytes?;
    let others = stored_elsewhere(input, found)? + input.program.read_bytes.unwrap_or(0) as f64;
    let changes = copied < MIN_LOADED_PER_STORED * others;
    if changes || copied < MIN_PASSES_OVER_ALL_MEMORY * memory {
        return None;
    }
    let beside = (loops.iter())
        .filter(|one| !is_same_loop(one, found) && goes_over_as_many(one, found))
        .map(|one| one.share);
    let beside: f64 = beside.sum();
    let mut one = Candidate::new(
        Cause::RepeatedCopy,
        Some(found.function),
        stores,
        Fix::ChangeInPlace,
    );
    one.affected.clone_from(&found.members);
    one.saves(&[
        SavedTime::of(found.share, COPIES_FOR_CHANGES_SAVED),
        SavedTime::of(beside, LOOPS_BESIDE_COPIES_SAVED),
    ]);
    one.executions = Some(found.input.counts[first]);
    one.cycles = Some(Estimate::exact(found.cycles.value));
    Some(
        one.fact(LoopFact::CopiesForChanges {
            copies,
            elements,
            copied_bytes: copied,
            stored_bytes: others,
        })
        .fact(found.time()),
    )
}

/// Whether a store of a loop puts elsewhere what the same iteration loaded, both a step further in each.
fn is_copied(found: &HotLoop<'_>, at: usize) -> bool {
    found.moved(at).is_some_and(|(from, to)| {
        let step = |address: &Address| address_step(found.input, found.index, address);
        let goes_on = matches!(step(&to), Some(Step::Constant(bytes)) if bytes != 0);
        let same = to.base.number == from.base.number && to.index == from.index;
        goes_on && step(&to) == step(&from) && !same
    })
}

/// Bytes that all instructions store but those of the loop; `None` where much time is in repeated ones, whose bytes
/// are not known.
fn stored_elsewhere(input: &AnalysisInput, found: &HotLoop<'_>) -> Option<f64> {
    let mut all = 0.0;
    for (number, function) in input.functions.iter().enumerate() {
        if function.counts.len() != function.code.len() {
            continue;
        }
        let inside =
            |at: usize| number == found.function && found.members.binary_search(&at).is_ok();
        for at in (0..function.code.len()).filter(|&at| !inside(at)) {
            let bytes = function.bytes_moved(at, true);
            let repeated = function.data[at].opaque.is_some() && bytes > 0.0;
            if repeated && function.heat_of([at]) >= MIN_SHARE_OF_REPEATED_WORK {
                return None;
            }
            all += bytes;
        }
    }
    Some(all)
}

fn is_same_loop(one: &HotLoop<'_>, other: &HotLoop<'_>) -> bool {
    (one.function, one.index) == (other.function, other.index)
}

/// Whether a loop goes over about as many elements, about as often.
fn goes_over_as_many(one: &HotLoop<'_>, other: &HotLoop<'_>) -> bool {
    let alike = |a: f64, b: f64| (a - b).abs() <= AS_MANY_ELEMENTS * a.max(b);
    let entries = one.cost.entries.zip(other.cost.entries);
    entries.is_some_and(|(a, b)| alike(a as f64, b as f64))
        && alike(one.cost.iterations as f64, other.cost.iterations as f64)
}
