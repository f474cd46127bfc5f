//! `genba case list`.

use genba_model::{CaseKind, CaseState, CaseSummary};
use genba_units::format;

use crate::terminal::screen::{DIM, ERROR, GOOD, PLAIN, STRONG, WARN};
use crate::terminal::table::{Cell, Column, Table};
use crate::{Screen, safe_text};

/// Renders the cases, a row each; below the table why cases cannot be read.
#[must_use]
pub fn cases(cases: &[CaseSummary], screen: Screen) -> String {
    if cases.is_empty() {
        return "no cases yet; create one with: genba investigate -- COMMAND\n".to_owned();
    }
    let mut table = Table::new(vec![
        Column::left("case"),
        Column::left("state"),
        Column::left(""),
        Column::left("started"),
        Column::right("runs"),
        Column::right("wall"),
        Column::flexible("command", 12),
    ]);
    for case in cases {
        let state = match case.state {
            CaseState::Running => GOOD,
            CaseState::Complete => PLAIN,
            CaseState::Interrupted => WARN,
            CaseState::Unreadable => ERROR,
        };
        let readable = case.state != CaseState::Unreadable;
        // A single word is a line for the shell, or an experiment's command.
        let command = match &case.command[..] {
            [line] => safe_text::sanitise(line),
            words => safe_text::command(words),
        };
        let command = match &case.name {
            Some(name) if *name == command => command,
            Some(name) => format!("{name}: {command}"),
            None => command,
        };
        table.row(vec![
            Cell::new(&case.id, STRONG),
            Cell::new(case.state.name(), state),
            match case.kind {
                CaseKind::Investigation => "".into(),
                kind => Cell::new(kind.name(), DIM),
            },
            Cell::new(when(&case.started), DIM),
            if readable {
                format::grouped(case.runs as f64).into()
            } else {
                "".into()
            },
            case.wall_seconds
                .map(format::seconds)
                .unwrap_or_default()
                .into(),
            command.into(),
        ]);
    }
    let mut out = table.render(screen);
    for case in cases {
        if let Some(why) = &case.error {
            out.push_str(&super::warning(why, screen));
        }
    }
    out
}

/// Returns `2026-11-21 20:15` of an RFC 3339 time.
fn when(started: &str) -> String {
    let minute: String = started.chars().take(16).collect();
    minute.replacen('T', " ", 1)
}
