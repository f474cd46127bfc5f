//! The page of a differential profile.

use std::fmt::Write as _;

use genba_model::ProfileDiff;
use genba_units::format;

use super::document;
use crate::escape_html::escape_fit;
use crate::wording::profile_diff as wording;

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 60;

/// Renders a differential profile as one self-contained HTML file without a script.
#[must_use]
pub fn profile_diff_html(diff: &ProfileDiff) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = format!("{} → {}", diff.before.name, diff.after.name);
    document::begin(&mut out, &title);
    document::heading(&mut out, &title, "");
    difference(&mut out, diff);
    out.push_str("</main></body></html>\n");
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
    out.push_str(
        "<table><thead><tr><th>change</th><th>before</th><th>after</th><th>calls</th>\
         <th>function</th><th></th></tr></thead><tbody>\n",
    );
    let time = |time: Option<genba_model::Estimate>| {
        time.map_or("—".to_owned(), |time| format::seconds(time.value))
    };
    for one in diff.functions.iter().take(MAX_ROWS) {
        let colour = match one.change {
            change if change.high < 0.0 => "ok",
            change if change.low > 0.0 => "hot",
            _ => "dim",
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"n {colour}\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            wording::change(one.change.value),
            time(one.before),
            time(one.after),
            wording::pair(one.calls),
            escape_fit(&one.function, 300),
            escape_fit(&wording::remarks(one), 600),
        );
    }
    out.push_str("</tbody></table>\n");
    if !diff.lines.is_empty() {
        out.push_str(
            "<table><thead><tr><th>change</th><th>executions</th><th>line</th><th></th><th></th>\
             </tr></thead><tbody>\n",
        );
        for line in diff.lines.iter().take(MAX_ROWS) {
            let inside = match (&line.inside_before, &line.inside_after) {
                (Some(before), Some(after)) if before != after => format!("now in {after}"),
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}:{}</td>\
                 <td><code>{}</code></td><td>{}</td></tr>",
                wording::change(line.after - line.before),
                wording::pair(line.executions),
                escape_fit(&line.file, 300),
                line.line,
                escape_fit(line.text.as_deref().unwrap_or_default().trim(), 300),
                escape_fit(&inside, 300),
            );
        }
        out.push_str("</tbody></table>\n");
    }
    instructions(out, diff);
    document::note_list(out, diff.notes.clone());
    out.push_str("</section>\n");
}

fn instructions(out: &mut String, diff: &ProfileDiff) {
    if diff.instructions.is_empty() {
        return;
    }
    out.push_str(
        "<details><summary>instructions</summary><table><thead><tr><th>before</th><th>after</th>\
         <th>count before</th><th>count after</th><th>instruction</th><th>function</th></tr>\
         </thead><tbody>\n",
    );
    let time = |time: Option<f64>| time.map_or("—".to_owned(), format::seconds);
    let count = |count: Option<u64>| count.map_or("—".to_owned(), |n| format::count(n as f64));
    for one in diff.instructions.iter().take(MAX_ROWS * 10) {
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
