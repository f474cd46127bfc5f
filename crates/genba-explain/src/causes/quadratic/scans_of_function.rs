//! Scans and walks of one function that one kept place mends: a walk forwards and a walk backwards to the same place
//! are two loops and one defect, wherever the compiler inlined them.

use genba_model::{Fact, Fix, QuadraticFact};

use crate::candidate::Candidate;
use crate::gain::same_line::mean;
use crate::gain::saved_time::combined;
use crate::input::analysis_input::{AnalysisInput, Place};

/// Makes one candidate of the scans of each function that have no instruction in common; others stay.
pub(super) fn together(input: &AnalysisInput, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for one in candidates {
        match found
            .iter_mut()
            .find(|other| is_one_defect(input, other, &one))
        {
            Some(other) => add(input, other, one),
            None => found.push(one),
        }
    }
    found
}

fn is_one_defect(input: &AnalysisInput, one: &Candidate, other: &Candidate) -> bool {
    let shared = || {
        one.function == other.function
            && (one.affected().iter()).any(|at| other.affected().contains(at))
    };
    let same = match one.fix {
        Fix::ScanOnce => one.function == other.function,
        Fix::RememberPlace | Fix::SkipWalk => {
            one.function == other.function
                || source_function(input, one)
                    .is_some_and(|place| source_function(input, other) == Some(place))
        }
        _ => false,
    };
    same && one.fix == other.fix && one.at.is_none() && other.at.is_none() && !shared()
}

/// Module, file and function of the source in which a candidate's site is, wherever it was inlined.
fn source_function<'a>(
    input: &'a AnalysisInput,
    one: &Candidate,
) -> Option<(&'a str, &'a str, &'a str)> {
    let function = input.functions.get(one.function?)?;
    let place: &Place = function.places.get(*one.site.first()?)?;
    Some((
        function.module.as_str(),
        place.file.as_deref()?,
        place.function.as_deref()?,
    ))
}

/// Adds a scan to another: times and work add up; the line is that of the one with more time.
fn add(input: &AnalysisInput, sum: &mut Candidate, mut one: Candidate) {
    let of = |one: &Candidate| (one.share_of_time(input), one.residual_fraction);
    if of(&one).0 > of(sum).0 {
        std::mem::swap(sum, &mut one);
    }
    let (share, residual) = combined(&[of(sum), of(&one)]);
    let cost = |one: &Candidate| Some((one.executions? as f64, one.cycles?));
    sum.cycles = (cost(sum).zip(cost(&one))).and_then(|(a, b)| mean(&[a, b]));
    sum.executions = (sum.executions.zip(one.executions)).map(|(a, b)| a.saturating_add(b));
    let affected = one.affected().to_vec();
    if sum.function == one.function {
        sum.affected = [sum.affected(), &affected].concat();
        sum.site.extend(one.site);
    } else if let Some(other) = one.function {
        sum.copies.push((other, affected));
    }
    sum.copies.extend(one.copies);
    sum.share = Some(share.min(1.0));
    sum.residual_fraction = residual;
    for fact in &one.facts {
        if !sum.facts.iter_mut().any(|known| add_fact(known, fact)) {
            sum.facts.push(fact.clone());
        }
    }
}

/// Adds what was counted of a scan to the same of another.
fn add_fact(sum: &mut Fact, one: &Fact) -> bool {
    use QuadraticFact::{ListWalks, ScannedAgain, Scans, SearchTime};
    let (Fact::Quadratic(sum), Fact::Quadratic(one)) = (sum, one) else {
        return false;
    };
    match (sum, one) {
        (
            Scans { scans, bytes },
            Scans {
                scans: more,
                bytes: each,
            },
        ) => add_runs((scans, bytes), (*more, *each)),
        (
            ListWalks {
                walks, elements, ..
            },
            ListWalks {
                walks: more,
                elements: each,
                ..
            },
        ) => add_runs((walks, elements), (*more, *each)),
        (ScannedAgain { bytes, .. }, ScannedAgain { bytes: more, .. }) => *bytes += more,
        (
            SearchTime { share, cycles },
            SearchTime {
                share: more,
                cycles: each,
            },
        ) => {
            let all = *share + more;
            *cycles = all / (*share / *cycles + more / each);
            *share = all;
        }
        _ => return false,
    }
    true
}

/// Adds runs of a mean length to others.
fn add_runs((runs, length): (&mut u64, &mut f64), (more, each): (u64, f64)) {
    let all = *runs as f64 * *length + more as f64 * each;
    *runs = runs.saturating_add(more);
    *length = all / (*runs).max(1) as f64;
}
