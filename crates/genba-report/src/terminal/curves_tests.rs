//! Snapshots of sweeps and ablations; lines fit, names are sanitised and escaped.

use super::*;
use crate::page::{ablation_html, sweep_html};
use crate::safe_text::display_width;
use crate::test_fixtures::curves as fixture;
use crate::{Screen, safe_text};

fn all(screen: Screen) -> Vec<(&'static str, String)> {
    vec![
        ("step", sweep(&fixture::step(), screen)),
        ("law", sweep(&fixture::law(), screen)),
        ("two", sweep(&fixture::two(), screen)),
        ("hostile", sweep(&fixture::hostile(), screen)),
        ("ablation", ablation(&fixture::ablation(), screen)),
    ]
}

#[test]
fn snapshots() {
    for width in [80, 120] {
        let screen = Screen {
            width,
            colour: false,
        };
        for (name, text) in all(screen) {
            insta::assert_snapshot!(format!("curves_{name}_{width}"), text);
        }
    }
}

#[test]
fn lines_fit_the_screen_and_are_sanitised() {
    for width in [40, 60, 99, 100, 200] {
        let screen = Screen {
            width,
            colour: false,
        };
        for (name, text) in all(screen) {
            for line in text.lines() {
                assert!(display_width(line) <= width, "{name} {width}: {line}");
                assert!(line.chars().all(safe_text::is_harmless), "{name}: {line:?}");
            }
        }
    }
}

#[test]
fn pages_load_nothing_and_run_no_script() {
    let sweeps = [
        fixture::step(),
        fixture::law(),
        fixture::two(),
        fixture::hostile(),
    ];
    let mut pages: Vec<String> = sweeps.iter().map(sweep_html).collect();
    pages.push(ablation_html(&fixture::ablation()));
    for page in pages {
        for word in [
            "<script", "<img", "http:", "https:", "NaN", "inf\"", "\u{1b}",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.ends_with("</html>\n"));
    }
}

#[test]
fn settings_without_a_finished_run_are_in_the_effort() {
    let mut sweep = fixture::step();
    let effort = |sweep: &genba_model::Sweep| crate::wording::sweep::effort(sweep);
    assert!(!effort(&sweep).contains("skipped"));
    sweep.variants.push(genba_model::Variant {
        excluded: Some("the run exceeded its time-out".to_owned()),
        ..crate::test_fixtures::comparison::variant("N=60", "sleep 60", 1.0, 5, 1)
    });
    let said = effort(&sweep);
    assert!(said.contains(", 1 setting skipped, "), "{said}");
}

#[test]
fn sentences_state_change_points_scaling_laws_and_component_costs() {
    let sentences = |sweep: &genba_model::Sweep| crate::wording::sweep::findings(sweep).join(". ");
    assert_eq!(
        sentences(&fixture::step()),
        "plateau: 1 … 10, within 0.4 %. change point (step) between 10 and 16 (confidence 97 %): \
         0.727× (0.720–0.734). then plateau: 16 … 1,024, within 0.2 %"
    );
    let law = sentences(&fixture::law());
    assert!(
        law.contains("scaling law: n log n or linear, not distinguishable"),
        "{law}"
    );
    assert!(
        law.contains("possible change point (change of slope)"),
        "{law}"
    );
    let parts = crate::wording::ablation::sentences(&fixture::ablation()).join(". ");
    assert!(
        parts.contains("gc costs 9.1 ns ±1.2 per iteration"),
        "{parts}"
    );
    assert!(parts.contains("but system time −3.20 ns ±0.30"), "{parts}");
    assert!(parts.contains("lost: unknown"), "{parts}");
    assert!(parts.contains("overlap"), "{parts}");
}
