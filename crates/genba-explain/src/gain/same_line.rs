//! Candidates of one cause for one line of the source, which the compiler laid down several times
//! (unrolled, split, inlined more than once): one finding for the user, who has one line to change.

use genba_model::{BuildFact, Estimate};

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, Place};

/// Puts candidates together that have the same cause at the same line of the same function and no
/// instruction in common: shares and executions add up, what stays is weighted by the shares. The facts
/// are those of the copy with the largest share, and how many there are.
pub(crate) fn merged(input: &AnalysisInput, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    for one in candidates {
        let same =
            |group: &&mut Vec<Candidate>| group.iter().all(|other| is_same(input, &one, other));
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
        .into_iter()
        .filter_map(|group| together(input, group))
        .collect()
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

fn together(input: &AnalysisInput, mut group: Vec<Candidate>) -> Option<Candidate> {
    let share = |one: &Candidate| one.share_of_time(input);
    group.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let copies = group.len();
    if copies == 1 {
        return group.pop();
    }
    let all: f64 = group.iter().map(share).sum();
    let weighted = |part: &dyn Fn(&Candidate) -> f64| {
        let sum: f64 = group.iter().map(|one| share(one) * part(one)).sum();
        if all > 0.0 {
            sum / all
        } else {
            part(&group[0])
        }
    };
    let mut found = group[0].clone();
    found.residual_fraction = Estimate {
        value: weighted(&|one| one.residual_fraction.value),
        low: weighted(&|one| one.residual_fraction.low),
        high: weighted(&|one| one.residual_fraction.high),
    };
    found.share = Some(all.min(1.0));
    found.site = group.iter().flat_map(|one| one.site.clone()).collect();
    found.affected = (group.iter())
        .flat_map(|one| one.affected().to_vec())
        .collect();
    found.affected.sort_unstable();
    found.executions = group.iter().map(|one| one.executions).sum();
    let each = |one: &Candidate| Some((one.executions? as f64, one.cycles?));
    let costs: Option<Vec<(f64, Estimate)>> = group.iter().map(each).collect();
    found.cycles = costs.and_then(|costs| mean(&costs));
    Some(found.fact(BuildFact::CopiesOfLine {
        copies,
        share: all.min(1.0),
    }))
}

/// The mean of costs by their executions.
fn mean(costs: &[(f64, Estimate)]) -> Option<Estimate> {
    let all: f64 = costs.iter().map(|one| one.0).sum();
    let part = |of: fn(&Estimate) -> f64| costs.iter().map(|one| one.0 * of(&one.1)).sum::<f64>();
    (all > 0.0).then(|| Estimate {
        value: part(|one| one.value) / all,
        low: part(|one| one.low) / all,
        high: part(|one| one.high) / all,
    })
}

#[cfg(test)]
mod tests {
    use genba_model::{Cause, Fact, Fix};
    use proptest::prelude::*;

    use super::*;
    use crate::tests::synthetic::{function, has_fact, program};

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
        one.executions = Some(35);
        one
    }

    #[test]
    fn other_lines_causes_and_shared_instructions_stay_apart() {
        let input = input(&[1, 3], &[0.125; 8]);
        let chase = |at| candidate(Cause::PointerChase, at, 0.5);
        let miss = candidate(Cause::CacheMiss, 3, 0.5);
        let both = merged(&input, vec![chase(1), chase(3)]);
        assert_eq!(both.len(), 1);
        assert!(has_fact(&both, |fact| matches!(
            fact,
            Fact::Build(BuildFact::CopiesOfLine { copies: 2, .. })
        )));
        let single = merged(&input, vec![chase(1)]);
        assert!(single[0].facts.is_empty());
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
            prop_assert_eq!(found[0].executions, Some(70));
            let left = found[0].residual_fraction.value;
            prop_assert!(left >= x.min(y) - 1e-9 && left <= x.max(y) + 1e-9);
        }
    }
}
