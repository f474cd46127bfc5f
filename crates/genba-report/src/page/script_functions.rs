//! Functions of Python and Ruby, with the C functions under them.

use std::fmt::Write as _;

use genba_model::{ScriptFunction, ScriptProfile};

use super::profile_tables::{bar, escape_lt, heat};
use crate::escape_html::escape_fit;
use crate::wording::profile;
use crate::{number, safe_text};

/// Functions at most.
const MOST_ROWS: usize = 40;
/// Shares below this are left out.
const LEAST: f64 = 0.002;
/// C functions and lines named beside a function.
const MOST_UNDER: usize = 4;
/// What is less of all the time is not named there.
const LEAST_UNDER: f64 = 0.005;

pub(super) fn functions(out: &mut String, script: &ScriptProfile) {
    let _ = writeln!(
        out,
        "<h2>Functions of {}</h2>\n<p class=\"lead\"><span class=\"dim\">With the C functions \
         that they call; {} samples of {} CPU time, {} outside of any of them.</span></p>",
        escape_fit(&script.runtimes.join(", "), 200),
        number::grouped(script.samples as f64),
        number::duration(script.cpu_seconds),
        escape_lt(&number::share(script.outside.value)),
    );
    let worth = |f: &&ScriptFunction| f.self_share.value.max(f.total.value) >= LEAST;
    let rows: Vec<&ScriptFunction> = script
        .functions
        .iter()
        .filter(worth)
        .take(MOST_ROWS)
        .collect();
    let largest = rows.iter().map(|f| f.self_share.value).fold(0.0, f64::max);
    out.push_str(
        "<div class=\"scroll\"><table class=\"wide\"><tr><th>self</th><th>±</th>\
         <th class=\"l\"></th><th>total</th><th class=\"l\">function</th>\
         <th class=\"l\">source</th><th class=\"l\">in C, and by line</th></tr>\n",
    );
    for f in rows {
        let _ = writeln!(
            out,
            "<tr><td{}>{}</td><td class=\"dim small\">{}</td><td class=\"l\">{}</td><td>{}</td>\
             <td class=\"l name\"><code title=\"{}\">{}</code></td>\
             <td class=\"l where\">{}</td><td class=\"l dim small\">{}</td></tr>",
            heat(f.self_share.value),
            escape_lt(&number::percent(&f.self_share)),
            escape_lt(&number::plus_minus_points(&f.self_share)),
            bar(f.self_share.value, largest, true),
            escape_lt(&number::percent(&f.total)),
            escape_fit(&f.function, 600),
            escape_fit(&f.function, 110),
            escape_fit(&profile::file_line(Some(&f.file), Some(f.line)), 110),
            escape_fit(&under(f), 400),
        );
    }
    out.push_str("</table></div>\n");
    if let Some(opcodes) = opcodes(script) {
        let _ = writeln!(
            out,
            "<p class=\"note dim\">{}</p>",
            escape_fit(&opcodes, 600)
        );
    }
}

/// What of a function's time is where.
fn under(f: &ScriptFunction) -> String {
    let mut parts: Vec<String> = Vec::new();
    let native = f.native.iter().filter(|n| n.share >= LEAST_UNDER);
    parts.extend(native.take(MOST_UNDER).map(|n| {
        let module = safe_text::file_name(&n.module);
        format!("{} {} ({module})", number::share(n.share), n.function)
    }));
    let mut lines: Vec<_> = (f.lines.iter())
        .filter(|l| l.line > 0 && l.share >= LEAST_UNDER && f.lines.len() > 1)
        .collect();
    lines.sort_by(|a, b| b.share.total_cmp(&a.share));
    let lines = lines.iter().take(MOST_UNDER);
    parts.extend(lines.map(|l| format!("{} line {}", number::share(l.share), l.line)));
    parts.join(" · ")
}

/// What the interpreter's loop executes.
fn opcodes(script: &ScriptProfile) -> Option<String> {
    let shown = script
        .opcodes
        .iter()
        .filter(|o| o.share.value >= LEAST_UNDER);
    let shown: Vec<String> = shown
        .take(2 * MOST_UNDER)
        .map(|o| format!("{} {}", o.opcode, number::percent(&o.share)))
        .collect();
    (!shown.is_empty()).then(|| format!("In the interpreter's own loop: {}.", shown.join(" · ")))
}
