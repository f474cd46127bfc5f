//! The page of a history: every series as a plot that can be zoomed, its changes marked and named.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use genba_model::{ChangeOrigin, HistoryChange, HistoryMeasurement, HistoryReport, HistorySeries};

use super::document;
use crate::escape_html::{escape, escape_fit};
use crate::wording::{history as wording, metrics};

/// Series on a page.
const MAX_SERIES: usize = 200;
/// Points of all series together: about 200 bytes each, so that a page has less than 3 MB.
const MAX_POINTS: usize = 10_000;
/// Changes in the table.
const MAX_CHANGES: usize = 500;
/// Characters of a subject.
const MAX_SUBJECT: usize = 60;
/// Height of a plot in its own units.
const HEIGHT: f64 = 200.0;

/// The zoom of the plots.
const SCRIPT: &str = include_str!("history.js");
/// SHA-256 of [`SCRIPT`] in Base64, for the content-security policy; a test checks it.
const SCRIPT_HASH: &str = "VQQiHjfsK08+1Yv8KxfBDyKGHnIbtNmnmPa0HcCyyzU=";
const STYLE: &str = include_str!("history.css");

/// Renders a history as one self-contained HTML file.
#[must_use]
pub fn history_html(all: &HistoryReport) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = match &all.series[..] {
        [one] => wording::name(&one.benchmark, &one.variant, &one.metric),
        more => format!("history of {} series", more.len()),
    };
    document::begin_with_script(&mut out, &title, SCRIPT_HASH);
    let _ = write!(out, "<style>{STYLE}</style>");
    let below = escape_fit(&format!("{} · genba {}", all.store, all.genba), 300);
    document::heading(&mut out, &title, &below);
    document::note_list(&mut out, all.notes.clone());
    changes(&mut out, all);
    let shown = all.series.len().min(MAX_SERIES);
    let points_of_each = (MAX_POINTS / shown.max(1)).max(20);
    for (index, series) in all.series.iter().enumerate().take(MAX_SERIES) {
        let changes: Vec<&HistoryChange> = (all.points.iter())
            .filter(|one| one.series as usize == index)
            .collect();
        section(&mut out, index, series, &changes, points_of_each);
    }
    if all.series.len() > MAX_SERIES {
        let more = all.series.len() - MAX_SERIES;
        let _ = write!(
            out,
            "<p class=\"note\">… {more} more series; select fewer</p>"
        );
    }
    for host in &all.hosts {
        document::host_table(&mut out, host, &[("id", &host.id)]);
    }
    let _ = writeln!(out, "</main><script>{SCRIPT}</script></body></html>");
    out
}

fn changes(out: &mut String, all: &HistoryReport) {
    out.push_str("<h2>Change points</h2>");
    if all.points.is_empty() {
        out.push_str("<p>None.</p>");
        return;
    }
    out.push_str(
        "<div class=\"scroll\"><table><tr><th>what</th><th>change (95 %)</th><th>commits</th>\
         <th>probability</th><th>series</th><th>subject</th></tr>",
    );
    for one in all.points.iter().take(MAX_CHANGES) {
        let class = match (one.origin, one.worse) {
            (ChangeOrigin::Host, _) => "dim",
            (_, true) => "hot",
            (_, false) => "ok",
        };
        let _ = write!(
            out,
            "<tr><td class=\"{class}\">{}</td><td>{}</td><td><code>{}</code></td><td>{}</td>\
             <td><a href=\"#series{}\">{}</a></td><td>{}</td></tr>",
            wording::origin(one),
            escape(&wording::size(one)),
            escape_fit(&wording::range(one), 60),
            escape(&wording::probability(one.probability)),
            one.series,
            escape_fit(
                &wording::name(&one.benchmark, &one.variant, &one.metric),
                80
            ),
            escape_fit(&one.subject, MAX_SUBJECT),
        );
    }
    out.push_str("</table></div>");
    if all.points.len() > MAX_CHANGES {
        let more = all.points.len() - MAX_CHANGES;
        let _ = write!(out, "<p class=\"note\">… {more} more changes</p>");
    }
}

