//! Where an event of the processor came: of a recording of that event.

use crate::input::analysis_input::{AnalysisInput, EventCounts, EventPlace};
use genba_attribution::ResolvedProfile;

/// How often the event of this recording (of so many runs) came at the instructions of a
/// input that was made of another recording of the same program, in one run.
#[must_use]
pub fn event_counts(resolved: &ResolvedProfile, input: &AnalysisInput, runs: usize) -> EventCounts {
    let runs = runs.max(1) as f64;
    let mut places = Vec::new();
    for (id, hits) in resolved.function_hits() {
        let found = &resolved.functions[id as usize];
        let module = resolved.code.module_name(found.module);
        let same = |f: &crate::input::analysis_input::FunctionInput| {
            f.address == found.address && f.module == module && found.known
        };
        let Some(function) = input.functions.iter().position(same) else {
            continue;
        };
        let code = &input.functions[function].code;
        for (address, hits) in hits {
            if let Ok(at) = code.binary_search_by_key(&address, |one| one.address) {
                places.push(EventPlace {
                    function,
                    at,
                    times: hits.weight as f64 / runs,
                });
            }
        }
    }
    places.sort_by_key(|one| (one.function, one.at));
    let all = resolved.hits.all;
    EventCounts {
        event: resolved.event.name.clone(),
        source: genba_model::EvidenceSource::Measured,
        period: all.weight as f64 / all.samples.max(1) as f64 / runs,
        places,
    }
}
