//! Results of `genba try` and profile differences on terminal and page; hostile names are escaped.

use genba_model::{Moved, MovedHow};

use crate::test_fixtures::ATTACKS;
use crate::test_fixtures::try_variants::{difference, report};
use crate::{Screen, page, terminal};

#[test]
fn trial_on_a_terminal() {
    insta::assert_snapshot!(terminal::trial(&report(), Screen::default()));
}

#[test]
fn changes_of_single_samples_are_not_listed() {
    let mut diff = difference();
    diff.before.samples = 400;
    let noise = &mut diff.functions[2];
    noise.change.value = diff.before.seconds.unwrap() / 400.0;
    let mut line = diff.lines[0].clone();
    (line.line, line.before, line.after) = (77, 0.0, noise.change.value);
    diff.lines.push(line);
    let text = terminal::profile_diff(&diff, 20, Screen::default());
    assert!(text.contains("main") && text.contains("mix.cc:5"), "{text}");
    assert!(!text.contains("noise") && !text.contains(":77"), "{text}");
    assert!(
        text.contains("changes of less than 600 µs are not listed"),
        "{text}"
    );
    // Where the number of samples is unknown, nothing says that it is chance.
    diff.before.samples = 0;
    let text = terminal::profile_diff(&diff, 20, Screen::default());
    assert!(text.contains("noise") && text.contains(":77"), "{text}");
}

#[test]
fn no_variant_is_faster() {
    let mut report = report();
    report.keep = None;
    report.differences.clear();
    report.tried.truncate(3);
    report.tried.remove(0);
    let text = terminal::trial(&report, Screen::default());
    assert!(
        text.contains("no variant is faster: none of 2 variants gains more than 1 % in CPU time"),
        "{text}"
    );
}

#[test]
fn page_has_all_variants_and_no_script() {
    let html = page::trial_html(&report());
    for part in [
        "LTO",
        "install it with",
        "inlined into main",
        "make: Error 1",
        "mov rax,rsi",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("<script") && html.contains("default-src 'none'"));
    assert!(page::profile_diff_html(&difference(), None).contains("now in main"));
}

/// No markup and no control character of a name reaches the output.
#[test]
fn hostile_names_are_escaped() {
    for attack in ATTACKS {
        let mut report = report();
        let text = || attack.to_owned();
        report.command = text();
        report.case = Some(text());
        for one in &mut report.tried {
            (one.name, one.change, one.reason) = (text(), text(), Some(text()));
        }
        if let Some(keep) = &mut report.keep {
            (keep.variant, keep.command, keep.build) = (text(), text(), Some(text()));
            keep.cautions = vec![text()];
        }
        let diff = &mut report.differences[0];
        (diff.before.name, diff.after.name) = (text(), text());
        for one in &mut diff.functions {
            one.function = text();
            one.inlined_here = vec![text()];
            one.moved.push(Moved {
                into: text(),
                how: MovedHow::Likely,
                seconds: None,
            });
        }
        for one in &mut diff.lines {
            (one.file, one.text, one.inside_after) = (text(), Some(text()), Some(text()));
        }
        for one in &mut diff.instructions {
            (one.function, one.text) = (text(), text());
        }
        report.notes = vec![text()];
        let shown = terminal::trial(&report, Screen::default());
        let harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(shown.chars().all(harmless), "{shown:?}");
        let html = page::trial_html(&report);
        let tags = ["<script", "<img", "</style></svg>", "\" onmouseover"];
        assert!(tags.iter().all(|tag| !html.contains(tag)), "{attack}");
    }
}
