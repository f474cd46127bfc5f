//! `genba sweep` in a terminal: the curve with the findings beside it, or a table.

use genba_model::{Estimate, ParameterScale, ParameterValue, Sweep, SweepPoint};
use genba_units::format;

use super::{remark, wrap};
use crate::terminal::curve_plot::{Curve, draw};
use crate::terminal::screen::{DIM, HEAD, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{metrics, sweep as wording, verdicts};
use crate::{Screen, safe_text};

/// Rows of the plot.
const PLOT_ROWS: usize = 9;
/// Maximum number of columns of the plot.
const MAX_PLOT_COLUMNS: usize = 64;
/// Columns for the sentences beside the plot.
const SENTENCE_COLUMNS: usize = 34;
/// Maximum number of rows of a table.
const MAX_ROWS: usize = 60;
/// Maximum number of columns of a table of two parameters.
const MAX_COLUMNS: usize = 24;

/// Renders a sweep: plot or table, findings, effort, remarks.
#[must_use]
pub fn sweep(sweep: &Sweep, screen: Screen) -> String {
    let mut out = String::new();
    if let Some(case) = &sweep.case {
        let title = safe_text::fit(&wording::title(sweep), screen.columns().saturating_sub(14));
        out.push_str(&format!("case {}  {title}\n\n", safe_text::fit(case, 12)));
    }
    let plotted = sweep.parameters.len() == 1
        && sweep.parameters[0].scale != ParameterScale::Words
        && sweep.points.len() > 1;
    if plotted {
        plot(&mut out, sweep, screen);
    } else if sweep.parameters.len() == 2 {
        two_parameters(&mut out, sweep, screen);
    } else {
        table(&mut out, sweep, screen);
    }
    for hazard in sweep.hazards.iter().filter(|hazard| hazard.id == "busy") {
        remark(&mut out, &hazard.text, screen);
    }
    for note in &sweep.notes {
        remark(&mut out, note, screen);
    }
    out
}

fn amount(value: f64, sweep: &Sweep) -> String {
    let e = Estimate {
        value,
        low: value * 0.995,
        high: value * 1.005,
    };
    match sweep.unit.as_str() {
        "seconds" => format::seconds(value),
        "bytes" => format::bytes(value),
        "" | "count" => format::counted(&e),
        _ => format::plain(&e, 3),
    }
}

fn plot(out: &mut String, sweep: &Sweep, screen: Screen) {
    let place = |x: f64| match sweep.parameters[0].scale {
        ParameterScale::Log2 => x.log2(),
        _ => x,
    };
    let numbers: Vec<(f64, f64)> = (sweep.points.iter())
        .filter_map(|point| match point.value {
            ParameterValue::Number(x) => Some((x, point.metric.value)),
            ParameterValue::Word(_) => None,
        })
        .filter(|(x, value)| place(*x).is_finite() && value.is_finite())
        .collect();
    let curve = Curve {
        points: numbers.iter().map(|(x, y)| (place(*x), *y)).collect(),
        labels: numbers
            .iter()
            .map(|(x, _)| wording::value(sweep, *x))
            .collect(),
        marks: (sweep.knees.iter())
            .map(|knee| (place(knee.low), place(knee.high)))
            .collect(),
    };
    let columns = screen.columns();
    let beside = columns >= 100;
    let width = if beside {
        (columns - SENTENCE_COLUMNS - 14).min(MAX_PLOT_COLUMNS)
    } else {
        (columns - 14).min(MAX_PLOT_COLUMNS)
    };
    let drawn = draw(&curve, width, PLOT_ROWS);
    let marks: Vec<f64> = drawn.rows.iter().map(|row| row.0).collect();
    // A unit of the target's is above the axis.
    let unit = match sweep.unit.as_str() {
        unit @ ("seconds" | "bytes") => unit,
        _ => "",
    };
    let labels: Vec<String> = (metrics::axis_labels(&marks, unit).iter())
        .map(|label| safe_text::sanitise(label))
        .collect();
    let margin = labels
        .iter()
        .map(|label| safe_text::display_width(label))
        .max();
    let margin = margin.unwrap_or(0);
    let mut lines: Vec<String> =
        vec![screen.paint(DIM, &safe_text::fit(&wording::unit(sweep), width))];
    let mut widths = vec![safe_text::display_width(&safe_text::fit(
        &wording::unit(sweep),
        width,
    ))];
    let mut add = |line: String, wide: usize| {
        lines.push(line);
        widths.push(wide);
    };
    for (label, (_, row)) in labels.iter().zip(&drawn.rows) {
        let pad = " ".repeat(margin - safe_text::display_width(label));
        let wide = margin + 3 + safe_text::display_width(row);
        add(format!(" {pad}{label} ┤{row}"), wide);
    }
    let axis = safe_text::fit(&drawn.axis, width + 4);
    let wide = margin + 3 + safe_text::display_width(&axis);
    add(format!(" {}└{axis}", " ".repeat(margin + 1)), wide);
    if !drawn.marks.is_empty() {
        let wide = margin + 3 + safe_text::display_width(&drawn.marks);
        add(
            format!(
                " {} {}",
                " ".repeat(margin + 1),
                screen.paint(STRONG, &drawn.marks)
            ),
            wide,
        );
    }
    let start = margin + width + 6;
    let room = if beside { columns - start } else { columns };
    let mut sentences: Vec<String> = Vec::new();
    for sentence in wording::findings(sweep) {
        let sentence = safe_text::sanitise(&sentence);
        for (index, line) in wrap(&sentence, room.saturating_sub(2))
            .into_iter()
            .enumerate()
        {
            let indent = if index == 0 { "" } else { "  " };
            sentences.push(format!("{indent}{line}"));
        }
    }
    sentences.push(String::new());
    sentences.extend(wrap(&safe_text::sanitise(&wording::effort(sweep)), room));
    if !beside {
        for line in &lines {
            out.push_str(&format!("{}\n", line.trim_end()));
        }
        out.push('\n');
        for sentence in sentences {
            out.push_str(&format!("{sentence}\n"));
        }
        return;
    }
    for index in 0..lines.len().max(sentences.len() + 1) {
        let line = lines.get(index).map_or("", String::as_str);
        let wide = widths.get(index).copied().unwrap_or(0);
        // The first line has the unit.
        let sentence = index.checked_sub(1).and_then(|index| sentences.get(index));
        match sentence.filter(|sentence| !sentence.is_empty()) {
            Some(sentence) => {
                let pad = " ".repeat(start.saturating_sub(wide));
                out.push_str(&format!("{line}{pad}{sentence}\n"));
            }
            None => out.push_str(&format!("{}\n", line.trim_end())),
        }
    }
}

/// Adds a row for each value that is not numeric.
fn table(out: &mut String, sweep: &Sweep, screen: Screen) {
    let mut table = Table::new(vec![
        Column::flexible("setting", 8),
        Column::right("value"),
        Column::right("±"),
        Column::left("vs. first"),
        Column::right("runs"),
    ]);
    for point in sweep.points.iter().take(MAX_ROWS) {
        let name = point.value.to_string();
        let setting = (sweep.variants.iter()).find(|variant| {
            variant
                .parameters
                .get(&point.parameter)
                .is_some_and(|value| *value == name)
        });
        let comparison = setting
            .and_then(|setting| (sweep.comparisons.iter()).find(|one| one.variant == setting.name));
        table.row(vec![
            Cell::new(name, STRONG),
            metrics::amount(&point.metric, &sweep.unit).into(),
            Cell::new(format::plus_minus(&point.metric).replace('±', ""), DIM),
            comparison
                .map_or_else(String::new, |one| verdicts::range(&one.ratio))
                .into(),
            Cell::new(point.runs.to_string(), DIM),
        ]);
    }
    out.push_str(&format!(
        "{}\n",
        screen.paint(HEAD, &safe_text::sanitise(&wording::unit(sweep)))
    ));
    out.push_str(&table.render(screen));
    effort(out, sweep, screen);
}

/// Adds a shaded table of two parameters: the first down, the second across.
fn two_parameters(out: &mut String, sweep: &Sweep, screen: Screen) {
    let mut rows: Vec<String> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    let key = |value: &ParameterValue| match value {
        ParameterValue::Number(x) => wording::value(sweep, *x),
        ParameterValue::Word(word) => safe_text::fit(word, 12),
    };
    for point in &sweep.points {
        let (row, column) = (
            key(&point.value),
            point.second.as_ref().map_or_else(String::new, key),
        );
        if !rows.contains(&row) {
            rows.push(row);
        }
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let shown = columns.len().min(MAX_COLUMNS);
    let values = sweep.points.iter().map(|point| point.metric.value);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
        (l.min(v), h.max(v))
    });
    let find = |row: &str, column: &str| -> Option<&SweepPoint> {
        (sweep.points.iter()).find(|point| {
            key(&point.value) == row
                && point.second.as_ref().map_or_else(String::new, key) == column
        })
    };
    let cell = |point: Option<&SweepPoint>| match point {
        None => String::new(),
        Some(point) => format!(
            "{}{}",
            amount(point.metric.value, sweep),
            shade(point.metric.value, low, high)
        ),
    };
    let names: Vec<&str> = sweep
        .parameters
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    out.push_str(&format!(
        "{}\n",
        screen.paint(
            HEAD,
            &safe_text::fit(
                &format!(
                    "{}: {} down, {} across",
                    wording::unit(sweep),
                    names[0],
                    names[1]
                ),
                screen.columns()
            )
        )
    ));
    let mut wide: Vec<usize> = columns
        .iter()
        .map(|name| safe_text::display_width(name) + 1)
        .collect();
    for row in &rows {
        for (width, column) in wide.iter_mut().zip(&columns) {
            *width = (*width).max(safe_text::display_width(&cell(find(row, column))));
        }
    }
    let head = rows
        .iter()
        .map(|row| safe_text::display_width(row))
        .max()
        .unwrap_or(0);
    let line = |first: &str, cells: &mut dyn Iterator<Item = (usize, String)>| {
        let mut line = format!(
            "  {}{first}",
            " ".repeat(head - safe_text::display_width(first))
        );
        for (width, text) in cells {
            line.push_str("  ");
            line.push_str(&" ".repeat(width.saturating_sub(safe_text::display_width(&text))));
            line.push_str(&text);
        }
        safe_text::fit(line.trim_end(), screen.columns())
    };
    let header = line(
        "",
        &mut wide
            .iter()
            .copied()
            .zip(columns.iter().map(|name| format!("{name} ")))
            .take(shown),
    );
    out.push_str(&format!("{}\n", screen.paint(DIM, &header)));
    for row in rows.iter().take(MAX_ROWS) {
        let mut cells = wide
            .iter()
            .copied()
            .zip(columns.iter().map(|column| cell(find(row, column))))
            .take(shown);
        out.push_str(&format!("{}\n", line(row, &mut cells)));
    }
    if columns.len() > shown {
        out.push_str(&format!(
            "  … {} more columns: see the page\n",
            columns.len() - shown
        ));
    }
    effort(out, sweep, screen);
}

fn effort(out: &mut String, sweep: &Sweep, screen: Screen) {
    out.push('\n');
    for line in wrap(
        &safe_text::sanitise(&wording::effort(sweep)),
        screen.columns(),
    ) {
        out.push_str(&format!("{line}\n"));
    }
}

/// Returns a character as dark as the value is large.
fn shade(value: f64, low: f64, high: f64) -> char {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    let share = if high > low {
        (value - low) / (high - low)
    } else {
        0.0
    };
    SHADES[((share * 4.0).round().clamp(0.0, 4.0)) as usize]
}
