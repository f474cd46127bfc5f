//! Searches from end to end on a target whose run times are drawn, seeds fixed.

use std::cell::RefCell;
use std::rc::Rc;

use genba_experiment::bisect::{
    Candidate, CandidateList, ElementSet, SearchBudget, SearchResult, find_elements, find_step,
};
use genba_experiment::{Comparer, ExperimentError, NoObserver, Plan, VariantPlan};
use genba_model::{BisectionOutcome, ExitKind};
use genba_run::{Cancel, CommandSpec, Finished, MockExecutor};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// Student's t with three degrees of freedom, its robust standard deviation 1.
fn heavy(random: &mut StdRng) -> f64 {
    let mut normal = || {
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
    };
    let chi: f64 = (0..3).map(|_| normal().powi(2)).sum();
    normal() / (chi / 3.0).sqrt() / 1.13
}

/// A comparer whose runs take what `cost` says of the command's words, times noise; each run is a
/// second on its clock. A cost of `None` is a run that fails.
fn comparer(
    noise: f64,
    seed: u64,
    cost: impl Fn(&[String]) -> Option<f64> + 'static,
) -> Comparer<'static> {
    let random = Rc::new(RefCell::new(StdRng::seed_from_u64(seed)));
    let now = Rc::new(RefCell::new(0.0));
    let clock = Rc::clone(&now);
    let runner = MockExecutor::new(move |spec: &CommandSpec| {
        let words: Vec<String> = (spec.argv.iter())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        *now.borrow_mut() += 1.0;
        let factor = match noise {
            0.0 => 1.0,
            noise => (noise * heavy(&mut random.borrow_mut())).exp(),
        };
        Ok(match cost(&words) {
            Some(cost) => Finished::mock(cost * factor),
            None => {
                let mut run = Finished::mock(0.1);
                run.record.exit = ExitKind::Code(1);
                run
            }
        })
    });
    let cancel = Cancel::new().unwrap();
    Comparer::new(runner, NoObserver, cancel, move || *clock.borrow())
}

fn plan(seed: u64) -> Plan {
    let mut plan = Plan::new(Vec::new());
    plan.seed = seed;
    plan.vary_environment = false;
    plan.delta = 0.005;
    plan
}

struct Values(u64);

impl CandidateList for Values {
    fn count(&self) -> u64 {
        self.0
    }

    fn name(&self, point: u64) -> String {
        format!("N={point}")
    }

    fn candidate(
        &mut self,
        _: &mut Comparer<'_>,
        point: u64,
    ) -> Result<Candidate, ExperimentError> {
        let spec = CommandSpec::direct([point.to_string()]);
        Ok(Ok(VariantPlan::new(
            self.name(point),
            point.to_string(),
            spec,
        )))
    }
}

struct Items(Vec<String>);

impl Items {
    fn numbered(count: usize) -> Self {
        Self((0..count).map(|item| format!("i{item}")).collect())
    }
}

impl ElementSet for Items {
    fn names(&self) -> &[String] {
        &self.0
    }

    fn variant(&self, on: &[usize]) -> Result<VariantPlan, ExperimentError> {
        let words: Vec<String> = on.iter().map(usize::to_string).collect();
        let name = format!("{{{}}}", words.join(","));
        let spec = CommandSpec::direct([vec!["run".to_owned()], words].concat());
        Ok(VariantPlan::new(name.clone(), name, spec))
    }
}

fn step(
    culprit: u64,
    points: u64,
    effect: f64,
    noise: f64,
    seed: u64,
    seconds: f64,
) -> SearchResult {
    let mut comparer = comparer(noise, seed, move |words| {
        let point: u64 = words[0].parse().unwrap();
        Some(if point >= culprit { 1.0 + effect } else { 1.0 })
    });
    find_step(
        &mut comparer,
        &plan(seed),
        &mut Values(points),
        SearchBudget { seconds },
    )
    .unwrap()
}

fn on(words: &[String]) -> Vec<usize> {
    words[1..]
        .iter()
        .map(|word| word.parse().unwrap())
        .collect()
}

fn items(
    count: usize,
    noise: f64,
    seed: u64,
    seconds: f64,
    cost: impl Fn(&[usize]) -> f64 + 'static,
) -> SearchResult {
    let mut comparer = comparer(noise, seed, move |words| Some(cost(&on(words))));
    let set = Items::numbered(count);
    find_elements(&mut comparer, &plan(seed), &set, SearchBudget { seconds }).unwrap()
}

