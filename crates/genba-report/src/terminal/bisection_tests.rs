//! Snapshots of bisections; lines fit, names are sanitised and escaped.

use genba_model::Bisection;

use super::bisection;
use crate::Screen;
use crate::page::bisection_html;
use crate::safe_text::{display_width, is_harmless};
use crate::test_fixtures::bisection::{nothing, range, set, source, undecided};

fn hostile() -> Bisection {
    let evil = "\x1b[31m</style><script>alert(1)</script>\u{202e}".repeat(5);
    let mut all = source();
    all.command.clone_from(&evil);
    all.metric.clone_from(&evil);
    all.unit.clone_from(&evil);
    for part in &mut all.ranking {
        part.name.clone_from(&evil);
        part.kind.clone_from(&evil);
        part.depth = u32::MAX;
        part.share.value = f64::NAN;
    }
    for culprit in &mut all.culprits {
        culprit.name.clone_from(&evil);
        culprit.elements = vec![evil.clone(); 30];
        culprit.detail = Some(evil.clone());
    }
    for variant in &mut all.variants {
        variant.name.clone_from(&evil);
        variant.command.clone_from(&evil);
    }
    for skipped in &mut all.skipped {
        skipped.reason.clone_from(&evil);
    }
    all.notes.push(evil);
    all
}

fn all() -> [(&'static str, Bisection); 6] {
    [
        ("range", range()),
        ("set", set()),
        ("source", source()),
        ("undecided", undecided()),
        ("nothing", nothing()),
        ("hostile", hostile()),
    ]
}

#[test]
fn snapshots() {
    for (name, one) in all() {
        let screen = Screen {
            width: 100,
            colour: false,
        };
        insta::assert_snapshot!(format!("bisection_{name}"), bisection(&one, screen));
    }
}

#[test]
fn lines_fit_the_screen_and_are_sanitised() {
    for (name, one) in all() {
        for width in [40, 80, 200] {
            let screen = Screen {
                width,
                colour: false,
            };
            for line in bisection(&one, screen).lines() {
                assert!(display_width(line) <= width, "{name} {width}: {line}");
                assert!(line.chars().all(is_harmless), "{name}: {line:?}");
            }
        }
    }
}

#[test]
fn page_loads_nothing_and_escapes_names() {
    for (name, one) in all() {
        let page = bisection_html(&one);
        assert!(page.contains("default-src 'none'"), "{name}");
        for word in ["<script", "http://", "https://", "url(", "\x1b", "NaN"] {
            assert!(!page.contains(word), "{name}: {word}");
        }
        for tag in ["table", "div", "svg", "details", "section", "tr", "td"] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            let closed = page.matches(&format!("</{tag}>")).count();
            assert_eq!(opened, closed, "{name}: {tag}");
        }
    }
    assert!(bisection_html(&range()).contains("<circle"));
    assert!(bisection_html(&range()).contains("99.6 %"));
}
