//! hyperfine's JSON and CSV.

use std::collections::BTreeMap;

use genba_model::{ComparisonReport, Variant};
use serde::Serialize;

use crate::variants;

/// One result, the fields in hyperfine's order. Times in seconds.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) command: &'a str,
    pub(super) mean: f64,
    pub(super) stddev: Option<f64>,
    pub(super) median: f64,
    pub(super) user: f64,
    pub(super) system: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: &'a [Option<i32>],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: &'a BTreeMap<String, String>,
}

/// The variants that have wall times, the baseline first. `command` is the variant's name, as
/// in hyperfine, where the name is the command unless `-n` gave another.
pub(super) fn rows(report: &ComparisonReport) -> Vec<Row<'_>> {
    report.variants.iter().filter_map(row).collect()
}

fn row(variant: &Variant) -> Option<Row<'_>> {
    let wall = variant.metrics.get("wall")?;
    let times = variants::values(variant, "wall");
    let finite = |v: f64| v.is_finite().then_some(v);
    if variant.excluded.is_some() || times.is_empty() {
        return None;
    }
    let mean = |metric: &str| {
        let found = variant.metrics.get(metric).map(|m| m.mean);
        found.and_then(finite).unwrap_or(0.0)
    };
    let memory: Vec<u64> = variants::values(variant, "max_rss")
        .into_iter()
        .map(|v| v.max(0.0) as u64)
        .collect();
    Some(Row {
        command: &variant.name,
        mean: finite(wall.mean)?,
        stddev: wall.stddev.and_then(finite).filter(|_| times.len() > 1),
        median: finite(wall.median.value)?,
        user: mean("user"),
        system: mean("system"),
        min: finite(wall.min)?,
        max: finite(wall.max)?,
        times,
        memory_usage_byte: (!memory.is_empty()).then_some(memory),
        exit_codes: &variant.exit_codes,
        parameters: &variant.parameters,
    })
}

/// `hyperfine --export-json`: `{"results":[{command, mean, stddev, median, user, system, min,
/// max, times, memory_usage_byte, exit_codes, parameters}]}`; `stddev` is null for one run,
/// `parameters` is omitted where there are none.
#[must_use]
pub fn hyperfine_json(report: &ComparisonReport) -> String {
    #[derive(Serialize)]
    struct Results<'a> {
        results: Vec<Row<'a>>,
    }
    let results = Results {
        results: rows(report),
    };
    // Plain numbers, texts and lists: there is nothing in it that could fail.
    let mut text = serde_json::to_string_pretty(&results).unwrap_or_default();
    text.push('\n');
    text
}

/// `hyperfine --export-csv`: a row a variant, times in seconds, a column `parameter_…` for every
/// parameter of the first; `stddev` is 0 for one run. Names that a spreadsheet would run get an
/// apostrophe in front ([`crate::csv::field`]), which hyperfine does not do.
#[must_use]
pub fn csv(report: &ComparisonReport) -> String {
    let rows = rows(report);
    let names: Vec<&String> = rows
        .first()
        .map(|row| row.parameters.keys().collect())
        .unwrap_or_default();
    let mut head: Vec<String> = [
        "command", "mean", "stddev", "median", "user", "system", "min", "max",
    ]
    .map(str::to_owned)
    .to_vec();
    head.extend(names.iter().map(|name| format!("parameter_{name}")));
    let mut out = crate::csv::record(&head);
    for row in &rows {
        let mut fields = vec![row.command.to_owned()];
        fields.extend(
            [
                row.mean,
                row.stddev.unwrap_or(0.0),
                row.median,
                row.user,
                row.system,
                row.min,
                row.max,
            ]
            .map(|v| v.to_string()),
        );
        fields.extend(
            names
                .iter()
                .map(|&name| row.parameters.get(name).cloned().unwrap_or_default()),
        );
        out.push_str(&crate::csv::record(&fields));
    }
    out
}