fn names(found: &SearchResult) -> Vec<String> {
    let mut names: Vec<String> = (found.culprits.iter())
        .map(|culprit| culprit.name.clone())
        .collect();
    names.sort();
    names
}

#[test]
fn a_two_percent_step_among_256_points() {
    const TRIALS: u64 = 200;
    let (mut right, mut searched, mut all) = (0, 0, 0);
    for seed in 0..TRIALS {
        let culprit = 1 + seed * 37 % 255;
        let found = step(culprit, 256, 0.02, 0.01, seed, 2_000.0);
        let verifying = |purpose: &str| -> usize {
            let of = found.tests.iter().filter(|test| test.purpose == purpose);
            of.map(|test| test.values.len()).sum()
        };
        let named = found.culprits.first().map(|culprit| culprit.name.clone());
        right += usize::from(named == Some(format!("N={culprit}")));
        searched += found.runs as usize - verifying("verify the step");
        all += found.runs as usize;
    }
    let mean = |sum: usize| sum as f64 / TRIALS as f64;
    eprintln!(
        "{right} of {TRIALS} right; {:.1} runs up to the verification of the step, {:.1} in all",
        mean(searched),
        mean(all)
    );
    // Plain bisection: both ends and eight places, 15 runs each, nothing verified.
    let plain = 15.0 * (2.0 + 8.0);
    assert!(right as f64 >= 0.95 * TRIALS as f64, "{right}");
    assert!(mean(searched) <= plain / 2.0, "{}", mean(searched));
    // Plain bisection with its ends and its step verified by the same judge needs about 196.
    assert!(mean(all) <= 110.0, "{}", mean(all));
}

#[test]
fn no_step_is_found_where_there_is_none() {
    const TRIALS: u64 = 200;
    let mut alarms = 0;
    for seed in 0..TRIALS {
        let found = step(999, 256, 0.0, 0.01, seed, 1_000.0);
        alarms += usize::from(found.outcome == BisectionOutcome::Found);
    }
    eprintln!("{alarms} false alarms of {TRIALS}");
    assert!(alarms as f64 <= 0.05 * TRIALS as f64, "{alarms}");
}

#[test]
fn without_noise_a_logarithm_of_runs_is_enough() {
    for culprit in [1, 2, 77, 128, 254, 255] {
        let found = step(culprit, 256, 0.02, 0.0, 5, 1_000.0);
        assert!(found.noise_is_nil);
        assert_eq!(found.culprits[0].name, format!("N={culprit}"));
        // Two of each end, eight, and two to verify.
        assert!(found.runs <= 4 + 8 + 2, "{}", found.runs);
    }
    // A million points cost no more than their logarithm either.
    let found = step(654_321, 1 << 20, 0.1, 0.0, 5, 1_000.0);
    assert_eq!(found.culprits[0].name, "N=654321");
    assert!(found.runs <= 4 + 20 + 2, "{}", found.runs);
}

#[test]
fn points_that_fail_are_skipped_and_named() {
    let cost = |words: &[String]| {
        let point: u64 = words[0].parse().unwrap();
        let broken = (90..=99).contains(&point) || point == 64;
        (!broken).then_some(if point >= 96 { 1.1 } else { 1.0 })
    };
    for noise in [0.0, 0.005] {
        let mut comparer = comparer(noise, 3, cost);
        let budget = SearchBudget { seconds: 2_000.0 };
        let found = find_step(&mut comparer, &plan(3), &mut Values(128), budget).unwrap();
        let culprit = &found.culprits[0];
        assert_eq!(
            (culprit.name.as_str(), culprit.before.as_deref()),
            ("N=100", Some("N=89"))
        );
        assert!(culprit.elements.contains(&"N=96".to_owned()), "{culprit:?}");
        assert!(found.skipped.iter().any(|skipped| skipped.what == "N=64"));
        assert!(
            found
                .notes
                .iter()
                .any(|note| note.contains("10 candidates between")),
            "{:?}",
            found.notes
        );
    }
}

