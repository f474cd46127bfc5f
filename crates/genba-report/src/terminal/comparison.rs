//! `genba bench` in a terminal: variants with their runs, verdicts, remarks.

use genba_model::{Comparison, ComparisonReport, Estimate, Metric, Variant, VerdictName};
use genba_units::format;

use crate::terminal::distribution_plot;
use crate::terminal::screen::{DIM, GOOD, HEAD, HOT, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{metrics, verdicts};
use crate::{Screen, safe_text, variants};

/// Maximum number of variants whose verdict is a sentence; of more the table has it.
const MAX_SENTENCES: usize = 3;
/// Maximum number of rows of a table.
const MAX_ROWS: usize = 200;
/// Maximum number of remarks.
const MAX_REMARKS: usize = 12;
/// Maximum number of runs drawn as dots; more are drawn as a histogram.
const MAX_DOTS: usize = 40;

/// Renders the result of `genba bench`.
#[must_use]
pub fn comparison(report: &ComparisonReport, screen: Screen) -> String {
    let mut out = String::new();
    variants(&mut out, report, screen);
    verdicts(&mut out, report, screen);
    reported_metrics(&mut out, report, screen);
    iterations(&mut out, report, screen);
    let remarks = verdicts::remarks(report);
    if !remarks.is_empty() && !out.is_empty() && report.variants.len() > 2 {
        out.push('\n');
    }
    for note in remarks.iter().take(MAX_REMARKS) {
        super::remark(&mut out, note, screen);
    }
    if remarks.len() > MAX_REMARKS {
        out.push_str(&format!("  … {} more\n", remarks.len() - MAX_REMARKS));
    }
    out
}

/// Returns the median of a metric with the half width of its interval; empty where there is none.
fn median(variant: &Variant, metric: &str) -> (String, String) {
    variant
        .metrics
        .get(metric)
        .map(|m| {
            (
                metrics::amount(&m.median, &m.unit),
                format::plus_minus(&m.median),
            )
        })
        .unwrap_or_default()
}

/// Returns the column head of a metric.
fn head(metric: &str) -> &'static str {
    match metric {
        "wall" => "wall",
        "user" => "user",
        "system" => "sys",
        "cpu" => "CPU",
        "target_cpu" => "target CPU",
        "children_cpu" => "children CPU",
        "max_rss" => "max RSS",
        _ => "median",
    }
}

/// Maximum number of variants whose reported metrics are shown side by side.
const MAX_COLUMNS: usize = 4;
/// Maximum number of reported metrics.
const MAX_REPORTED_METRICS: usize = 30;

/// Adds the metrics that the targets reported: medians, a row for each metric. Only for few
/// variants: of many, `--metric` selects one metric at a time.
fn reported_metrics(out: &mut String, report: &ComparisonReport, screen: Screen) {
    let built_in = |name: &str| Metric::ALL.iter().any(|m| m.name() == name);
    let shown = variants::ordered(report);
    if shown.is_empty() || shown.len() > MAX_COLUMNS {
        return;
    }
    let mut names: Vec<&str> = shown
        .iter()
        .flat_map(|v| v.metrics.keys().map(String::as_str))
        .filter(|name| !built_in(name) && *name != report.metric)
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    out.push_str("\nREPORTED\n");
    let mut columns = vec![Column::flexible("", 12)];
    if shown.len() == 1 {
        columns.push(Column::right("median"));
        columns.push(Column::right("±"));
    } else {
        columns.extend(shown.iter().map(|_| Column::right("")));
    }
    let mut table = Table::new(columns);
    if shown.len() > 1 {
        let heads = shown
            .iter()
            .map(|v| Cell::new(safe_text::fit(&v.name, 24), DIM));
        table.row(std::iter::once(Cell::from("")).chain(heads).collect());
    }
    for name in names.iter().take(MAX_REPORTED_METRICS) {
        let label = name.replace('_', " ");
        let mut row: Vec<Cell> = vec![label.into()];
        if let [one] = &shown[..] {
            let (value, spread) = median(one, name);
            row.push(value.into());
            row.push(Cell::new(spread.replace('±', ""), DIM));
        } else {
            row.extend(shown.iter().map(|v| Cell::from(median(v, name).0)));
        }
        table.row(row);
    }
    out.push_str(&table.render(screen));
    if names.len() > MAX_REPORTED_METRICS {
        out.push_str(&format!(
            "  … {} more\n",
            names.len() - MAX_REPORTED_METRICS
        ));
    }
}

