//! Snapshots of counts at several widths; lines fit, names are sanitised.

use super::*;
use crate::safe_text::display_width;
use crate::test_fixtures::counts as fixture;
use crate::{Screen, safe_text};

fn screen(width: usize) -> Screen {
    Screen {
        width,
        colour: false,
    }
}

fn calls_of(name: &str) -> CountsOptions {
    CountsOptions {
        calls_of: Some(name.into()),
        ..CountsOptions::default()
    }
}

fn screens(all: &genba_model::Counts, screen: Screen) -> Vec<(&'static str, String)> {
    let by_calls = CountsOptions {
        limit: 3,
        sort: CountSort::Calls,
        ..CountsOptions::default()
    };
    vec![
        ("counts", counts(all, &CountsOptions::default(), screen)),
        ("counts_by_calls", counts(all, &by_calls, screen)),
        ("counts_calls", counts(all, &calls_of("leaf"), screen)),
        (
            "counts_none",
            counts(all, &calls_of("\x1b[nothing"), screen),
        ),
        ("counts_attack", counts(all, &calls_of("alert"), screen)),
    ]
}

#[test]
fn snapshots() {
    for width in [80, 120] {
        for (name, text) in screens(&fixture::counts(), screen(width))
            .into_iter()
            .take(3)
        {
            insta::assert_snapshot!(format!("{name}_{width}"), text);
        }
        let text = counts(
            &fixture::per_record(),
            &CountsOptions::default(),
            screen(width),
        );
        insta::assert_snapshot!(format!("counts_per_{width}"), text);
        let text = counts(
            &fixture::per_record(),
            &calls_of("tccmplexical"),
            screen(width),
        );
        insta::assert_snapshot!(format!("counts_calls_per_{width}"), text);
    }
}

#[test]
fn lines_fit_the_screen() {
    for all in [fixture::counts(), fixture::per_record(), fixture::hostile()] {
        for width in [60, 80, 120, 200] {
            for (name, text) in screens(&all, screen(width)) {
                for line in text.lines() {
                    assert!(display_width(line) <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn hostile_names_are_sanitised() {
    for (name, text) in screens(&fixture::hostile(), screen(120)) {
        let bad = text
            .chars()
            .find(|&c| c != '\n' && !safe_text::is_harmless(c));
        assert_eq!(bad, None, "{name}");
        assert!(text.len() < 60_000, "{name}: {} bytes", text.len());
    }
}

/// Incomplete counts are never shown without the reason.
#[test]
fn early_end_is_shown_before_the_counts() {
    let text = counts(
        &fixture::per_record(),
        &CountsOptions::default(),
        screen(100),
    );
    let mark = text
        .find("! incomplete counts: killed by SIGKILL")
        .expect("a mark");
    assert!(mark < text.find("function").expect("the table"), "{text}");
    assert!(text.contains("ended with SIGKILL"), "{text}");
    let text = counts(&fixture::counts(), &CountsOptions::default(), screen(100));
    assert!(!text.contains("! "), "{text}");
}

#[test]
fn counts_without_calls_have_no_estimated_totals() {
    let mut all = fixture::counts();
    all.calls.clear();
    for f in &mut all.functions {
        f.total_instructions = None;
    }
    let text = counts(&all, &calls_of("main"), screen(100));
    assert!(
        text.contains("calls between functions were not recorded"),
        "{text}"
    );
    assert!(!text.contains("gprof"), "{text}");
    all.functions.clear();
    let text = counts(&all, &CountsOptions::default(), screen(100));
    assert!(
        text.contains("no executed instruction was counted"),
        "{text}"
    );
}

const FOLDED: AnnotateOptions = AnnotateOptions {
    hide_below: Some(0.001),
    arrow_columns: 5,
};

/// The screens of samples with counts beside them.
fn joined(all: &genba_model::Investigation, screen: Screen) -> Vec<(&'static str, String)> {
    let profile = all.profile.as_ref().unwrap();
    let lines = ReportOptions {
        by: By::Line,
        ..ReportOptions::default()
    };
    vec![
        (
            "joined_investigation",
            investigation(all, Next::default(), screen),
        ),
        (
            "joined_report",
            report(profile, &ReportOptions::default(), screen),
        ),
        ("joined_lines", report(profile, &lines, screen)),
        (
            "joined_annotation",
            annotation(&all.annotations[1], FOLDED, screen),
        ),
    ]
}

#[test]
fn snapshots_of_samples_joined_with_counts() {
    for width in [80, 120] {
        for (name, text) in joined(&fixture::investigation(), screen(width)) {
            insta::assert_snapshot!(format!("{name}_{width}"), text);
        }
    }
}

#[test]
fn samples_joined_with_counts_fit_and_are_sanitised() {
    for all in [fixture::investigation(), fixture::hostile_investigation()] {
        for width in [60, 80, 110, 120, 200] {
            for (name, text) in joined(&all, screen(width)) {
                for line in text.lines() {
                    assert!(display_width(line) <= width, "{name} at {width}: {line}");
                }
                let bad = text
                    .chars()
                    .find(|&c| c != '\n' && !safe_text::is_harmless(c));
                assert_eq!(bad, None, "{name}");
                assert!(text.len() < 100_000, "{name}: {} bytes", text.len());
            }
        }
    }
}

/// A run whose counts were multiplied by this, and ended for this reason.
fn counted(scale: f64, cut_short: Option<&str>) -> genba_model::Investigation {
    let mut all = fixture::investigation();
    let mark = |counted: &mut Option<genba_model::Counted>| {
        let counted = counted.as_mut().unwrap();
        counted.scale = scale;
        counted.command[1] = "30".into();
        counted.cut_short = cut_short.map(str::to_owned);
    };
    mark(&mut all.profile.as_mut().unwrap().counted);
    mark(&mut all.annotations[1].counted);
    all
}

#[test]
fn scaled_and_incomplete_counts_have_warnings() {
    let cases = [
        (
            counted(10.0, None),
            "! counts are of a smaller run, multiplied by 10.0: ./tostr 30\n",
        ),
        (
            counted(1.0, Some("time-out")),
            "! incomplete counts: time-out",
        ),
        (
            counted(10.0, Some("time-out")),
            "! counts are of the first part of the run, multiplied by 10.0",
        ),
    ];
    for (all, warning) in &cases {
        for (name, text) in joined(all, screen(120)) {
            assert!(text.contains(warning), "{name}: {text}");
        }
    }
    let page = crate::page::html(&cases[0].0);
    assert_eq!(page.matches("multiplied by 10.0: ./tostr 30").count(), 2);
}

#[test]
fn jumps_show_taken_share_and_trip_count_of_their_loop() {
    let mut a = fixture::investigation().annotations.remove(1);
    let taken = |a: &genba_model::Annotation| crate::wording::execution_costs::taken(a, 22);
    assert_eq!(
        taken(&a).as_deref(),
        Some("taken 92.2 %, 12.7 iterations per entry")
    );
    a.loops[0].cost.as_mut().unwrap().entries = Some(0);
    assert_eq!(taken(&a).as_deref(), Some("taken 92.2 %"));
    a.instructions[22].taken = Some(410_199_997);
    assert_eq!(taken(&a).as_deref(), Some("taken all but 3 times"));
    a.instructions[22].taken = Some(1);
    assert_eq!(taken(&a).as_deref(), Some("taken only once"));
    a.instructions[22].count = Some(0);
    assert_eq!(taken(&a), None);
    assert_eq!(crate::wording::execution_costs::taken(&a, 9999), None);
}
