//! Synthetic sweeps and an ablation, realistic and hostile.

use genba_model::*;

use crate::test_fixtures::comparison as comparisons;

fn around(value: f64, share: f64) -> Estimate {
    Estimate {
        value,
        low: value * (1.0 - share),
        high: value * (1.0 + share),
    }
}

fn empty(name: &str, values: &str, scale: ParameterScale) -> Sweep {
    let report = comparisons::alone();
    Sweep {
        case: Some("7f3a".to_owned()),
        genba: "0.3.0".to_owned(),
        started: report.started,
        host: report.host,
        command: format!("ruby --mjit-max-cache={{{name}}} page.rb"),
        hazards: Vec::new(),
        metric: "rate".to_owned(),
        unit: "req/s".to_owned(),
        direction: Direction::MoreIsBetter,
        parameters: vec![SweepParameter {
            name: name.to_owned(),
            values: values.to_owned(),
            scale,
            full_grid: Some(36),
        }],
        seed: 7,
        delta: 0.01,
        alpha: 0.05,
        runs: 61,
        elapsed_seconds: 192.0,
        budget_seconds: 300.0,
        end: "answered".to_owned(),
        variants: Vec::new(),
        comparisons: Vec::new(),
        points: Vec::new(),
        knees: Vec::new(),
        suspected_knees: Vec::new(),
        segments: Vec::new(),
        scaling_law: None,
        scatter: Some(0.01),
        visible_step: Some(0.018),
        notes: Vec::new(),
    }
}

fn point(x: f64, value: f64, placed: bool) -> SweepPoint {
    SweepPoint {
        parameter: "N".to_owned(),
        value: ParameterValue::Number(x),
        second: None,
        metric: around(value, 0.006),
        runs: 5,
        refined: placed,
    }
}

/// A step, as of a JIT's code cache.
pub fn step() -> Sweep {
    let mut sweep = empty("N", "1..1024:log2", ParameterScale::Log2);
    let levels = [
        (1.0, 854.0),
        (2.0, 851.0),
        (4.0, 856.0),
        (8.0, 853.0),
        (10.0, 850.0),
    ];
    sweep.points = levels.map(|(x, value)| point(x, value, x == 10.0)).to_vec();
    sweep.points.push(point(12.0, 744.0, true));
    for power in 4..=10 {
        sweep.points.push(point(
            f64::from(1 << power),
            620.0 + f64::from(power % 3),
            false,
        ));
    }
    sweep.knees.push(SweepKnee {
        low: 10.0,
        high: 16.0,
        kind: KneeKind::Step,
        effect: around(0.727, 0.01),
        confidence: 0.973,
        p_value: 0.0025,
        settled: true,
    });
    let stretch = |from: f64, to: f64, within: f64| SweepSegment {
        from,
        to,
        flat: true,
        within,
    };
    sweep.segments = vec![stretch(1.0, 10.0, 0.004), stretch(16.0, 1024.0, 0.002)];
    sweep
}

/// A scaling law without change point, and a change point that is not significant.
pub fn law() -> Sweep {
    let mut sweep = empty("SIZE", "1K..64K:log2", ParameterScale::Log2);
    sweep.metric = "wall".to_owned();
    sweep.unit = "seconds".to_owned();
    sweep.direction = Direction::LessIsBetter;
    for power in 10..=16 {
        let x = f64::from(1 << power);
        sweep.points.push(point(x, 1e-7 * x * x.ln(), false));
    }
    sweep.scaling_law = Some(SweepScalingLaw {
        law: "unknown".to_owned(),
        exponent: Some(Estimate {
            value: 1.05,
            low: 0.93,
            high: 1.16,
        }),
        candidates: vec!["n log n".to_owned(), "linear".to_owned()],
        residual: 0.01,
        from: 1024.0,
        to: 65536.0,
        fitted: (10..=16)
            .map(|p| (f64::from(1 << p), 1e-3 * f64::from(1 << (p - 10))))
            .collect(),
    });
    sweep.suspected_knees.push(SweepKnee {
        low: 8000.0,
        high: 21000.0,
        kind: KneeKind::Hinge,
        effect: around(1.3, 0.2),
        confidence: 0.86,
        p_value: 0.12,
        settled: true,
    });
    sweep.end = "budget".to_owned();
    sweep
}

