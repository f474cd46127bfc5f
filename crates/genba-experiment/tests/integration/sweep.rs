//! The sweep's driver over curves that are known, with noise that is.

use std::collections::BTreeMap;

use genba_experiment::sweep::{SweepPlan, SweptParameter, document, sweep};
use genba_experiment::{Comparer, MetricPlan, NoObserver, Plan, ReportContext, VariantPlan};
use genba_model::{KneeKind, Sweep};
use genba_run::{Cancel, CommandSpec, Finished, MockExecutor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

/// Sweeps a mock whose runs take as long as the curve says, times noise and drift.
fn swept(definition: &str, curve: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Sweep {
    swept_on(definition, curve, noise, seed, |_| 1.0)
}

/// The same on a machine of which each run, from the first, takes so many times as long.
fn swept_on(
    definition: &str,
    curve: impl Fn(f64) -> f64,
    noise: f64,
    seed: u64,
    machine: impl Fn(usize) -> f64,
) -> Sweep {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = move || {
        let (a, b): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    let now = std::rc::Rc::new(std::cell::Cell::new(0.0));
    let spent = std::rc::Rc::clone(&now);
    let mut drift = 0.0;
    let mut run = 0;
    let runner = MockExecutor::new(move |spec: &CommandSpec| {
        let x: f64 = spec.argv[0].to_string_lossy().parse().unwrap();
        // A drift that wanders, and a tail to the right.
        drift = 0.98 * drift + 0.2 * noise * normal();
        let tail = normal().abs().powi(2) * 0.3;
        let seconds = curve(x) * machine(run) * (noise * (normal() * 0.9 + tail) + drift).exp();
        run += 1;
        now.set(now.get() + seconds + 0.001);
        Ok(Finished::mock(seconds))
    });
    let mut comparer = Comparer::new(runner, NoObserver, Cancel::new().unwrap(), move || {
        spent.get()
    });
    let parameter = SweptParameter::parse(definition).unwrap();
    let mut plan = Plan::new(Vec::new());
    plan.seed = seed;
    let plan = SweepPlan {
        parameters: vec![parameter],
        plan,
        budget: 1e4,
    };
    let make = |values: &BTreeMap<String, String>| {
        let value = values.values().next().cloned().unwrap_or_default();
        Ok(VariantPlan::new(
            value.clone(),
            value.clone(),
            CommandSpec::direct([value]),
        ))
    };
    let found = sweep(&mut comparer, &plan, &make).unwrap();
    let setting = ReportContext {
        case: None,
        version: "test".to_owned(),
        started: String::new(),
        host: genba_host::fingerprint(false),
        hazards: Vec::new(),
    };
    document(&plan, &found, setting, "test")
}

/// Good up to 8, a drop at 16, flat from 32: what was published of a JIT's cache.
fn published(x: f64) -> f64 {
    let rate = 854.0 - (854.0 - 620.0) * ((x - 11.0) / 12.0).clamp(0.0, 1.0);
    1.0 / rate
}

fn trials() -> u64 {
    (std::env::var("TRIALS").ok())
        .and_then(|text| text.parse().ok())
        .unwrap_or(4)
}

/// Whether exactly this knee was found, between these values.
fn is_right(found: &Sweep, kind: KneeKind, low: (f64, f64), high: (f64, f64)) -> bool {
    matches!(found.knees.as_slice(), [knee] if knee.kind == kind
        && (low.0..=low.1).contains(&knee.low)
        && (high.0..=high.1).contains(&knee.high))
}

/// Good up to 8, changed at 16, flat from 32, and in fewer settings than the 36 of the grid.
#[test]
fn the_published_curve_is_solved_with_fewer_settings_than_its_grid() {
    for noise in [0.01, 0.03] {
        let (mut right, mut settings, mut runs) = (0, 0, 0);
        for seed in 0..trials() {
            let found = swept("N=1..1024:log2", published, noise, seed);
            settings += found.points.len();
            runs += found.runs;
            assert!(found.points.len() < 36);
            let good = is_right(&found, KneeKind::Step, (8.0, 16.0), (16.0, 32.0))
                && found.knees[0].confidence > 0.9
                && (found.scaling_law.as_ref()).is_some_and(|growth| growth.law == "constant");
            if !good {
                println!("{noise} {seed}: {:?} {:?}", found.knees, found.scaling_law);
            }
            right += u64::from(good);
        }
        println!(
            "noise {noise}: {right} of {} right, {} settings, {} runs on average",
            trials(),
            settings as u64 / trials(),
            u64::from(runs) / trials()
        );
        assert!(right * 10 >= trials() * 9, "{right} at {noise}");
    }
}

#[test]
fn a_step_is_found_to_the_setting() {
    let step = |x: f64| if x > 48.0 { 0.033 } else { 0.03 };
    let mut right = 0;
    for seed in 0..trials() {
        let found = swept("N=1..1024:log2", step, 0.01, seed);
        let good = is_right(&found, KneeKind::Step, (40.0, 48.0), (49.0, 56.0));
        if !good {
            println!("{seed}: {:?} {:?}", found.knees, found.suspected_knees);
        }
        right += u64::from(good);
    }
    assert!(right * 10 >= trials() * 9, "{right}");
}

#[test]
fn smooth_and_flat_curves_have_no_knee_and_the_right_law() {
    type Law = (&'static str, fn(f64) -> f64);
    let curves: [Law; 4] = [
        ("constant", |_| 0.03),
        ("log", |x| 0.02 + 0.004 * x.log2()),
        ("linear", |x| 0.02 + 1e-4 * x),
        ("quadratic", |x| 0.02 + 3e-7 * x * x),
    ];
    let (mut wrong, mut lawful) = (0, 0);
    for (name, curve) in curves {
        for seed in 0..trials() / 2 {
            let found = swept("N=1..1024:log2", curve, 0.01, seed);
            wrong += u64::from(!found.knees.is_empty());
            let growth = found.scaling_law.unwrap();
            lawful += u64::from(growth.law == name);
            // What it cannot tell it does not say.
            if growth.law != name && growth.law != "unknown" {
                println!("{name} taken for {growth:?}");
                wrong += 1;
            }
        }
    }
    assert!(wrong * 20 <= trials() * 2, "{wrong}");
    assert!(
        lawful * 10 >= trials() * 2 * 7,
        "{lawful} of {}",
        trials() * 2
    );
}

/// A step from `low` to twice as much at 49, and a flat curve, on machines each run of which takes
/// `machine(seed, run)` times as long: nineteen in twenty of both must be seen for what they are.
fn on_machines(low: f64, noise: f64, from: f64, to: f64, machine: impl Fn(u64, usize) -> f64) {
    let double = |x: f64| if x > 48.0 { 2.0 * low } else { low };
    let (mut right, mut flat, mut all) = (0, 0, 0);
    for seed in 0..5 * trials() {
        let of_run = |run: usize| machine(seed, run);
        let found = swept_on("N=1..1024:log2", double, noise, seed, of_run);
        let good = is_right(&found, KneeKind::Step, (from, 48.0), (49.0, to));
        if !good {
            println!("{seed}: {:?} {:?}", found.knees, found.suspected_knees);
        }
        right += u64::from(good);
        let level = swept_on("N=1..1024:log2", |_| 0.03, noise, seed, of_run);
        if !level.knees.is_empty() {
            println!("{seed}, flat: {:?}", level.knees);
        }
        flat += u64::from(level.knees.is_empty());
        all += 1;
    }
    println!("{right} of {all} right, {flat} of as many flat");
    assert!(
        right * 20 >= all * 19 && flat * 20 >= all * 19,
        "{right} {flat} of {all}"
    );
}

/// Another program on the other half of the core ends, or begins, or comes for a while: what was
/// refined since is faster or slower than what was measured before, and means nothing.
#[test]
fn a_machine_that_changes_in_the_middle_bends_no_curve() {
    on_machines(0.03, 0.01, 40.0, 56.0, |seed, run| {
        let at = 8 + 9 * (seed as usize % 20);
        match seed % 3 {
            0 => [1.0, 0.84][usize::from(run >= at)],
            1 => [1.0, 1.16][usize::from(run >= at)],
            _ => [1.0, 1.12][usize::from((at..at + 25).contains(&run))],
        }
    });
}

/// Kernels that split CPU time by what their ticks hit take a tenth to a quarter of a short run's
/// user time for system time, now and then.
#[test]
fn runs_that_lose_a_tick_now_and_then_make_no_knees() {
    on_machines(0.02, 0.005, 32.0, 64.0, |seed, run| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed << 20 | run as u64);
        match random.random::<f64>() < 0.1 {
            true => 1.0 - 0.1 - 0.15 * random.random::<f64>(),
            false => 1.0,
        }
    });
}

#[test]
fn a_staircase_has_all_its_steps() {
    let stairs = |x: f64| match x {
        x if x <= 48.0 => 1e-3,
        x if x <= 1024.0 => 3.4e-3,
        x if x <= 32768.0 => 1.1e-2,
        _ => 8e-2,
    };
    for seed in 1..=4 * trials() {
        let found = swept("N=4..262144:log2", stairs, 0.02, seed);
        let places: Vec<(f64, f64)> = (found.knees.iter())
            .map(|knee| (knee.low, knee.high))
            .collect();
        assert_eq!(places.len(), 3, "{seed}: {places:?}");
        for ((low, high), truth) in places.into_iter().zip([48.0, 1024.0, 32768.0]) {
            assert!(
                low <= truth && high >= truth && high / low < 1.3,
                "{seed}: {low} {high}"
            );
        }
    }
}

/// A regular expression with a slip of the pen is told after one run of each setting.
#[test]
fn a_metric_that_no_run_yields_is_refused_at_once() {
    let runs = std::rc::Rc::new(std::cell::Cell::new(0));
    let counted = std::rc::Rc::clone(&runs);
    let runner = MockExecutor::new(move |_: &CommandSpec| {
        counted.set(counted.get() + 1);
        Ok(Finished::mock(0.01))
    });
    let mut comparer = Comparer::new(runner, NoObserver, Cancel::new().unwrap(), || 0.0);
    let mut plan = Plan::new(Vec::new());
    plan.primary = "pages".to_owned();
    plan.metrics = vec![MetricPlan::parse_regex("pages=([0-9]+) pagse").unwrap()];
    let plan = SweepPlan {
        parameters: vec![SweptParameter::parse("N=1..8:log2").unwrap()],
        plan,
        budget: 1e4,
    };
    let make = |values: &BTreeMap<String, String>| {
        let value = values["N"].clone();
        let spec = CommandSpec::direct([value.clone()]);
        Ok(VariantPlan::new(value.clone(), value, spec))
    };
    let error = sweep(&mut comparer, &plan, &make).expect_err("no such metric");
    let text = error.to_string();
    assert!(text.contains("reported the metric pages"), "{text}");
    assert_eq!(runs.get(), 4);
}

#[test]
fn a_sweep_repeats_itself_to_the_last_run() {
    let one = swept("N=1..1024:log2", published, 0.02, 3);
    let two = swept("N=1..1024:log2", published, 0.02, 3);
    assert_eq!(
        (one.points, one.knees, one.runs),
        (two.points, two.knees, two.runs)
    );
}

/// That the budget sufficed for some of the settings, and that it was spent before their blocks were complete, is one sentence.
#[test]
fn short_budget_is_reported_once() {
    let found = swept("N=1..1024:log2", |x| 3.0 * x, 0.01, 1);
    let notes: Vec<&String> = (found.notes.iter())
        .filter(|note| note.contains("budget"))
        .collect();
    assert_eq!(
        notes,
        ["the budget was spent after 3 blocks of 3 of the 11 settings of the initial grid"]
    );
}
