//! hyperfine's table of mean, minimum, maximum and relative speed, in Markdown, AsciiDoc and Org.

use genba_model::ComparisonReport;

use super::hyperfine::{Row, rows};
use super::markdown::code;
use crate::safe_text;

/// The mark-up of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// GitHub-flavoured Markdown.
    Markdown,
    /// AsciiDoc.
    AsciiDoc,
    /// Emacs' Org mode.
    Org,
}

/// The unit of all times of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds.
    Microsecond,
    /// Milliseconds.
    Millisecond,
    /// Seconds.
    Second,
}

/// The order of the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// As on the command line.
    #[default]
    Command,
    /// The smallest mean first.
    MeanTime,
}

/// Unit and order of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Unit; that which suits the first mean if `None`.
    pub unit: Option<TimeUnit>,
    /// Order of the rows.
    pub order: RowOrder,
}

impl TimeUnit {
    /// The unit that hyperfine takes for a mean, seconds.
    fn of_mean(mean: f64) -> Self {
        match mean {
            m if m < 0.001 => Self::Microsecond,
            m if m < 1.0 => Self::Millisecond,
            _ => Self::Second,
        }
    }

    /// Factor for seconds, name and decimals.
    fn layout(self) -> (f64, &'static str, usize) {
        match self {
            Self::Microsecond => (1e6, "µs", 1),
            Self::Millisecond => (1e3, "ms", 1),
            Self::Second => (1.0, "s", 3),
        }
    }
}

impl Markup {
    fn begin(self, unit: &str) -> String {
        match self {
            Self::Markdown => format!(
                "| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |\n\
                 |:---|---:|---:|---:|---:|\n"
            ),
            Self::AsciiDoc => format!(
                "[cols=\"<,>,>,>,>\"]\n|===\n\
                 | Command \n| Mean [{unit}] \n| Min [{unit}] \n| Max [{unit}] \n| Relative \n"
            ),
            Self::Org => format!(
                "| Command  |  Mean [{unit}] |  Min [{unit}] |  Max [{unit}] |  Relative |\n\
                 |--+--+--+--+--|\n"
            ),
        }
    }

    fn row(self, name: &str, cells: [&str; 4]) -> String {
        let [mean, min, max, relative] = cells;
        match self {
            Self::Markdown => {
                let name = code(name);
                format!("| {name} | {mean} | {min} | {max} | {relative} |\n")
            }
            Self::AsciiDoc => {
                let name = literal(name, '`');
                format!("\n| {name} \n| {mean} \n| {min} \n| {max} \n| {relative} \n")
            }
            Self::Org => {
                let name = literal(name, '=');
                format!("| {name}  |  {mean} |  {min} |  {max} |  {relative} |\n")
            }
        }
    }

    fn end(self) -> &'static str {
        match self {
            Self::AsciiDoc => "|===\n",
            Self::Markdown | Self::Org => "",
        }
    }
}

/// Maximum width of a name, columns.
const MAX_NAME_COLUMNS: usize = 300;

/// A name as literal text within a cell: one line, pipes escaped as hyperfine does, and without the mark
/// that would end it.
fn literal(name: &str, mark: char) -> String {
    let clean = safe_text::fit(name, MAX_NAME_COLUMNS).replace('|', "\\|");
    let inner: String = (clean.chars())
        .map(|c| if c == mark && mark == '`' { '\'' } else { c })
        .collect();
    format!("{mark}{inner}{mark}")
}

/// `hyperfine --export-markdown`, `--export-asciidoc`, `--export-orgmode`: mean ± σ, min, max, and
/// `Relative`, the ratio of the means to the smallest with its propagated standard deviation.
///
/// This is hyperfine's view of the data for those who read it by script; the verdict is in
/// [`super::github_markdown`].
#[must_use]
pub fn summary_table(report: &ComparisonReport, markup: Markup, options: TableOptions) -> String {
    let mut rows = rows(report);
    let suits = TimeUnit::of_mean(rows.first().map_or(1.0, |row| row.mean));
    let (scale, name, places) = options.unit.unwrap_or(suits).layout();
    let mut out = markup.begin(name);
    let fastest = (rows.iter())
        .min_by(|a, b| a.mean.total_cmp(&b.mean))
        .map(|row| (row.mean, row.stddev));
    if options.order == RowOrder::MeanTime {
        rows.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    }
    let mut is_first = true;
    for row in &rows {
        let show = |v: f64| format!("{:.places$}", v * scale);
        let spread = row
            .stddev
            .map(|s| format!(" ± {}", show(s)))
            .unwrap_or_default();
        // Of several with the smallest mean the first is the reference.
        let is_fastest = fastest.is_some_and(|(mean, _)| mean == row.mean) && is_first;
        is_first &= !is_fastest;
        let relative = match fastest {
            Some(fastest) if !is_fastest => relative(row, fastest),
            _ => "1.00".to_owned(),
        };
        out.push_str(&markup.row(
            row.command,
            [
                &format!("{}{spread}", show(row.mean)),
                &show(row.min),
                &show(row.max),
                &relative,
            ],
        ));
    }
    out.push_str(markup.end());
    out
}

fn relative(row: &Row<'_>, fastest: (f64, Option<f64>)) -> String {
    let ratio = row.mean / fastest.0;
    if !ratio.is_finite() {
        return "inf".to_owned();
    }
    match (row.stddev, fastest.1) {
        (Some(own), Some(other)) => {
            let spread = ratio * (own / row.mean).hypot(other / fastest.0);
            format!("{ratio:.2} ± {spread:.2}")
        }
        _ => format!("{ratio:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::comparison as fixture;

    #[test]
    fn asciidoc_and_org_tables_are_laid_out_as_hyperfine_does() {
        let options = TableOptions {
            unit: Some(TimeUnit::Millisecond),
            order: RowOrder::Command,
        };
        let asciidoc = summary_table(&fixture::alone(), Markup::AsciiDoc, options);
        let head = "[cols=\"<,>,>,>,>\"]\n|===\n| Command \n| Mean [ms] \n| Min [ms] \n| Max [ms] \n| Relative \n\n| `";
        assert!(asciidoc.starts_with(head), "{asciidoc}");
        assert!(asciidoc.ends_with("| 1.00 \n|===\n"), "{asciidoc}");
        let org = summary_table(&fixture::alone(), Markup::Org, options);
        let head =
            "| Command  |  Mean [ms] |  Min [ms] |  Max [ms] |  Relative |\n|--+--+--+--+--|\n| =";
        assert!(org.starts_with(head), "{org}");
        assert!(org.ends_with(" |  1.00 |\n"), "{org}");
        assert_eq!(literal("a|b`c", '`'), "`a\\|b'c`");
    }

    #[test]
    fn rows_are_in_the_order_of_commands_or_of_their_means() {
        let means = |order| -> Vec<f64> {
            let options = TableOptions {
                unit: Some(TimeUnit::Second),
                order,
            };
            let table = summary_table(&fixture::many(), Markup::Markdown, options);
            let cells = table
                .lines()
                .skip(2)
                .filter_map(|line| line.rsplit('|').nth(4));
            let first = |cell: &str| cell.split_whitespace().next().map(str::to_owned);
            cells
                .filter_map(first)
                .filter_map(|mean| mean.parse().ok())
                .collect()
        };
        let (listed, sorted) = (means(RowOrder::Command), means(RowOrder::MeanTime));
        assert!(
            sorted.is_sorted() && !listed.is_sorted(),
            "{listed:?} {sorted:?}"
        );
        assert_eq!(listed.len(), sorted.len());
    }
}
