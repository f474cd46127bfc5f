//! hyperfine's Markdown table, and what Markdown needs of escaping.

use genba_model::ComparisonReport;

use super::hyperfine::{Row, rows};
use crate::safe_text;

/// Maximum width of a name in a table, columns.
const MAX_NAME_COLUMNS: usize = 300;

/// Text as a code span within a table's cell: pipes escaped, backticks inside a longer fence
/// (CommonMark, "Code spans"), control characters spelt out. Mark-up inside is not obeyed.
pub(super) fn code(name: &str) -> String {
    let clean = safe_text::fit(name, MAX_NAME_COLUMNS).replace('|', "\\|");
    if !clean.contains('`') {
        return format!("`{clean}`");
    }
    let longest = clean
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    format!("{fence} {clean} {fence}")
}

/// Text of a cell or a list outside a code span, so that nothing in it is mark-up.
pub(super) fn plain(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    for c in safe_text::sanitise(sentence).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            // A mention needs more than a backslash.
            '@' => out.push_str("&#64;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
}

/// Scale, name and decimals of the unit that hyperfine takes for a mean.
fn unit(mean: f64) -> (f64, &'static str, usize) {
    match mean {
        m if m < 0.001 => (1e6, "µs", 1),
        m if m < 1.0 => (1e3, "ms", 1),
        _ => (1.0, "s", 3),
    }
}

/// `hyperfine --export-markdown`: mean ± σ, min, max, and `Relative`, the ratio of the means to
/// the smallest with its propagated standard deviation. The unit is that of the first mean.
///
/// This is hyperfine's view of the data for those who read it by script; the verdict is in
/// [`super::github_markdown`].
#[must_use]
pub fn markdown(report: &ComparisonReport) -> String {
    let rows = rows(report);
    let (scale, name, places) = unit(rows.first().map_or(1.0, |row| row.mean));
    let mut out = format!(
        "| Command | Mean [{name}] | Min [{name}] | Max [{name}] | Relative |\n\
         |:---|---:|---:|---:|---:|\n"
    );
    let Some(fastest) = (0..rows.len()).min_by(|&a, &b| rows[a].mean.total_cmp(&rows[b].mean))
    else {
        return out;
    };
    for (index, row) in rows.iter().enumerate() {
        let show = |v: f64| format!("{:.places$}", v * scale);
        let spread = row
            .stddev
            .map(|s| format!(" ± {}", show(s)))
            .unwrap_or_default();
        out.push_str(&format!(
            "| {} | {}{spread} | {} | {} | {} |\n",
            code(row.command),
            show(row.mean),
            show(row.min),
            show(row.max),
            relative(row, &rows[fastest], index == fastest)
        ));
    }
    out
}

fn relative(row: &Row<'_>, fastest: &Row<'_>, is_fastest: bool) -> String {
    if is_fastest {
        return "1.00".to_owned();
    }
    let ratio = row.mean / fastest.mean;
    if !ratio.is_finite() {
        return "inf".to_owned();
    }
    match (row.stddev, fastest.stddev) {
        (Some(own), Some(other)) => {
            let spread = ratio * (own / row.mean).hypot(other / fastest.mean);
            format!("{ratio:.2} ± {spread:.2}")
        }
        _ => format!("{ratio:.2}"),
    }
}
