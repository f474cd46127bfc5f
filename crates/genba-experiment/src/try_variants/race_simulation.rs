//! Simulated races: variants with known effects, with the real schedule and judge on a synthetic
//! clock.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use genba_model::{ChangeKind, TriedOutcome};
use genba_run::{Cancel, CommandSpec, Finished, MockExecutor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::corrected_verdicts::{judge, layout_effect};
use super::pooled_runs::PooledRuns;
use super::race::{Contender, RaceRules, RaceState, race};
use super::{RunChange, VariantChange};
use crate::{Comparer, NoObserver, Plan, VariantPlan};

/// Random numbers and normal deviates, the same on every machine.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().max(1e-12).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

struct Found {
    outcomes: Vec<TriedOutcome>,
    standings: Vec<RaceState>,
    pairs: Vec<u32>,
}

/// Races variants whose time is that of the baseline × `effects`, with normal noise, a heavy tail
/// and bursts; the last `layouts` of them differ only in layout.
fn simulated_race(seed: u64, effects: &[f64], noise: f64, layouts: usize, seconds: f64) -> Found {
    let plan_of = |name: String| {
        let spec = CommandSpec::direct([name.clone()]);
        VariantPlan::new(name.clone(), name, spec)
    };
    let baseline = plan_of("unchanged".to_owned());
    let mut template = Plan::new(vec![baseline.clone()]);
    template.seed = seed;
    let now = Rc::new(Cell::new(0.0));
    let random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
    let random = Rc::new(RefCell::new(random));
    let (clock, known) = (Rc::clone(&now), effects.to_vec());
    let burst = Cell::new(0.0);
    let runner = MockExecutor::new(move |spec: &CommandSpec| {
        let name = spec.argv[0].to_string_lossy().into_owned();
        let effect = name.parse::<usize>().map_or(1.0, |index| known[index]);
        let mut random = random.borrow_mut();
        // A burst of other load lasts for some runs.
        if random.uniform() < 0.02 {
            burst.set(0.2 * random.uniform());
        } else if random.uniform() < 0.2 {
            burst.set(0.0);
        }
        let tail = if random.uniform() < 0.05 {
            3.0 * noise * random.uniform()
        } else {
            0.0
        };
        let wall = 0.5 * effect * (noise * random.normal() + tail + burst.get()).exp();
        clock.set(clock.get() + wall);
        Ok(Finished::mock(wall))
    });
    let shown = Rc::clone(&now);
    let mut comparer = Comparer::new(runner, NoObserver, Cancel::new().unwrap(), move || {
        shown.get()
    });
    let mut contenders: Vec<Contender> = (0..effects.len())
        .map(|index| {
            let mut change = VariantChange::run(&index.to_string(), RunChange::default(), 50);
            change.kind = ChangeKind::Build;
            if index + layouts >= effects.len() {
                change.kind = ChangeKind::Layout;
            } else {
                // Other code, so that the layout effect applies.
                change.reference = Some("x".to_owned());
            }
            Contender::new(
                &template,
                &baseline,
                change,
                plan_of(index.to_string()),
                None,
            )
        })
        .collect();
    let mut alone = PooledRuns::new(&template, vec![baseline.clone()]);
    let rules = RaceRules {
        until: seconds,
        drop_early: true,
        family: effects.len() - layouts,
        what: "simulation",
    };
    race(
        &mut comparer,
        &template,
        &baseline,
        &mut alone,
        &mut contenders,
        &rules,
    )
    .unwrap();
    let layout = layout_effect(&contenders);
    let judged = judge(&contenders, &template, layout.as_ref());
    Found {
        outcomes: judged
            .iter()
            .map(super::variant_outcome::JudgedVariant::outcome)
            .collect(),
        standings: contenders.iter().map(|one| one.standing.clone()).collect(),
        pairs: contenders.iter().map(|one| one.track.blocks()).collect(),
    }
}

fn gains(found: &Found) -> usize {
    found
        .outcomes
        .iter()
        .filter(|one| **one == TriedOutcome::Gain)
        .count()
}

/// Ten variants without an effect: at most 3 of 100 races may report a gain.
#[test]
fn race_without_effects_reports_hardly_any_gain() {
    let false_gains: usize = (1..=100)
        .map(|seed| gains(&simulated_race(seed, &[1.0; 10], 0.02, 0, 300.0)).min(1))
        .sum();
    assert!(false_gains <= 3, "{false_gains} of 100");
}

/// With small noise their equivalence is shown.
#[test]
fn race_without_effects_and_noise_reports_equivalence() {
    let found = simulated_race(3, &[1.0; 6], 0.005, 0, 600.0);
    let same = found
        .outcomes
        .iter()
        .filter(|one| **one == TriedOutcome::Same)
        .count();
    assert!(same >= 5, "{:?}", found.outcomes);
}

/// A gain of 8 % among nine variants without an effect.
#[test]
fn gain_is_found_among_many_variants() {
    let mut effects = [1.0; 10];
    effects[6] = 0.92;
    let found = (1..=40).filter(|seed| {
        let found = simulated_race(*seed, &effects, 0.02, 0, 300.0);
        found.outcomes[6] == TriedOutcome::Gain && gains(&found) == 1
    });
    let right = found.count();
    assert!(right >= 38, "{right} of 40");
}

/// Clear gains and losses are decided early and use no more time.
#[test]
fn decided_variants_leave_the_race() {
    let effects = [1.3, 0.8, 1.0, 1.02, 1.01, 1.0, 1.03, 1.0];
    let found = simulated_race(11, &effects, 0.02, 0, 120.0);
    assert_eq!(found.outcomes[0], TriedOutcome::Slower);
    assert_eq!(found.outcomes[1], TriedOutcome::Gain);
    assert_eq!(found.standings[1], RaceState::Decided);
    let most = found.pairs.iter().max().unwrap();
    assert!(
        found.pairs[0] < *most && found.pairs[1] < *most,
        "{:?}",
        found.pairs
    );
}

/// A gain of 3 % where layout builds differ by 5 %.
#[test]
fn gain_within_the_layout_effect_is_slight() {
    let found = simulated_race(5, &[0.97, 0.80, 1.05, 0.99], 0.004, 2, 200.0);
    assert_eq!(found.outcomes[0], TriedOutcome::Slight);
    assert_eq!(found.outcomes[1], TriedOutcome::Gain);
}

/// Equal seeds and values request equal runs, so that an interrupted experiment can be resumed.
#[test]
fn race_is_repeatable() {
    let one = simulated_race(21, &[1.0, 0.95, 1.02, 1.0], 0.02, 1, 60.0);
    let two = simulated_race(21, &[1.0, 0.95, 1.02, 1.0], 0.02, 1, 60.0);
    assert_eq!(one.pairs, two.pairs);
    assert_eq!(one.outcomes, two.outcomes);
}
