//! A curve drawn with characters: points joined by lines.

/// A curve, its points in the order of x.
pub(crate) struct Curve {
    /// Position on the axis (log₂ or linear) and value of each point.
    pub points: Vec<(f64, f64)>,
    /// Label of each point on the axis.
    pub labels: Vec<String>,
    /// Ranges of the axis to be marked.
    pub marks: Vec<(f64, f64)>,
}

/// The lines of a drawn curve.
pub(crate) struct DrawnCurve {
    /// The value at the middle of each row, from the top, and the row.
    pub rows: Vec<(f64, String)>,
    /// The axis with its labels.
    pub axis: String,
    /// Marks below the axis; empty where there are none.
    pub marks: String,
}

/// Ratio of the largest to the smallest value from which the scale is logarithmic.
const MIN_RATIO_FOR_LOG_SCALE: f64 = 20.0;

/// Share of its value that the axis of a flat curve has above and below it.
const MARGIN_OF_FLAT_CURVE: f64 = 0.01;

/// Draws the curve in `width` columns and `height` rows.
pub(crate) fn draw(curve: &Curve, width: usize, height: usize) -> DrawnCurve {
    let (width, height) = (width.clamp(10, 400), height.clamp(2, 60));
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        })
    };
    let (left, right) = range(&mut curve.points.iter().map(|point| point.0));
    let (mut low, mut high) = range(&mut curve.points.iter().map(|point| point.1));
    // An axis without height would have one label on all rows.
    if low == high {
        let margin = (low.abs() * MARGIN_OF_FLAT_CURVE).max(f64::MIN_POSITIVE);
        (low, high) = (low - margin, high + margin);
    }
    let logarithmic = low > 0.0 && high / low > MIN_RATIO_FOR_LOG_SCALE;
    let scale = |value: f64| if logarithmic { value.ln() } else { value };
    let back = |value: f64| if logarithmic { value.exp() } else { value };
    let (low, high) = (scale(low), scale(high));
    let column = |x: f64| {
        let share = if right > left {
            (x - left) / (right - left)
        } else {
            0.5
        };
        (share.clamp(0.0, 1.0) * (width - 1) as f64).round() as usize
    };
    let row = |value: f64| {
        let share = if high > low {
            (scale(value) - low) / (high - low)
        } else {
            0.5
        };
        height - 1 - (share.clamp(0.0, 1.0) * (height - 1) as f64).round() as usize
    };
    let mut cells = vec![vec![' '; width]; height];
    for pair in curve.points.windows(2) {
        let (from, to) = (column(pair[0].0), column(pair[1].0));
        // The line takes only the columns between two points: in the column of a point it would look
        // as if the point reached over several rows.
        let rows = (row(pair[0].1), row(pair[1].1));
        let (first, last) = (from + 1, to.saturating_sub(1));
        let at_column = |at: usize| {
            let share = (at - first) as f64 / (last + 1 - first) as f64;
            row(back(
                scale(pair[0].1) * (1.0 - share) + scale(pair[1].1) * share,
            ))
        };
        for at in first..=last {
            let here = if at == first { rows.0 } else { at_column(at) };
            let next = if at == last {
                rows.1
            } else {
                at_column(at + 1)
            };
            if here == next {
                cells[here][at] = '─';
                continue;
            }
            let down = next > here;
            cells[here][at] = if down { '╮' } else { '╯' };
            cells[next][at] = if down { '╰' } else { '╭' };
            for line in cells
                .iter_mut()
                .take(here.max(next))
                .skip(here.min(next) + 1)
            {
                line[at] = '│';
            }
        }
    }
    for (x, value) in &curve.points {
        cells[row(*value)][column(*x)] = '●';
    }
    let rows = (cells.into_iter().enumerate())
        .map(|(index, line)| {
            let share = (height - 1 - index) as f64 / (height - 1) as f64;
            let line: String = line.into_iter().collect();
            (back(low + (high - low) * share), line.trim_end().to_owned())
        })
        .collect();
    let mut axis = String::new();
    let mut used = 0;
    for ((x, _), label) in curve.points.iter().zip(&curve.labels) {
        let wide = label.chars().count();
        // A label at the right edge ends there.
        let at = column(*x).min((width + 4).saturating_sub(wide));
        if (used == 0 || at > used) && at + wide <= width + 4 {
            axis.push_str(&" ".repeat(at - used));
            axis.push_str(label);
            used = at + wide;
        }
    }
    let mut marks = vec![' '; width];
    for (from, to) in &curve.marks {
        for cell in marks.iter_mut().take(column(*to) + 1).skip(column(*from)) {
            *cell = '▲';
        }
    }
    let marks: String = marks.into_iter().collect();
    DrawnCurve {
        rows,
        axis,
        marks: marks.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn step_is_drawn_with_marks_below_the_axis() {
        let curve = Curve {
            points: (0..6)
                .map(|u| (f64::from(u), if u < 3 { 2.0 } else { 1.0 }))
                .collect(),
            labels: (0..6).map(|u| (1 << u).to_string()).collect(),
            marks: vec![(2.0, 3.0)],
        };
        let drawn = draw(&curve, 16, 3);
        let rows: Vec<&str> = drawn.rows.iter().map(|row| row.1.as_str()).collect();
        assert_eq!(rows, ["●──●──●╮", "       ╰╮", "        ╰●──●──●"]);
        assert_eq!(drawn.axis, "1  2  4  8  16 32");
        assert_eq!(drawn.marks, "      ▲▲▲▲");
    }

    proptest! {
        #[test]
        fn plots_of_any_points_have_the_requested_size(
            values in prop::collection::vec((-1e6..1e6f64, -1e6..1e6f64), 0..30),
            width in 0usize..120,
            height in 0usize..30,
        ) {
            let mut points = values;
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let labels = points.iter().map(|point| format!("{:.0}", point.0)).collect();
            let drawn = draw(&Curve { points, labels, marks: vec![(0.0, 1e9)] }, width, height);
            prop_assert_eq!(drawn.rows.len(), height.clamp(2, 60));
            for (_, line) in drawn.rows {
                prop_assert!(line.chars().count() <= width.clamp(10, 400));
            }
        }
    }
}
