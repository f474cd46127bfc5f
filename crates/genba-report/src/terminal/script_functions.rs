//! `genba report --by script`: functions of Python and Ruby, and the C functions they call.

use genba_model::{ScriptFunction, ScriptProfile};
use genba_units::format;

use crate::terminal::screen::{DIM, HEAD, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::profile;
use crate::{Screen, safe_text};

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct ScriptOptions {
    /// Maximum number of functions.
    pub limit: usize,
    /// Functions whose self and total are below this share are not shown.
    pub min_share: f64,
}

/// Maximum number of C functions and of lines under a function.
const MAX_ROWS_UNDER_FUNCTION: usize = 3;
/// Maximum number of opcodes.
const MAX_OPCODES: usize = 8;
/// Minimum share of all the time for a row under a function.
const MIN_SHARE_UNDER_FUNCTION: f64 = 0.005;

/// Renders the report.
#[must_use]
pub fn script(profile: &ScriptProfile, options: ScriptOptions, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = String::new();
    if !profile.command.is_empty() {
        let command = safe_text::fit(&safe_text::command(&profile.command), width);
        out.push_str(&format!("{}\n", screen.paint(STRONG, &command)));
    }
    let runtimes = match profile.runtimes.len() {
        0 => "no interpreter".to_owned(),
        _ => profile.runtimes.join(", "),
    };
    let head = format!(
        "{}: {} samples of {} CPU time, {} outside script functions",
        safe_text::sanitise(&runtimes),
        format::grouped(profile.samples as f64),
        format::duration(profile.cpu_seconds),
        format::share(profile.outside.value),
    );
    for line in super::wrap(&head, width) {
        out.push_str(&screen.paint(DIM, &line));
        out.push('\n');
    }
    out.push('\n');
    let shown: Vec<&ScriptFunction> = profile
        .functions
        .iter()
        .filter(|f| f.self_share.value.max(f.total.value) >= options.min_share)
        .take(options.limit)
        .collect();
    if shown.is_empty() {
        out.push_str("  nothing to show\n");
    } else {
        out.push_str(&functions(&shown).render(screen));
    }
    let rest = profile.functions.len() - shown.len();
    if rest > 0 {
        let line = format!(
            "  … {} more below {} or beyond the limit of {}\n",
            format::grouped(rest as f64),
            format::share(options.min_share),
            options.limit
        );
        out.push_str(&screen.paint(DIM, &line));
    }
    if !profile.opcodes.is_empty() {
        out.push_str("\ninterpreter loop, by opcode\n");
        let mut table = Table::new(vec![
            Column::right("share"),
            Column::right("±"),
            Column::flexible("opcode", 12),
        ]);
        for row in profile.opcodes.iter().take(MAX_OPCODES) {
            table.row(vec![
                Cell::new(format::percent(&row.share), heat(row.share.value)),
                Cell::new(format::plus_minus_points(&row.share), DIM),
                row.opcode.as_str().into(),
            ]);
        }
        out.push_str(&table.render(screen));
    }
    if !profile.notes.is_empty() {
        out.push('\n');
    }
    for note in &profile.notes {
        super::remark(&mut out, note, screen);
    }
    out
}

/// Maximum number of functions in the summary of an investigation.
const MAX_FUNCTIONS_IN_SUMMARY: usize = 5;
/// Minimum self share of a function there.
const MIN_SHARE_IN_SUMMARY: f64 = 0.02;

/// Adds the hottest functions to the summary of an investigation.
pub(super) fn summary(out: &mut String, profile: &ScriptProfile, screen: Screen) {
    let runtimes = safe_text::sanitise(&profile.runtimes.join(", "));
    out.push_str(&format!(
        "\n{}   {}\n",
        screen.paint(HEAD, "SCRIPT"),
        safe_text::fit(
            &format!(
                "functions of {runtimes} including the C functions they call: {} samples",
                format::grouped(profile.samples as f64)
            ),
            screen.columns().saturating_sub(9)
        )
    ));
    let mut table = columns();
    let own = |f: &&ScriptFunction| f.self_share.value >= MIN_SHARE_IN_SUMMARY;
    for f in profile
        .functions
        .iter()
        .filter(own)
        .take(MAX_FUNCTIONS_IN_SUMMARY)
    {
        row(&mut table, f);
    }
    out.push_str(&table.render(screen));
}

fn columns() -> Table {
    Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::right("total"),
        Column::right("±"),
        Column::flexible("function", 16),
        Column::flexible("where", 10),
    ])
}

