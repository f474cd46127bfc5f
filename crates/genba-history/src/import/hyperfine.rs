//! `hyperfine --export-json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{ImportError, Imported, ImportedBenchmark, document};

#[derive(Deserialize)]
struct File {
    results: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    command: String,
    #[serde(default)]
    times: Vec<f64>,
    median: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
}

pub(super) fn read(json: Value) -> Result<Imported, ImportError> {
    let file: File = document(json, "hyperfine")?;
    let mut benchmarks = Vec::new();
    for one in file.results {
        let parameters: Vec<String> = (one.parameters.iter())
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name}={text}"),
                other => format!("{name}={other}"),
            })
            .collect();
        let wall = match one.times.is_empty() {
            true => one.median.into_iter().collect(),
            false => one.times,
        };
        // hyperfine has the mean of user and system time only.
        let means = [("user", one.user), ("system", one.system)];
        let means = means
            .into_iter()
            .map(|(metric, value)| (metric, value.into_iter().collect()));
        for (metric, values) in [("wall", wall)].into_iter().chain(means) {
            let mut benchmark = ImportedBenchmark::seconds(&one.command, metric, values);
            benchmark.variant = parameters.join(", ");
            benchmarks.push(benchmark);
        }
    }
    Ok(Imported {
        tool: "hyperfine".to_owned(),
        benchmarks,
        ..Imported::default()
    })
}
