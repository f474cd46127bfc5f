//! Errors, warnings and notes of the command line.

use anstyle::Style;

use crate::Screen;
use crate::screen::{DIM, ERROR, WARN};
use crate::text;

/// `error: …`; the lines after the first say what to do and are indented.
#[must_use]
pub fn error(message: &str, screen: Screen) -> String {
    tagged("error", ERROR, message, screen)
}

/// `warning: …`.
#[must_use]
pub fn warning(message: &str, screen: Screen) -> String {
    tagged("warning", WARN, message, screen)
}

/// `note: …`.
#[must_use]
pub fn note(message: &str, screen: Screen) -> String {
    tagged("note", DIM, message, screen)
}

fn tagged(tag: &str, style: Style, message: &str, screen: Screen) -> String {
    let mut lines = message.lines();
    let mut out = format!(
        "{} {}\n",
        screen.paint(style, &format!("{tag}:")),
        text::sanitise(lines.next().unwrap_or_default())
    );
    // Commands to be copied must not be broken into lines, so nothing is wrapped here.
    for line in lines.take(40) {
        out.push_str("  ");
        out.push_str(&text::sanitise(line.trim_start()));
        out.push('\n');
    }
    out
}
