//! The report of a gate for a pull request: GitHub-flavoured Markdown.

use std::fmt::Write as _;

use genba_model::{Comparison, ComparisonReport, VerdictName};
use genba_units::format;

use super::markdown::{code, plain};
use crate::variants;
use crate::wording::{metrics, runs, verdicts};

/// Maximum number of rows of a table: a comment on GitHub holds 65,536 characters.
const MAX_ROWS: usize = 60;
/// Maximum number of remarks.
const MAX_REMARKS: usize = 20;

/// Returns whether the verdict is slower.
fn worse(c: &Comparison) -> bool {
    c.verdict == VerdictName::Slower
}

/// Renders the report of `genba gate` for CI: the verdict, the table of the deciding metric, the
/// other metrics folded, hazards and notes. `threshold` is the share (0.01 is 1 %) beyond which
/// "slower" is refused ([`Comparison::is_worse_by`]).
#[must_use]
pub fn github_markdown(report: &ComparisonReport, threshold: f64) -> String {
    let mut out = String::new();
    let deciding = verdicts::deciding(report);
    let bad: Vec<&&Comparison> = deciding
        .iter()
        .filter(|c| c.is_worse_by(threshold))
        .collect();
    let limit = format::share(threshold);
    let what = plain(&metrics::phrase(&report.metric));
    let excluded = report.variants.iter().any(|v| v.excluded.is_some());
    let verdict = match (bad.len(), deciding.len()) {
        (0, 0) => "**Nothing was compared.**".to_owned(),
        (0, _) if deciding.iter().any(|c| c.verdict == VerdictName::Undecided) => {
            format!(
                "**Passed, with undecided variants**: no variant is shown to be slower by more than {limit} in {what}."
            )
        }
        (0, _) => format!("**Passed**: no variant is slower by more than {limit} in {what}."),
        (1, _) => format!(
            "**Refused**: {} is slower by more than {limit} in {what}.",
            code(&bad[0].variant)
        ),
        (n, _) => format!("**Refused**: {n} variants are slower by more than {limit} in {what}."),
    };
    let _ = writeln!(out, "### genba: {verdict}\n");
    if let [only] = deciding[..] {
        let _ = writeln!(out, "{}.\n", plain(&verdicts::sentence(report, only)));
    }
    if excluded {
        out.push_str("Some variants were excluded, see below.\n\n");
    }
    table(&mut out, report, threshold);
    others(&mut out, report);
    let remarks = verdicts::remarks(report);
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
