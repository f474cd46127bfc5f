//! Snapshots of all screens at two widths; lines fit, names are sanitised.

use super::*;
use crate::safe_text::display_width;
use crate::test_fixtures as fixture;
use crate::{Screen, safe_text};

const NARROW: Screen = Screen {
    width: 80,
    colour: false,
};
const WIDE: Screen = Screen {
    width: 120,
    colour: false,
};

fn by(by: By) -> ReportOptions {
    ReportOptions {
        by,
        ..ReportOptions::default()
    }
}

fn calls_of(name: &str) -> ReportOptions {
    ReportOptions {
        calls_of: Some(name.into()),
        ..ReportOptions::default()
    }
}

const FOLDED: AnnotateOptions = AnnotateOptions {
    hide_below: Some(0.001),
    arrow_columns: 5,
};

fn screens(all: &genba_model::Investigation, screen: Screen) -> Vec<(&'static str, String)> {
    let profile = all.profile.as_ref().unwrap();
    let next = Next {
        page: Some(".genba/7f3a/case.html"),
        command: Some("genba annotate big2str_2bdigits"),
    };
    vec![
        ("investigation", investigation(all, next, screen)),
        ("stat", stat(all.stat.as_ref().unwrap(), screen)),
        ("report", report(profile, &ReportOptions::default(), screen)),
        ("report_line", report(profile, &by(By::Line), screen)),
        ("report_module", report(profile, &by(By::Module), screen)),
        ("report_thread", report(profile, &by(By::Thread), screen)),
        (
            "report_calls",
            report(profile, &calls_of("karatsuba"), screen),
        ),
        (
            "annotation",
            annotation(&all.annotations[0], AnnotateOptions::default(), screen),
        ),
        (
            "annotation_folded",
            annotation(&all.annotations[0], FOLDED, screen),
        ),
        (
            "annotation_counted",
            annotation(&all.annotations[1], FOLDED, screen),
        ),
    ]
}

#[test]
fn snapshots() {
    let all = fixture::investigation();
    for screen in [NARROW, WIDE] {
        for (name, text) in screens(&all, screen) {
            insta::assert_snapshot!(format!("{name}_{}", screen.width), text);
        }
    }
}

#[test]
fn lines_fit_the_screen() {
    for all in [fixture::investigation(), fixture::hostile()] {
        for width in [60, 80, 120, 200] {
            let screen = Screen {
                width,
                colour: false,
            };
            for (name, text) in screens(&all, screen) {
                for line in text.lines() {
                    assert!(display_width(line) <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

/// The text with colour is, without our own styles, the text without colour.
#[test]
fn text_is_the_same_with_and_without_colour() {
    for all in [fixture::investigation(), fixture::hostile()] {
        let with = screens(
            &all,
            Screen {
                width: 100,
                colour: true,
            },
        );
        let without = screens(
            &all,
            Screen {
                width: 100,
                colour: false,
            },
        );
        for ((name, with), (_, without)) in with.iter().zip(&without) {
            assert!(with.contains('\x1b'), "{name} has no colour");
            assert!(!without.contains('\x1b'), "{name}");
            assert_eq!(&strip(with), without, "{name}");
        }
    }
}

fn strip(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('m').unwrap() + at;
        // Ours are nothing but numbers.
        assert!(
            rest[at + 2..end]
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b';')
        );
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

#[test]
fn hostile_names_are_sanitised() {
    for (name, text) in screens(&fixture::hostile(), WIDE) {
        let bad = text
            .chars()
            .find(|&c| c != '\n' && !safe_text::is_harmless(c));
        assert_eq!(bad, None, "{name}");
        assert!(text.len() < 100_000, "{name}: {} bytes", text.len());
    }
}

#[test]
fn summary_fits_one_screen() {
    let text = screens(&fixture::investigation(), NARROW).remove(0).1;
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.contains("PAGE  .genba/7f3a/case.html"));
}

#[test]
fn missing_runs_and_samples_are_stated() {
    let mut all = fixture::investigation();
    all.runs.runs.clear();
    all.runs.metrics.clear();
    let profile = all.profile.as_mut().unwrap();
    profile.samples = 0;
    profile.functions.clear();
    profile.lines.clear();
    let text = investigation(&all, Next::default(), NARROW);
    assert!(
        text.contains("no run finished") && text.contains("no samples"),
        "{text}"
    );
    let text = report(
        all.profile.as_ref().unwrap(),
        &ReportOptions::default(),
        NARROW,
    );
    assert!(text.contains("no samples"), "{text}");
    let text = report(all.profile.as_ref().unwrap(), &calls_of("x"), NARROW);
    assert!(text.contains("no function in this profile"), "{text}");
    let of_file = ReportOptions {
        input: Some("a file.data".to_owned()),
        ..calls_of("x")
    };
    let text = report(all.profile.as_ref().unwrap(), &of_file, NARROW);
    assert!(text.contains("genba annotate -i 'a file.data' x"), "{text}");
    all.annotations[0].instructions.clear();
    all.annotations[0].jumps.clear();
    let _ = annotation(&all.annotations[0], AnnotateOptions::default(), NARROW);
}

#[test]
fn unsupported_events_are_listed_once() {
    let text = stat(&fixture::stat(), NARROW);
    assert_eq!(text.matches("LLC-loads").count(), 1);
    assert!(text.contains("not supported: LLC-loads, LLC-load-misses"));
}

#[test]
fn messages_are_tagged_and_sanitised() {
    let text = error("cannot read \x1b[31m\nrun: chmod +r x", NARROW);
    assert_eq!(text, "error: cannot read \\x1b[31m\n  run: chmod +r x\n");
    assert_eq!(note("n", NARROW), "note: n\n");
    assert_eq!(warning("w", NARROW), "warning: w\n");
}

#[test]
fn cases_are_listed_with_their_state() {
    use genba_model::{CaseState, CaseSummary};
    let case = |id: &str, state, error: Option<&str>| CaseSummary {
        id: id.into(),
        kind: Default::default(),
        state,
        started: if error.is_some() {
            ""
        } else {
            "2026-11-21T20:15:04.123Z"
        }
        .into(),
        ended: None,
        command: if error.is_some() {
            vec![]
        } else {
            vec!["sqlite3".into(), "a b".into()]
        },
        name: None,
        runs: 11,
        wall_seconds: error.is_none().then_some(1.8123),
        path: "/x".into(),
        error: error.map(Into::into),
    };
    let text = cases(
        &[
            case("7f3a", CaseState::Complete, None),
            case("11ab", CaseState::Interrupted, None),
            case(
                "dead",
                CaseState::Unreadable,
                Some("case file /x is damaged: \x1b[2J"),
            ),
        ],
        NARROW,
    );
    insta::assert_snapshot!("cases_80", text);
    assert!(cases(&[], NARROW).contains("no cases yet"));
}