/// One series: its newest measurements as circles, its levels as lines, its changes as ranges.
fn section(
    out: &mut String,
    index: usize,
    series: &HistorySeries,
    changes: &[&HistoryChange],
    limit: usize,
) {
    let name = wording::name(&series.benchmark, &series.variant, &series.metric);
    let _ = write!(
        out,
        "<section class=\"series\" id=\"series{index}\"><h2>{}</h2><div class=\"host\">host {}{}; {}</div>",
        escape_fit(&name, 200),
        escape_fit(&series.host, 60),
        match series.anchor.as_str() {
            "" => String::new(),
            anchor => format!(
                ", relative to anchor {}",
                escape_fit(&wording::short(anchor), 80)
            ),
        },
        escape(&wording::visibility(series)),
    );
    let hidden = series.measurements.len().saturating_sub(limit);
    let measurements = &series.measurements[hidden..];
    let (low, high) = (measurements.iter()).fold((f64::INFINITY, 0.0_f64), |(low, high), one| {
        (low.min(one.level.value), high.max(one.level.value))
    });
    if !low.is_finite() || !high.is_finite() {
        out.push_str("<p>No measurements.</p></section>");
        return;
    }
    let y = |value: f64| match high > low {
        true => HEIGHT * (0.05 + 0.9 * (high - value) / (high - low)),
        false => HEIGHT / 2.0,
    };
    let _ = write!(
        out,
        "<output>drag a range to zoom, double-click for all; {} to {}</output>\
         <svg viewBox=\"-1 0 {} {HEIGHT}\" preserveAspectRatio=\"none\">",
        escape(&amount(low, series)),
        escape(&amount(high, series)),
        measurements.len() + 1,
    );
    let positions: BTreeMap<&str, usize> = (measurements.iter().enumerate())
        .map(|(index, one)| (identity(one), index))
        .rev()
        .collect();
    let at = |commit: &str| positions.get(commit).map(|index| *index as f64);
    for one in changes {
        let Some(to) = at(&one.first_after) else {
            continue;
        };
        let from = at(&one.last_before).unwrap_or(-1.0);
        let _ = write!(
            out,
            "<rect class=\"{}\" x=\"{from}\" y=\"0\" width=\"{}\" height=\"{HEIGHT}\"><title>{}</title></rect>",
            if one.origin == ChangeOrigin::Host {
                "other"
            } else {
                "change"
            },
            (to - from).max(0.5),
            escape_fit(&wording::sentence(one), 400),
        );
    }
    for (index, one) in measurements.iter().enumerate() {
        let dirty = if one.dirty {
            " (uncommitted changes)"
        } else {
            ""
        };
        let _ = write!(
            out,
            "<circle cx=\"{index}\" cy=\"{:.2}\" r=\"1\"><title>{} {}{dirty} {}</title></circle>",
            y(one.level.value),
            escape(&amount(one.level.value, series)),
            escape_fit(&wording::short(identity(one)), 40),
            escape_fit(&one.subject, MAX_SUBJECT),
        );
    }
    let path: Vec<String> = (measurements.iter().enumerate())
        .map(|(index, one)| format!("{index},{:.2}", y(one.level.value)))
        .collect();
    let _ = write!(out, "<polyline points=\"{}\"/></svg>", path.join(" "));
    if hidden > 0 {
        let _ = write!(
            out,
            "<p class=\"note\">the {hidden} oldest measurements are not drawn</p>"
        );
    }
    out.push_str("<ul>");
    for one in changes.iter().take(MAX_CHANGES) {
        let _ = write!(out, "<li>{}</li>", escape_fit(&wording::sentence(one), 600));
    }
    out.push_str("</ul></section>\n");
}

fn identity(one: &HistoryMeasurement) -> &str {
    match one.commit.as_str() {
        "" => &one.started,
        commit => commit,
    }
}

fn amount(value: f64, series: &HistorySeries) -> String {
    metrics::amount(&genba_model::Estimate::exact(value), &series.unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::history as fixture;

    #[test]
    fn policy_has_the_hash_of_the_script() {
        use sha2::Digest as _;
        let hash = super::super::html_tests::base64(&sha2::Sha256::digest(SCRIPT.as_bytes()));
        assert_eq!(SCRIPT_HASH, hash);
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }

    #[test]
    fn hostile_commits_are_escaped_on_the_page_and_in_a_terminal() {
        let all = fixture::hostile();
        let page = history_html(&all);
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        assert!(page.contains("&lt;img"));
        let screen = crate::Screen {
            width: 100,
            colour: false,
        };
        let text = crate::terminal::history(&all, screen);
        assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text}");
    }

    #[test]
    fn a_page_of_any_number_of_points_is_below_3_mb() {
        let mut all = fixture::step();
        let many = &mut all.series[0].measurements;
        let one = many[0].clone();
        many.resize(50_000, one);
        assert!(history_html(&all).len() < 3 << 20);
        all.series[0].measurements.truncate(500);
        all.series = vec![all.series[0].clone(); 300];
        assert!(history_html(&all).len() < 3 << 20);
    }

    #[test]
    fn changes_are_named_with_their_commits() {
        let all = fixture::step();
        let page = history_html(&all);
        assert!(
            page.contains("c9..c10") && page.contains("+2.00 %"),
            "{page}"
        );
        let text = crate::terminal::history(
            &all,
            crate::Screen {
                width: 100,
                colour: false,
            },
        );
        insta::assert_snapshot!(text);
    }
}
