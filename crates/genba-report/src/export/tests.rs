//! The formats of hyperfine and GitHub; names stay within their cell.

use super::*;
use crate::test_fixtures::comparison as fixture;
use serde_json::Value;

fn table(report: &genba_model::ComparisonReport) -> String {
    summary_table(report, Markup::Markdown, TableOptions::default())
}

fn parsed(report: &genba_model::ComparisonReport) -> Vec<Value> {
    let all: Value = serde_json::from_str(&hyperfine_json(report)).unwrap();
    all["results"].as_array().unwrap().clone()
}

#[test]
fn json_has_the_fields_of_hyperfine_in_order() {
    let text = hyperfine_json(&fixture::many());
    let results = parsed(&fixture::many());
    assert_eq!(results.len(), 6, "the excluded variant is omitted");
    let mut last = 0;
    for field in [
        "command",
        "mean",
        "stddev",
        "median",
        "user",
        "system",
        "min",
        "max",
        "times",
        "memory_usage_byte",
        "exit_codes",
        "parameters",
    ] {
        let place = text.find(&format!("\"{field}\"")).unwrap();
        assert!(place > last, "{field}");
        last = place;
        assert!(results.iter().all(|r| !r[field].is_null()), "{field}");
    }
    assert_eq!(results[0]["times"].as_array().unwrap().len(), 40);
    assert!(results[0]["memory_usage_byte"][0].is_u64());
    assert_eq!(results[3]["parameters"]["codec"], "lz4");
}

#[test]
fn one_run_has_no_deviation_and_no_parameters() {
    let results = parsed(&fixture::alone());
    assert!(results[0]["stddev"].is_null());
    assert!(results[0].get("stddev").is_some());
    assert!(results[0].get("parameters").is_none());
    assert!(
        csv(&fixture::alone())
            .lines()
            .nth(1)
            .unwrap()
            .split(',')
            .nth(2)
            == Some("0")
    );
    assert!(table(&fixture::alone()).ends_with("| 1.00 |\n"));
}

#[test]
fn csv_has_a_column_for_every_parameter() {
    let text = csv(&fixture::many());
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("command,mean,stddev,median,user,system,min,max,parameter_codec")
    );
    assert!(lines.next().unwrap().ends_with(",before"));
    assert_eq!(text.lines().count(), 7);
}

#[test]
fn snapshots() {
    insta::assert_snapshot!("markdown", table(&fixture::many()));
    insta::assert_snapshot!("csv", csv(&fixture::faster()));
    insta::assert_snapshot!("github_passed", github_markdown(&fixture::faster(), 0.01));
    insta::assert_snapshot!("github_refused", github_markdown(&fixture::many(), 0.02));
    insta::assert_snapshot!(
        "github_undecided",
        github_markdown(&fixture::undecided(), 0.01)
    );
    insta::assert_snapshot!("github_hostile", github_markdown(&fixture::hostile(), 0.01));
}

#[test]
fn gate_refuses_beyond_the_threshold() {
    let mut all = fixture::faster();
    let c = &mut all.comparisons[0];
    c.verdict = genba_model::VerdictName::Slower;
    (c.ratio.value, c.ratio.low, c.ratio.high) = (1.03, 1.004, 1.06);
    assert!(github_markdown(&all, 0.02).contains("**Refused**"));
    assert!(github_markdown(&all, 0.05).contains("**Passed**"));
}

#[test]
fn hostile_names_stay_in_their_cell() {
    let all = fixture::hostile();
    for text in [table(&all), github_markdown(&all, 0.01)] {
        // What is not a code span has no mark-up; a code span has no line end and no pipe.
        let outside: String = text
            .split('`')
            .filter(|part| !part.contains("alert"))
            .collect();
        assert!(!outside.contains("<script"), "{outside}");
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}'));
        assert!(text.len() < 65_536, "{}", text.len());
    }
    for line in table(&all).lines() {
        let bars = line.replace("\\|", "").matches('|').count();
        assert_eq!(bars, 6, "{line}");
    }
    assert!(csv(&all).contains("'") && hyperfine_json(&all).contains("\\u001b"));
    // No number that is none: the whole file would be unreadable.
    assert!(parsed(&all).iter().all(|r| r["mean"].is_number()));
}
