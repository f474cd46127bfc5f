//! A case in progress: runs so far, by variant, kept current by server-sent events.

use std::fmt::Write as _;

use genba_model::{CaseState, CaseSummary};
use genba_units::format;
use serde_json::json;

use super::{begin, end};
use crate::escape_html::escape_fit;
use crate::safe_text;

/// Time after which the browser asks again, milliseconds.
const RETRY_MS: u32 = 1_000;
/// Maximum number of variants.
const MAX_VARIANTS: usize = 500;

/// What is known of a case so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Whether it still runs.
    pub state: CaseState,
    /// Number of runs.
    pub runs: u64,
    /// Runs by variant.
    pub variants: Vec<VariantProgress>,
}

/// Runs of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantProgress {
    /// Its name; empty for the only command of an investigation.
    pub name: String,
    /// Number of its runs.
    pub runs: u64,
    /// Wall times of the last runs, seconds.
    pub seconds: Vec<f64>,
}

impl VariantProgress {
    /// No runs yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            runs: 0,
            seconds: Vec::new(),
        }
    }

    /// Adds a run; at most `limit` times are kept.
    pub fn add(&mut self, seconds: f64, limit: usize) {
        self.runs += 1;
        if self.seconds.len() >= limit {
            self.seconds.remove(0);
        }
        self.seconds.push(seconds);
    }

    /// Median of the kept times.
    fn median(&self) -> Option<f64> {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            length if length % 2 == 0 => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
            _ => Some(sorted[middle]),
        }
    }
}

/// A server-sent event with the state of a case. The stream ends behind it, and the browser asks again after a second:
/// a server of files on disk has nothing to wait for.
#[must_use]
pub fn event(progress: &Progress) -> String {
    let variants = progress.variants.iter().take(MAX_VARIANTS).map(|one| {
        json!({
            "name": safe_text::fit(&safe_text::sanitise(&one.name), 200),
            "runs": one.runs,
            "median": one.median().map(format::seconds),
        })
    });
    let data = json!({
        "running": progress.state == CaseState::Running,
        "runs": progress.runs,
        "variants": variants.collect::<Vec<_>>(),
    });
    format!(
        "retry: {RETRY_MS}\nevent: progress\ndata: {}\n\n",
        super::json_text(&data)
    )
}

/// Renders a case that has no result yet.
#[must_use]
pub fn in_progress(case: &CaseSummary, progress: &Progress) -> String {
    let command = safe_text::command(&case.command);
    let id = escape_fit(&case.id, 40);
    let mut out = String::with_capacity(16 << 10);
    begin(&mut out, &command, "../");
    let state = match progress.state {
        CaseState::Running => "in progress",
        _ => "interrupted",
    };
    let _ = writeln!(
        out,
        "<nav class=\"small\" aria-label=\"cases\"><a href=\"../\">all cases</a></nav>\n\
         <header><h1>{}</h1><div class=\"host\">case {id} · {} · {} · <span id=\"state\">{state}</span></div></header>",
        escape_fit(&command, 600),
        case.kind.name(),
        escape_fit(&crate::page::when(&case.started), 40),
    );
    if progress.state != CaseState::Running && case.kind.is_experiment() {
        let _ = writeln!(
            out,
            "<p><code id=\"next\">genba case resume {id}</code> <button type=\"button\" data-copy=\"next\">copy</button> \
             <output id=\"copied\" aria-live=\"polite\"></output></p>"
        );
    }
    let events = match progress.state {
        CaseState::Running => format!(" data-events=\"{id}/events\""),
        _ => String::new(),
    };
    let _ = writeln!(
        out,
        "<p><span id=\"runs\">{}</span> runs so far</p>\n\
         <table id=\"progress\"{events}><thead><tr><th class=\"l\">variant</th><th>runs</th><th>median wall time</th></tr></thead><tbody>",
        progress.runs
    );
    for one in progress.variants.iter().take(MAX_VARIANTS) {
        let _ = writeln!(
            out,
            "<tr><td class=\"l name\">{}</td><td>{}</td><td>{}</td></tr>",
            escape_fit(&one.name, 200),
            one.runs,
            one.median().map_or(String::new(), format::seconds),
        );
    }
    out.push_str("</tbody></table>\n");
    end(&mut out);
    out
}
