//! Table of effects relative to the baseline, with intervals as plots.

use std::fmt::Write as _;

use genba_model::{Comparison, ComparisonReport, VerdictName};

use super::comparison::class;
use crate::escape_html::escape_fit;
use crate::wording::{metrics, verdicts};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 200;
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 20.0;
/// Maximum factor at the ends of the axis.
const MAX_FACTOR: f64 = 100.0;

pub(super) fn section(out: &mut String, report: &ComparisonReport) {
    let mut metrics: Vec<&str> = Vec::new();
    for c in &report.comparisons {
        if !metrics.contains(&c.metric.as_str()) && metrics.len() < 40 {
            metrics.push(&c.metric);
        }
    }
    metrics.sort_by_key(|&m| (m != report.metric, metrics::order(m)));
    let Some(first) = report.comparisons.first() else {
        return;
    };
    let _ = writeln!(
        out,
        "<h2>Effect relative to <code style=\"text-transform:none\">{}</code></h2>",
        escape_fit(&first.baseline, 80)
    );
    for metric in metrics {
        let rows: Vec<&Comparison> = report
            .comparisons
            .iter()
            .filter(|c| c.metric == metric)
            .collect();
        let open = if metric == report.metric { " open" } else { "" };
        let _ = write!(
            out,
            "<details{open}><summary>{}</summary>",
            escape_fit(&metrics::phrase(metric), 80)
        );
        table(out, report, &rows);
        out.push_str("</details>\n");
    }
}

fn table(out: &mut String, report: &ComparisonReport, rows: &[&Comparison]) {
    let reach = reach(rows);
    let alpha = rows.first().map_or(0.05, |c| c.alpha);
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table class=\"wide picture\"><tr><th class=\"l\">variant</th>\
         <th class=\"l\">variant ÷ baseline, {} interval</th><th>effect</th><th>interval</th>\
         <th class=\"l\">verdict</th><th>pairs</th><th class=\"l\"></th></tr>",
        verdicts::level(alpha)
    );
    for c in rows.iter().take(MAX_ROWS) {
        let (verdict, colour) = (verdict(report, c), class(c.verdict));
        let effect = match c.verdict {
            VerdictName::Faster | VerdictName::Slower => verdicts::short(report, c),
            _ if verdicts::usable(&c.ratio) => verdicts::signed(c.ratio.value - 1.0),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"l\"><code>{}</code></td><td class=\"l\">{}</td><td><b>{}</b></td>\
             <td class=\"small\">{}</td><td class=\"l {colour}\">{}</td><td class=\"dim\">{}</td>\
             <td class=\"l small dim\">{}</td></tr>",
            escape_fit(&c.variant, 60),
            plot(c, reach),
            escape_fit(&effect, 40),
            escape_fit(&verdicts::interval(c), 60),
            escape_fit(&verdict, 60),
            c.pairs,
            escape_fit(&remarks(c), 120),
        );
    }
    let _ = writeln!(
        out,
        "<tr><td></td><td class=\"l\">{}</td><td></td><td></td><td></td><td></td><td></td></tr>\
         </table></div>",
        scale(reach)
    );
}

/// Returns the axis with its ends labelled.
fn scale(reach: f64) -> String {
    let middle = WIDTH / 2.0;
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} 14\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"axis\"><text x=\"0\" y=\"11\">{}</text><text x=\"{middle}\" y=\"11\" \
         text-anchor=\"middle\">baseline</text><text x=\"{WIDTH}\" y=\"11\" \
         text-anchor=\"end\">{}</text></svg>",
        verdicts::signed((-reach).exp() - 1.0),
        verdicts::signed(reach.exp() - 1.0)
    )
}

fn verdict(report: &ComparisonReport, c: &Comparison) -> String {
    match c.verdict {
        VerdictName::Same => format!("equivalent within ±{}", verdicts::points(c.delta)),
        VerdictName::Undecided => "undecided".to_owned(),
        VerdictName::Faster | VerdictName::Slower => {
            let short = verdicts::short(report, c);
            short.rsplit(' ').next().unwrap_or("undecided").to_owned()
        }
    }
}

/// Returns cross-check, correction and forecast.
fn remarks(c: &Comparison) -> String {
    let mut list = Vec::new();
    let decided = matches!(c.verdict, VerdictName::Faster | VerdictName::Slower);
    match c.cross_check {
        Some(true) if decided => list.push("cross-check confirms".to_owned()),
        Some(false) if decided && c.pairs >= verdicts::MIN_PAIRS_OF_CROSS_CHECK => {
            list.push("cross-check does not confirm".to_owned())
        }
        _ => {}
    }
    if let Some(correction) = &c.corrected {
        let word = if correction.holds {
            "significant"
        } else {
            "not significant"
        };
        list.push(format!("{word} after {} correction", correction.method));
    }
    if let Some(more) = c.more_pairs.filter(|&m| m > 0) {
        list.push(format!(
            "about {} more pairs needed",
            verdicts::roughly(more)
        ));
    }
    list.join(", ")
}

/// Returns the logarithm of the factor at the ends of the axis: the furthest end of an interval.
fn reach(rows: &[&Comparison]) -> f64 {
    let mut reach = 0.01_f64;
    for c in rows.iter().filter(|c| verdicts::usable(&c.ratio)) {
        for end in [c.ratio.low, c.ratio.high, 1.0 + 2.0 * c.delta] {
            let far = end.ln().abs();
            if far.is_finite() {
                reach = reach.max(far);
            }
        }
    }
    reach.min(MAX_FACTOR.ln()) * 1.06
}

/// Returns a plot of the interval on a logarithmic axis, the baseline in the middle, the equivalence
/// margin shaded.
fn plot(c: &Comparison, reach: f64) -> String {
    let place =
        |ratio: f64| WIDTH / 2.0 + (ratio.ln() / reach).clamp(-1.0, 1.0) * (WIDTH / 2.0 - 5.0);
    let colour = match c.verdict {
        VerdictName::Faster => "ok",
        VerdictName::Slower => "hot",
        VerdictName::Same => "cool",
        VerdictName::Undecided => "dim",
    };
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"{}\">",
        escape_fit(&verdicts::range(&c.ratio), 60)
    );
    if c.delta.is_finite() && c.delta > 0.0 {
        let (left, right) = (place(1.0 / (1.0 + c.delta)), place(1.0 + c.delta));
        let _ = write!(
            out,
            "<rect x=\"{left:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HEIGHT}\" fill=\"var(--line)\" \
             opacity=\".7\"/>",
            right - left
        );
    }
    let middle = WIDTH / 2.0;
    let _ = write!(
        out,
        "<line x1=\"{middle}\" x2=\"{middle}\" y1=\"0\" y2=\"{HEIGHT}\" stroke=\"var(--dim)\"/>"
    );
    if verdicts::usable(&c.ratio) {
        let (left, right) = (place(c.ratio.low), place(c.ratio.high));
        let y = HEIGHT / 2.0;
        let _ = write!(
            out,
            "<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y}\" y2=\"{y}\" \
             stroke=\"var(--{colour})\" style=\"stroke-width:3\"/>\
             <circle cx=\"{:.1}\" cy=\"{y}\" r=\"4.5\" fill=\"var(--{colour})\"/>",
            place(c.ratio.value)
        );
    }
    out.push_str("</svg>");
    out
}
