//! Scans of one function that one kept place mends: a walk forwards and a walk backwards to the same place are
//! two loops and one defect.

use genba_model::{Fact, Fix, QuadraticFact};

use crate::candidate::Candidate;
use crate::gain::same_line::mean;
use crate::gain::saved_time::combined;
use crate::input::analysis_input::AnalysisInput;

/// Makes one candidate of the scans of each function that have no instruction in common; others stay.
pub(super) fn together(input: &AnalysisInput, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for one in candidates {
        match found.iter_mut().find(|other| is_one_defect(other, &one)) {
            Some(other) => add(input, other, &one),
            None => found.push(one),
        }
    }
    found
}

fn is_one_defect(one: &Candidate, other: &Candidate) -> bool {
    let scans = |one: &Candidate| one.fix == Fix::ScanOnce && one.at.is_none();
    let shared = || (one.affected().iter()).any(|at| other.affected().contains(at));
    scans(one) && scans(other) && one.function == other.function && !shared()
}

/// Adds a scan to another: times and work add up; the line is that of the one with more time.
fn add(input: &AnalysisInput, sum: &mut Candidate, one: &Candidate) {
    let of = |one: &Candidate| one.share_of_time(input);
    let parts = [
        (of(sum), sum.residual_fraction),
        (of(one), one.residual_fraction),
    ];
    let second = parts[1].0 > parts[0].0;
    let (share, residual) = combined(&parts);
    let cost = |one: &Candidate| Some((one.executions? as f64, one.cycles?));
    sum.cycles = (cost(sum).zip(cost(one))).and_then(|(a, b)| mean(&[a, b]));
    sum.executions = (sum.executions.zip(one.executions)).map(|(a, b)| a.saturating_add(b));
    let affected: Vec<usize> = (sum.affected().iter().chain(one.affected()))
        .copied()
        .collect();
    sum.affected = affected;
    match second {
        true => sum.site.splice(0..0, one.site.iter().copied()),
        false => {
            let end = sum.site.len();
            sum.site.splice(end..end, one.site.iter().copied())
        }
    };
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
    match (sum, one) {
        (
            Fact::Quadratic(QuadraticFact::Scans { scans, bytes }),
            Fact::Quadratic(QuadraticFact::Scans {
                scans: more,
                bytes: each,
            }),
        ) => {
            let all = *scans as f64 * *bytes + *more as f64 * each;
            *scans = scans.saturating_add(*more);
            *bytes = all / (*scans).max(1) as f64;
            true
        }
        (
            Fact::Quadratic(QuadraticFact::ScannedAgain { bytes, .. }),
            Fact::Quadratic(QuadraticFact::ScannedAgain { bytes: more, .. }),
        ) => {
            *bytes += more;
            true
        }
        _ => false,
    }
}
