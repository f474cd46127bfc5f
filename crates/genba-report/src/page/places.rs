//! Places with most time on the page.

use std::fmt::Write as _;

use genba_model::{Finding, TimePlace};
use genba_units::format;

use super::findings::source_line;
use crate::escape_html::escape_fit;
use crate::wording::{findings, places};

/// Maximum number of places.
const MAX_PLACES: usize = 10;
/// Maximum number of lines of source of a place.
const MAX_LINES: usize = 6;
/// Maximum length of a sentence, characters.
const MAX_SENTENCE_CHARS: usize = 400;

/// Adds the places, where findings do not explain most of the time.
pub(super) fn section(
    out: &mut String,
    list: &[TimePlace],
    found: &[Finding],
    input_bytes: Option<u64>,
) {
    if !places::are_shown(found, list) {
        return;
    }
    let _ = writeln!(out, "<p>{}</p>", escape_fit(&places::heading(list), 200));
    for place in list.iter().take(MAX_PLACES) {
        one(out, place, input_bytes);
    }
}

fn one(out: &mut String, place: &TimePlace, input_bytes: Option<u64>) {
    let finding = places::finding(place).map_or(String::new(), |text| format!(", {text}"));
    let _ = writeln!(
        out,
        "<div class=\"finding quiet\"><b>{}</b> <span class=\"where\">{}</span> \
         <span class=\"dim\">{}{}</span>",
        escape_fit(&format::percent(&place.share), 20),
        escape_fit(&findings::place(&place.site), 300),
        escape_fit(places::kind(place), 80),
        escape_fit(&finding, 40),
    );
    if !place.source.is_empty() {
        out.push_str("<div class=\"quote\">");
        for line in place.source.iter().take(MAX_LINES) {
            source_line(out, line);
        }
        out.push_str("</div>\n");
    }
    out.push_str("<table class=\"facts2\">");
    for (label, text) in places::facts(place, input_bytes) {
        let _ = write!(
            out,
            "<tr><td>{label}</td><td>{}</td></tr>",
            escape_fit(&text, MAX_SENTENCE_CHARS)
        );
    }
    out.push_str("</table>\n</div>\n");
}
