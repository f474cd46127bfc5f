//! `genba history show` in a terminal: series as plots with their changes.

use genba_model::{ChangeOrigin, HistoryChange, HistoryReport, HistorySeries, SeriesList};
use genba_units::format;

use super::curve_plot::{Curve, draw};
use super::{remark, wrap};
use crate::terminal::screen::{DIM, GOOD, HEAD, PLAIN, STRONG, WARN};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{history as wording, metrics};
use crate::{Screen, safe_text};

/// Series that are drawn; of more there is a table only.
const MAX_PLOTS: usize = 4;
/// Rows of a plot.
const PLOT_ROWS: usize = 10;
/// Columns of the values beside a plot.
const LABEL_COLUMNS: usize = 12;
/// Rows of the tables.
const MAX_ROWS: usize = 200;

/// Renders the history: plots of few series or a table of many, then all changes.
#[must_use]
pub fn history(all: &HistoryReport, screen: Screen) -> String {
    let mut out = String::new();
    if all.series.len() <= MAX_PLOTS {
        for (index, series) in all.series.iter().enumerate() {
            let changes: Vec<&HistoryChange> = (all.points.iter())
                .filter(|one| one.series as usize == index)
                .collect();
            plot(&mut out, series, &changes, screen);
            for one in all
                .comparisons
                .iter()
                .filter(|one| one.series as usize == index)
            {
                let text = safe_text::sanitise(&wording::comparison(one));
                out.push_str(&format!("  {}\n", screen.paint(STRONG, &text)));
            }
            out.push('\n');
        }
    } else {
        series_table(&mut out, all, screen);
        out.push('\n');
        changes_table(&mut out, all, screen);
    }
    for note in &all.notes {
        remark(&mut out, note, screen);
    }
    out
}

/// Renders the list of series, a row each.
#[must_use]
pub fn series_list(all: &SeriesList, screen: Screen) -> String {
    let mut table = Table::new(vec![
        Column::flexible("benchmark", 12),
        Column::left("metric"),
        Column::left("host"),
        Column::right("measurements"),
    ]);
    for one in &all.series {
        table.row(vec![
            wording::benchmark(&one.benchmark, &one.variant).into(),
            // As --metric takes it.
            one.metric.clone().into(),
            one.host.clone().into(),
            one.measurements.to_string().into(),
        ]);
    }
    table.render(screen)
}

/// Renders one change: what changed, by how much, and in which commits.
#[must_use]
pub fn history_change(change: &HistoryChange, screen: Screen) -> String {
    let name = wording::name(&change.benchmark, &change.variant, &change.metric);
    let name = safe_text::sanitise(&name);
    let text = safe_text::sanitise(&wording::sentence(change));
    let range = safe_text::sanitise(&wording::range(change));
    format!(
        "{}\n  {}\n  95 % of the probability is in {range}\n",
        screen.paint(STRONG, &name),
        screen.paint(style(change), &text)
    )
}

