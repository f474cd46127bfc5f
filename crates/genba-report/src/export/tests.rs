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
    insta::assert_snapshot!(
        "github_passed",
        github_markdown(&GateResult::new(&fixture::faster(), 0.01))
    );
    insta::assert_snapshot!(
        "github_refused",
        github_markdown(&GateResult::new(&fixture::many(), 0.02))
    );
    insta::assert_snapshot!(
        "github_undecided",
        github_markdown(&GateResult::new(&fixture::undecided(), 0.01))
    );
    insta::assert_snapshot!(
        "github_hostile",
        github_markdown(&GateResult::new(&fixture::hostile(), 0.01))
    );
}

#[test]
fn gate_refuses_beyond_the_threshold() {
    let mut all = fixture::faster();
    let c = &mut all.comparisons[0];
    c.verdict = genba_model::VerdictName::Slower;
    (c.ratio.value, c.ratio.low, c.ratio.high) = (1.03, 1.004, 1.06);
    let said = |threshold| github_markdown(&GateResult::new(&all, threshold));
    let said = |threshold| said(threshold).lines().next().unwrap().to_owned();
    assert_eq!(
        said(0.003),
        "### genba: **Refused**: `after` is slower by more than 0.3 % in wall time."
    );
    assert!(said(0.02).contains(
        "**Refused**: `after` is slower in wall time, by 3 % (+0.4 % … +6 %); more than 2 % is the estimate, and not shown"
    ));
    assert!(said(0.05).contains(
        "**Passed**: no variant is shown to be slower by more than 5 %; `after` is slower in wall time, by 3 % (+0.4 % … +6 %)."
    ));
    assert!(said(0.1).contains("**Passed**: no variant is slower by more than 10 % in wall time."));
}

#[test]
fn interrupted_or_failed_gate_has_not_passed() {
    let all = fixture::undecided();
    let result = GateResult {
        interrupted: true,
        ..GateResult::new(&all, 0.02)
    };
    let text = github_markdown(&result);
    assert!(text.starts_with("### genba: **Interrupted**") && !text.contains("Passed"));
    assert!(junit_xml(&result).contains("errors=\"1\""));
    assert!(sarif(&result, "").contains("\"executionSuccessful\": false"));
    assert!(sarif(&GateResult::new(&all, 0.02), "").contains("\"executionSuccessful\": true"));
    let why = "the build exited with code 1: make\n<b>";
    assert!(github_failure(why).contains("**Failed**"));
    let junit = junit_failure(why);
    assert!(
        junit.contains("errors=\"1\"") && !junit.contains("<b>"),
        "{junit}"
    );
    assert!(sarif_failure(why, "1").contains("the build exited"));
}

#[test]
fn second_opinion_is_no_warning_and_has_no_negative_zero() {
    let mut all = fixture::faster();
    let counted = genba_model::InstructionChange {
        engine: "e".to_owned(),
        base: 1e9,
        change: 1e9 - 1.0,
        functions: Vec::new(),
    };
    all.notes.push(crate::second_opinion(&counted, &all));
    let text = github_markdown(&GateResult {
        counted: Some(&counted),
        ..GateResult::new(&all, 0.02)
    });
    let lines: Vec<&str> = text
        .lines()
        .filter(|one| one.contains("instructions"))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("- +0.00"), "{text}");
}

#[test]
fn hostile_names_stay_in_their_cell() {
    let all = fixture::hostile();
    for text in [table(&all), github_markdown(&GateResult::new(&all, 0.01))] {
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
