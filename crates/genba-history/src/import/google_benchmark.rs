//! Google Benchmark's `--benchmark_format=json`.

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
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
}

pub(super) fn read(json: Value) -> Result<Imported, ImportError> {
    let file: File = document(json, "Google Benchmark")?;
    let mut benchmarks: Vec<ImportedBenchmark> = Vec::new();
    for one in file.benchmarks {
        // Means and medians of repetitions follow the repetitions.
        if one.run_type.as_deref() == Some("aggregate") {
            continue;
        }
        let unit = match one.time_unit.as_deref() {
            Some("s") => 1.0,
            Some("ms") => 1e-3,
            Some("us") => 1e-6,
            _ => 1e-9,
        };
        let name = one.run_name.as_ref().unwrap_or(&one.name);
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
    let mut index = std::collections::HashMap::new();
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
