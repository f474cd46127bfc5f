//! Facts about work that grows faster than the input.

use genba_model::QuadraticFact;
use genba_units::format;

use super::{count, cycles, percent};

pub(super) fn sentence(fact: &QuadraticFact) -> String {
    match fact {
        QuadraticFact::LinearSearches {
            searches,
            elements,
            compared_by,
        } => {
            let with = compared_by
                .as_ref()
                .map_or(String::new(), |name| format!(" with `{name}`"));
            format!(
                "{} linear searches compare {} elements each{with}, {} in all",
                count(*searches),
                count(elements.round() as u64),
                count((*searches as f64 * elements).round() as u64)
            )
        }
        QuadraticFact::PredicateSearches {
            searches,
            elements,
            best,
        } => format!(
            "{} searches start at the first element and test {} elements each, {} in all, {}",
            count(*searches),
            count(elements.round() as u64),
            count((*searches as f64 * elements).round() as u64),
            match best {
                true => "for the minimum or maximum",
                false => "until one meets the condition",
            }
        ),
        QuadraticFact::ListWalks {
            walks,
            elements,
            idle,
        } => format!(
            "{} walks follow {} links of a list each, {} in all, {}",
            count(*walks),
            count(elements.round() as u64),
            count((*walks as f64 * elements).round() as u64),
            match idle {
                true => "and hand on nothing but where they end",
                false => "to find a place in it",
            }
        ),
        QuadraticFact::IdlePasses { passes, elements } => format!(
            "{} passes go over {} elements each, {} in all",
            count(*passes),
            count(elements.round() as u64),
            count((*passes as f64 * elements).round() as u64)
        ),
        QuadraticFact::RareChanges { changed } => format!(
            "each element is looked up elsewhere; at most {} of all of them lead to a store or a call",
            count(*changed)
        ),
        QuadraticFact::PassTime {
            share,
            cycles: each,
        } => format!(
            "{} of the time, {} cycles per pass",
            percent(*share),
            cycles(*each)
        ),
        QuadraticFact::WalksStoreAgain => "what they store is there already".to_owned(),
        QuadraticFact::RecursiveWalks { walks, elements } => format!(
            "{} walks visit {} elements each, {} in all, and hardly ever find what they look for",
            count(*walks),
            count(elements.round() as u64),
            count((*walks as f64 * elements).round() as u64)
        ),
        QuadraticFact::SearchTime {
            share,
            cycles: each,
        } => format!(
            "{} of the time, {} cycles per search",
            percent(*share),
            cycles(*each)
        ),
        QuadraticFact::Probes { look_ups, slots } => format!(
            "{} look-ups in a hash table read {} slots each, where a few are enough",
            count(*look_ups),
            count(slots.round() as u64)
        ),
        QuadraticFact::HashLookup => {
            "a look-up in a hash table takes some dozens of cycles, whatever the number of elements"
                .to_owned()
        }
        QuadraticFact::Scans { scans, bytes } => format!(
            "{} scans read {} on average until they stop; they store nothing",
            count(*scans),
            format::bytes(*bytes)
        ),
        QuadraticFact::ScannedAgain {
            bytes,
            input_bytes,
            memory_bytes,
        } => format!(
            "they read {} in all; the input is {} and the program's memory {}: the same bytes are \
             scanned again at least {:.0} times",
            format::bytes(*bytes),
            format::bytes(*input_bytes as f64),
            format::bytes(*memory_bytes),
            (bytes / memory_bytes.max(*input_bytes as f64)).floor()
        ),
        QuadraticFact::WindowSums { places, elements } => format!(
            "a window moves by one place at a time, {} times; all of its elements, {elements:.0} on average, are added up \
             for each place",
            count(*places)
        ),
        QuadraticFact::ElementMoves { function, times } => format!(
            "`{function}` moves all elements behind the position, {} times",
            count(*times)
        ),
        QuadraticFact::ArrayShift {
            function,
            times,
            bytes,
            removed,
        } => format!(
            "`{function}` moves an array onto itself{}, {} times: what is {} lies in front, and all \
             behind it moves",
            bytes.map_or(String::new(), |bytes| format!(" by {bytes} bytes")),
            count(*times),
            if *removed { "removed" } else { "inserted" }
        ),
        QuadraticFact::MoveTime {
            share,
            cycles: each,
        } => format!(
            "the moves take {} of the time, {} cycles each: the array is long",
            percent(*share),
            cycles(*each)
        ),
        QuadraticFact::Appends { function, calls } => {
            format!("`{function}` is called {} times", count(*calls))
        }
        QuadraticFact::AppendTime {
            share,
            cycles: each,
        } => format!(
            "it takes {} of the time, {} cycles per call: the strings that it scans are long",
            percent(*share),
            cycles(*each)
        ),
    }
}
