//! `genba try` in a terminal: the outcome of each variant, failures, the recommendation.

use genba_model::{ChangeKind, TrialReport, Tried, TriedOutcome};
use genba_units::format;

use crate::terminal::screen::{DIM, ERROR, GOOD, HEAD, HOT, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{metrics, try_variants as wording};
use crate::{Screen, safe_text};

/// Maximum number of variants in the table.
const MAX_ROWS: usize = 100;
/// Maximum number of lines of a build log.
const MAX_LOG_LINES: usize = 8;
/// Maximum number of remarks.
const MAX_REMARKS: usize = 10;

/// Renders the result of `genba try`.
#[must_use]
pub fn trial(report: &TrialReport, screen: Screen) -> String {
    let mut out = String::new();
    head(&mut out, report, screen);
    table(&mut out, report, screen);
    failures(&mut out, report, screen);
    if let Some(layout) = &report.layout {
        dim(&mut out, &wording::layout(layout), screen);
    }
    recommendation(&mut out, report, screen);
    for diff in &report.differences {
        out.push('\n');
        out.push_str(&super::profile_diff(diff, 6, screen));
    }
    for note in report.notes.iter().take(MAX_REMARKS) {
        super::remark(&mut out, note, screen);
    }
    out
}

fn dim(out: &mut String, line: &str, screen: Screen) {
    for line in super::wrap(&safe_text::sanitise(line), screen.columns() - 2) {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
    }
}

fn head(out: &mut String, report: &TrialReport, screen: Screen) {
    let command = safe_text::fit(&safe_text::sanitise(&report.command), screen.columns() - 30);
    let baseline = report.variants.first();
    let median = baseline.and_then(|variant| variant.metrics.get(&report.metric));
    let level = median.map_or(String::new(), |metric| {
        format!(
            "   {} {}",
            metrics::amount(&metric.median, &metric.unit),
            format::plus_minus(&metric.median)
        )
    });
    out.push_str(&format!("{}{level}\n\n", screen.paint(HEAD, &command)));
}

fn style(outcome: TriedOutcome) -> anstyle::Style {
    match outcome {
        TriedOutcome::Gain => GOOD,
        TriedOutcome::Slower => HOT,
        TriedOutcome::Failed => ERROR,
        TriedOutcome::Same | TriedOutcome::Slight | TriedOutcome::Identical => PLAIN,
        _ => DIM,
    }
}

fn table(out: &mut String, report: &TrialReport, screen: Screen) {
    let mut table = Table::new(vec![
        Column::flexible("", 12),
        Column::left(label(&report.metric)),
        Column::right("pairs"),
        Column::right("build"),
        Column::flexible("", 10),
    ]);
    for tried in report.tried.iter().take(MAX_ROWS) {
        let outcome = wording::outcome(tried, report.delta);
        let pairs = if tried.pairs > 0 {
            tried.pairs.to_string()
        } else {
            String::new()
        };
        let build = tried
            .build_seconds
            // A build of an earlier session, which was not timed again.
            .filter(|seconds| *seconds > 0.0)
            .map_or(String::new(), format::duration);
        table.row(vec![
            Cell::new(tried.name.as_str(), STRONG),
            Cell::new(outcome, style(tried.outcome)),
            Cell::new(pairs, DIM),
            Cell::new(build, DIM),
            Cell::new(remark(tried), DIM),
        ]);
    }
    out.push_str(&table.render(screen));
    if report.tried.len() > MAX_ROWS {
        out.push_str(&format!("  … {} more\n", report.tried.len() - MAX_ROWS));
    }
}

fn label(metric: &str) -> &'static str {
    match metric {
        "wall" => "wall time",
        "user" => "user time",
        "system" => "system time",
        "cpu" => "CPU time",
        "max_rss" => "max RSS",
        _ => "metric",
    }
}

/// Returns the remark beside the outcome: a short reason, or the change that the variant makes.
fn remark(tried: &Tried) -> String {
    match (tried.outcome, &tried.reason) {
        // Failures are listed below the table.
        (TriedOutcome::Failed | TriedOutcome::Identical, _) => String::new(),
        (_, Some(reason)) => reason.clone(),
        _ if tried.kind == ChangeKind::Layout => String::new(),
        _ => tried.change.clone(),
    }
}

/// Adds why variants failed, each reason once with all of them.
fn failures(out: &mut String, report: &TrialReport, screen: Screen) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let failed = (report.tried.iter()).filter(|one| one.outcome == TriedOutcome::Failed);
    for tried in failed {
        let Some(reason) = tried.reason.as_deref() else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&tried.name),
            None => reasons.push((reason, vec![&tried.name])),
        }
    }
    for (reason, names) in reasons {
        let room = if names.len() > 1 { 100 } else { 40 };
        let name = safe_text::fit(&safe_text::sanitise(&names.join(", ")), room);
        let mut lines = reason.lines();
        let first = safe_text::sanitise(lines.next().unwrap_or_default());
        out.push_str(&format!(
            "  {} {}\n",
            screen.paint(ERROR, &format!("{name}:")),
            safe_text::fit(&first, screen.columns() - 4)
        ));
        let rest: Vec<&str> = lines.collect();
        for line in &rest[rest.len().saturating_sub(MAX_LOG_LINES)..] {
            let line = safe_text::fit(&safe_text::sanitise(line), screen.columns() - 6);
            out.push_str(&format!("    {}\n", screen.paint(DIM, &line)));
        }
    }
}

fn recommendation(out: &mut String, report: &TrialReport, screen: Screen) {
    let verdict = safe_text::sanitise(&wording::verdict(report));
    let style = if report.keep.is_some() {
        GOOD.bold()
    } else {
        STRONG
    };
    out.push('\n');
    for line in super::wrap(&verdict, screen.columns()) {
        out.push_str(&format!("{}\n", screen.paint(style, &line)));
    }
    let Some(keep) = &report.keep else { return };
    let mut row = |head: &str, value: &str| {
        out.push_str(&format!(
            "  {}  {}\n",
            screen.paint(HEAD, head),
            safe_text::sanitise(value)
        ));
    };
    if let Some(build) = &keep.build {
        row("BUILD  ", build);
    }
    if let Some(rebuild) = &keep.rebuild {
        row("REBUILD", rebuild);
    }
    row("RUN    ", &keep.command);
    for caution in &keep.cautions {
        super::remark(out, caution, screen);
    }
}
