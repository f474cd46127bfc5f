//! The page of `genba try`: the recommendation, the outcome of each variant, profile differences.

use std::fmt::Write as _;

use genba_model::{TrialReport, TriedOutcome};
use genba_units::format;

use super::document;
use super::profile_diff::difference;
use crate::escape_html::{escape, escape_fit};
use crate::wording::{metrics, try_variants as wording};

/// Maximum number of variants in the table.
const MAX_VARIANTS: usize = 300;

/// Renders the result of `genba try` as one self-contained HTML file without a script.
#[must_use]
pub fn trial_html(report: &TrialReport) -> String {
    let mut out = String::with_capacity(64 << 10);
    document::experiment(
        &mut out,
        &format!("try {}", report.command),
        report.case.as_deref(),
        &report.started,
        &report.host,
    );
    let _ = writeln!(out, "<p><b>{}</b></p>", escape(&wording::verdict(report)));
    if let Some(keep) = &report.keep {
        let _ = writeln!(out, "<table><tbody>");
        if let Some(build) = &keep.build {
            let _ = writeln!(
                out,
                "<tr><th class=\"l\">build</th><td class=\"l name\">{}</td></tr>",
                escape_fit(build, 2_000)
            );
        }
        if let Some(rebuild) = &keep.rebuild {
            let _ = writeln!(
                out,
                "<tr><th class=\"l\">rebuild</th><td class=\"l name\"><code>{}</code></td></tr>",
                escape_fit(rebuild, 2_000)
            );
        }
        let _ = writeln!(
            out,
            "<tr><th class=\"l\">run</th><td class=\"l name\"><code>{}</code></td></tr></tbody></table>",
            escape_fit(&keep.command, 2_000)
        );
        document::note_list(&mut out, keep.cautions.clone());
    }
    variants(&mut out, report);
    if let Some(layout) = &report.layout {
        let _ = writeln!(
            out,
            "<p class=\"dim\">{}</p>",
            escape(&wording::layout(layout))
        );
    }
    for diff in &report.differences {
        difference(&mut out, diff);
    }
    document::note_list(&mut out, report.notes.clone());
    document::host_table(&mut out, &report.host, &[]);
    let _ = writeln!(
        out,
        "<footer>genba {} · seed {} · {}</footer></main></body></html>",
        escape_fit(&report.genba, 40),
        report.seed,
        format::duration(report.elapsed_seconds)
    );
    out
}

fn class(outcome: TriedOutcome) -> &'static str {
    match outcome {
        TriedOutcome::Gain => "ok",
        TriedOutcome::Slower | TriedOutcome::Failed => "hot",
        TriedOutcome::Same | TriedOutcome::Identical | TriedOutcome::Slight => "cool",
        _ => "dim",
    }
}

fn variants(out: &mut String, report: &TrialReport) {
    let _ = writeln!(
        out,
        "<section><h2>Variants</h2><div class=\"scroll\"><table class=\"wide\"><thead><tr><th class=\"l\">variant</th>\
         <th class=\"l\">{}</th><th>pairs</th><th>build</th><th class=\"l\">change</th></tr></thead><tbody>",
        escape(&metrics::label(&report.metric))
    );
    let mut known = std::collections::HashSet::new();
    for tried in report.tried.iter().take(MAX_VARIANTS) {
        let pairs = if tried.pairs > 0 {
            tried.pairs.to_string()
        } else {
            String::new()
        };
        // The same reason is shown once.
        let reason = (tried.reason.as_deref()).filter(|reason| known.insert(*reason));
        let reason = reason.map_or(String::new(), |reason| {
            format!("<div class=\"reason\">{}</div>", escape_fit(reason, 4_000))
        });
        let _ = writeln!(
            out,
            "<tr><td class=\"l\">{}</td><td class=\"l {}\">{}</td><td class=\"n\">{pairs}</td>\
             <td class=\"n\">{}</td><td class=\"l name\">{}{reason}</td></tr>",
            escape_fit(&tried.name, 200),
            class(tried.outcome),
            escape(&wording::outcome(tried, report.delta)),
            tried
                .build_seconds
                // A build of an earlier session, which was not timed again.
                .filter(|seconds| *seconds > 0.0)
                .map_or(String::new(), format::duration),
            escape_fit(&tried.change, 600),
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}
