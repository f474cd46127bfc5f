//! Where counts beside times come from, and what spoils them.

use std::fmt::Write as _;

use genba_model::Counted;

use crate::counting;
use crate::html::escape_fit;

/// Sentences of one kind at most.
const MOST: usize = 12;

/// The engine in a line, its gaps folded, warnings open. `attributes` are ours, for the layout.
pub(super) fn source(out: &mut String, counted: &Counted, attributes: &str) {
    for warning in counting::warnings(counted).iter().take(MOST) {
        let _ = writeln!(
            out,
            "<p class=\"small warm\" {attributes}>{}</p>",
            escape_fit(warning, 600)
        );
    }
    let line = escape_fit(&counting::source(counted), 300);
    let gaps = &counted.engine.gaps;
    if gaps.is_empty() {
        let _ = writeln!(out, "<p class=\"small dim\" {attributes}>{line}</p>");
        return;
    }
    let _ = write!(
        out,
        "<details class=\"small dim\" {attributes}><summary>{line}</summary><ul>"
    );
    for gap in gaps.iter().take(MOST) {
        let _ = write!(out, "<li>{}</li>", escape_fit(gap, 600));
    }
    out.push_str("</ul></details>\n");
}
