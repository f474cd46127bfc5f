//! Passes over all elements of a table, for each of many items, that store what is there already.
//!
//! **Signature.** A loop that goes over more than a thousand elements for each of many items, and all of whose stores
//! outside of the frame store what is there already, nearly always (as observed), and not one value all along; nothing
//! that its iterations hand on is read behind it. All passes together load many times what the program reads and has in memory. Loops of the same function
//! that go over as many elements as often and leave nothing in memory either are done for the same: with them the whole
//! table is brought up to date though one element is new.
//!
//! **Near misses.** Many more passes than elements, or many fewer: the same work again, as benchmarks and filters of blocks do. Passes that change more than a few elements; input that is all zeros, put where zeros were; sums and best elements alone, which store nothing;
//! results in memory that is allocated for each; buffers that are cleared without being read ([`crate::causes::dead_store`]); a few passes; a program that does all
//! its work again.
//!
//! **Gain.** One look-up for each item and for each changed element is left.
//!
//! **Source.** K. Lepak and M. Lipasti, "On the value locality of store instructions", ISCA 2000 (silent stores).

use genba_model::{Cause, Confirmation, Estimate, Fix, QuadraticFact};

use super::effects::has_no_effect;
use super::rescan::is_in_frame;
use super::residual_fraction;
use super::sweep::{are_as_many, goes_over_same, hands_on};
use crate::candidate::Candidate;
use crate::constants::counts::{MIN_ELEMENTS_PER_SWEEP, MIN_SEARCHES, SELDOM_EXECUTIONS};
use crate::constants::gains::CYCLES_OF_LOOK_UP;
use crate::constants::observations::{ELEMENTS_OF_IDLE_PASSES, MAX_CHANGED_BY_IDLE_PASS};
use crate::constants::time_shares::MIN_SHARE_OF_QUADRATIC_LOOP;
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::is_allocator;
use crate::patterns::calls::cycles_of_all;
use crate::patterns::hot_loops::HotLoop;
use crate::patterns::observed_sites::ObservedSites;

/// Passes without effect by a loop, with those of `others` that are made beside it.
pub(super) fn idle_sweep(
    input: &AnalysisInput,
    found: &HotLoop<'_>,
    others: &[HotLoop<'_>],
) -> Option<Candidate> {
    let (elements, passes) = (found.trips?, found.cost.entries?);
    // Where each item adds an element, a pass for each goes over half of them on average.
    let grows = ELEMENTS_OF_IDLE_PASSES.contains(&(elements / passes as f64));
    if !found.input.own || elements < MIN_ELEMENTS_PER_SWEEP || passes < MIN_SEARCHES || !grows {
        return None;
    }
    let sites = ObservedSites::of(input)?;
    if sites.repeats_as_a_whole()
        || !stores_again(input, &sites, found)
        || allocates_with_each(found, passes)
        || !goes_over_same(input, found)
    {
        return None;
    }
    let beside: Vec<&HotLoop<'_>> = (others.iter())
        .filter(|other| is_beside(found, other) && has_no_effect(input, other).is_some())
        .collect();
    let share = beside.iter().fold(found.share, |sum, one| sum + one.share);
    if share < MIN_SHARE_OF_QUADRATIC_LOOP {
        return None;
    }
    let site = stores(found).next()?;
    let each = share * cycles_of_all(input)? / passes as f64;
    let changed = MAX_CHANGED_BY_IDLE_PASS * elements;
    let [likely, least, most] = CYCLES_OF_LOOK_UP;
    let mut one = Candidate::new(
        Cause::Quadratic,
        Some(found.function),
        vec![site],
        Fix::OnlyWhatChanged,
    );
    one.affected = (beside.iter().flat_map(|one| &one.members))
        .chain(&found.members)
        .copied()
        .collect();
    one.share = Some(share.min(1.0));
    one.residual_fraction = residual_fraction(each, [likely, least, most * (1.0 + changed)]);
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(Estimate::exact(each / elements));
    one.confirmation = Confirmation::InputSweep;
    Some(
        one.fact(QuadraticFact::IdlePasses { passes, elements })
            .fact(QuadraticFact::WalksStoreAgain)
            .fact(QuadraticFact::PassTime {
                share,
                cycles: each,
            }),
    )
}

/// Whether all that a loop leaves behind are values that are there already, of many kinds: of input that is the same all
/// along (zeros) the next may be another.
fn stores_again(input: &AnalysisInput, sites: &ObservedSites<'_>, found: &HotLoop<'_>) -> bool {
    let is_one = |at| sites.stores_one_value(found.function, at);
    has_no_effect(input, found) == Some(true)
        && !hands_on(found, true)
        && !stores(found).any(is_one)
}

/// Whether the function allocates or frees memory about as often as the passes are made: what is there already may be left
/// over from a result that was given back.
fn allocates_with_each(found: &HotLoop<'_>, passes: u64) -> bool {
    let sites = found.input.call_sites.iter();
    let mut with_passes = sites.filter(|site| are_as_many(found.input.counts[site.at], passes));
    with_passes.any(|site| site.targets.iter().any(|one| is_allocator(&one.function)))
}

/// Its stores outside of the frame that are no exceptions.
fn stores<'a>(found: &'a HotLoop<'_>) -> impl Iterator<Item = usize> + 'a {
    let plain = |at: usize| {
        let mut writes = found.input.data[at].memory.iter().filter(|one| one.writes);
        writes.any(|one| !is_in_frame(one))
    };
    let members = found.members.iter().copied();
    members.filter(move |&at| found.times(at) > SELDOM_EXECUTIONS && plain(at))
}

/// Whether another loop of the function goes over as many elements as often.
fn is_beside(found: &HotLoop<'_>, other: &HotLoop<'_>) -> bool {
    let entries = |one: &HotLoop<'_>| one.cost.entries.unwrap_or(0);
    other.function == found.function
        && other.index != found.index
        && are_as_many(found.cost.iterations, other.cost.iterations)
        && are_as_many(entries(found), entries(other))
}
