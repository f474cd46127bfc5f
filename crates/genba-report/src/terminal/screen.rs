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
    /// What is assumed where no terminal says otherwise: 100 columns, no colour.
    fn default() -> Self {
        Self {
            width: 100,
            colour: false,
        }
    }
}

impl Screen {
    /// Columns, bounded to what the layouts can do.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(40, 500)
    }

    /// The text in a style, if colour is allowed. The text must be harmless already.
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
/// What may be overlooked.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What answers the question.
pub(crate) const STRONG: Style = Style::new().bold();
/// Section heads.
pub(crate) const HEAD: Style = AnsiColor::Cyan.on_default().bold();
/// Where the time is.
pub(crate) const HOT: Style = AnsiColor::Red.on_default().bold();
/// Where some of the time is.
pub(crate) const WARM: Style = AnsiColor::Yellow.on_default();
/// What the reader must know.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// What went wrong.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();

/// The style for a share of the whole.
pub(crate) fn heat(share: f64) -> Style {
    match share {
        s if s >= 0.10 => HOT,
        s if s >= 0.02 => WARM,
        s if s > 0.0005 => PLAIN,
        _ => DIM,
    }
}
