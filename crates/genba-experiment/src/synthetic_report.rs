//! Synthetic parts of documents for tests.

use std::collections::BTreeMap;

use genba_model::{Direction, Estimate, HostFingerprint, Variant, VariantMetric};

use crate::ReportContext;

/// A synthetic case, time and host.
pub(crate) fn setting() -> ReportContext {
    ReportContext {
        case: Some("7f3a".to_owned()),
        version: "0.1.0".to_owned(),
        started: "2026-11-21T20:15:04.123Z".to_owned(),
        host: HostFingerprint {
            id: "test".to_owned(),
            cpu: String::new(),
            microarchitecture: String::new(),
            cpus: 2,
            memory_bytes: 0,
            kernel: String::new(),
            os: String::new(),
            virtualisation: None,
            hardware_counters: false,
        },
        hazards: Vec::new(),
    }
}

/// A variant with one run of one metric.
pub(crate) fn variant(name: &str, metric: &str, value: f64, unit: &str) -> Variant {
    let known = VariantMetric {
        median: Estimate::exact(value),
        midmean: None,
        mean: value,
        stddev: None,
        min: value,
        max: value,
        unit: unit.to_owned(),
        direction: Direction::default(),
        values: vec![Some(value)],
    };
    Variant {
        name: name.to_owned(),
        command: name.to_owned(),
        parameters: BTreeMap::new(),
        runs: 1,
        exit_codes: vec![Some(0)],
        metrics: BTreeMap::from([(metric.to_owned(), known)]),
        excluded: None,
    }
}