#[test]
fn a_step_that_is_not_all_is_said_to_be_so() {
    let mut comparer = comparer(0.0, 3, |words| {
        let point: u64 = words[0].parse().unwrap();
        Some(1.0 + 0.1 * (point / 20).min(2) as f64)
    });
    let budget = SearchBudget { seconds: 2_000.0 };
    let found = find_step(&mut comparer, &plan(3), &mut Values(60), budget).unwrap();
    assert!(["N=20", "N=40"].contains(&found.culprits[0].name.as_str()));
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("there are other steps")),
        "{:?}",
        found.notes
    );
}

#[test]
fn ends_that_fail_are_an_error_with_the_reason() {
    let mut comparer = comparer(0.0, 3, |words| (words[0] != "9").then_some(1.0));
    let budget = SearchBudget { seconds: 10.0 };
    let error = find_step(&mut comparer, &plan(3), &mut Values(10), budget).unwrap_err();
    assert!(error.to_string().contains("N=9"), "{error}");
}

/// How often the items are exactly these, with 2 % each at 2 % noise.
fn share_right(culprits: usize, comparisons: u64) -> (f64, f64) {
    let (mut right, mut runs) = (0, 0);
    for seed in 0..comparisons {
        let mut truth: Vec<usize> = Vec::new();
        let mut random = StdRng::seed_from_u64(1_000 + seed);
        while truth.len() < culprits {
            let item = random.random_range(0..15);
            if !truth.contains(&item) {
                truth.push(item);
            }
        }
        let expected = {
            let mut names: Vec<String> = truth.iter().map(|item| format!("i{item}")).collect();
            names.sort();
            names
        };
        let found = items(15, 0.02, seed, 3_000.0, move |on| {
            1.0 + 0.02 * on.iter().filter(|item| truth.contains(item)).count() as f64
        });
        right += usize::from(names(&found) == expected);
        runs += found.runs;
    }
    (
        right as f64 / comparisons as f64,
        f64::from(runs) / comparisons as f64,
    )
}

#[test]
fn one_culprit_among_fifteen() {
    let (right, runs) = share_right(1, 120);
    eprintln!("one culprit: {:.1} % right, {runs:.0} runs", 100.0 * right);
    assert!(right >= 0.95, "{right}");
}

#[test]
fn two_culprits_among_fifteen() {
    let (right, runs) = share_right(2, 120);
    eprintln!("two culprits: {:.1} % right, {runs:.0} runs", 100.0 * right);
    assert!(right >= 0.85, "{right}");
}

#[test]
fn no_culprit_where_there_is_none() {
    const TRIALS: u64 = 120;
    let mut alarms = 0;
    for seed in 0..TRIALS {
        let found = items(15, 0.02, seed, 800.0, |_| 1.0);
        alarms += usize::from(!found.culprits.is_empty());
    }
    eprintln!("{alarms} false alarms of {TRIALS}");
    assert!(alarms as f64 <= 0.05 * TRIALS as f64, "{alarms}");
}

#[test]
fn two_items_that_need_each_other_are_found_together() {
    let mut right = 0;
    for seed in 0..20 {
        let found = items(15, 0.01, seed, 6_000.0, |on| {
            if on.contains(&3) && on.contains(&11) {
                1.06
            } else {
                1.0
            }
        });
        right += usize::from(names(&found) == ["i3 + i11"]);
    }
    eprintln!("interacting pair: {right} of 20");
    assert!(right >= 17, "{right}");
}

#[test]
fn without_noise_items_are_halved() {
    let found = items(64, 0.0, 1, 1_000.0, |on| {
        if on.contains(&37) { 1.1 } else { 1.0 }
    });
    assert_eq!(names(&found), ["i37"]);
    assert!(
        found.noise_is_nil && found.runs <= 4 + 2 * 6 + 1,
        "{}",
        found.runs
    );
    let found = items(64, 0.0, 1, 1_000.0, |on| {
        1.0 + if on.contains(&5) && on.contains(&60) {
            0.2
        } else {
            0.0
        } + if on.contains(&30) { 0.1 } else { 0.0 }
    });
    assert_eq!(names(&found), ["i30", "i5 + i60"]);
}

#[test]
fn a_large_set_is_screened_in_groups() {
    let found = items(300, 0.01, 1, 20_000.0, |on| {
        if on.contains(&213) { 1.05 } else { 1.0 }
    });
    assert_eq!(names(&found), ["i213"]);
    assert!(found.runs < 600, "{}", found.runs);
}
