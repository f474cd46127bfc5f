//! The terminal that is written to.

use anstyle::{AnsiColor, Style};

/// Width and colour of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns; lines are kept within it, down to 40.
    pub width: usize,
    /// Whether colour may be used.
    pub colour: bool,
}

impl Default for Screen {
    /// Returns 100 columns without colour, for output that is not a terminal.
    fn default() -> Self {
        Self {
            width: 100,
            colour: false,
        }
    }
}

impl Screen {
    /// Returns the columns, limited to what the layouts support.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(40, 500)
    }

    /// Returns the text in a style, if colour is allowed. The text must be sanitised already.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colour && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// No style.
pub(crate) const PLAIN: Style = Style::new();
/// Secondary information.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The main result.
pub(crate) const STRONG: Style = Style::new().bold();
/// Heads of sections.
pub(crate) const HEAD: Style = AnsiColor::Cyan.on_default().bold();
/// Shares of at least 10 % of the time.
pub(crate) const HOT: Style = AnsiColor::Red.on_default().bold();
/// Shares of at least 2 % of the time.
pub(crate) const WARM: Style = AnsiColor::Yellow.on_default();
/// Warnings.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Improvements.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();

/// Returns the style for a share of the time.
pub(crate) fn heat(share: f64) -> Style {
    match share {
        s if s >= 0.10 => HOT,
        s if s >= 0.02 => WARM,
        s if s > 0.0005 => PLAIN,
        _ => DIM,
    }
}
