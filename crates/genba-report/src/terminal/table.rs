//! Tables for a terminal: columns as wide as their content; flexible columns shrink until the table
//! fits.

use anstyle::Style;

use crate::Screen;
use crate::safe_text::{display_width, fit};
use crate::terminal::screen::{DIM, PLAIN};

/// Alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// One column.
pub(crate) struct Column {
    pub(crate) head: &'static str,
    pub(crate) align: Align,
    /// Minimum width to which a flexible column may be cut.
    pub(crate) min_width: Option<usize>,
}

impl Column {
    pub(crate) fn right(head: &'static str) -> Self {
        Self {
            head,
            align: Align::Right,
            min_width: None,
        }
    }

    pub(crate) fn left(head: &'static str) -> Self {
        Self {
            head,
            align: Align::Left,
            min_width: None,
        }
    }

    pub(crate) fn flexible(head: &'static str, min_width: usize) -> Self {
        Self {
            head,
            align: Align::Left,
            min_width: Some(min_width),
        }
    }
}

/// One cell; its text is sanitised when it is written.
#[derive(Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, PLAIN)
    }
}

/// Columns and rows.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// Columns between two columns of a table.
const GAP_COLUMNS: usize = 2;
/// Columns before the first column of a table.
const INDENT_COLUMNS: usize = 2;
/// Maximum width of a cell, columns.
const MAX_CELL_WIDTH: usize = 400;

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        let clean = |cell: Cell| Cell::new(fit(&cell.text, MAX_CELL_WIDTH), cell.style);
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    /// Renders the table; columns that are empty in every row are not shown.
    pub(crate) fn render(&self, screen: Screen) -> String {
        let filled: Vec<usize> = (0..self.columns.len())
            .filter(|&c| self.rows.iter().any(|row| !row[c].text.is_empty()))
            .collect();
        let widths = self.widths(&filled, screen.columns());
        let mut out = String::new();
        if filled.iter().any(|&c| !self.columns[c].head.is_empty()) {
            let heads: Vec<Cell> = self
                .columns
                .iter()
                .map(|c| Cell::new(c.head, DIM))
                .collect();
            self.line(&mut out, &heads, &filled, &widths, screen);
        }
        for row in &self.rows {
            self.line(&mut out, row, &filled, &widths, screen);
        }
        out
    }

    fn widths(&self, filled: &[usize], columns: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = filled
            .iter()
            .map(|&c| {
                self.rows
                    .iter()
                    .map(|row| display_width(&row[c].text))
                    .chain([display_width(self.columns[c].head)])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let room =
            columns.saturating_sub(INDENT_COLUMNS + GAP_COLUMNS * filled.len().saturating_sub(1));
        // The widest flexible column shrinks first, until the table fits.
        while widths.iter().sum::<usize>() > room {
            let shrink = (0..filled.len())
                .filter(|&i| {
                    self.columns[filled[i]]
                        .min_width
                        .is_some_and(|min| widths[i] > min)
                })
                .max_by_key(|&i| widths[i]);
            match shrink {
                Some(i) => widths[i] -= 1,
                // Then the widest column of any kind: a cut cell is better than a broken line.
                None => match (0..filled.len()).max_by_key(|&i| widths[i]) {
                    Some(i) if widths[i] > 3 => widths[i] -= 1,
                    _ => break,
                },
            }
        }
        widths
    }

    fn line(
        &self,
        out: &mut String,
        cells: &[Cell],
        filled: &[usize],
        widths: &[usize],
        screen: Screen,
    ) {
        let mut line = " ".repeat(INDENT_COLUMNS);
        let mut pending = 0;
        for (i, (&c, &width)) in filled.iter().zip(widths).enumerate() {
            let text = fit(&cells[c].text, width);
            let pad = width - display_width(&text).min(width);
            let (before, after) = match self.columns[c].align {
                Align::Right => (pad, 0),
                Align::Left => (0, pad),
            };
            if !text.is_empty() {
                line.push_str(&" ".repeat(pending + before));
                line.push_str(&screen.paint(cells[c].style, &text));
                pending = after;
            } else {
                pending += width;
            }
            if i + 1 < filled.len() {
                pending += GAP_COLUMNS;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
