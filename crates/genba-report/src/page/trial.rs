//! The page of a trial: what to keep, every way with its outcome, where the gain is.

use std::fmt::Write as _;

use genba_model::{ProfileDiff, TrialReport, TriedOutcome};

use super::{facts as parts, head};
use crate::html::{escape, escape_fit};
use crate::terminal::profile_diff as diff_words;
use crate::{effect, number, trial as words};

/// Ways in the table at most.
const MOST_WAYS: usize = 300;
/// Rows of a differential profile at most.
const MOST_ROWS: usize = 60;

/// One self-contained HTML file, without any script.
#[must_use]
pub fn trial_html(report: &TrialReport) -> String {
    let mut out = String::with_capacity(64 << 10);
    head::experiment(
        &mut out,
        &format!("try {}", report.command),
        report.case.as_deref(),
        &report.started,
        &report.host,
    );
    let _ = writeln!(out, "<p><b>{}</b></p>", escape(&words::verdict(report)));
    if let Some(keep) = &report.keep {
        let _ = writeln!(out, "<table><tbody>");
        if let Some(build) = &keep.build {
            let _ = writeln!(
                out,
                "<tr><th>build</th><td>{}</td></tr>",
                escape_fit(build, 2_000)
            );
        }
        if let Some(rebuild) = &keep.rebuild {
            let _ = writeln!(
                out,
                "<tr><th>make</th><td><code>{}</code></td></tr>",
                escape_fit(rebuild, 2_000)
            );
        }
        let _ = writeln!(
            out,
            "<tr><th>keep</th><td><code>{}</code></td></tr></tbody></table>",
            escape_fit(&keep.command, 2_000)
        );
        parts::note_list(&mut out, keep.cautions.clone());
    }
    ways(&mut out, report);
    if let Some(layout) = &report.layout {
        let _ = writeln!(
            out,
            "<p class=\"dim\">{}</p>",
            escape(&words::layout(layout))
        );
    }
    for diff in &report.differences {
        difference(&mut out, diff);
    }
    parts::note_list(&mut out, report.notes.clone());
    parts::host_table(&mut out, &report.host, &[]);
    let _ = writeln!(
        out,
        "<footer>genba {} · seed {} · {}</footer></main></body></html>",
        escape_fit(&report.genba, 40),
        report.seed,
        number::duration(report.elapsed_seconds)
    );
    out
}

/// The page of a differential profile.
#[must_use]
pub fn profile_diff_html(diff: &ProfileDiff) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = format!("{} → {}", diff.before.name, diff.after.name);
    head::begin(&mut out, &title);
    head::heading(&mut out, &title, "");
    difference(&mut out, diff);
    out.push_str("</main></body></html>\n");
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

fn ways(out: &mut String, report: &TrialReport) {
    let _ = writeln!(
        out,
        "<section><h2>What was tried</h2><table><thead><tr><th>way</th><th>{}</th><th>pairs</th>\
         <th>build</th><th>what it is</th></tr></thead><tbody>",
        escape(&effect::label(&report.metric))
    );
    for tried in report.tried.iter().take(MOST_WAYS) {
        let pairs = if tried.pairs > 0 {
            tried.pairs.to_string()
        } else {
            String::new()
        };
        let reason = (tried.reason.as_deref()).map_or(String::new(), |reason| {
            format!("<pre>{}</pre>", escape_fit(reason, 4_000))
        });
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"{}\">{}</td><td class=\"n\">{pairs}</td>\
             <td class=\"n\">{}</td><td>{}{reason}</td></tr>",
            escape_fit(&tried.name, 200),
            class(tried.outcome),
            escape(&words::outcome(tried, report.delta)),
            tried.build_seconds.map_or(String::new(), number::duration),
            escape_fit(&tried.change, 600),
        );
    }
    out.push_str("</tbody></table></section>\n");
}

/// The section of a differential profile.
fn difference(out: &mut String, diff: &ProfileDiff) {
    let _ = writeln!(
        out,
        "<section><h2>{} → {}</h2>",
        escape_fit(&diff.before.name, 200),
        escape_fit(&diff.after.name, 200)
    );
    out.push_str(
        "<table><thead><tr><th>change</th><th>before</th><th>after</th><th>calls</th>\
         <th>function</th><th></th></tr></thead><tbody>\n",
    );
    let time = |time: Option<genba_model::Estimate>| {
        time.map_or("—".to_owned(), |time| number::seconds(time.value))
    };
    for one in diff.functions.iter().take(MOST_ROWS) {
        let colour = match one.change {
            change if change.high < 0.0 => "ok",
            change if change.low > 0.0 => "hot",
            _ => "dim",
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"n {colour}\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            diff_words::change(one.change.value),
            time(one.before),
            time(one.after),
            diff_words::pair(one.calls),
            escape_fit(&one.function, 300),
            escape_fit(&diff_words::beside(one), 600),
        );
    }
    out.push_str("</tbody></table>\n");
    if !diff.lines.is_empty() {
        out.push_str(
            "<table><thead><tr><th>change</th><th>executions</th><th>line</th><th></th><th></th>\
             </tr></thead><tbody>\n",
        );
        for line in diff.lines.iter().take(MOST_ROWS) {
            let inside = match (&line.inside_before, &line.inside_after) {
                (Some(before), Some(after)) if before != after => format!("now inside of {after}"),
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}:{}</td>\
                 <td><code>{}</code></td><td>{}</td></tr>",
                diff_words::change(line.after - line.before),
                diff_words::pair(line.executions),
                escape_fit(&line.file, 300),
                line.line,
                escape_fit(line.text.as_deref().unwrap_or_default().trim(), 300),
                escape_fit(&inside, 300),
            );
        }
        out.push_str("</tbody></table>\n");
    }
    instructions(out, diff);
    parts::note_list(out, diff.notes.clone());
    out.push_str("</section>\n");
}

fn instructions(out: &mut String, diff: &ProfileDiff) {
    if diff.instructions.is_empty() {
        return;
    }
    out.push_str(
        "<details><summary>instructions</summary><table><thead><tr><th>before</th><th>after</th>\
         <th>times before</th><th>times after</th><th>instruction</th><th>function</th></tr>\
         </thead><tbody>\n",
    );
    let time = |time: Option<f64>| time.map_or("—".to_owned(), number::seconds);
    let count = |count: Option<u64>| count.map_or("—".to_owned(), |n| number::count(n as f64));
    for one in diff.instructions.iter().take(MOST_ROWS * 10) {
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td><code>{}</code></td><td>{}</td></tr>",
            time(one.before),
            time(one.after),
            count(one.count_before),
            count(one.count_after),
            escape_fit(&one.text, 200),
            escape_fit(&one.function, 200),
        );
    }
    out.push_str("</tbody></table></details>\n");
}
