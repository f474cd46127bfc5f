//! Documents about several cases.

use genba_model::{Calibration, CaseKind, CaseState, CaseSummary, Estimate, Trial, VerdictName};

/// Predictions beside what experiments measured.
pub fn calibration() -> Calibration {
    let estimate = |value: f64| Estimate {
        value,
        low: value - 0.1,
        high: value + 0.1,
    };
    let trial = |measured: f64| Trial {
        case: "7f3a".to_owned(),
        finding: 1,
        cause: "duplicate-division".to_owned(),
        function: "big2str\x1b[31m".to_owned(),
        line: Some(4569),
        predicted: estimate(1.34),
        measured: estimate(measured),
        metric: "cpu".to_owned(),
        verdict: VerdictName::Faster,
        comparison: None,
        in_flight: false,
        upper_bound: false,
    };
    Calibration::of(vec![trial(1.37), trial(2.0)])
}

/// A complete case and one that cannot be read.
pub fn cases() -> Vec<CaseSummary> {
    let complete = CaseSummary {
        id: "7f3a9c".to_owned(),
        kind: CaseKind::Comparison,
        state: CaseState::Complete,
        started: "2026-01-02T03:04:05Z".to_owned(),
        ended: Some("2026-01-02T03:05:05Z".to_owned()),
        command: vec!["gzip".to_owned(), "-k".to_owned(), "words".to_owned()],
        name: Some("gzip".to_owned()),
        runs: 21,
        wall_seconds: Some(0.2),
        path: "/tmp/cases/7f3a9c".to_owned(),
        error: None,
    };
    let unreadable = CaseSummary {
        id: "81b2d0".to_owned(),
        state: CaseState::Unreadable,
        error: Some("case.json: expected a value at line 1".to_owned()),
        ..complete.clone()
    };
    vec![complete, unreadable]
}
