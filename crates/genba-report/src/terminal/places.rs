//! Places with most time in a terminal.

use genba_model::{Finding, SourceLine, TimePlace};
use genba_units::format;

use crate::terminal::findings::{fact, source};
use crate::terminal::screen::{DIM, STRONG, heat};
use crate::wording::{findings, places};
use crate::{Screen, safe_text};

/// Maximum number of lines of source of a place.
const MAX_LINES: usize = 3;

/// Adds the places, where findings do not explain most of the time.
pub(super) fn section(
    out: &mut String,
    list: &[TimePlace],
    found: &[Finding],
    input_bytes: Option<u64>,
    screen: Screen,
) {
    if !places::are_shown(found, list) {
        return;
    }
    for line in super::wrap(&places::heading(list), screen.columns().saturating_sub(2)) {
        out.push_str(&format!("  {}\n", screen.paint(STRONG, &line)));
    }
    for place in list {
        one(out, place, input_bytes, screen);
    }
}

fn one(out: &mut String, place: &TimePlace, input_bytes: Option<u64>, screen: Screen) {
    let share = format!("{:>7}", format::percent(&place.share));
    let mut note = places::kind(place).to_owned();
    if let Some(finding) = places::finding(place) {
        note.push_str(&format!(", {finding}"));
    }
    let at = safe_text::sanitise(&findings::place(&place.site));
    let room = screen.columns().saturating_sub(share.chars().count() + 3);
    let at = safe_text::fit(&at, room);
    let used = share.chars().count() + 2 + safe_text::display_width(&at);
    out.push_str(&format!(
        "{}  {at}",
        screen.paint(heat(place.share.value), &share)
    ));
    if used + 2 + note.chars().count() <= screen.columns() {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &note)));
    } else {
        out.push('\n');
        fact(out, "", &note, screen);
    }
    for line in place.source.iter().take(MAX_LINES) {
        source(out, &shortened(line), screen);
    }
    for (label, text) in places::facts(place, input_bytes) {
        fact(out, label, &text, screen);
    }
}

/// The line without its indentation.
fn shortened(line: &SourceLine) -> SourceLine {
    SourceLine {
        text: line.text.trim_start().to_owned(),
        ..line.clone()
    }
}