fn variants(out: &mut String, report: &ComparisonReport, screen: Screen) {
    let shown = variants::ordered(report);
    if shown.is_empty() {
        out.push_str("  nothing to compare: all variants were excluded\n");
        return;
    }
    let wide = screen.columns() >= 110;
    let several = report.variants.len() > 2;
    let metric = report.metric.as_str();
    // Beside the deciding metric, the times that explain it; CPU time of child processes only where
    // it is a relevant part.
    let others = report.variants.iter().any(|v| {
        let of = |m: &str| v.metrics.get(m).map_or(0.0, |m| m.median.value);
        of("children_cpu") > 0.02 * of("cpu") && of("target_cpu") > 0.02 * of("cpu")
    });
    let beside: Vec<&str> = ["wall", "user", "system"]
        .into_iter()
        .chain(others.then_some("children_cpu"))
        .filter(|&m| m != metric && (!several || wide))
        .collect();
    let mut columns = Vec::new();
    if several {
        columns.push(Column::right("rank"));
    }
    columns.push(Column::flexible("", 6));
    columns.push(Column::flexible("", 8));
    columns.push(Column::right(head(metric)));
    columns.push(Column::right("±"));
    columns.extend(beside.iter().map(|m| Column::right(head(m))));
    columns.push(Column::right("runs"));
    if several {
        columns.push(Column::left("effect"));
        columns.push(Column::left(""));
    }
    columns.push(Column::left(""));
    let mut table = Table::new(columns);
    let axis = variants::axis(&shown, metric);
    let room = if wide { 24 } else { 13 };
    let largest = shown
        .iter()
        .filter_map(|v| v.metrics.get(metric))
        .map(|m| m.median.value)
        .filter(|v| v.is_finite())
        .fold(0.0, f64::max);
    for variant in shown.iter().take(MAX_ROWS) {
        let c = verdicts::find(report, &variant.name, metric);
        let (value, spread) = median(variant, metric);
        let mut row = Vec::new();
        if several {
            row.push(Cell::new(variants::rank(report, &variant.name), DIM));
        }
        row.push(Cell::new(variant.name.as_str(), STRONG));
        let command = if variant.command == variant.name || (several && !wide) {
            ""
        } else {
            variant.command.as_str()
        };
        row.push(command.into());
        row.push(Cell::new(value, STRONG));
        row.push(Cell::new(spread.replace('±', ""), DIM));
        for m in &beside {
            row.push(median(variant, m).0.into());
        }
        row.push(Cell::new(variant.runs.to_string(), DIM));
        if several {
            row.push(outcome(report, variant, c));
            let level = variant.metrics.get(metric).map(|m| m.median.value);
            row.push(bar(level, largest, 10).into());
            row.push(
                if wide {
                    dots(variant, metric, axis, room)
                } else {
                    String::new()
                }
                .into(),
            );
        } else {
            row.push(dots(variant, metric, axis, room).into());
        }
        table.row(row);
    }
    out.push_str(&table.render(screen));
    if shown.len() > MAX_ROWS {
        out.push_str(&format!("  … {} more\n", shown.len() - MAX_ROWS));
    }
    axis_line(out, &shown, metric, axis, screen);
}

