//! The explorer of a profile and of waits: all functions, sorted and filtered, and flame graphs with zoom, search and inversion. The
//! script draws all from [`super::profile_json`].

use std::fmt::Write as _;

use genba_model::{CaseKind, CaseSummary};

use super::{begin, end};
use crate::escape_html::escape_fit;
use crate::safe_text;

/// Renders the explorer of a case.
#[must_use]
pub fn explorer(case: &CaseSummary) -> String {
    let command = safe_text::command(&case.command);
    let id = escape_fit(&case.id, 40);
    let mut out = String::with_capacity(16 << 10);
    begin(&mut out, &command, "../../");
    let _ = writeln!(
        out,
        "<nav class=\"small\" aria-label=\"cases\"><a href=\"../../\">all cases</a> · <a href=\"../{id}\">page of case {id}</a></nav>\n\
         <header><h1>{}</h1><div class=\"host\">case {id} · {}</div></header>",
        escape_fit(&command, 600),
        escape_fit(&crate::page::when(&case.started), 40),
    );
    let next = match case.kind {
        CaseKind::Waits => format!("genba report --off-cpu -i {id}"),
        _ => format!("genba annotate -i {id} FUNCTION"),
    };
    let _ = writeln!(
        out,
        "<p><code id=\"next\">{next}</code> \
         <button type=\"button\" data-copy=\"next\">copy</button> <output id=\"copied\" aria-live=\"polite\"></output></p>\n\
         <div id=\"explorer\" data-profile=\"profile.json\" data-case=\"{id}\">\n\
         <h2 id=\"flame-title\">Flame graph</h2>\n\
         <div class=\"tools\"><label id=\"graph-label\" hidden>time <select id=\"graph\"></select></label>\
         <span id=\"waiting-note\" class=\"dim\" hidden>blue: not on a CPU</span>\
         <label>search <input type=\"search\" id=\"flame-search\"></label>\
         <label><input type=\"checkbox\" id=\"invert\"> inverted: callers below</label>\
         <button type=\"button\" id=\"reset\" disabled>reset zoom</button> <output id=\"flame-status\" aria-live=\"polite\">reading the profile …</output></div>\n\
         <div id=\"flame\" role=\"tree\" aria-labelledby=\"flame-title\"></div>\n\
         <section id=\"function-section\"><h2>Functions</h2>\n\
         <div class=\"tools\"><label>filter <input type=\"search\" id=\"function-filter\"></label> \
         <output id=\"function-status\" aria-live=\"polite\"></output></div>\n\
         <div class=\"scroll\"><table class=\"wide\" id=\"functions\"><thead><tr></tr></thead><tbody></tbody></table></div></section>\n\
         <noscript><p>This page needs its script; the page of the case does not.</p></noscript>\n</div>"
    );
    end(&mut out);
    out
}
