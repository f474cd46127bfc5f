//! The refusals of a gate as SARIF 2.1.0: annotations at the lines that execute more.

use serde_json::{Value, json};

use super::GateResult;
use crate::wording::{gate, verdicts};

/// Functions that are annotated.
const MAX_ANNOTATIONS: usize = 10;
/// Growth of a function, as a share of all instructions of the base, from which it is annotated.
const MIN_GROWTH: f64 = 0.001;

/// Renders the refused variants as SARIF; each function that executes more becomes a location.
/// Paths are relative to `root`, that of the repository, where they lie in it.
#[must_use]
pub fn sarif(result: &GateResult<'_>, root: &str) -> String {
    let &GateResult {
        report,
        threshold,
        counted,
        interrupted,
    } = result;
    let refused = verdicts::deciding(report)
        .into_iter()
        .filter(|one| one.is_worse_by(threshold));
    let mut results = Vec::new();
    for one in refused {
        let mut message = verdicts::sentence(report, one);
        if let Some(counted) = counted {
            message = format!("{message}. {}", gate::second_opinion(counted, report));
        }
        let locations: Vec<Value> = (counted.into_iter())
            .flat_map(|counted| {
                let grown = counted.functions.iter();
                grown.filter(|one| (one.change - one.base) / counted.base.max(1.0) >= MIN_GROWTH)
            })
            .filter_map(|one| location(one.file.as_deref()?, one.line, root))
            .take(MAX_ANNOTATIONS)
            .collect();
        // A result has one location; the others are results of their own, so that all are shown.
        let each = match locations.is_empty() {
            true => vec![Vec::new()],
            false => locations.into_iter().map(|one| vec![one]).collect(),
        };
        for locations in each {
            results.push(json!({
                "ruleId": "slower",
                "level": "error",
                "message": {"text": crate::sanitise(&message)},
                "locations": locations,
            }));
        }
    }
    let why = interrupted.then_some("interrupted before all was decided");
    document(&report.genba, results, why)
}

/// Renders why a gate could not measure: a run of the tool that failed, without results.
#[must_use]
pub fn sarif_failure(message: &str, version: &str) -> String {
    document(version, Vec::new(), Some(message))
}

fn document(version: &str, results: Vec<Value>, failure: Option<&str>) -> String {
    let notifications: Vec<Value> = (failure.into_iter())
        .map(|why| json!({"level": "error", "message": {"text": crate::sanitise(why)}}))
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "genba",
                "version": version,
                "rules": [{
                    "id": "slower",
                    "shortDescription": {"text": "The change is slower than its base."},
                }],
            }},
            "invocations": [{
                "executionSuccessful": failure.is_none(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn location(file: &str, line: Option<u32>, root: &str) -> Option<Value> {
    let root = root.trim_end_matches('/');
    let path = match file.strip_prefix(root) {
        Some(below) if !root.is_empty() => below.trim_start_matches('/'),
        _ if file.starts_with('/') => return None,
        _ => file.trim_start_matches("./"),
    };
    let uri: String = path
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'+' => {
                (byte as char).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    Some(json!({"physicalLocation": {
        "artifactLocation": {"uri": uri},
        "region": {"startLine": line.unwrap_or(1).max(1)},
    }}))
}