/// Adds the ends of the strips' axis, and how many runs are outside of it.
fn axis_line(
    out: &mut String,
    shown: &[&Variant],
    metric: &str,
    axis: Option<(f64, f64)>,
    screen: Screen,
) {
    let Some(axis) = axis.filter(|_| shown.len() <= 2 || screen.columns() >= 110) else {
        return;
    };
    let far: usize = shown
        .iter()
        .map(|v| variants::outside_axis(&variants::values(v, metric), axis))
        .sum();
    let unit = shown
        .iter()
        .find_map(|v| v.metrics.get(metric))
        .map_or("", |m| m.unit.as_str());
    let end = |v: f64| metrics::amount(&Estimate::exact(v), unit);
    let mut line = format!("axis: {} to {}", end(axis.0), end(axis.1));
    if far > 0 {
        line.push_str(&format!(
            "; {} outside, drawn at the ends",
            format::plural(far as u64, "run")
        ));
    }
    let line = safe_text::fit(&line, screen.columns() - 2);
    out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
}

fn dots(variant: &Variant, metric: &str, axis: Option<(f64, f64)>, room: usize) -> String {
    let values = variants::values(variant, metric);
    let Some((low, high)) = axis.filter(|_| values.len() > 1) else {
        return String::new();
    };
    if values.len() > MAX_DOTS {
        return distribution_plot::density(&values, low, high, room);
    }
    let clamped: Vec<f64> = values.iter().map(|v| v.clamp(low, high)).collect();
    distribution_plot::strip(&clamped, low, high, room)
}

/// Returns a bar for a median, full for the largest.
fn bar(value: Option<f64>, largest: f64, room: usize) -> String {
    let share = value.unwrap_or(0.0) / largest;
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * (room * 8) as f64).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    bar
}

fn outcome(report: &ComparisonReport, variant: &Variant, c: Option<&Comparison>) -> Cell {
    match c {
        None if report
            .variants
            .first()
            .is_some_and(|v| v.name == variant.name) =>
        {
            Cell::new("baseline", DIM)
        }
        None => Cell::new("", PLAIN),
        Some(c) => Cell::new(verdicts::short(report, c), style(c.verdict)),
    }
}

fn style(verdict: VerdictName) -> anstyle::Style {
    match verdict {
        VerdictName::Faster => GOOD,
        VerdictName::Slower => HOT,
        VerdictName::Same => PLAIN,
        VerdictName::Undecided => DIM,
    }
}

fn verdicts(out: &mut String, report: &ComparisonReport, screen: Screen) {
    let deciding = verdicts::deciding(report);
    if deciding.is_empty() {
        return;
    }
    let width = screen.columns();
    if deciding.len() > MAX_SENTENCES {
        let line = summary(&deciding, report);
        out.push_str(&format!("\n{}\n", safe_text::fit(&line, width)));
        return;
    }
    out.push('\n');
    for c in deciding {
        let sentence = safe_text::sanitise(&verdicts::sentence(report, c));
        // Long names must not push the verdict off the screen.
        for line in super::wrap(&sentence, width).iter().take(6) {
            let style = match c.verdict {
                VerdictName::Undecided => PLAIN,
                _ => style(c.verdict).bold(),
            };
            out.push_str(&format!("{}\n", screen.paint(style, line)));
        }
        let others = others(report, c);
        for line in fill(&others, width - 2) {
            out.push_str(&format!("  {line}\n"));
        }
    }
}

/// Returns how many variants have which verdict.
fn summary(deciding: &[&Comparison], report: &ComparisonReport) -> String {
    let count = |verdict: VerdictName| deciding.iter().filter(|c| c.verdict == verdict).count();
    let baseline = deciding.first().map_or("", |c| c.baseline.as_str());
    let parts: Vec<String> = [
        (VerdictName::Faster, "better"),
        (VerdictName::Slower, "worse"),
        (VerdictName::Same, "equivalent"),
        (VerdictName::Undecided, "undecided"),
    ]
    .into_iter()
    .filter_map(|(verdict, word)| {
        let n = count(verdict);
        (n > 0).then(|| format!("{n} {word}"))
    })
    .collect();
    format!(
        "{} vs. {} in {}: {}",
        format::plural(deciding.len() as u64, "variant"),
        safe_text::fit(baseline, 40),
        metrics::phrase(&report.metric),
        parts.join(", ")
    )
}

