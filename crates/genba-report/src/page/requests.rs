//! A server's requests on a page: part of what the wall clock waits for.

use std::fmt::Write as _;

use genba_model::Requests;
use genba_units::format;

use super::profile_tables::escape_lt;
use super::waits::{MAX_SENTENCE_CHARS, table};
use crate::escape_html::escape_fit;
use crate::wording::{requests as wording, waits};

/// Adds the section.
pub(super) fn section(out: &mut String, all: &Requests) {
    out.push_str("<h2>Requests</h2>\n");
    let mut paragraph = |words: &str| {
        let _ = writeln!(out, "<p>{}.</p>", escape_fit(words, MAX_SENTENCE_CHARS));
    };
    paragraph(&wording::times(all));
    for words in [wording::difference(all), wording::remark(all)] {
        words.iter().for_each(|words| paragraph(words));
    }
    if !all.parts.is_empty() {
        parts(out, all);
    }
    if !all.slowest.is_empty() {
        slowest(out, all);
    }
}

fn parts(out: &mut String, all: &Requests) {
    out.push_str(
        "<p class=\"small dim\">What the serving threads did in the slowest requests, beside the faster half: mean \
         times of a request.</p>\n",
    );
    let heads = "<th>slow</th><th>fast</th><th>requests</th><th class=\"l\">what</th>\
                 <th class=\"l\">where, most often</th><th class=\"l\">object</th>";
    table(out, heads, &all.parts, "part", |out, one| {
        let place = one.place.as_ref().map(waits::place).unwrap_or_default();
        let _ = write!(
            out,
            "<td>{}</td><td>{}</td><td class=\"dim\">{}</td><td class=\"l\">{}</td>\
             <td class=\"l name\"><code>{}</code></td><td class=\"l where\">{}</td>",
            escape_lt(&format::seconds(one.slow_seconds)),
            escape_lt(&format::seconds(one.fast_seconds)),
            one.slow_requests,
            escape_fit(&wording::doing(one), 80),
            escape_fit(&place, 110),
            escape_fit(one.object.as_deref().unwrap_or_default(), 60),
        );
    });
}

fn slowest(out: &mut String, all: &Requests) {
    let heads = "<th>slowest</th><th>at</th><th>thread</th><th class=\"l\">most of it</th>\
                 <th class=\"l\">where</th>";
    table(out, heads, &all.slowest, "request", |out, one| {
        let place = one
            .most
            .place
            .as_ref()
            .map(waits::place)
            .unwrap_or_default();
        let _ = write!(
            out,
            "<td>{}</td><td>{}</td><td class=\"dim\">{}</td><td class=\"l\">{}</td>\
             <td class=\"l name\"><code>{}</code></td>",
            escape_lt(&format::seconds(one.seconds)),
            escape_lt(&format::seconds(one.at)),
            one.tid,
            escape_fit(&wording::most(one), 110),
            escape_fit(&place, 110),
        );
    });
}
