//! Loops and jumps drawn in the margin of a listing: arrows in a bounded number of columns.
//!
//! An arrow is a vertical line in one column, from the row that jumps to the row jumped to,
//! with `►` at its end. Arrows that close loops get columns first, short ones nearest to the
//! code; of the others those that still find a column are drawn. Arrows to the same row in the
//! same direction share one.

use std::collections::BTreeMap;

/// One arrow between rows of a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) back: bool,
    /// What lies under it; of two arrows that compete, the one with more is drawn.
    pub(crate) weight: f64,
}

/// Most arrows looked at: placing them is quadratic.
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

/// Draws the arrows beside `rows` rows in at most `columns` columns; `open` says of a row
/// that it is an instruction, at which an arrow can begin or end. Every string has the same
/// number of characters, two a column used and two for the tip, or none at all.
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

/// What stands where two lines meet.
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
    // What is left out, if anything must be, is what carries least.
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
        // A loop inside another stays to its right, so that brackets nest.
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
    fn nested_loops_and_a_jump_out() {
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
    fn two_jumps_to_one_head_share_a_column() {
        assert_eq!(
            draw(3, &[arrow(1, 0), arrow(2, 0)], 4, |_| true),
            ["┌─► ", "├── ", "└── "]
        );
    }

    #[test]
    fn nothing_to_draw_takes_no_room() {
        assert_eq!(draw(2, &[], 4, |_| true), ["", ""]);
        assert_eq!(draw(2, &[arrow(0, 9)], 4, |_| true), ["", ""]);
        assert_eq!(draw(2, &[arrow(1, 0)], 0, |_| true), ["", ""]);
    }

    proptest! {
        #[test]
        fn the_margin_is_a_rectangle_of_bounded_width(
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
