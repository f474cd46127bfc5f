//! The screens of counts at several widths, and what they may not hold.

use super::*;
use crate::test_counts as fixture;
use crate::text::display_width;

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
fn nothing_is_wider_than_the_screen() {
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
fn hostile_names_never_reach_the_terminal() {
    for (name, text) in screens(&fixture::hostile(), screen(120)) {
        let bad = text.chars().find(|&c| c != '\n' && !text::is_harmless(c));
        assert_eq!(bad, None, "{name}");
        assert!(text.len() < 60_000, "{name}: {} bytes", text.len());
    }
}

/// A count that is wrong for some reason is never shown without the reason.
#[test]
fn an_early_end_is_said_before_the_figures() {
    let text = counts(
        &fixture::per_record(),
        &CountsOptions::default(),
        screen(100),
    );
    let mark = text.find("! cut short: killed by SIGKILL").expect("a mark");
    assert!(mark < text.find("calls").expect("the table"), "{text}");
    assert!(text.contains("ended with SIGKILL"), "{text}");
    let text = counts(&fixture::counts(), &CountsOptions::default(), screen(100));
    assert!(!text.contains("! "), "{text}");
}

#[test]
fn without_calls_nothing_is_made_up() {
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
    assert!(text.contains("nothing was executed"), "{text}");
}
