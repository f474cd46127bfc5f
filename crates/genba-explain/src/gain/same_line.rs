//! Candidates of one cause for one line of the source, which the compiler laid down several times
//! (unrolled, split, inlined more than once): one finding for the user, who has one line to change.

use genba_model::{BuildFact, Estimate};

use crate::candidate::Candidate;
use crate::input::analysis_input::{AnalysisInput, Place};

/// Puts candidates together that have the same cause at the same line of the same module and no
/// instruction in common, whichever functions it was laid down in: shares and executions add up, what stays is weighted by the shares. The facts
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
    let apart = || {
        one.function != other.function
            || !(one.affected().iter()).any(|at| other.affected().contains(at))
    };
    let same_line = || {
        let (one, other) = (line_of(input, one)?, line_of(input, other)?);
        let same = one.0 == other.0 && one.1.file == other.1.file && one.1.line == other.1.line;
        Some(same && one.1.function == other.1.function)
    };
    one.cause == other.cause && !one.advice && !other.advice && same_line() == Some(true) && apart()
}

/// The module and place where a candidate is shown, if that has a line.
fn line_of<'a>(input: &'a AnalysisInput, one: &Candidate) -> Option<(&'a str, &'a Place)> {
    let function = input.functions.get(one.function?)?;
    let mut places = one.site.iter().filter_map(|&at| function.places.get(at));
    let place = places.find(|place| place.line.is_some())?;
    Some((function.module.as_str(), place))
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
    let here = || group.iter().filter(|one| one.function == group[0].function);
    found.site = here().flat_map(|one| one.site.clone()).collect();
    found.affected = here().flat_map(|one| one.affected().to_vec()).collect();
    found.affected.sort_unstable();
    found.copies = (group.iter())
        .filter(|one| one.function != group[0].function)
        .filter_map(|one| Some((one.function?, one.affected().to_vec())))
        .collect();
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
pub(crate) fn mean(costs: &[(f64, Estimate)]) -> Option<Estimate> {
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
    use crate::gain::overlap::overlaps;
    use crate::input::analysis_input::FunctionInput;
    use crate::tests::synthetic::{function, has_fact, program};

    fn input(same: &[usize], heat: &[f64]) -> AnalysisInput {
        program(vec![code("walk", same, heat)])
    }

    /// Eight instructions of one line each, but for those of `same`, which are of line 5.
    fn code(name: &str, same: &[usize], heat: &[f64]) -> FunctionInput {
        let mut one = function(
            name,
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
                within: None,
            })
            .collect();
        one
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

    #[test]
    fn line_inlined_into_two_functions_is_one_finding() {
        let heat = [0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let mut input = program(vec![code("walk", &[1], &heat), code("run", &[1], &heat)]);
        let copy = Candidate {
            function: Some(1),
            ..candidate(Cause::PointerChase, 1, 0.5)
        };
        let list = vec![candidate(Cause::PointerChase, 1, 0.5), copy.clone()];
        let found = merged(&input, list.clone());
        assert_eq!(found.len(), 1);
        assert!((found[0].share_of_time(&input) - 0.6).abs() < 1e-9);
        // What is said of either copy for another cause would gain the same time again.
        let miss = Candidate {
            cause: Cause::CacheMiss,
            ..copy
        };
        assert!(overlaps(&input, &miss, &found[0]));
        // Another file's line of that number is another line.
        input.functions[1].places[1].file = Some("run.c".to_owned());
        assert_eq!(merged(&input, list).len(), 2);
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
