//! The report of a gate for a pull request: GitHub-flavoured Markdown.

use std::fmt::Write as _;

use genba_model::{Comparison, ComparisonReport, VerdictName};
use genba_units::format;

use super::GateResult;
use super::markdown::{code, plain};
use crate::variants;
use crate::wording::{gate, metrics, runs, verdicts};

/// Maximum number of rows of a table: a comment on GitHub holds 65,536 characters.
const MAX_ROWS: usize = 60;
/// Maximum number of remarks.
const MAX_REMARKS: usize = 20;

/// Returns whether the verdict is slower.
fn worse(c: &Comparison) -> bool {
    c.verdict == VerdictName::Slower
}

/// Renders the report of `genba gate` for CI: the verdict, the table of the deciding metric, the
/// other metrics folded, the second opinion, hazards and notes.
#[must_use]
pub fn github_markdown(result: &GateResult<'_>) -> String {
    let (report, threshold) = (result.report, result.threshold);
    let mut out = String::new();
    let deciding = verdicts::deciding(report);
    let excluded = report.variants.iter().any(|v| v.excluded.is_some());
    let (end, sentence) = gate::verdict(result, &|name| code(name), &|text| plain(text));
    let _ = writeln!(out, "### genba: **{end}**{sentence}\n");
    if let [only] = deciding[..] {
        let _ = writeln!(out, "{}.\n", plain(&verdicts::sentence(report, only)));
    }
    if excluded {
        out.push_str("Some variants were excluded, see below.\n\n");
    }
    table(&mut out, report, threshold);
    others(&mut out, report);
    let counted = result.counted.map(|one| gate::second_opinion(one, report));
    if let Some(counted) = &counted {
        let _ = writeln!(out, "- {}", plain(counted));
    }
    let mut remarks = verdicts::remarks(report);
    remarks.retain(|one| Some(one) != counted.as_ref());
    for note in remarks.iter().take(MAX_REMARKS) {
        let line: Vec<String> = note.lines().take(3).map(|l| plain(l.trim())).collect();
        let _ = writeln!(out, "- ⚠️ {}", line.join(" "));
    }
    if remarks.len() > MAX_REMARKS {
        let _ = writeln!(out, "- … {} more", remarks.len() - MAX_REMARKS);
    }
    let _ = writeln!(
        out,
        "\n<sub>{} interleaved in random order (seed {}), {}; {}; genba {}</sub>",
        format::plural(u64::from(report.blocks), "block"),
        report.seed,
        format::duration(report.elapsed_seconds),
        plain(&runs::host(&report.host)),
        plain(&report.genba)
    );
    out
}

/// Renders why a gate could not measure.
#[must_use]
pub fn github_failure(message: &str) -> String {
    let mut out = String::from("### genba: **Failed**: nothing was compared.\n\n");
    for line in message.lines().take(MAX_REMARKS) {
        let _ = writeln!(out, "- {}", plain(line.trim()));
    }
    out
}

fn table(out: &mut String, report: &ComparisonReport, threshold: f64) {
    let shown = variants::ordered(report);
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "| | variant | {} | vs. {} | 95 % | runs |\n|:---|:---|---:|---:|---:|---:|",
        plain(&metrics::phrase(&report.metric)),
        report
            .variants
            .first()
            .map(|v| code(&v.name))
            .unwrap_or_default()
    );
    for variant in shown.iter().take(MAX_ROWS) {
        let median = variant.metrics.get(&report.metric).map(|m| {
            let spread = format::plus_minus(&m.median);
            let value = metrics::amount(&m.median, &m.unit);
            plain(format!("{value} {spread}").trim())
        });
        let c = verdicts::find(report, &variant.name, &report.metric);
        let mark = match c {
            Some(c) if c.is_worse_by(threshold) => "❌",
            Some(c) if worse(c) => "🔺",
            Some(c) if c.verdict == VerdictName::Faster => "✅",
            Some(c) if c.verdict == VerdictName::Undecided => "❔",
            _ => "",
        };
        let _ = writeln!(
            out,
            "| {mark} | {} | {} | {} | {} | {} |",
            code(&variant.name),
            median.unwrap_or_default(),
            c.map(|c| plain(&outcome(report, c))).unwrap_or_default(),
            c.map(|c| plain(&verdicts::interval(c))).unwrap_or_default(),
            variant.runs
        );
    }
    if shown.len() > MAX_ROWS {
        let _ = writeln!(out, "| | … {} more | | | | |", shown.len() - MAX_ROWS);
    }
    out.push('\n');
}

/// Returns the effect for a table that has the interval in another column.
fn outcome(report: &ComparisonReport, c: &Comparison) -> String {
    match c.verdict {
        VerdictName::Undecided => "undecided".to_owned(),
        _ => verdicts::short(report, c),
    }
}

fn others(out: &mut String, report: &ComparisonReport) {
    let mut list: Vec<&Comparison> = report
        .comparisons
        .iter()
        .filter(|c| c.metric != report.metric)
        .collect();
    if list.is_empty() {
        return;
    }
    list.sort_by_key(|c| metrics::order(&c.metric));
    out.push_str(
        "<details><summary>Other metrics</summary>\n\n\
         | variant | metric | effect | 95 % |\n|:---|:---|---:|---:|\n",
    );
    for c in list.iter().take(MAX_ROWS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            code(&c.variant),
            plain(&metrics::label(&c.metric)),
            plain(&outcome(report, c)),
            plain(&verdicts::interval(c))
        );
    }
    if list.len() > MAX_ROWS {
        let _ = writeln!(out, "| … {} more | | | |", list.len() - MAX_ROWS);
    }
    out.push_str("\n</details>\n\n");
}
