//! The page of a differential profile.

use std::fmt::Write as _;

use genba_model::{ProfileDiff, StackTree};
use genba_units::format;

use super::{SCRIPT, SCRIPT_HASH, differential_flame_graph, document};
use crate::escape_html::escape_fit;
use crate::wording::profile_diff::{self as wording, TimeUnit};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 60;

/// Renders a differential profile as one self-contained HTML file, with a differential flame graph where the stacks before and
/// after are given.
#[must_use]
pub fn profile_diff_html(diff: &ProfileDiff, stacks: Option<[&StackTree; 2]>) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = format!("{} → {}", diff.before.name, diff.after.name);
    document::begin_with_script(&mut out, &title, SCRIPT_HASH);
    document::heading(&mut out, &title, "");
    totals(&mut out, diff);
    if let Some(stacks) = stacks {
        differential_flame_graph::graphs(&mut out, diff, stacks);
    }
    out.push_str("<section><h2>Functions</h2>\n");
    tables(&mut out, diff);
    out.push_str("</section>\n");
    let _ = write!(out, "</main>\n<script>{SCRIPT}</script>\n</body></html>\n");
    out
}

/// Adds the section of a differential profile.
pub(super) fn difference(out: &mut String, diff: &ProfileDiff) {
    let _ = writeln!(
        out,
        "<section><h2>{} → {}</h2>",
        escape_fit(&diff.before.name, 200),
        escape_fit(&diff.after.name, 200)
    );
    totals(out, diff);
    tables(out, diff);
    out.push_str("</section>\n");
}

/// Adds functions, lines, instructions and notes.
fn tables(out: &mut String, diff: &ProfileDiff) {
    functions(out, diff);
    lines(out, diff);
    instructions(out, diff);
    document::note_list(out, diff.notes.clone());
}

/// Adds what a run costs on both sides.
fn totals(out: &mut String, diff: &ProfileDiff) {
    let sides = [(&diff.before, "before"), (&diff.after, "after")];
    out.push_str("<div class=\"facts\">");
    for (side, label) in sides {
        let Some(seconds) = side.seconds else {
            continue;
        };
        let counted = side.instructions.map_or(String::new(), |count| {
            format!(" · {} instructions", format::count(count as f64))
        });
        let _ = write!(
            out,
            "<div class=\"fact\"><small>{label}: CPU time of a run</small><span class=\"big\">{}</span>\
             <br><small>{}{counted}</small></div>",
            format::seconds(seconds),
            format::plural(side.samples, "sample"),
        );
    }
    if let (Some(before), Some(after)) = (diff.before.seconds, diff.after.seconds) {
        let ratio = if before > 0.0 {
            format!("{:.2}× the time", after / before)
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "<div class=\"fact\"><small>change</small><span class=\"big\">{}</span>\
             <br><small>{ratio}</small></div>",
            TimeUnit::Seconds.change(after - before),
        );
    }
    out.push_str("</div>\n");
}

