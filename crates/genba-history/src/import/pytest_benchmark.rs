//! `pytest --benchmark-json`.

use serde::Deserialize;
use serde_json::Value;

use super::{ImportError, Imported, ImportedBenchmark, document};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    benchmarks: Vec<Benchmark>,
    commit_info: Option<Commit>,
    machine_info: Machine,
    datetime: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    fullname: Option<String>,
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    /// Every round, with `--benchmark-save-data`.
    #[serde(default)]
    data: Vec<f64>,
    median: Option<f64>,
}

#[derive(Deserialize)]
struct Commit {
    id: Option<String>,
    branch: Option<String>,
    dirty: Option<bool>,
}

#[derive(Deserialize)]
struct Machine {
    node: Option<String>,
}

pub(super) fn read(json: Value) -> Result<Imported, ImportError> {
    let file: File = document(json, "pytest-benchmark")?;
    let benchmarks = (file.benchmarks.into_iter())
        .map(|one| {
            let values = match one.stats.data.is_empty() {
                true => one.stats.median.into_iter().collect(),
                false => one.stats.data,
            };
            let name = one.fullname.unwrap_or(one.name);
            ImportedBenchmark::seconds(&name, "wall", values)
        })
        .collect();
    let commit = file.commit_info;
    // Outside a repository the id is the word "unversioned".
    let id = (commit.as_ref())
        .and_then(|one| one.id.clone())
        .filter(|id| id != "unversioned");
    Ok(Imported {
        tool: "pytest-benchmark".to_owned(),
        benchmarks,
        branch: commit
            .as_ref()
            .and_then(|one| one.branch.clone())
            .filter(|_| id.is_some()),
        dirty: commit
            .as_ref()
            .and_then(|one| one.dirty)
            .unwrap_or_default(),
        commit: id,
        started: file.datetime,
        machine: file.machine_info.node,
        named_by_place: None,
    })
}
