//! The hottest functions with source and instructions; cold instructions are folded.

use std::fmt::Write as _;

use genba_model::{AnnotatedInstruction, Annotation};
use genba_units::format;

use super::profile_tables::{count_source, escape_lt};
use crate::escape_html::escape_fit;
use crate::listing_rows::{self, Choice, Content, Row};
use crate::safe_text;
use crate::wording::{execution_costs, loops, profile};

/// Prefix of the anchors of listings.
pub(super) const ANCHOR: &str = "fn";
/// Maximum number of functions.
pub(super) const MAX_FUNCTIONS: usize = 12;
/// Number of functions shown unfolded.
const OPEN_FUNCTIONS: usize = 2;
/// Maximum number of instructions of one function.
const MAX_INSTRUCTIONS: usize = 1000;
/// Instructions below this share of the function's samples are folded.
const MIN_SHARE_OF_SHOWN_INSTRUCTION: f64 = 0.002;
/// Maximum length of a line, characters.
const MAX_LINE_CHARS: usize = 130;

/// Adds the listings; those in `linked`, which findings link to, are unfolded.
pub(super) fn listings(out: &mut String, annotations: &[Annotation], linked: &[usize]) {
    if annotations.is_empty() {
        return;
    }
    out.push_str("<h2>Annotated functions</h2>\n");
    // Code of libraries without source says less to the user than the first of their own.
    let has_source = |a: &Annotation| a.instructions.iter().any(|one| one.line.is_some());
    let first = annotations.iter().position(has_source).unwrap_or(0);
    let open_until = first + OPEN_FUNCTIONS;
    for (index, a) in annotations.iter().take(MAX_FUNCTIONS).enumerate() {
        let open = match (first..open_until).contains(&index) || linked.contains(&index) {
            true => " open",
            false => "",
        };
        let place = profile::file_line(
            a.instructions.first().and_then(|i| i.file.as_deref()),
            a.instructions.first().and_then(|i| i.line),
        );
        let _ = writeln!(
            out,
            "<details class=\"fn\" id=\"{ANCHOR}{index}\"{open}><summary><code>{}</code> <span class=\"where\">{} {}</span> \
             <span class=\"small dim\">{}</span></summary>",
            escape_fit(&a.function, 200),
            escape_fit(&place, 60),
            escape_fit(safe_text::file_name(&a.module), 40),
            escape_fit(&profile::annotation_head(a), 200),
        );
        if let Some(counted) = &a.counted {
            count_source(out, counted, "style=\"margin:8px 14px 0\"");
        }
        listing(out, a);
        loops(out, a);
        for note in a.notes.iter().take(10) {
            let _ = writeln!(
                out,
                "<p class=\"small\" style=\"margin:4px 14px\">{}</p>",
                escape_fit(note, 600)
            );
        }
        out.push_str("</details>\n");
    }
}

/// Renders one function with source and instructions as a page without a script.
#[must_use]
pub fn annotation_html(a: &Annotation) -> String {
    let mut out = String::with_capacity(64 << 10);
    super::document::begin(&mut out, &a.function);
    let below = escape_fit(&profile::annotation_head(a), 200);
    super::document::heading(&mut out, &a.function, &below);
    listings(&mut out, std::slice::from_ref(a), &[0]);
    out.push_str("</main></body></html>\n");
    out
}

fn loops(out: &mut String, a: &Annotation) {
    for one in loops::loops(a) {
        let _ = write!(
            out,
            "<p class=\"small dim\" style=\"margin:4px 14px\">{}",
            escape_fit(&one.head, 300)
        );
        for sentence in &one.more {
            let _ = write!(out, "<br>{}", escape_fit(sentence, 600));
        }
        out.push_str("</p>\n");
    }
}

/// Columns that are shown if some instruction has a value for them.
struct Columns {
    count: bool,
    each: bool,
    latency: bool,
    address: usize,
    largest: f64,
}

fn listing(out: &mut String, a: &Annotation) {
    let choice = Choice {
        cold_below: None,
        arrow_columns: 6,
        most: MAX_INSTRUCTIONS,
    };
    let rows = listing_rows::rows(a, choice);
    let warm = listing_rows::shown(
        a,
        Choice {
            cold_below: Some(MIN_SHARE_OF_SHOWN_INSTRUCTION),
            ..choice
        },
    );
    let last = a.instructions.iter().map(|i| i.address).max().unwrap_or(0);
    let columns = Columns {
        count: a.instructions.iter().any(|i| i.count.is_some()),
        each: a
            .instructions
            .iter()
            .any(|i| i.cost_seconds.is_some() || i.cost_cycles.is_some()),
        latency: a
            .instructions
            .iter()
            .any(|i| i.host_latency_cycles.is_some()),
        address: format!("{last:x}").len().max(5),
        largest: a
            .instructions
            .iter()
            .map(|i| i.share.value)
            .fold(0.0, f64::max),
    };
    out.push_str("<div class=\"asm\"><div class=\"body\">\n");
    head(out, &columns);
    let mut at = 0;
    while at < rows.len() {
        let cold = is_cold(&rows, at, &warm);
        let end = (at..rows.len())
            .find(|&i| is_cold(&rows, i, &warm) != cold)
            .unwrap_or(rows.len());
        if cold {
            let hidden: Vec<&AnnotatedInstruction> = rows[at..end]
                .iter()
                .filter_map(|row| match row.content {
                    Content::Instruction(i) => a.instructions.get(i),
                    _ => None,
                })
                .collect();
            let share: f64 = hidden.iter().map(|i| i.share.value).sum();
            let carries = if share > 0.0 {
                format!(", {}", format::share(share))
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "<details><summary>{}{carries}</summary>",
                format::plural(hidden.len() as u64, "cold instruction")
            );
        }
        for row in &rows[at..end] {
            line(out, a, row, &columns);
        }
        if cold {
            out.push_str("</details>\n");
        }
        at = end;
    }
    out.push_str("</div></div>\n");
}

