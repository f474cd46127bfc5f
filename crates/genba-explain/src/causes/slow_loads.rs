//! Findings about loads that wait: what `pointer-chase`, `strided-access` and `cache-miss` share.

use genba_model::Estimate;

use super::candidate::Candidate;
use super::frame::Frame;
use super::stalls::{Pattern, Stall, stalls};
use super::words::{count, cycles, percent};
use crate::loop_bound::{Change, operation};

/// Share of all time that the stalled loads of one loop must have.
const LEAST: f64 = 0.05;

/// Kinds, as the causes divide them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Chase,
    Strides,
    Scattered,
}

/// Rounds an entry from which a loop's own pattern counts: of shorter ones the first round does.
const FEWEST_ROUNDS: f64 = 3.0;

/// Stalled loads that belong together: of one loop, or of a function outside of loops.
pub(super) struct Slow {
    pub function: usize,
    pub kind: Kind,
    /// Most time first.
    pub list: Vec<Stall>,
}

/// All of a kind.
pub(super) fn slow(frame: &Frame, wanted: Kind) -> Vec<Slow> {
    let mut found = Vec::new();
    for (number, function) in frame.functions.iter().enumerate() {
        let mut groups: Vec<(Option<u32>, Vec<Stall>)> = Vec::new();
        for one in stalls(frame, function) {
            match groups.iter_mut().find(|group| group.0 == one.around) {
                Some(group) => group.1.push(one),
                None => groups.push((one.around, vec![one])),
            }
        }
        for (around, mut list) in groups {
            let cost = around.and_then(|index| function.loops.get(index as usize)?.as_ref());
            let trips = cost.and_then(|cost| {
                let entries = cost.entries.filter(|&entries| entries > 0)?;
                Some(cost.iterations as f64 / entries as f64)
            });
            let short = trips.is_some_and(|trips| trips < FEWEST_ROUNDS);
            list.retain(|one| !matches!(one.pattern, Pattern::Streams | Pattern::Fixed));
            let Some(first) = list.first() else { continue };
            let kind = match first.pattern {
                Pattern::Chase if !short => Kind::Chase,
                Pattern::Strides(_) if !short => Kind::Strides,
                _ => Kind::Scattered,
            };
            let share: f64 = list.iter().map(|one| one.share).sum();
            if kind == wanted && share >= LEAST {
                found.push(Slow {
                    function: number,
                    kind,
                    list,
                });
            }
        }
    }
    found
}

/// The finding, as far as all three say the same: `goes` is the share of the waiting that is
/// likely to go.
pub(super) fn candidate(frame: &Frame, id: &'static str, slow: &Slow, goes: Estimate) -> Candidate {
    let function = &frame.functions[slow.function];
    let first = &slow.list[0];
    let mut site = vec![first.at];
    site.extend(slow.list[1..].iter().map(|one| one.at));
    let mut found = Candidate::new(id, Some(slow.function), site);
    let mut affected: Vec<usize> = slow.list.iter().flat_map(|one| one.group.clone()).collect();
    affected.sort_unstable();
    affected.dedup();
    let times = |one: &Stall| function.counts[one.at] as f64;
    let waited: f64 = slow.list.iter().map(|one| one.each * times(one)).sum();
    let excess: f64 = slow
        .list
        .iter()
        .map(|one| (one.each - one.usual).max(0.0) * times(one))
        .sum();
    // Share of the affected time that is waiting.
    let mut waiting = (excess / waited.max(1.0)).clamp(0.0, 1.0);
    let costs = &frame.program.costs;
    let modelled = first.around.and_then(|index| {
        let cost = function.loops.get(index as usize)?.as_ref()?;
        let measured = cost.cycles?.value;
        let model = function.loop_model(costs, index, &Change::default())?;
        model.chain?;
        let round = model.round()?.value;
        (measured > round && measured > 0.0).then_some((index, measured, round, cost.iterations))
    });
    if let Some((index, measured, round, iterations)) = modelled {
        affected = function.loop_instructions(index);
        let each = (excess / iterations.max(1) as f64).min(measured - round);
        waiting = each / measured;
        found = found.model(format!(
            "a round takes {} cycles; with all loads from the first cache it would take {}",
            cycles(measured),
            cycles(round)
        ));
    }
    found.affected = affected;
    found.remains = Estimate {
        value: 1.0 - waiting * goes.value,
        low: 1.0 - waiting * goes.high,
        high: 1.0 - waiting * goes.low,
    };
    found.executions = Some(function.counts[first.at]);
    found.cycles = Some(Estimate::exact(first.each));
    found.confirm = "change it, then: genba bench ./old ./new".to_owned();
    let levels: Vec<String> = operation::LEVELS
        .iter()
        .filter_map(|(name, forms)| {
            let cost = costs.latency(forms[0])?;
            Some(format!("{name} {}", cycles(cost.value)))
        })
        .collect();
    let levels = match levels.is_empty() {
        true => String::new(),
        false => format!(" ({})", levels.join(", ")),
    };
    found.measured(format!(
        "`{}` and what waits for it: {} of the time, {} cycles for each of {} executions, where the first cache takes {}{levels}",
        function.code[first.at].text,
        percent(first.share),
        cycles(first.each),
        count(function.counts[first.at]),
        cycles(first.usual),
    ))
}
