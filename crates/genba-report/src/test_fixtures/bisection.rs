//! Synthetic results of `genba bisect`, one of each kind.

use std::collections::BTreeMap;

use genba_model::{
    Bisection, BisectionKind, BisectionOutcome, BisectionTest, Comparison, Culprit, Direction,
    Estimate, RankedEffect, Skipped, Variant, VariantMetric, VerdictName,
};

use super::comparison as fixture;

fn between(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, low, high }
}

fn variant(name: &str, value: f64, runs: u32) -> Variant {
    let values = (0..runs).map(|run| Some(value * (1.0 + 0.001 * f64::from(run))));
    let metric = VariantMetric {
        median: between(value, value * 0.995, value * 1.005),
        midmean: None,
        mean: value,
        stddev: None,
        min: value,
        max: value,
        unit: "seconds".to_owned(),
        direction: Direction::LessIsBetter,
        values: values.collect(),
    };
    Variant {
        name: name.to_owned(),
        command: format!("./prog --level {name}"),
        parameters: BTreeMap::new(),
        runs,
        exit_codes: Vec::new(),
        metrics: BTreeMap::from([("wall".to_owned(), metric)]),
        excluded: None,
    }
}

fn culprit(name: &str) -> Culprit {
    Culprit {
        name: name.to_owned(),
        elements: vec![name.to_owned()],
        before: Some("N=136".to_owned()),
        ratio: Some(between(1.0213, 1.0151, 1.0277)),
        verified: true,
        detail: None,
    }
}

pub fn range() -> Bisection {
    let comparison = Comparison {
        baseline: "N=136".to_owned(),
        variant: "N=137".to_owned(),
        metric: "wall".to_owned(),
        ratio: between(1.0213, 1.0151, 1.0277),
        verdict: VerdictName::Slower,
        delta: 0.01,
        alpha: 0.05,
        pairs: 19,
        more_pairs: None,
        corrected: None,
        cross_check: Some(true),
    };
    Bisection {
        case: Some("7f3a".to_owned()),
        genba: "0.1.0".to_owned(),
        started: "2026-11-22T05:00:00Z".to_owned(),
        host: fixture::faster().host,
        hazards: Vec::new(),
        of: BisectionKind::Range,
        command: "./prog --level {N}".to_owned(),
        metric: "wall".to_owned(),
        unit: "seconds".to_owned(),
        seed: 1,
        runs: 104,
        elapsed_seconds: 192.0,
        budget_seconds: Some(600.0),
        outcome: BisectionOutcome::Found,
        culprit: Some(culprit("N=137")),
        culprits: vec![culprit("N=137")],
        confidence: Some(0.9964),
        range: None,
        candidates: 256,
        deterministic: false,
        tests: vec![BisectionTest {
            what: "N=1".to_owned(),
            purpose: "verify the ends".to_owned(),
            values: vec![1.0, 1.001],
            failed: None,
        }],
        ranking: Vec::new(),
        skipped: vec![Skipped {
            what: "N=129".to_owned(),
            reason: "exit code 1".to_owned(),
        }],
        variants: vec![
            variant("N=1", 1.0, 20),
            variant("N=128", 1.001, 1),
            variant("N=136", 0.999, 25),
            variant("N=137", 1.021, 24),
            variant("N=256", 1.02, 20),
        ],
        comparisons: vec![comparison],
        notes: Vec::new(),
    }
}

pub fn set() -> Bisection {
    let part = |name: &str, value: f64, verified: bool| RankedEffect {
        name: name.to_owned(),
        kind: "element".to_owned(),
        depth: 0,
        line: None,
        end_line: None,
        effect: between(value, value - 0.004, value + 0.004),
        share: between(value, value - 0.004, value + 0.004),
        verified,
    };
    let mut together = culprit("unroll + licm");
    together.elements = vec!["unroll".to_owned(), "licm".to_owned()];
    together.before = None;
    together.detail = Some("only together".to_owned());
    Bisection {
        of: BisectionKind::Set,
        command: "./jit --enable={ITEMS}".to_owned(),
        culprits: vec![together.clone()],
        culprit: Some(together),
        ranking: vec![
            part("unroll", 0.021, false),
            part("licm", 0.019, true),
            part("gvn", -0.001, false),
        ],
        ..range()
    }
}

pub fn source() -> Bisection {
    let part = |name: &str, depth: u32, line: u32, end: u32, value: f64| RankedEffect {
        name: name.to_owned(),
        kind: if depth == 0 { "function" } else { "block" }.to_owned(),
        depth,
        line: Some(line),
        end_line: Some(end),
        effect: between(value, value - 0.01, value + 0.01),
        share: between(value / 0.99, value / 0.99 - 0.01, value / 0.99 + 0.01),
        verified: depth == 1,
    };
    Bisection {
        of: BisectionKind::Source,
        command: "gcc -O2 -c {FILE}".to_owned(),
        ranking: vec![
            part("_mjit0", 0, 7, 1220, 0.93),
            part("label_41: /* invokesuper */", 1, 706, 742, 0.80),
        ],
        ..range()
    }
}

pub fn undecided() -> Bisection {
    Bisection {
        outcome: BisectionOutcome::Undecided,
        culprit: None,
        culprits: Vec::new(),
        confidence: Some(0.4),
        range: Some(("N=120".to_owned(), "N=150".to_owned())),
        notes: vec!["the time was spent before the place was certain".to_owned()],
        ..range()
    }
}

pub fn nothing() -> Bisection {
    Bisection {
        outcome: BisectionOutcome::NoDifference,
        confidence: None,
        range: None,
        notes: Vec::new(),
        ..undecided()
    }
}
