//! Snapshots of findings; lines fit, names are sanitised.

use super::*;
use crate::safe_text::display_width;
use crate::test_fixtures::findings as fixture;
use crate::{Screen, safe_text};

fn screen(width: usize) -> Screen {
    Screen {
        width,
        colour: false,
    }
}

const NEXT: Next<'_> = Next {
    page: Some(".genba/7f3a/case.html"),
    command: None,
};

#[test]
fn snapshots() {
    for width in [60, 80, 120] {
        let text = explanation(&fixture::explanation(fixture::findings()), screen(width));
        insta::assert_snapshot!(format!("explanation_{width}"), text);
    }
    let text = investigation(&fixture::investigation(), NEXT, screen(100));
    insta::assert_snapshot!("investigation_why_100", text);
    let nothing = explanation(&fixture::explanation(Vec::new()), screen(80));
    insta::assert_snapshot!("explanation_of_nothing", nothing);
}

#[test]
fn lines_fit_the_screen() {
    for findings in [fixture::findings(), fixture::hostile()] {
        for width in [40, 60, 80, 120, 200] {
            let text = explanation(&fixture::explanation(findings.clone()), screen(width));
            for line in text.lines() {
                assert!(display_width(line) <= width, "at {width}: {line}");
            }
        }
    }
}

#[test]
fn hostile_texts_are_sanitised() {
    let text = explanation(&fixture::explanation(fixture::hostile()), screen(100));
    let all = investigation(&fixture::hostile_investigation(), NEXT, screen(100));
    for text in [text, all] {
        assert!(text.chars().all(|c| c == '\n' || safe_text::is_harmless(c)));
        assert!(text.len() < 8 << 20, "{} bytes", text.len());
    }
}

#[test]
fn next_step_goes_to_a_library_by_the_number_of_its_finding() {
    let mut all = fixture::investigation();
    let own = crate::next_command(&all).expect("a command");
    assert!(
        own.ends_with(&format!("'{}'", all.findings[0].site.function)),
        "{own}"
    );
    all.findings.rotate_left(1);
    assert!(all.findings[0].site.inside.is_some());
    let next = format!("genba annotate -i {} 1", all.case);
    assert_eq!(crate::next_command(&all), Some(next));
}

#[test]
fn section_is_omitted_without_counts_and_findings() {
    let mut all = fixture::investigation();
    all.findings.clear();
    let with = investigation(&all, NEXT, screen(100));
    assert!(with.contains("No cause of the catalogue fits"));
    if let Some(profile) = &mut all.profile {
        profile.counted = None;
    }
    let without = investigation(&all, NEXT, screen(100));
    assert!(!without.contains("WHY"));
}
