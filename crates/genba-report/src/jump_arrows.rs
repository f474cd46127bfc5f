//! Arrows of jumps and loops in the margin of a listing, in a limited number of columns.
//!
//! An arrow is a vertical line in one column from the row of the jump to the row of its target,
//! with `►` at its end. Arrows that close loops get columns first, short ones nearest to the code;
//! the others are drawn where a column is free. Arrows to the same row in the same direction share
//! one.

use std::collections::BTreeMap;

/// One arrow between rows of a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) back: bool,
    /// Share of the samples at its ends; of two competing arrows the heavier one is drawn.
    pub(crate) weight: f64,
}

/// Maximum number of arrows: placing them is quadratic.
const MAX_ARROWS: usize = 2000;

struct Line {
    top: usize,
    bottom: usize,
    to: usize,
    from: Vec<usize>,
    back: bool,
    weight: f64,
    column: usize,
}

/// Draws the arrows beside `rows` rows in at most `columns` columns; `open` tells whether an arrow
/// can begin or end at a row. All strings have the same number of characters: two for each column
/// in use and two for the tip, or none.
pub(crate) fn draw(
    rows: usize,
    arrows: &[Arrow],
    columns: usize,
    open: impl Fn(usize) -> bool,
) -> Vec<String> {
    let lines = place(rows, arrows, columns);
    let used = lines.iter().map(|l| l.column + 1).max().unwrap_or(0);
    if used == 0 {
        return vec![String::new(); rows];
    }
    // Two characters a column, the outermost column first, then the tip.
    let width = used * 2 + 2;
    let mut grid = vec![vec![' '; width]; rows];
    for line in &lines {
        let x = (used - 1 - line.column) * 2;
        for row in grid.iter_mut().take(line.bottom + 1).skip(line.top) {
            row[x] = join(row[x], '│');
        }
    }
    for line in &lines {
        let x = (used - 1 - line.column) * 2;
        for &at in line.from.iter().chain([&line.to]) {
            if !open(at) {
                continue;
            }
            let corner = match at {
                at if at == line.top => '┌',
                at if at == line.bottom => '└',
                _ => '├',
            };
            let row = &mut grid[at];
            row[x] = corner;
            for cell in row.iter_mut().skip(x + 1) {
                *cell = join(*cell, '─');
            }
            if at == line.to {
                row[width - 2] = '►';
            } else if row[width - 2] != '►' {
                row[width - 2] = '─';
            }
            row[width - 1] = ' ';
        }
    }
    grid.into_iter()
        .map(|row| row.into_iter().collect())
        .collect()
}

/// Returns the character where two lines meet.
fn join(there: char, new: char) -> char {
    match (there, new) {
        (' ', new) => new,
        ('│', '─') | ('─', '│') => '┼',
        ('┌', '─') => '┬',
        ('└', '─') => '┴',
        ('├', '─') => '┼',
        (there, _) => there,
    }
}

/// Assigns a column to each arrow that can be drawn.
fn place(rows: usize, arrows: &[Arrow], columns: usize) -> Vec<Line> {
    let mut merged: BTreeMap<(usize, bool), Line> = BTreeMap::new();
    for arrow in arrows {
        if arrow.from == arrow.to || arrow.from >= rows || arrow.to >= rows {
            continue;
        }
        let (top, bottom) = (arrow.from.min(arrow.to), arrow.from.max(arrow.to));
        let line = merged
            .entry((arrow.to, arrow.back))
            .or_insert_with(|| Line {
                top,
                bottom,
                to: arrow.to,
                from: Vec::new(),
                back: arrow.back,
                weight: 0.0,
                column: 0,
            });
        line.top = line.top.min(top);
        line.bottom = line.bottom.max(bottom);
        line.from.push(arrow.from);
        line.weight = line.weight.max(arrow.weight);
    }
    let mut lines: Vec<Line> = merged.into_values().collect();
    // The lightest arrows are dropped first.
    lines.sort_by(|a, b| {
        b.back
            .cmp(&a.back)
            .then_with(|| b.weight.total_cmp(&a.weight))
    });
    lines.truncate(MAX_ARROWS);
    lines.sort_by_key(|l| (!l.back, l.bottom - l.top));
    let mut placed: Vec<Line> = Vec::new();
    for mut line in lines {
        let clash = |other: &&Line| other.top <= line.bottom && line.top <= other.bottom;
        let mut taken = vec![false; columns];
        for other in placed.iter().filter(clash) {
            taken[other.column] = true;
        }
        // A nested loop is to the right of the outer one.
        let least = if line.back {
            placed
                .iter()
                .filter(|o| o.back && o.top >= line.top && o.bottom <= line.bottom)
                .map(|o| o.column + 1)
                .max()
                .unwrap_or(0)
        } else {
            0
        };
        if let Some(column) = (least..columns).find(|&c| !taken[c]) {
            line.column = column;
            placed.push(line);
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrow(from: usize, to: usize) -> Arrow {
        Arrow {
            from,
            to,
            back: to < from,
            weight: 1.0,
        }
    }

    #[test]
    fn nested_loops_and_a_jump_out_of_them_get_columns_of_their_own() {
        let arrows = [arrow(4, 0), arrow(3, 2), arrow(1, 5)];
        assert_eq!(
            draw(6, &arrows, 4, |_| true),
            [
                "  ┌───► ",
                "┌─┼──── ",
                "│ │ ┌─► ",
                "│ │ └── ",
                "│ └──── ",
                "└─────► ",
            ]
        );
    }

    #[test]
    fn jumps_to_the_same_head_share_a_column() {
        assert_eq!(
            draw(3, &[arrow(1, 0), arrow(2, 0)], 4, |_| true),
            ["┌─► ", "├── ", "└── "]
        );
    }

    #[test]
    fn listing_without_arrows_has_no_margin() {
        assert_eq!(draw(2, &[], 4, |_| true), ["", ""]);
        assert_eq!(draw(2, &[arrow(0, 9)], 4, |_| true), ["", ""]);
        assert_eq!(draw(2, &[arrow(1, 0)], 0, |_| true), ["", ""]);
    }

    proptest! {
        #[test]
        fn margin_is_a_rectangle_of_limited_width(
            ends in prop::collection::vec((0_usize..60, 0_usize..60), 0..80),
            columns in 0_usize..6,
        ) {
            let arrows: Vec<Arrow> = ends.iter().map(|&(a, b)| arrow(a, b)).collect();
            let rows = draw(50, &arrows, columns, |row| row % 3 != 0);
            prop_assert_eq!(rows.len(), 50);
            let width = rows[0].chars().count();
            prop_assert!(width <= columns * 2 + 2);
            prop_assert!(rows.iter().all(|r| r.chars().count() == width));
        }
    }
}
