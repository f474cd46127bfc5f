//! From candidates to findings: rated by gain, filtered, ordered, without overlaps.
//!
//! Nothing below the minimum gain; nothing but `unoptimised-build` in code that was built without
//! optimisation; of several candidates for the same instructions the one with the largest gain,
//! so that no time is gained twice, in the order of the gains that outcomes make likely; no candidate that only says that
//! loads miss, or that something is scanned or computed again, where another says why.

use genba_model::{Diagnosis, Estimate};

use crate::candidate::Candidate;
use crate::gain::amdahl;
use crate::gain::calibration::calibrated;
use crate::gain::overlap::{explains, overlaps};
use crate::gain::same_line::merged;
use crate::gain::worth_reporting::is_worth_reporting;
use crate::input::analysis_input::AnalysisInput;
use crate::patterns::unoptimised_code::unoptimised_functions;

/// Thresholds of reporting.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Minimum gain for a finding to be reported, as a share of the time.
    pub min_gain: f64,
    /// Samples that the shares are of.
    pub samples: u64,
}

/// Makes findings of candidates, most profitable first.
#[must_use]
pub fn findings(
    input: &AnalysisInput,
    candidates: Vec<Candidate>,
    limits: Limits,
) -> Vec<Diagnosis> {
    let (advice, candidates): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|one| one.advice);
    let unoptimised = unoptimised_functions(input);
    let mut rated: Vec<(Candidate, Estimate, Estimate)> = merged(input, candidates)
        .into_iter()
        .filter(|one| {
            let of = one.function.and_then(|index| unoptimised.get(index));
            one.unoptimised_too || !of.copied().unwrap_or(false)
        })
        .filter_map(|one| {
            let share = share_interval(one.share_of_time(input), limits.samples);
            let cpu_seconds = input.program.cpu_seconds;
            let gain = amdahl::speedup(share, one.residual_fraction, cpu_seconds)?;
            is_worth_reporting(gain, limits.min_gain).then_some((one, share, gain))
        })
        .collect();
    let explained: Vec<bool> = (rated.iter())
        .map(|one| rated.iter().any(|by| explains(input, &by.0, &one.0)))
        .collect();
    let mut explained = explained.into_iter();
    rated.retain(|_| !explained.next().unwrap_or(false));
    let likely = |one: &(Candidate, Estimate, Estimate)| {
        predicted(&one.0, one.2, input.program.cpu_seconds).value
    };
    rated.sort_by(|a, b| {
        likely(b)
            .total_cmp(&likely(a))
            .then_with(|| a.0.cause.id().cmp(b.0.cause.id()))
    });
    let mut taken: Vec<Candidate> = Vec::new();
    let mut list = Vec::new();
    for (one, share, gain) in rated {
        if taken.iter().any(|before| overlaps(input, &one, before)) {
            continue;
        }
        taken.push(one.clone());
        list.push(diagnosis(input, one, share, Some(gain)));
    }
    for one in advice {
        // That nothing is to be gained is only said where nothing was found to gain.
        let about_code = one.function.is_some() && !one.affected().is_empty();
        let gains = |before: &Candidate| before.function.is_none() || overlaps(input, &one, before);
        if about_code && taken.iter().any(gains) {
            continue;
        }
        let share = share_interval(one.share_of_time(input), limits.samples);
        list.push(diagnosis(input, one, share, None));
    }
    list
}

/// The speedup with the interval of outcomes; where the model does not tell how much goes, from that of its least to that of
/// its most.
fn predicted(one: &Candidate, modelled: Estimate, cpu_seconds: f64) -> Estimate {
    let of = |modelled| calibrated(one.cause, modelled, cpu_seconds);
    let usual = of(modelled);
    match one.anything_between {
        true => Estimate {
            low: of(Estimate::exact(modelled.low)).low,
            high: of(Estimate::exact(modelled.high)).high,
            ..usual
        },
        false => usual,
    }
}

