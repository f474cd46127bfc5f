//! Errors, warnings, notes and remarks, wrapped to the screen.

use anstyle::Style;

use crate::Screen;
use crate::safe_text;
use crate::terminal::screen::{DIM, ERROR, WARN};
use crate::wording::counts;

/// Renders `error: …`; lines after the first say what to do and are indented.
#[must_use]
pub fn error(message: &str, screen: Screen) -> String {
    tagged("error", ERROR, message, screen)
}

/// Renders `warning: …`.
#[must_use]
pub fn warning(message: &str, screen: Screen) -> String {
    tagged("warning", WARN, message, screen)
}

/// Renders `note: …`.
#[must_use]
pub fn note(message: &str, screen: Screen) -> String {
    tagged("note", DIM, message, screen)
}

fn tagged(tag: &str, style: Style, message: &str, screen: Screen) -> String {
    let mut lines = message.lines();
    let mut out = format!(
        "{} {}\n",
        screen.paint(style, &format!("{tag}:")),
        safe_text::sanitise(lines.next().unwrap_or_default())
    );
    // Nothing is wrapped: commands must stay whole to be copied.
    for line in lines.take(40) {
        out.push_str("  ");
        out.push_str(&safe_text::sanitise(line.trim_start()));
        out.push('\n');
    }
    out
}

/// Adds `! text`, wrapped to the screen.
pub(super) fn remark(out: &mut String, sentence: &str, screen: Screen) {
    let width = screen.columns().saturating_sub(2);
    // A note may have a second line with a remedy.
    let lines = sentence
        .lines()
        .take(MAX_NOTE_LINES)
        .flat_map(|line| wrap(&safe_text::sanitise(line.trim()), width));
    for (index, line) in lines.enumerate() {
        let mark = if index == 0 { "!" } else { " " };
        out.push_str(&screen.paint(WARN, mark));
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
    }
}

/// Adds the source of counts as a dim line, then warnings about them.
pub(super) fn counted(out: &mut String, counted: Option<&genba_model::Counted>, screen: Screen) {
    let Some(counted) = counted else {
        return;
    };
    for line in wrap(
        &safe_text::sanitise(&counts::source(counted)),
        screen.columns(),
    ) {
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
    for warning in counts::warnings(counted) {
        remark(out, &warning, screen);
    }
}

/// Adds the limitations of the count engine, dim: they are the same for every run.
pub(super) fn limitations(out: &mut String, engine: &str, gaps: &[String], screen: Screen) {
    if gaps.is_empty() {
        return;
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    let list: Vec<&str> = gaps
        .iter()
        .take(MAX_LIMITATIONS)
        .map(|gap| gap.trim())
        .collect();
    let sentence = format!("{engine}: {}", list.join("; "));
    for line in wrap(
        &safe_text::sanitise(&sentence),
        screen.columns().saturating_sub(2),
    ) {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
    }
}

/// Maximum number of limitations of an engine.
const MAX_LIMITATIONS: usize = 12;

/// Maximum number of lines of one note.
const MAX_NOTE_LINES: usize = 4;

/// Breaks text into lines at blanks; words longer than a line are cut in the middle.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let word = safe_text::fit(word, width.max(1));
        let wide = safe_text::display_width(&word);
        if used > 0 && used + 1 + wide > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&word);
            used += wide;
        }
    }
    lines
}
