//! Curves with and without knees under noise: how often the right one is found.

mod common;

use common::Noise;
use genba_stats::{Axis, CurvePoint, CurveQuestion, KneeKind, curve};

/// A curve, and the knee that it has.
struct Target {
    name: &'static str,
    value: fn(f64) -> f64,
    knee: Option<(KneeKind, f64, f64)>,
}

const TARGETS: &[Target] = &[
    flat_or_smooth("flat", |_| 1.0),
    flat_or_smooth("log", |x| 1.0 + 0.2 * x.ln()),
    flat_or_smooth("linear", |x| 1.0 + 0.02 * x),
    flat_or_smooth("power 0.7", |x| 0.3 * x.powf(0.7)),
    flat_or_smooth("n log n", |x| 2.0 + 0.01 * x * x.ln()),
    flat_or_smooth("quadratic", |x| 1.0 + 1e-4 * x * x),
    flat_or_smooth("falling 1/x", |x| 1.0 + 6.0 / x),
    step("step 3 %", |x| if x > 48.0 { 1.03 } else { 1.0 }),
    step("step 5 %", |x| if x > 48.0 { 1.05 } else { 1.0 }),
    step("step 10 %", |x| if x > 48.0 { 1.10 } else { 1.0 }),
    step("step -20 % on a slope", |x| {
        x.powf(0.05) * if x > 48.0 { 0.8 } else { 1.0 }
    }),
    hinge("hinge 5 % a doubling", |x| (x / 48.0).max(1.0).powf(0.0704)),
    hinge("hinge 10 % a doubling", |x| {
        (x / 48.0).max(1.0).powf(0.1375)
    }),
    hinge("hinge, adds 15 % a doubling", |x| {
        1.0 + 0.15 * (x / 48.0).log2().max(0.0)
    }),
    hinge("hinge to linear", |x| (x / 48.0).max(1.0)),
];

const fn flat_or_smooth(name: &'static str, value: fn(f64) -> f64) -> Target {
    Target {
        name,
        value,
        knee: None,
    }
}

const fn step(name: &'static str, value: fn(f64) -> f64) -> Target {
    Target {
        name,
        value,
        knee: Some((KneeKind::Step, 48.0, 48.0)),
    }
}

const fn hinge(name: &'static str, value: fn(f64) -> f64) -> Target {
    Target {
        name,
        value,
        knee: Some((KneeKind::Hinge, 48.0, 48.0)),
    }
}

/// What came of the trials of a target.
#[derive(Default)]
struct Tally {
    trials: u32,
    any: u32,
    right: u32,
    wide: f64,
}

/// Heavy tails: Student's t with three degrees of freedom, scaled to the deviation.
fn tailed(noise: &mut Noise) -> f64 {
    let chi: f64 = (0..3).map(|_| noise.normal().powi(2)).sum();
    noise.normal() / (chi / 3.0).sqrt() / 1.732
}

fn trial(target: &Target, xs: &[f64], runs: u32, sigma: f64, seed: u64, tally: &mut Tally) {
    let mut noise = Noise::new(seed);
    let drift: Vec<f64> = (0..runs).map(|_| 0.5 * sigma * noise.normal()).collect();
    let points: Vec<CurvePoint> = (xs.iter())
        .map(|x| CurvePoint {
            x: *x,
            runs: (0..runs)
                .map(|block| {
                    let error = sigma * tailed(&mut noise) + drift[block as usize];
                    (block, (target.value)(*x) * error.exp())
                })
                .collect(),
        })
        .collect();
    let question = CurveQuestion {
        axis: Axis::Log2,
        delta: 0.01,
        alpha: 0.05,
        seed,
        resamples: 199,
    };
    let found = curve(&points, &question).unwrap();
    tally.trials += 1;
    tally.any += u32::from(!found.knees.is_empty());
    if let (Some((kind, low, high)), [knee]) = (target.knee, found.knees.as_slice())
        && knee.kind == kind
        && knee.low <= low
        && knee.high >= high
    {
        tally.right += 1;
        tally.wide += (knee.high / knee.low).log2();
    }
}

fn table(trials: u64, sigma: f64, runs: u32) -> Vec<(&'static str, Tally)> {
    let xs: Vec<f64> = (0..=10).map(|u| f64::from(1 << u)).collect();
    (TARGETS.iter())
        .map(|target| {
            let mut tally = Tally::default();
            for seed in 0..trials {
                trial(target, &xs, runs, sigma, seed * 7919 + 1, &mut tally);
            }
            (target.name, tally)
        })
        .collect()
}

#[test]
#[ignore = "a minute: prints the table of docs/statistics.md"]
fn print_table() {
    for (sigma, runs) in [(0.01, 5), (0.01, 10), (0.03, 10)] {
        println!("{runs} runs, noise {sigma}");
        for (name, tally) in table(trials(), sigma, runs) {
            println!(
                "  {name:24} knees found in {:5.1} %, right {:5.1} %, width {:4.2} doublings",
                f64::from(tally.any) / f64::from(tally.trials) * 100.0,
                f64::from(tally.right) / f64::from(tally.trials) * 100.0,
                tally.wide / f64::from(tally.right.max(1)),
            );
        }
    }
}

fn trials() -> u64 {
    (std::env::var("TRIALS").ok())
        .and_then(|text| text.parse().ok())
        .unwrap_or(200)
}
