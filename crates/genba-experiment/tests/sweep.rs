//! The sweep's driver over curves that are known, with noise that is.

use std::collections::BTreeMap;

use genba_experiment::sweep::{SweepPlan, SweptParameter, document, sweep};
use genba_experiment::{Lab, NoObserver, Plan, Setting, VariantPlan};
use genba_model::{KneeName, Sweep};
use genba_run::{Cancel, CommandSpec, Finished, MockExecutor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

/// Sweeps a mock whose runs take as long as the curve says, times noise and drift.
fn swept(definition: &str, curve: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Sweep {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = move || {
        let (a, b): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    let now = std::rc::Rc::new(std::cell::Cell::new(0.0));
    let spent = std::rc::Rc::clone(&now);
    let mut drift = 0.0;
    let runner = MockExecutor::new(move |spec: &CommandSpec| {
        let x: f64 = spec.argv[0].to_string_lossy().parse().unwrap();
        // A drift that wanders, and a tail to the right.
        drift = 0.98 * drift + 0.2 * noise * normal();
        let tail = normal().abs().powi(2) * 0.3;
        let seconds = curve(x) * (noise * (normal() * 0.9 + tail) + drift).exp();
        now.set(now.get() + seconds + 0.001);
        Ok(Finished::mock(seconds))
    });
    let mut lab = Lab::new(runner, NoObserver, Cancel::new().unwrap(), move || {
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
    let found = sweep(&mut lab, &plan, &make).unwrap();
    let setting = Setting {
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
        .unwrap_or(20)
}

#[test]
fn the_published_curve_is_solved_with_fewer_settings_than_its_grid() {
    for noise in [0.01, 0.03] {
        let (mut right, mut settings, mut runs) = (0, 0, 0);
        for seed in 0..trials() {
            let found = swept("N=1..1024:log2", published, noise, seed);
            settings += found.points.len();
            runs += found.runs;
            assert!(found.points.len() < 36);
            let good = matches!(found.knees.as_slice(), [knee]
                if knee.kind == KneeName::Step && knee.low >= 8.0 && knee.high <= 32.0
                    && knee.low <= 12.0 && knee.high >= 22.0 && knee.confidence > 0.9);
            if !good {
                println!("{noise} {seed}: {:?} {:?}", found.knees, found.suspects);
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
