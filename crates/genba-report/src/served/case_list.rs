//! The list of cases.

use std::fmt::Write as _;

use genba_model::{CaseKind, CaseState, CaseSummary};
use genba_units::format;

use super::{begin, end};
use crate::escape_html::escape_fit;
use crate::safe_text;

/// Maximum number of rows.
const MAX_ROWS: usize = 5_000;

/// Renders the list of the cases in a directory, newest first.
#[must_use]
pub fn case_list(cases: &[CaseSummary], place: &str) -> String {
    let mut out = String::with_capacity(64 << 10);
    begin(&mut out, "cases", "");
    let _ = writeln!(
        out,
        "<header><h1>Cases</h1><div class=\"host\">{} in {}</div></header>",
        format::plural(cases.len() as u64, "case"),
        escape_fit(place, 300)
    );
    if cases.is_empty() {
        out.push_str("<p>No cases yet. Make one: <code>genba investigate -- COMMAND</code></p>\n");
        end(&mut out);
        return out;
    }
    out.push_str(
        "<form class=\"tools\" role=\"search\" data-filter=\"cases\">\
         <label>search <input type=\"search\" name=\"text\" accesskey=\"s\"></label>\
         <label>kind <select name=\"kind\"><option value=\"\">all</option>",
    );
    for kind in CaseKind::ALL {
        let _ = write!(out, "<option>{}</option>", kind.name());
    }
    out.push_str("</select></label> <output aria-live=\"polite\"></output></form>\n");
    out.push_str(
        "<form action=\"compare\" method=\"get\"><div class=\"scroll\"><table class=\"wide\" id=\"cases\">\n\
         <thead><tr><th class=\"l\">before</th><th class=\"l\">after</th><th class=\"l\">case</th><th class=\"l\">kind</th>\
         <th class=\"l\">command</th><th>runs</th><th>wall</th><th class=\"l\">started</th><th class=\"l\">state</th>\
         </tr></thead><tbody>\n",
    );
    for case in cases.iter().take(MAX_ROWS) {
        row(&mut out, case);
    }
    out.push_str(
        "</tbody></table></div>\n<p><button type=\"submit\">compare the chosen investigations</button></p></form>\n",
    );
    end(&mut out);
    out
}

fn row(out: &mut String, case: &CaseSummary) {
    let id = escape_fit(&case.id, 40);
    let command = match (&case.name, &case.error) {
        (_, Some(error)) => error.clone(),
        (Some(name), _) => name.clone(),
        // An experiment has a line for the shell.
        (None, None) if case.command.len() == 1 => case.command[0].clone(),
        (None, None) => safe_text::command(&case.command),
    };
    let state = match case.state {
        CaseState::Running => "running",
        CaseState::Complete => "complete",
        CaseState::Interrupted => "interrupted",
        CaseState::Unreadable => "unreadable",
    };
    let choice = |name: &str, label: &str| match case.kind == CaseKind::Investigation
        && case.error.is_none()
    {
        true => format!(
            "<input type=\"radio\" name=\"{name}\" value=\"{id}\" required aria-label=\"{label} {id}\">"
        ),
        false => String::new(),
    };
    let _ = writeln!(
        out,
        "<tr data-kind=\"{}\"><td class=\"l\">{}</td><td class=\"l\">{}</td><td class=\"l\"><a href=\"case/{id}\"><code>{id}</code></a></td>\
         <td class=\"l\">{0}</td><td class=\"l name\">{}</td><td>{}</td><td>{}</td><td class=\"l\">{}</td><td class=\"l\">{state}</td></tr>",
        case.kind.name(),
        choice("a", "before:"),
        choice("b", "after:"),
        escape_fit(&command, 200),
        case.runs,
        case.wall_seconds.map_or(String::new(), format::seconds),
        escape_fit(&crate::page::when(&case.started), 40),
    );
}
