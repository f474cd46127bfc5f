//! Criterion's `target/criterion/NAME/new/sample.json`.

use serde::Deserialize;
use serde_json::Value;

use super::{ImportError, Imported, ImportedBenchmark, document};

#[derive(Deserialize)]
struct Sample {
    /// Iterations of each sample.
    iters: Vec<f64>,
    /// Nanoseconds of each sample.
    times: Vec<f64>,
}

pub(super) fn read(json: Value, name: &str) -> Result<Imported, ImportError> {
    let sample: Sample = document(json, "Criterion")?;
    let values = (sample.times.iter().zip(&sample.iters))
        .map(|(time, iterations)| time * 1e-9 / iterations)
        .collect();
    Ok(Imported {
        tool: "Criterion".to_owned(),
        benchmarks: vec![ImportedBenchmark::seconds(name, "wall", values)],
        named_by_place: Some(name.to_owned()),
        ..Imported::default()
    })
}

/// The benchmark's full name of the `benchmark.json` beside a `sample.json`.
#[must_use]
pub fn benchmark_name(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Benchmark {
        full_id: String,
    }
    let text = bytes.get(..bytes.len().min(super::MAX_BYTES))?;
    Some(serde_json::from_slice::<Benchmark>(text).ok()?.full_id)
}