fn row(table: &mut Table, f: &ScriptFunction) {
    table.row(vec![
        Cell::new(format::percent(&f.self_share), heat(f.self_share.value)),
        Cell::new(format::plus_minus_points(&f.self_share), DIM),
        format::percent(&f.total).into(),
        Cell::new(format::plus_minus_points(&f.total), DIM),
        Cell::new(f.function.as_str(), STRONG),
        Cell::new(profile::file_line(Some(&f.file), Some(f.line)), DIM),
    ]);
}

fn functions(shown: &[&ScriptFunction]) -> Table {
    let mut table = columns();
    for f in shown {
        row(&mut table, f);
        let mut under = |share: f64, what: String, place: &str| {
            table.row(vec![
                Cell::new(format::share(share), DIM),
                "".into(),
                "".into(),
                "".into(),
                Cell::new(what, DIM),
                Cell::new(place, DIM),
            ]);
        };
        let some = f.native.iter().any(|n| n.share >= MIN_SHARE_UNDER_FUNCTION);
        if some && f.interpreted >= MIN_SHARE_UNDER_FUNCTION {
            under(f.interpreted, "  interpreted".to_owned(), "");
        }
        for n in f.native.iter().take(MAX_ROWS_UNDER_FUNCTION) {
            if n.share >= MIN_SHARE_UNDER_FUNCTION {
                let module = safe_text::file_name(&n.module);
                under(n.share, format!("  {}", n.function), module);
            }
        }
        let mut lines: Vec<_> = f
            .lines
            .iter()
            .filter(|l| l.share >= MIN_SHARE_UNDER_FUNCTION)
            .collect();
        lines.sort_by(|a, b| b.share.total_cmp(&a.share));
        // One line would only repeat the function's row.
        if f.lines.len() > 1 {
            for l in lines
                .iter()
                .take(MAX_ROWS_UNDER_FUNCTION)
                .filter(|l| l.line > 0)
            {
                let place = profile::file_line(Some(&f.file), Some(l.line));
                under(l.share, format!("  line {}", l.line), &place);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use genba_model::{Estimate, NativeShare, OpcodeRow, ScriptLine};

    use super::*;

    #[test]
    fn c_functions_and_lines_are_listed_under_their_script_function() {
        let estimate = |value: f64| Estimate {
            value,
            low: value - 0.01,
            high: value + 0.01,
        };
        let profile = ScriptProfile {
            runtimes: vec!["CPython 3.11.2".to_owned()],
            command: vec!["python3".to_owned(), "a.py".to_owned()],
            samples: 1234,
            cpu_seconds: 2.5,
            outside: estimate(0.02),
            functions: vec![ScriptFunction {
                function: "work\u{1b}[2J".to_owned(),
                file: "/src/a.py".to_owned(),
                line: 3,
                self_samples: 900,
                self_share: estimate(0.8),
                total: estimate(0.9),
                interpreted: 0.3,
                native: vec![NativeShare {
                    function: "PyNumber_Add".to_owned(),
                    module: "/usr/bin/python3.11".to_owned(),
                    share: 0.5,
                }],
                lines: vec![
                    ScriptLine {
                        line: 4,
                        share: 0.7,
                    },
                    ScriptLine {
                        line: 5,
                        share: 0.1,
                    },
                ],
            }],
            opcodes: vec![OpcodeRow {
                opcode: "LOAD_FAST".to_owned(),
                share: estimate(0.2),
            }],
            collapsed: Vec::new(),
            notes: vec!["3 samples were lost".to_owned()],
        };
        let options = ScriptOptions {
            limit: 10,
            min_share: 0.001,
        };
        let shown = script(&profile, options, Screen::default());
        for wanted in [
            "CPython 3.11.2: 1,234 samples",
            "PyNumber_Add",
            "line 4",
            "LOAD_FAST",
            "interpreted",
            "3 samples were lost",
        ] {
            assert!(shown.contains(wanted), "{wanted} in\n{shown}");
        }
        assert!(!shown.contains('\u{1b}'));
    }
}
