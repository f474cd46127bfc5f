//! Functions of Python and Ruby, with the C functions they call.

use std::fmt::Write as _;

use genba_model::{ScriptFunction, ScriptProfile};
use genba_units::format;

use super::profile_tables::{bar, escape_lt, heat};
use crate::escape_html::escape_fit;
use crate::safe_text;
use crate::wording::profile;

/// Maximum number of functions.
const MAX_ROWS: usize = 40;
/// Minimum share of a function.
const MIN_SHARE: f64 = 0.002;
/// Maximum number of C functions and of lines beside a function.
const MAX_PARTS_OF_FUNCTION: usize = 4;
/// Minimum share of all the time for a part of a function.
const MIN_SHARE_OF_PART: f64 = 0.005;

pub(super) fn functions(out: &mut String, script: &ScriptProfile) {
    let _ = writeln!(
        out,
        "<h2>Functions of {}</h2>\n<p class=\"lead\"><span class=\"dim\">Including the C functions \
         they call; {} samples of {} CPU time, {} outside script functions.</span></p>",
        escape_fit(&script.runtimes.join(", "), 200),
        format::grouped(script.samples as f64),
        format::duration(script.cpu_seconds),
        escape_lt(&format::share(script.outside.value)),
    );
    let worth = |f: &&ScriptFunction| f.self_share.value.max(f.total.value) >= MIN_SHARE;
    let rows: Vec<&ScriptFunction> = script
        .functions
        .iter()
        .filter(worth)
        .take(MAX_ROWS)
        .collect();
    let largest = rows.iter().map(|f| f.self_share.value).fold(0.0, f64::max);
    out.push_str(
        "<div class=\"scroll\"><table class=\"wide\"><tr><th>self</th><th>±</th>\
         <th class=\"l\"></th><th>total</th><th class=\"l\">function</th>\
         <th class=\"l\">source</th><th class=\"l\">C functions and lines</th></tr>\n",
    );
    for f in rows {
        let _ = writeln!(
            out,
            "<tr><td{}>{}</td><td class=\"dim small\">{}</td><td class=\"l\">{}</td><td>{}</td>\
             <td class=\"l name\"><code title=\"{}\">{}</code></td>\
             <td class=\"l where\">{}</td><td class=\"l dim small\">{}</td></tr>",
            heat(f.self_share.value),
            escape_lt(&format::percent(&f.self_share)),
            escape_lt(&format::plus_minus_points(&f.self_share)),
            bar(f.self_share.value, largest, true),
            escape_lt(&format::percent(&f.total)),
            escape_fit(&f.function, 600),
            escape_fit(&f.function, 110),
            escape_fit(&profile::file_line(Some(&f.file), Some(f.line)), 110),
            escape_fit(&parts(f), 400),
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

/// Returns where the time of a function is: C functions and lines.
fn parts(f: &ScriptFunction) -> String {
    let mut parts: Vec<String> = Vec::new();
    let native = f.native.iter().filter(|n| n.share >= MIN_SHARE_OF_PART);
    parts.extend(native.take(MAX_PARTS_OF_FUNCTION).map(|n| {
        let module = safe_text::file_name(&n.module);
        format!("{} {} ({module})", format::share(n.share), n.function)
    }));
    let mut lines: Vec<_> = (f.lines.iter())
        .filter(|l| l.line > 0 && l.share >= MIN_SHARE_OF_PART && f.lines.len() > 1)
        .collect();
    lines.sort_by(|a, b| b.share.total_cmp(&a.share));
    let lines = lines.iter().take(MAX_PARTS_OF_FUNCTION);
    parts.extend(lines.map(|l| format!("{} line {}", format::share(l.share), l.line)));
    parts.join(" · ")
}

/// Returns the opcodes that the interpreter loop spends time on.
fn opcodes(script: &ScriptProfile) -> Option<String> {
    let shown = script
        .opcodes
        .iter()
        .filter(|o| o.share.value >= MIN_SHARE_OF_PART);
    let shown: Vec<String> = shown
        .take(2 * MAX_PARTS_OF_FUNCTION)
        .map(|o| format!("{} {}", o.opcode, format::percent(&o.share)))
        .collect();
    (!shown.is_empty()).then(|| format!("Interpreter loop by opcode: {}.", shown.join(" · ")))
}