/// A sweep of two parameters.
pub fn two() -> Sweep {
    let mut sweep = step();
    sweep.knees.clear();
    sweep.segments.clear();
    let mut second = sweep.parameters[0].clone();
    second.name = "M".to_owned();
    sweep.parameters.push(second);
    sweep.points = (0..12)
        .map(|i| {
            let mut one = point(
                f64::from(1 << (i / 4)),
                100.0 + 40.0 * f64::from(i % 4),
                false,
            );
            one.second = Some(ParameterValue::Number(f64::from(i % 4)));
            one
        })
        .collect();
    sweep
}

/// Values that are not numeric, and text with terminal escapes and markup.
pub fn hostile() -> Sweep {
    let mut sweep = empty("<b>N</b>\u{1b}[2J", "a,b", ParameterScale::Words);
    sweep.command = "x \u{1b}]0;gone\u{7} <script>alert(1)</script> {N}".to_owned();
    sweep.unit = "<i>\u{1b}[31m".to_owned();
    sweep.points = vec![point(1.0, 1.0, false), point(2.0, f64::MAX, false)];
    for point in &mut sweep.points {
        point.value = ParameterValue::Word("<img src=x>\u{1b}[2J".repeat(20));
    }
    sweep.notes.push("<script>\u{1b}[2J".to_owned());
    sweep
}

fn cost(metric: &str, value: f64, half: f64) -> AblationCost {
    AblationCost {
        metric: metric.to_owned(),
        unit: "seconds".to_owned(),
        cost: Estimate {
            value,
            low: value - half,
            high: value + half,
        },
        share: Some(Estimate {
            value: value / 41e-9,
            low: (value - half) / 41e-9,
            high: (value + half) / 41e-9,
        }),
    }
}

/// Creation of strings, with and without garbage collection.
pub fn ablation() -> Ablation {
    let mut report = comparisons::faster();
    report.variants[0].name = "baseline".to_owned();
    report.variants[1].name = "without gc".to_owned();
    for one in &mut report.comparisons {
        one.baseline = "baseline".to_owned();
        one.variant = "without gc".to_owned();
    }
    Ablation {
        report,
        per_iteration: Some(20_000_000),
        baseline_loop: Some("loop".to_owned()),
        baseline: vec![cost("wall", 43e-9, 1e-9), cost("user", 41e-9, 0.8e-9)],
        components: vec![
            AblationComponent {
                name: "gc".to_owned(),
                variant: "without gc".to_owned(),
                disabled_by: "APP_GC=off".to_owned(),
                costs: vec![
                    cost("wall", 9.1e-9, 1.2e-9),
                    cost("user", 11.2e-9, 0.4e-9),
                    cost("system", -3.2e-9, 0.3e-9),
                ],
            },
            AblationComponent {
                name: "lost".to_owned(),
                variant: "without lost".to_owned(),
                disabled_by: "false".to_owned(),
                costs: Vec::new(),
            },
        ],
        all_off: Some("all off".to_owned()),
        sums: vec![AblationSum {
            metric: "wall".to_owned(),
            unit: "seconds".to_owned(),
            components: around(20e-9, 0.1),
            together: around(16e-9, 0.1),
            interaction: Estimate {
                value: -4e-9,
                low: -5e-9,
                high: -3e-9,
            },
            adds_up: false,
        }],
        residual: vec![cost("wall", 25e-9, 1e-9), cost("user", 24e-9, 1e-9)],
    }
}
