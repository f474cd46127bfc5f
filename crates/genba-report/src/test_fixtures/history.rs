//! Histories.

use genba_model::{
    ChangeOrigin, Direction, Estimate, HistoryChange, HistoryMeasurement, HistoryReport,
    HistorySeries,
};

fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        low: value * 0.997,
        high: value * 1.003,
    }
}

/// Twenty commits, the eleventh 2 % slower.
pub fn step() -> HistoryReport {
    let measurements = (0..20).map(|index| HistoryMeasurement {
        commit: format!("c{index}"),
        subject: format!("subject {index}"),
        branch: "main".to_owned(),
        dirty: index == 19,
        started: "2026-01-01T00:00:00Z".to_owned(),
        level: estimate(if index < 10 { 0.5 } else { 0.51 }),
        anchor: Some(0.5),
        runs: 20,
    });
    HistoryReport {
        genba: "0.1.0".to_owned(),
        store: ".genba/history.sqlite".to_owned(),
        points: vec![HistoryChange {
            series: 0,
            benchmark: "parse".to_owned(),
            variant: String::new(),
            metric: "wall".to_owned(),
            unit: "seconds".to_owned(),
            host: "a1b2".to_owned(),
            commit: "c10".to_owned(),
            subject: "subject 10".to_owned(),
            last_before: "c9".to_owned(),
            first_after: "c10".to_owned(),
            before: estimate(0.5),
            after: estimate(0.51),
            change: Estimate {
                value: 1.02,
                low: 1.018,
                high: 1.022,
            },
            worse: true,
            probability: 0.9995,
            origin: ChangeOrigin::Code,
            environment: vec!["microcode: 0x1 → 0x2".to_owned()],
        }],
        series: vec![HistorySeries {
            project: "project".to_owned(),
            benchmark: "parse".to_owned(),
            variant: String::new(),
            metric: "wall".to_owned(),
            unit: "seconds".to_owned(),
            direction: Direction::LessIsBetter,
            host: "a1b2".to_owned(),
            branch: "main".to_owned(),
            anchor: "c0".to_owned(),
            noise: Some(0.003),
            visible_step: Some(0.011),
            measurements: measurements.collect(),
        }],
        comparisons: Vec::new(),
        hosts: Vec::new(),
        notes: Vec::new(),
    }
}

/// Texts that would run in a page or a terminal.
pub fn hostile() -> HistoryReport {
    let evil = "\u{1b}[2J\r<img src=x onerror=alert(1)>\" --".to_owned();
    let mut all = step();
    for one in &mut all.series[0].measurements {
        one.subject.clone_from(&evil);
        one.branch.clone_from(&evil);
    }
    let series = &mut all.series[0];
    for text in [
        &mut series.benchmark,
        &mut series.variant,
        &mut series.host,
        &mut series.branch,
        &mut series.anchor,
        &mut series.unit,
    ] {
        text.clone_from(&evil);
    }
    let point = &mut all.points[0];
    for text in [&mut point.subject, &mut point.benchmark, &mut point.unit] {
        text.clone_from(&evil);
    }
    point.environment = vec![evil.clone()];
    all.notes = vec![evil.clone()];
    all.store = evil;
    all
}
