//! Findings in a terminal: cause, place and gain; the source; the evidence; the fix.

use genba_model::{Explanation, Finding, SourceLine};

use crate::terminal::screen::{DIM, GOOD, STRONG};
use crate::wording::{causes, findings, proofs};
use crate::{Screen, safe_text};

/// Columns before the text of a fact.
const INDENT: usize = 13;

/// Maximum number of lines of source or of a snippet.
const MAX_LINES: usize = 8;

/// Renders the findings, the largest gain first.
#[must_use]
pub fn explanation(all: &Explanation, screen: Screen) -> String {
    let mut out = String::new();
    if let Some(waits) = &all.waits {
        super::waits::section(&mut out, waits, usize::MAX, screen);
        out.push('\n');
    }
    for (index, one) in all.findings.iter().enumerate() {
        finding(&mut out, index + 1, one, Detail::Full, screen);
        out.push('\n');
    }
    let rest = findings::no_more_findings(&all.findings, all.min_gain, &all.noise_floor);
    for line in super::wrap(&rest, screen.columns().saturating_sub(2)) {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
    }
    super::places::section(
        &mut out,
        &all.places,
        &all.findings,
        all.input_bytes,
        screen,
    );
    for note in &all.notes {
        super::remark(&mut out, note, screen);
    }
    out
}

/// How much of each finding to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// For a summary: without the example.
    Short,
    /// Everything.
    Full,
}

/// Adds one finding.
pub(super) fn finding(
    out: &mut String,
    number: usize,
    one: &Finding,
    detail: Detail,
    screen: Screen,
) {
    head(out, number, one, screen);
    if let Some(title) = causes::title_of(&one.cause) {
        fact(out, "cause", title, screen);
    }
    if let Some(caller) = findings::caller(&one.site) {
        fact(out, "", &caller, screen);
    }
    for line in one.source.iter().take(MAX_LINES) {
        source(out, line, screen);
    }
    for evidence in &one.evidence {
        fact(out, findings::kind(evidence.source), &evidence.text, screen);
    }
    if findings::gains(one) {
        fact(
            out,
            "gain",
            &findings::saved(&one.predicted_speedup),
            screen,
        );
    }
    if let Some(proven) = &one.proven {
        fact(
            out,
            proofs::label(proven),
            &proofs::sentence(proven),
            screen,
        );
    }
    fact(out, "fix", &one.fix, screen);
    if let (Detail::Full, Some(example)) = (detail, &one.example) {
        snippet(out, "example", &example.before, screen);
        snippet(out, "becomes", &example.after, screen);
    }
    fact(out, "confirm", &one.confirm, screen);
}

/// Adds cause and place, the gain at the right where there is room, otherwise in the next line.
fn head(out: &mut String, number: usize, one: &Finding, screen: Screen) {
    let width = screen.columns();
    let gain = match findings::gains(one) {
        true => format!(
            "whole program {}",
            findings::speedup(&one.predicted_speedup)
        ),
        false => "note, no gain predicted".to_owned(),
    };
    let cause = safe_text::fit(&one.cause, 40.min(width / 2));
    let used = 4 + safe_text::display_width(&cause) + 2;
    let whole = safe_text::sanitise(&findings::place(&one.site));
    let beside = width.saturating_sub(used + gain.chars().count() + 2);
    let one_line = safe_text::display_width(&whole) <= beside || beside >= 36;
    let room = if one_line {
        beside
    } else {
        width.saturating_sub(used)
    };
    let place = safe_text::fit(&whole, room);
    let left = format!("{number:>2} {}  {place}", screen.paint(STRONG, &cause));
    if one_line {
        let gap = width
            .saturating_sub(used - 1 + safe_text::display_width(&place) + gain.chars().count());
        out.push_str(&format!(
            "{left}{}{}\n",
            " ".repeat(gap.clamp(2, 60)),
            screen.paint(GOOD, &gain)
        ));
    } else {
        out.push_str(&format!("{left}\n"));
        for line in super::wrap(&gain, width.saturating_sub(3)) {
            out.push_str(&format!("   {}\n", screen.paint(GOOD, &line)));
        }
    }
}

pub(super) fn fact(out: &mut String, kind: &str, words: &str, screen: Screen) {
    if words.is_empty() {
        return;
    }
    let width = screen.columns().saturating_sub(INDENT);
    for (index, line) in super::wrap(&safe_text::sanitise(words), width)
        .iter()
        .enumerate()
    {
        let kind = if index == 0 { kind } else { "" };
        out.push_str(&format!(
            "   {} {line}\n",
            screen.paint(DIM, &format!("{kind:<9}"))
        ));
    }
}

pub(super) fn source(out: &mut String, line: &SourceLine, screen: Screen) {
    let number = screen.paint(DIM, &format!("{:>10} │", line.line));
    let code = safe_text::fit(
        line.text.trim_end(),
        screen.columns().saturating_sub(INDENT),
    );
    out.push_str(&format!("{number} {code}\n"));
}

/// Adds lines of an example, cut at the width of the screen.
fn snippet(out: &mut String, kind: &str, code: &str, screen: Screen) {
    for (index, line) in code.lines().take(MAX_LINES).enumerate() {
        let kind = if index == 0 { kind } else { "" };
        let line = safe_text::fit(line, screen.columns().saturating_sub(INDENT + 2));
        out.push_str(&format!(
            "   {}{line}\n",
            screen.paint(DIM, &format!("{kind:<9} │ "))
        ));
    }
}
