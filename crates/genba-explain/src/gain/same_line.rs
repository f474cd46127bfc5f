//! Candidates of one cause for one line of the source, which the compiler laid down several times
//! (unrolled, split, inlined more than once): one finding for the user, who has one line to change.

use genba_model::Estimate;

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, Place};

/// Puts candidates together that have the same cause at the same line of the same function and no
/// instruction in common: their shares add up, what stays is weighted by them. The facts are those of
/// the candidate with the largest share.
pub(crate) fn merged(input: &AnalysisInput, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::new();
    for one in candidates {
        match kept.iter_mut().find(|other| is_same(input, &one, other)) {
            Some(other) => *other = together(input, other, &one),
            None => kept.push(one),
        }
    }
    kept
}

fn is_same(input: &AnalysisInput, one: &Candidate, other: &Candidate) -> bool {
    let apart = || !(one.affected().iter()).any(|at| other.affected().contains(at));
    one.cause == other.cause
        && one.function == other.function
        && !one.advice
        && !other.advice
        && line_of(input, one).is_some_and(|line| line_of(input, other) == Some(line))
        && apart()
}

/// Where a candidate is shown, if that has a line.
fn line_of<'a>(input: &'a AnalysisInput, one: &Candidate) -> Option<&'a Place> {
    let function = input.functions.get(one.function?)?;
    let mut places = one.site.iter().filter_map(|&at| function.places.get(at));
    places.find(|place| place.line.is_some())
}

fn together(input: &AnalysisInput, one: &Candidate, other: &Candidate) -> Candidate {
    let (mine, theirs) = (one.share_of_time(input), other.share_of_time(input));
    let (first, second) = if mine >= theirs {
        (one, other)
    } else {
        (other, one)
    };
    let all = mine + theirs;
    let part = if all > 0.0 { mine / all } else { 0.5 };
    let weighted = |a: f64, b: f64| part * a + (1.0 - part) * b;
    let (a, b) = (one.residual_fraction, other.residual_fraction);
    let mut found = first.clone();
    found.site.extend(&second.site);
    found.affected = [first.affected(), second.affected()].concat();
    found.affected.sort_unstable();
    found.share = Some(all.min(1.0));
    found.residual_fraction = Estimate {
        value: weighted(a.value, b.value),
        low: weighted(a.low, b.low),
        high: weighted(a.high, b.high),
    };
    found
}

#[cfg(test)]
mod tests {
    use genba_model::{Cause, Fix};
    use proptest::prelude::*;

    use super::*;
    use crate::tests::synthetic::{function, program};

    /// Eight instructions of one line each, but for those of `same`, which are of line 5.
    fn input(same: &[usize], heat: &[f64]) -> AnalysisInput {
        let mut one = function(
            "walk",
            |a| (0..8).try_for_each(|_| a.nop()),
            &[100; 8],
            heat,
            &[],
        );
        one.places = (0..8)
            .map(|at| Place {
                function: Some("walk".to_owned()),
                file: Some("walk.c".to_owned()),
                line: Some(if same.contains(&at) {
                    5
                } else {
                    10 + at as u32
                }),
                inlined: false,
            })
            .collect();
        program(vec![one])
    }

    fn candidate(cause: Cause, at: usize, residual: f64) -> Candidate {
        let mut one = Candidate::new(cause, Some(0), vec![at], Fix::AvoidShifts);
        one.residual_fraction = Estimate::exact(residual);
        one
    }

    #[test]
    fn other_lines_causes_and_shared_instructions_stay_apart() {
        let input = input(&[1, 3], &[0.125; 8]);
        let chase = |at| candidate(Cause::PointerChase, at, 0.5);
        let miss = candidate(Cause::CacheMiss, 3, 0.5);
        assert_eq!(merged(&input, vec![chase(1), chase(3)]).len(), 1);
        assert_eq!(merged(&input, vec![chase(1), chase(4)]).len(), 2);
        assert_eq!(merged(&input, vec![chase(1), miss]).len(), 2);
        assert_eq!(merged(&input, vec![chase(1), chase(1)]).len(), 2);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_what_stays_lies_between(
            a in 0.0..0.5f64, b in 0.0..0.5f64, x in 0.0..1.0f64, y in 0.0..1.0f64,
        ) {
            let mut heat = [0.0; 8];
            (heat[1], heat[3]) = (a, b);
            let input = input(&[1, 3], &heat);
            let list = vec![
                candidate(Cause::CacheMiss, 1, x),
                candidate(Cause::CacheMiss, 3, y),
            ];
            let found = merged(&input, list);
            prop_assert_eq!(found.len(), 1);
            prop_assert!((found[0].share_of_time(&input) - (a + b)).abs() < 1e-9);
            let left = found[0].residual_fraction.value;
            prop_assert!(left >= x.min(y) - 1e-9 && left <= x.max(y) + 1e-9);
        }
    }
}
