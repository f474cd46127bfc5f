//! Cache misses and branch mispredictions of one run, from what bursts showed of each instruction.

use std::collections::HashMap;

use genba_model::{CodePoint, EvidenceSource};

use crate::constants::counts::{MIN_BURSTS_FOR_EVENTS, MIN_SEEN_EXECUTIONS};
use crate::constants::time_shares::MIN_OBSERVED_EXECUTIONS;
use crate::input::analysis_input::{AnalysisInput, EventCounts, EventPlace};

/// Branch mispredictions by a model of a predictor, scaled by exact counts; `None` if bursts did
/// not meet most of the executed branches of the user's own code.
#[must_use]
pub fn mispredictions(input: &AnalysisInput) -> Option<EventCounts> {
    let observed = input.observed.as_ref()?;
    let rates = observed.branches.iter().filter_map(|site| {
        let missed = site.mispredicted?;
        Some((site.at, (missed.share.value, missed.executions)))
    });
    let rates: HashMap<CodePoint, (f64, u64)> = rates.collect();
    events(input, "branch-misses", &rates, |function, at| {
        input.functions[function]
            .taken
            .get(at)
            .copied()
            .flatten()
            .is_some()
    })
}

/// Loads that miss L1d, simulated within bursts, scaled by exact counts; `None` if bursts did not
/// meet most of the executed loads of the user's own code.
#[must_use]
pub fn cache_misses(input: &AnalysisInput) -> Option<EventCounts> {
    let observed = input.observed.as_ref()?;
    let rates = observed.loads.iter().map(|site| {
        let missed = site.l1_missed;
        (site.at, (missed.share.value, missed.executions))
    });
    let rates: HashMap<CodePoint, (f64, u64)> = rates.collect();
    events(input, "L1-dcache-load-misses", &rates, |function, at| {
        input.functions[function]
            .data
            .get(at)
            .is_some_and(|data| data.loads())
    })
}

/// The event at each instruction of a kind: its rate by the executions that were seen, times the
/// exact count.
fn events(
    input: &AnalysisInput,
    event: &str,
    rates: &HashMap<CodePoint, (f64, u64)>,
    is_of_kind: impl Fn(usize, usize) -> bool,
) -> Option<EventCounts> {
    let observed = input.observed.as_ref()?;
    if observed.bursts < MIN_BURSTS_FOR_EVENTS {
        return None;
    }
    let (mut all, mut reached) = (0.0, 0.0);
    let mut places = Vec::new();
    for (function, one) in input.functions.iter().enumerate() {
        if !one.counted {
            continue;
        }
        let module = observed.module(&one.module);
        for (at, &count) in one.counts.iter().enumerate() {
            if count == 0 || !is_of_kind(function, at) {
                continue;
            }
            let address = one.code.get(at)?.address;
            let rate = module.and_then(|module| rates.get(&CodePoint { module, address }));
            let rate = rate.filter(|rate| rate.1 >= MIN_SEEN_EXECUTIONS.min(count));
            if one.own {
                all += count as f64;
                reached += rate.map_or(0.0, |_| count as f64);
            }
            if let Some(&(rate, _)) = rate.filter(|rate| rate.0 > 0.0) {
                places.push(EventPlace {
                    function,
                    at,
                    times: rate * count as f64,
                });
            }
        }
    }
    (all > 0.0 && reached >= MIN_OBSERVED_EXECUTIONS * all).then(|| EventCounts {
        event: event.to_owned(),
        source: EvidenceSource::Observed,
        period: 1.0,
        places,
    })
}