/// Returns the other metrics of the same two variants: `user 1.37× faster`.
fn others(report: &ComparisonReport, c: &Comparison) -> Vec<String> {
    let mut list: Vec<&Comparison> = report
        .comparisons
        .iter()
        .filter(|o| o.variant == c.variant && o.metric != c.metric && is_shown(o))
        .collect();
    list.sort_by_key(|o| metrics::order(&o.metric));
    list.iter()
        .map(|o| {
            format!(
                "{} {}",
                safe_text::fit(&metrics::label(&o.metric), 30),
                verdicts::short(report, o)
            )
        })
        .collect()
}

/// Returns whether a metric is shown: faults and switches only where they differ. The page has all.
fn is_shown(c: &Comparison) -> bool {
    let counted = ["_faults", "_switches"]
        .iter()
        .any(|end| c.metric.ends_with(end));
    !counted || matches!(c.verdict, VerdictName::Faster | VerdictName::Slower)
}

/// Returns parts in lines, broken between parts.
fn fill(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = safe_text::fit(part, width);
        match lines.last_mut() {
            Some(line)
                if safe_text::display_width(line) + 3 + safe_text::display_width(&part)
                    <= width =>
            {
                line.push_str("   ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    lines
}

fn iterations(out: &mut String, report: &ComparisonReport, screen: Screen) {
    if report.iterations.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", screen.paint(HEAD, "PER ITERATION")));
    let mut table = Table::new(vec![
        Column::flexible("", 8),
        Column::left(""),
        Column::right("cost"),
        Column::right("interval, 95 %"),
        Column::right("iterations"),
        Column::flexible("subtracted", 8),
    ]);
    for cost in report.iterations.iter().take(MAX_ROWS) {
        let end = |v: f64| {
            let e = Estimate {
                value: v,
                ..cost.cost
            };
            metrics::amount(&e, &cost.unit)
        };
        table.row(vec![
            Cell::new(cost.variant.as_str(), STRONG),
            metrics::label(&cost.metric).into(),
            Cell::new(metrics::amount(&cost.cost, &cost.unit), STRONG),
            format!("{} … {}", end(cost.cost.low), end(cost.cost.high)).into(),
            Cell::new(format::count(cost.iterations), DIM),
            Cell::new(cost.subtracted.as_deref().unwrap_or(""), DIM),
        ]);
    }
    out.push_str(&table.render(screen));
}

/// The state of a comparison while runs go on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress<'a> {
    /// Variant that is compared with the baseline.
    pub variant: &'a str,
    /// Deciding metric.
    pub metric: &'a str,
    /// Pairs so far.
    pub pairs: u32,
    /// Variant ÷ baseline so far, with its anytime-valid interval.
    pub ratio: Option<Estimate>,
    /// Remaining budget, seconds.
    pub left_seconds: Option<f64>,
    /// Number of other variants that are undecided.
    pub others: u32,
}

/// Returns the state in one line without line end, never wider than the screen:
/// `after  37 pairs  wall −2.1 % … +0.4 %  at most 12 s left`.
#[must_use]
pub fn progress_line(progress: &Progress<'_>, screen: Screen) -> String {
    let mut parts = vec![format::plural(u64::from(progress.pairs), "pair")];
    let metric = safe_text::fit(&metrics::label(progress.metric), 20);
    parts.push(match &progress.ratio {
        Some(ratio) => format!("{metric} {}", verdicts::range(ratio)),
        None => format!("{metric}: no interval yet"),
    });
    if progress.others > 0 {
        parts.push(format!("{} more undecided", progress.others));
    }
    if let Some(left) = progress.left_seconds.filter(|l| l.is_finite() && *l >= 0.0) {
        parts.push(format!("at most {} left", format::duration(left.ceil())));
    }
    let rest = parts.join("  ");
    let width = screen.columns() - 1;
    let room = width
        .saturating_sub(safe_text::display_width(&rest) + 2)
        .clamp(6, 40);
    let line = format!("{}  {rest}", safe_text::fit(progress.variant, room));
    safe_text::fit(&line, width)
}
