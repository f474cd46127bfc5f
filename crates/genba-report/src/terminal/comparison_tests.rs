//! Snapshots of comparisons at two widths, and what no screen may hold.

use genba_model::{ComparisonReport, Estimate};
use proptest::prelude::*;

use super::*;
use crate::safe_text::display_width;
use crate::test_fixtures::comparison as fixture;
use crate::{Screen, safe_text};

fn all() -> [(&'static str, ComparisonReport); 6] {
    [
        ("faster", fixture::faster()),
        ("same", fixture::same()),
        ("undecided", fixture::undecided()),
        ("many", fixture::many()),
        ("hostile", fixture::hostile()),
        ("alone", fixture::alone()),
    ]
}

#[test]
fn snapshots() {
    for (name, report) in all() {
        for width in [80, 120] {
            let screen = Screen {
                width,
                colour: false,
            };
            let text = comparison(&report, screen);
            insta::assert_snapshot!(format!("comparison_{name}_{width}"), text);
        }
    }
}

#[test]
fn lines_fit_the_screen_and_are_sanitised() {
    for (name, report) in all() {
        for width in [40, 60, 80, 110, 200] {
            let screen = Screen {
                width,
                colour: false,
            };
            for line in comparison(&report, screen).lines() {
                assert!(display_width(line) <= width, "{name} {width}: {line}");
                assert!(line.chars().all(safe_text::is_harmless), "{name}: {line:?}");
            }
        }
    }
}

#[test]
fn text_is_the_same_with_and_without_colour() {
    let coloured = Screen {
        width: 100,
        colour: true,
    };
    for (name, report) in all() {
        let plain = comparison(&report, Screen::default());
        let mut bare = String::new();
        let mut inside = false;
        for c in comparison(&report, coloured).chars() {
            match c {
                '\x1b' => inside = true,
                'm' if inside => inside = false,
                c if !inside => bare.push(c),
                _ => {}
            }
        }
        for (plain, bare) in plain.lines().zip(bare.lines()) {
            assert_eq!(plain, bare.trim_end(), "{name}");
        }
    }
}

#[test]
fn each_verdict_has_its_sentence() {
    let sentence = |report: &ComparisonReport| {
        let screen = Screen {
            width: 300,
            colour: false,
        };
        let text = comparison(report, screen);
        let line = text.lines().skip_while(|l| !l.is_empty()).nth(1);
        line.unwrap().to_owned()
    };
    assert_eq!(
        sentence(&fixture::faster()),
        "after is 1.37× faster than before in wall time (1.35–1.39, 95 %), decided after 14 \
         pairs, 60 s of the budget unused"
    );
    assert_eq!(
        sentence(&fixture::same()),
        "equivalent within ±1 % in wall time (−0.3 % … +0.5 %, 95 %), after 57 pairs"
    );
    assert_eq!(
        sentence(&fixture::undecided()),
        "undecided: between 0.4 % slower and 1.1 % faster after 400 pairs; about 900 more \
         needed to resolve a 0.5 % difference (4 min)"
    );
}

#[test]
fn number_of_lines_is_bounded_for_many_variants() {
    let mut report = fixture::many();
    let one = report.variants[1].clone();
    for i in 0..1000 {
        let mut v = one.clone();
        v.name = format!("v{i}");
        report.variants.push(v);
    }
    assert!(comparison(&report, Screen::default()).lines().count() < 260);
}

proptest! {
    #[test]
    fn progress_is_one_sanitised_line(
        name in any::<String>(),
        metric in any::<String>(),
        pairs in any::<u32>(),
        ratio in prop::option::of((any::<f64>(), any::<f64>(), any::<f64>())),
        left in prop::option::of(any::<f64>()),
        width in 0_usize..200,
    ) {
        let progress = Progress {
            variant: &name,
            metric: &metric,
            pairs,
            ratio: ratio.map(|(value, low, high)| Estimate { value, low, high }),
            left_seconds: left,
            others: 2,
        };
        let screen = Screen { width, colour: false };
        let line = progress_line(&progress, screen);
        prop_assert!(display_width(&line) < width.max(40));
        prop_assert!(line.chars().all(safe_text::is_harmless));
    }
}

#[test]
fn progress_shows_pairs_interval_and_remaining_time() {
    let progress = Progress {
        variant: "after",
        metric: "wall",
        pairs: 37,
        ratio: Some(Estimate {
            value: 0.99,
            low: 0.979,
            high: 1.004,
        }),
        left_seconds: Some(11.4),
        others: 0,
    };
    assert_eq!(
        progress_line(&progress, Screen::default()),
        "after  37 pairs  wall −2.1 % … +0.4 %  at most 12 s left"
    );
}