/// A finding; of advice, which gains nothing, there is no modelled speedup.
fn diagnosis(
    input: &AnalysisInput,
    one: Candidate,
    share: Estimate,
    modelled: Option<Estimate>,
) -> Diagnosis {
    let cpu_seconds = input.program.cpu_seconds;
    let gain = modelled.map_or(Estimate::exact(1.0), |gain| {
        predicted(&one, gain, cpu_seconds)
    });
    let seconds = one.cycles.zip(input.program.clock_hz);
    Diagnosis {
        cause: one.cause,
        site: one.shown_at(input),
        share,
        executions: one.executions,
        cost_seconds: seconds.map(|(cycles, hz)| cycles.scaled(1.0 / hz)),
        cost_cycles: one.cycles,
        predicted_speedup: gain,
        modelled_speedup: modelled,
        facts: one.facts,
        fix: one.fix,
        confirmation: one.confirmation,
    }
}

/// The 95 % interval of a share of so many samples (Wilson).
pub(crate) fn share_interval(share: f64, samples: u64) -> Estimate {
    let total = samples.max(1) as f64;
    genba_attribution::share_of(share * total, total, total)
}

#[cfg(test)]
mod tests {
    use genba_model::{Cause, FindingSite, Fix};

    use super::*;
    use crate::finding_site::program_site;

    fn candidate(cause: Cause, share: f64) -> Candidate {
        let mut one = Candidate::new(cause, None, Vec::new(), Fix::AvoidShifts);
        one.share = Some(share);
        one.residual_fraction = Estimate::exact(0.0);
        one
    }

    const LIMITS: Limits = Limits {
        min_gain: 0.02,
        samples: 10_000,
    };

    #[test]
    fn findings_below_min_gain_are_dropped() {
        let input = AnalysisInput::default();
        assert!(findings(&input, vec![candidate(Cause::Quadratic, 0.01)], LIMITS).is_empty());
    }

    #[test]
    fn same_finding_is_not_reported_twice() {
        let input = AnalysisInput::default();
        let one = candidate(Cause::MallocChurn, 0.4);
        let found = findings(&input, vec![one.clone(), one], LIMITS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, Cause::MallocChurn);
        let modelled = found[0].modelled_speedup.expect("a gain by the model");
        assert!((modelled.value - 1.0 / 0.6).abs() < 1e-9);
    }

    #[test]
    fn where_any_part_may_go_the_interval_has_both_ends() {
        let input = AnalysisInput::default();
        let bounded = |anything_between| {
            let mut one = candidate(Cause::RedundantComputation, 1.0);
            one.residual_fraction = Estimate {
                value: 0.2,
                low: 0.01,
                high: 0.95,
            };
            one.anything_between = anything_between;
            findings(&input, vec![one], LIMITS)[0].predicted_speedup
        };
        let (usual, wide) = (bounded(false), bounded(true));
        assert!((usual.value - wide.value).abs() < 1e-9);
        assert!(wide.low < 1.1 && 1.1 < usual.low, "{wide:?} {usual:?}");
        assert!(wide.high > 2.0 * usual.high, "{wide:?} {usual:?}");
    }

    #[test]
    fn a_call_with_the_same_argument_says_why_something_is_scanned_again() {
        let input = AnalysisInput::default();
        let at = |cause, address| Candidate {
            at: Some(FindingSite {
                addresses: vec![address],
                ..program_site(&input)
            }),
            ..candidate(cause, 0.5)
        };
        let causes = |list: Vec<Candidate>| -> Vec<Cause> {
            let found = findings(&input, list, LIMITS);
            found.iter().map(|one| one.cause).collect()
        };
        let call = at(Cause::LoopInvariantCall, 7);
        let both = causes(vec![at(Cause::Quadratic, 7), call.clone()]);
        assert_eq!(both, [Cause::LoopInvariantCall]);
        let again = Candidate {
            residual_fraction: Estimate::exact(0.5),
            ..call.clone()
        };
        let both = causes(vec![at(Cause::RedundantComputation, 7), again]);
        assert_eq!(both, [Cause::LoopInvariantCall], "though it gains less");
        assert_eq!(causes(vec![at(Cause::Quadratic, 8), call]).len(), 2);
        assert_eq!(causes(vec![at(Cause::Quadratic, 7)]), [Cause::Quadratic]);
    }
}
