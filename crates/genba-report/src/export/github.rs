//! The report of a gate for a pull request: GitHub-flavoured Markdown.

use std::fmt::Write as _;

use genba_model::{Comparison, ComparisonReport, VerdictName};

use super::markdown::{code, plain};
use crate::wording::{metrics, runs, verdicts};
use crate::{number, variants};

/// Rows of a table and remarks at most: a comment on GitHub holds 65,536 characters.
const MOST_ROWS: usize = 60;
const MOST_REMARKS: usize = 20;

/// Whether it was judged worse, but not surely beyond the threshold.
fn worse(c: &Comparison) -> bool {
    c.verdict == VerdictName::Slower
}

/// The report of `genba gate` for CI: the verdict first, then the table of the metric that
/// decided, the other metrics folded, hazards and notes. `threshold` is the share (0.01 is 1 %)
/// beyond which "slower" is refused ([`Comparison::is_worse_by`]).
#[must_use]
pub fn github_markdown(report: &ComparisonReport, threshold: f64) -> String {
    let mut out = String::new();
    let deciding = verdicts::deciding(report);
    let bad: Vec<&&Comparison> = deciding
        .iter()
        .filter(|c| c.is_worse_by(threshold))
        .collect();
    let limit = number::share(threshold);
    let what = metrics::phrase(&report.metric);
    let excluded = report.variants.iter().any(|v| v.excluded.is_some());
    let verdict = match (bad.len(), deciding.len()) {
        (0, 0) => "**Nothing was compared.**".to_owned(),
        (0, _) if deciding.iter().any(|c| c.verdict == VerdictName::Undecided) => {
            format!(
                "**Passed, but not all is decided**: nothing is slower by more than {limit} in {what} as far as the runs tell."
            )
        }
        (0, _) => format!("**Passed**: nothing is slower by more than {limit} in {what}."),
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
        out.push_str("Some variants are not compared, see below.\n\n");
    }
    table(&mut out, report, threshold);
    others(&mut out, report);
    let remarks = verdicts::remarks(report);
    for note in remarks.iter().take(MOST_REMARKS) {
        let line: Vec<String> = note.lines().take(3).map(|l| plain(l.trim())).collect();
        let _ = writeln!(out, "- ⚠️ {}", line.join(" "));
    }
    if remarks.len() > MOST_REMARKS {
        let _ = writeln!(out, "- … {} more", remarks.len() - MOST_REMARKS);
    }
    let _ = writeln!(
        out,
        "\n<sub>{} interleaved in random order (seed {}), {}; {}; genba {}</sub>",
        number::plural(u64::from(report.blocks), "block"),
        report.seed,
        number::duration(report.elapsed_seconds),
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
        "| | variant | {} | against {} | 95 % | runs |\n|:---|:---|---:|---:|---:|---:|",
        plain(&metrics::phrase(&report.metric)),
        report
            .variants
            .first()
            .map(|v| code(&v.name))
            .unwrap_or_default()
    );
    for variant in shown.iter().take(MOST_ROWS) {
        let median = variant.metrics.get(&report.metric).map(|m| {
            let spread = number::plus_minus(&m.median);
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
    if shown.len() > MOST_ROWS {
        let _ = writeln!(out, "| | … {} more | | | | |", shown.len() - MOST_ROWS);
    }
    out.push('\n');
}

/// In a table that has the interval beside it.
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
    for c in list.iter().take(MOST_ROWS) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            code(&c.variant),
            plain(&metrics::label(&c.metric)),
            plain(&outcome(report, c)),
            plain(&verdicts::interval(c))
        );
    }
    if list.len() > MOST_ROWS {
        let _ = writeln!(out, "| … {} more | | | |", list.len() - MOST_ROWS);
    }
    out.push_str("\n</details>\n\n");
}