/// Returns whether a row is folded; a line of source belongs to the instructions below it.
fn is_cold(rows: &[Row], at: usize, warm: &[bool]) -> bool {
    rows[at..]
        .iter()
        .find_map(|row| match row.content {
            Content::Instruction(i) => Some(!warm.get(i).copied().unwrap_or(true)),
            Content::Folded { .. } => Some(false),
            Content::Source { .. } => None,
        })
        .unwrap_or(false)
}

fn head(out: &mut String, c: &Columns) {
    out.push_str("<div class=\"r dim\"><span class=\"s\">share</span><span class=\"b\"></span>");
    if c.count {
        out.push_str("<span class=\"t\">count</span>");
    }
    if c.each {
        out.push_str("<span class=\"e\">each</span>");
    }
    if c.latency {
        out.push_str("<span class=\"p\">latency</span>");
    }
    out.push_str("</div>\n");
}

fn blank(out: &mut String, c: &Columns, share: &str) {
    let _ = write!(
        out,
        "<span class=\"s\">{share}</span><span class=\"b\"></span>"
    );
    for (there, class) in [(c.count, "t"), (c.each, "e"), (c.latency, "p")] {
        if there {
            let _ = write!(out, "<span class=\"{class}\"></span>");
        }
    }
}

fn line(out: &mut String, a: &Annotation, row: &Row, c: &Columns) {
    let gutter = &row.gutter;
    match &row.content {
        Content::Instruction(index) => {
            let i = &a.instructions[*index];
            let class = match i.share.value {
                s if s >= 0.10 => "r h",
                s if s >= 0.02 => "r w",
                _ => "r",
            };
            let _ = write!(out, "<div class=\"{class}\">");
            figures(out, i, c);
            let taken = match execution_costs::taken(a, *index) {
                Some(words) => format!("<span class=\"f\">   {}</span>", escape_fit(&words, 80)),
                None => String::new(),
            };
            let _ = writeln!(
                out,
                "<span class=\"g\">{gutter}</span><span class=\"a\">{:>w$x}</span><span class=\"x\">{}</span>{taken}</div>",
                i.address,
                escape_fit(&listing_rows::aligned(&i.text), MAX_LINE_CHARS),
                w = c.address
            );
        }
        Content::Source {
            file,
            line,
            text: source,
            inlined,
            new_file,
        } => {
            out.push_str("<div class=\"r src\">");
            blank(out, c, "");
            let mut tail = String::new();
            if *new_file || source.is_none() {
                let _ = write!(tail, "  {}", escape_fit(safe_text::file_name(file), 60));
            }
            if let Some(name) = inlined {
                let _ = write!(tail, "  inlined {}", escape_fit(name, 80));
            }
            let _ = writeln!(
                out,
                "<span class=\"g\">{gutter}</span><span class=\"a\">{line:>w$} │</span><span class=\"x\">{}</span><span class=\"f\">{tail}</span></div>",
                escape_fit(
                    source.as_deref().unwrap_or_default().trim_end(),
                    MAX_LINE_CHARS
                ),
                w = c.address
            );
        }
        Content::Folded { from, to, share } => {
            out.push_str("<div class=\"r dim\">");
            let share = if *share > 0.0 {
                format::share(*share)
            } else {
                String::new()
            };
            blank(out, c, &share);
            let _ = writeln!(
                out,
                "<span class=\"g\">{gutter}</span><span class=\"a\">{:w$}</span><span>… {} skipped</span></div>",
                "",
                format::plural((to - from) as u64, "instruction"),
                w = c.address
            );
        }
    }
}

fn figures(out: &mut String, i: &AnnotatedInstruction, c: &Columns) {
    let value = i.share.value;
    let (share, bar) = if value > 0.0 {
        let part = if c.largest > 0.0 {
            value / c.largest
        } else {
            0.0
        };
        let hot = if value >= 0.10 { " class=\"hot\"" } else { "" };
        (
            escape_lt(&format::percent(&i.share)),
            format!(
                "<i{hot} style=\"width:{:.1}%\"></i>",
                part.clamp(0.0, 1.0) * 100.0
            ),
        )
    } else {
        (String::new(), String::new())
    };
    let hot = if value >= 0.10 { " hot" } else { "" };
    let title = format!("{} samples", format::grouped_decimals(i.samples, 1));
    let _ = write!(
        out,
        "<span class=\"s{hot}\" title=\"{title}\">{share}</span><span class=\"b\">{bar}</span>"
    );
    if c.count {
        let count = i.count.map(|n| format::count(n as f64)).unwrap_or_default();
        let _ = write!(out, "<span class=\"t\">{count}</span>");
    }
    if c.each {
        let title = execution_costs::intervals(i.cost_seconds.as_ref(), i.cost_cycles.as_ref());
        let _ = write!(
            out,
            "<span class=\"e\" title=\"{title}\">{}</span>",
            escape_lt(&execution_costs::each(i))
        );
    }
    if c.latency {
        let _ = write!(
            out,
            "<span class=\"p\">{}</span>",
            execution_costs::host_latency(i)
        );
    }
}