/// Adds the functions: bold where the change is more than chance, with a bar to either side.
fn functions(out: &mut String, diff: &ProfileDiff) {
    let counted = diff.functions.iter().any(|one| one.calls.is_some());
    let unit = TimeUnit::of(diff);
    let remarked = (diff.functions.iter()).any(|one| !wording::remarks(one, unit).is_empty());
    let optional = |shown: bool, cell: &str| {
        if shown {
            cell.to_owned()
        } else {
            String::new()
        }
    };
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table class=\"wide\"><thead><tr><th>change</th><th></th><th>before</th>\
         <th>after</th>{}<th class=\"l\">function</th>{}</tr></thead><tbody>",
        optional(counted, "<th>calls</th>"),
        optional(remarked, "<th class=\"l\">its code</th>"),
    );
    let time = |time: Option<genba_model::Estimate>| {
        time.map_or("—".to_owned(), |time| unit.amount(time.value))
    };
    let largest = (diff.functions.iter())
        .map(|one| one.change.value.abs())
        .fold(0.0, f64::max);
    let mut few = 0;
    for one in diff.functions.iter().take(MAX_ROWS) {
        let colour = match one.change.value {
            _ if !wording::is_more_than_chance(diff, one) => "dim",
            change if change < 0.0 => "ok",
            _ => "hot",
        };
        few += usize::from(colour == "dim");
        let _ = writeln!(
            out,
            "<tr><td class=\"n {colour}\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             {}<td class=\"l name\">{}</td>{}</tr>",
            unit.change(one.change.value),
            bar(one.change.value / largest, colour),
            time(one.before),
            time(one.after),
            optional(
                counted,
                &format!("<td class=\"n\">{}</td>", wording::pair(one.calls))
            ),
            escape_fit(&one.function, 300),
            optional(
                remarked,
                &format!(
                    "<td class=\"l\">{}</td>",
                    escape_fit(&wording::remarks(one, unit), 600)
                )
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
    let counted_samples = diff.before.samples > 0 && diff.after.samples > 0;
    if few > 0 && counted_samples {
        out.push_str(
            "<p class=\"note dim\">Grey changes are within what the number of samples allows by chance.</p>\n",
        );
    }
}

/// Returns a bar from the middle to the left (less time) or to the right (more), full at ±1; `colour` is the class of the
/// figure beside it.
fn bar(share: f64, colour: &str) -> String {
    let width = (share.abs().min(1.0) * 50.0).max(0.5);
    if !width.is_finite() {
        return String::new();
    }
    let (direction, left) = match share < 0.0 {
        true => ("less", 50.0 - width),
        false => ("more", 50.0),
    };
    let class = if colour == "dim" { colour } else { direction };
    format!(
        "<span class=\"swing\"><i class=\"{class}\" style=\"margin-left:{left:.1}%;width:{width:.1}%\"></i></span>"
    )
}

/// Adds the source lines.
fn lines(out: &mut String, diff: &ProfileDiff) {
    if diff.lines.is_empty() {
        return;
    }
    let unit = TimeUnit::of(diff);
    let counted = diff.lines.iter().any(|line| line.executions.is_some());
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table class=\"wide\"><thead><tr><th>change</th>{}<th class=\"l\">line</th>\
         <th class=\"l\"></th></tr></thead><tbody>",
        if counted { "<th>executions</th>" } else { "" },
    );
    for line in diff.lines.iter().take(MAX_ROWS) {
        let inside = match (&line.inside_before, &line.inside_after) {
            (Some(before), Some(after)) if before != after => {
                format!(
                    "<br><small class=\"dim\">now in {}</small>",
                    escape_fit(after, 300)
                )
            }
            _ => String::new(),
        };
        let executions = match counted {
            true => format!("<td class=\"n\">{}</td>", wording::pair(line.executions)),
            false => String::new(),
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td>{executions}<td class=\"l place\">{}:{}</td>\
             <td class=\"l name\"><code>{}</code>{inside}</td></tr>",
            unit.change(line.after - line.before),
            escape_fit(crate::safe_text::file_name(&line.file), 120),
            line.line,
            escape_fit(line.text.as_deref().unwrap_or_default().trim(), 300),
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn instructions(out: &mut String, diff: &ProfileDiff) {
    if diff.instructions.is_empty() {
        return;
    }
    out.push_str(
        "<details><summary>instructions</summary><div class=\"scroll\"><table><thead><tr><th>before</th>\
         <th>after</th><th>count before</th><th>count after</th><th class=\"l\">instruction</th>\
         <th class=\"l\">function</th></tr>\
         </thead><tbody>\n",
    );
    let unit = TimeUnit::of(diff);
    let time = |time: Option<f64>| time.map_or("—".to_owned(), |time| unit.amount(time));
    let count = |count: Option<u64>| count.map_or("—".to_owned(), |n| format::count(n as f64));
    for one in diff.instructions.iter().take(MAX_ROWS * 10) {
        let _ = writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"l\"><code>{}</code></td><td class=\"l\">{}</td></tr>",
            time(one.before),
            time(one.after),
            count(one.count_before),
            count(one.count_after),
            escape_fit(&one.text, 200),
            escape_fit(&one.function, 200),
        );
    }
    out.push_str("</tbody></table></div></details>\n");
}