fn plot(out: &mut String, series: &HistorySeries, changes: &[&HistoryChange], screen: Screen) {
    let width = screen.columns();
    let name = wording::name(&series.benchmark, &series.variant, &series.metric);
    let name = safe_text::fit(&name, width);
    out.push_str(&format!("{}\n", screen.paint(STRONG, &name)));
    let mut below = format!("  host {}", series.host);
    if !series.branch.is_empty() {
        below.push_str(&format!(", branch {}", series.branch));
    }
    if !series.anchor.is_empty() {
        below.push_str(&format!(
            ", relative to anchor {}",
            wording::short(&series.anchor)
        ));
    }
    for line in [below, format!("  {}", wording::visibility(series))] {
        let line = safe_text::fit(&line, width);
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
    let index_of = |commit: &str| {
        let commit_of = |one: &genba_model::HistoryMeasurement| match one.commit.is_empty() {
            true => one.started == commit,
            false => one.commit == commit,
        };
        series.measurements.iter().position(commit_of).unwrap_or(0) as f64
    };
    let last = series.measurements.len().saturating_sub(1);
    let label = |index: usize| {
        let one = &series.measurements[index];
        safe_text::sanitise(&wording::short(match one.commit.is_empty() {
            true => &one.started,
            false => &one.commit,
        }))
    };
    // A single value has no scale.
    if let [one] = &series.measurements[..] {
        let amount = metrics::amount(&one.level, &series.unit);
        let text = format!("  {amount}   {}; a plot needs two measurements", label(0));
        out.push_str(&format!("{}\n", safe_text::fit(&text, width)));
        return;
    }
    let points: Vec<(f64, f64)> = (series.measurements.iter().enumerate())
        .map(|(index, one)| (index as f64, one.level.value))
        .collect();
    let mut labels = vec![String::new(); points.len()];
    if let Some(first) = labels.first_mut() {
        *first = label(0);
    }
    let curve = Curve {
        points,
        labels,
        marks: (changes.iter())
            .map(|one| (index_of(&one.last_before), index_of(&one.first_after)))
            .collect(),
    };
    let columns = width.saturating_sub(LABEL_COLUMNS + 2).max(10);
    let drawn = draw(&curve, columns, PLOT_ROWS);
    let marks: Vec<f64> = drawn.rows.iter().map(|row| row.0).collect();
    let labels = metrics::axis_labels(&marks, &series.unit);
    for (label, (_, row)) in labels.iter().zip(&drawn.rows) {
        let label = safe_text::fit(label, LABEL_COLUMNS);
        out.push_str(&format!("{label:>LABEL_COLUMNS$} ┤{row}\n"));
    }
    let indent = " ".repeat(LABEL_COLUMNS + 2);
    let end = if last > 0 { label(last) } else { String::new() };
    let room = columns.saturating_sub(drawn.axis.chars().count() + end.chars().count());
    out.push_str(&format!(
        "{indent}{}{}{end}\n",
        drawn.axis,
        " ".repeat(room)
    ));
    if !drawn.marks.is_empty() {
        out.push_str(&format!("{indent}{}\n", screen.paint(WARN, &drawn.marks)));
    }
    for change in changes {
        let text = safe_text::sanitise(&wording::sentence(change));
        for (index, line) in wrap(&text, width - 6).iter().enumerate() {
            let mark = if index == 0 { "  ▲ " } else { "    " };
            out.push_str(&format!("{mark}{}\n", screen.paint(style(change), line)));
        }
    }
    if changes.is_empty() {
        out.push_str(&format!("  {}\n", screen.paint(DIM, "no change point")));
    }
}

fn style(change: &HistoryChange) -> anstyle::Style {
    match (change.origin, change.worse) {
        (ChangeOrigin::Host, _) => DIM,
        (_, true) => WARN,
        (_, false) => GOOD,
    }
}

fn series_table(out: &mut String, all: &HistoryReport, screen: Screen) {
    let mut table = Table::new(vec![
        Column::flexible("benchmark", 12),
        Column::left("metric"),
        Column::left("host"),
        Column::right("last"),
        Column::right("measurements"),
        Column::right("changes"),
    ]);
    for (index, one) in all.series.iter().enumerate().take(MAX_ROWS) {
        let changes = all
            .points
            .iter()
            .filter(|point| point.series as usize == index)
            .count();
        let last = one.measurements.last();
        table.row(vec![
            wording::benchmark(&one.benchmark, &one.variant).into(),
            metrics::label(&one.metric).into(),
            one.host.clone().into(),
            last.map(|last| metrics::amount(&last.level, &one.unit))
                .unwrap_or_default()
                .into(),
            one.measurements.len().to_string().into(),
            match changes {
                0 => Cell::from(""),
                some => Cell::new(some.to_string(), WARN),
            },
        ]);
    }
    out.push_str(&table.render(screen));
    if all.series.len() > MAX_ROWS {
        out.push_str(&format!(
            "  … {} more series\n",
            all.series.len() - MAX_ROWS
        ));
    }
}

fn changes_table(out: &mut String, all: &HistoryReport, screen: Screen) {
    if all.points.is_empty() {
        out.push_str("  no change point in any series\n");
        return;
    }
    out.push_str(&format!("{}\n", screen.paint(HEAD, "CHANGE POINTS")));
    let mut table = Table::new(vec![
        Column::left("what"),
        Column::right("change"),
        Column::left("commits"),
        Column::right("probability"),
        Column::flexible("series", 16),
        Column::flexible("subject", 12),
    ]);
    for one in all.points.iter().take(MAX_ROWS) {
        table.row(vec![
            Cell::new(wording::origin(one), style(one)),
            Cell::new(wording::size(one), PLAIN),
            wording::range(one).into(),
            wording::probability(one.probability).into(),
            wording::name(&one.benchmark, &one.variant, &one.metric).into(),
            one.subject.clone().into(),
        ]);
    }
    out.push_str(&table.render(screen));
    if all.points.len() > MAX_ROWS {
        let more = all.points.len() - MAX_ROWS;
        out.push_str(&format!(
            "  … {} more\n",
            format::plural(more as u64, "change")
        ));
    }
}
