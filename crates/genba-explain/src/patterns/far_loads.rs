//! What loads wait for that the first cache does not serve, whatever calls or branches stand around them.

use crate::patterns::observed_sites::ObservedSites;

/// Cycles of all executions together that loads among these instructions of a function wait beyond a hit in the
/// first cache, by the levels that serve them in bursts: none overlaps, and what L3 does not have either counts as if
/// it had. 0 where that was not observed.
pub(crate) fn cycles_beyond_first_cache(
    sites: &ObservedSites<'_>,
    function: usize,
    members: &[usize],
) -> f64 {
    let costs = &sites.input.program.costs;
    let latency = |form: &str| costs.latency(form).map_or(0.0, |cost| cost.value);
    let beyond = |form: &str| (latency(form) - latency("load [L1]")).max(0.0);
    let one = &sites.input.functions[function];
    let loads = members
        .iter()
        .filter(|&&at| one.data[at].loads() && one.counts.get(at).is_some_and(|&count| count > 0));
    let waits = loads.filter_map(|&at| {
        let point = sites.point(function, at)?;
        let seen = sites.observed.loads.iter().find(|one| one.at == point)?;
        let each = seen.l2.value * beyond("load [L2]")
            + (seen.l3.value + seen.memory.value) * beyond("load [L3]");
        Some(each * one.counts[at] as f64)
    });
    waits.sum()
}
