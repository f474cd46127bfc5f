//! Google Benchmark's `--benchmark_format=json`.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::{ImportError, Imported, ImportedBenchmark, document};

#[derive(Deserialize)]
struct File {
    context: Context,
    #[serde(default)]
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Context {
    date: Option<String>,
    host_name: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
}

impl Benchmark {
    /// The name without that of an aggregate.
    fn run_name(&self) -> &str {
        self.run_name.as_ref().unwrap_or(&self.name)
    }

    fn is_aggregate(&self) -> bool {
        self.run_type.as_deref() == Some("aggregate")
    }
}

pub(super) fn read(json: Value) -> Result<Imported, ImportError> {
    let file: File = document(json, "Google Benchmark")?;
    let mut benchmarks: Vec<ImportedBenchmark> = Vec::new();
    let repeated: HashSet<String> = (file.benchmarks.iter())
        .filter(|one| !one.is_aggregate())
        .map(|one| one.run_name().to_owned())
        .collect();
    for one in file.benchmarks {
        // Aggregates follow the repetitions, unless only they are reported (--benchmark_report_aggregates_only).
        let is_median = one.aggregate_name.as_deref() == Some("median");
        if one.is_aggregate() && (!is_median || repeated.contains(one.run_name())) {
            continue;
        }
        let unit = match one.time_unit.as_deref() {
            Some("s") => 1.0,
            Some("ms") => 1e-3,
            Some("us") => 1e-6,
            _ => 1e-9,
        };
        let name = one.run_name();
        for (metric, value) in [("wall", one.real_time), ("cpu", one.cpu_time)] {
            let Some(value) = value else {
                continue;
            };
            let values = vec![value * unit];
            benchmarks.push(ImportedBenchmark::seconds(name, metric, values));
        }
    }
    Ok(Imported {
        tool: "Google Benchmark".to_owned(),
        benchmarks: merged(benchmarks),
        started: file.context.date,
        machine: file.context.host_name,
        ..Imported::default()
    })
}

/// Repetitions of one benchmark together; they may be interleaved with others.
fn merged(all: Vec<ImportedBenchmark>) -> Vec<ImportedBenchmark> {
    let mut index = HashMap::new();
    let mut merged: Vec<ImportedBenchmark> = Vec::new();
    for one in all {
        let key = (one.name.clone(), one.metric.clone());
        let at = *index.entry(key).or_insert(merged.len());
        match merged.get_mut(at) {
            Some(known) => known.values.extend(one.values),
            None => merged.push(one),
        }
    }
    merged
}
