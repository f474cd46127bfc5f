//! Tables of a profile: functions, lines, modules, threads.

use std::fmt::Write as _;

use genba_model::{Counted, Estimate, FunctionRow, Profile};
use genba_units::format;

use crate::escape_html::escape_fit;
use crate::safe_text;
use crate::wording::{counts, execution_costs, profile};

/// Number of rows shown unfolded.
const OPEN_ROWS: usize = 14;
/// Maximum number of rows of a table.
pub(super) const MAX_ROWS: usize = 120;
/// Minimum self share of a row.
const MIN_SELF_SHARE: f64 = 0.0005;

/// Minimum total share of a function that only calls others.
const MIN_TOTAL_SHARE: f64 = 0.005;
/// Minimum share of a full bar, so that a flat profile looks flat.
const MIN_SHARE_OF_FULL_BAR: f64 = 0.25;

/// Returns a bar for a share of 0…1, `short` for wide tables.
pub(super) fn bar(share: f64, largest: f64, short: bool) -> String {
    let part = (share / largest.max(MIN_SHARE_OF_FULL_BAR)).clamp(0.0, 1.0);
    let hot = if share >= 0.10 { " class=\"hot\"" } else { "" };
    format!(
        "<span class=\"track{}\"><i{hot} style=\"width:{:.1}%\"></i></span>",
        if short { " short" } else { "" },
        part * 100.0
    )
}

pub(super) fn heat(share: f64) -> &'static str {
    match share {
        s if s >= 0.10 => " class=\"hot\"",
        s if s >= 0.02 => " class=\"warm\"",
        _ => "",
    }
}

pub(super) fn functions(out: &mut String, profile: &Profile) {
    out.push_str("<h2>Where the time goes</h2>\n");
    if let Some(c) = &profile.concentration {
        let _ = write!(
            out,
            "<p class=\"lead\"><b>{}</b>.",
            profile::concentration(c, profile.samples)
        );
    } else {
        out.push_str("<p class=\"lead\">");
    }
    let _ = writeln!(
        out,
        " <span class=\"dim\">{}.</span></p>",
        escape_fit(&profile::sampling(profile), 300)
    );
    let rows: Vec<&FunctionRow> = profile
        .functions
        .iter()
        .filter(|f| f.self_share.value >= MIN_SELF_SHARE || f.total.value >= MIN_TOTAL_SHARE)
        .take(MAX_ROWS)
        .collect();
    if rows.is_empty() {
        out.push_str("<p>No samples: the command used too little CPU time.</p>\n");
        return;
    }
    if let Some(counted) = &profile.counted {
        count_source(out, counted, "");
    }
    let (open, folded) = rows.split_at(rows.len().min(OPEN_ROWS));
    function_table(out, profile, open);
    if !folded.is_empty() {
        let _ = writeln!(
            out,
            "<details><summary class=\"small dim\">{}</summary>",
            format::plural(folded.len() as u64, "more function")
        );
        function_table(out, profile, folded);
        out.push_str("</details>\n");
    }
}

fn function_table(out: &mut String, profile: &Profile, rows: &[&FunctionRow]) {
    let largest = profile
        .functions
        .iter()
        .map(|f| f.self_share.value)
        .fold(0.0, f64::max);
    out.push_str("<div class=\"scroll\"><table class=\"wide\"><tr><th>self</th><th>±</th><th class=\"l\"></th>");
    if profile.stacks {
        out.push_str("<th>total</th>");
    }
    let counted = profile.functions.iter().any(|f| f.calls.is_some());
    let columns = if counted { 18 } else { 26 };
    let sources = rows.iter().any(|f| f.file.is_some());
    out.push_str("<th class=\"l\">function</th>");
    if sources {
        out.push_str("<th class=\"l\">source</th>");
    }
    out.push_str("<th class=\"l\">module</th>");
    if counted {
        out.push_str("<th>calls</th><th>each</th><th>cycles</th>");
    }
    out.push_str("</tr>\n");
    for f in rows {
        let _ = write!(
            out,
            "<tr><td{}>{}</td><td class=\"dim small\">{}</td><td class=\"l\">{}</td>",
            heat(f.self_share.value),
            escape_lt(&format::percent(&f.self_share)),
            escape_lt(&format::plus_minus_points(&f.self_share)),
            bar(f.self_share.value, largest, counted),
        );
        if profile.stacks {
            let _ = write!(out, "<td>{}</td>", escape_lt(&format::percent(&f.total)));
        }
        let _ = write!(
            out,
            "<td class=\"l name\"><code title=\"{}\">{}</code></td>",
            escape_fit(&f.function, 600),
            escape_fit(&f.function, 110),
        );
        if sources {
            let file = f.file.as_deref();
            let source = profile::file_line(file, f.line);
            place(out, file.unwrap_or_default(), &source, columns);
        }
        let module = if f.kernel {
            "kernel"
        } else {
            safe_text::file_name(&f.module)
        };
        place(out, &f.module, module, columns);
        if counted {
            let _ = write!(
                out,
                "<td>{}</td>{}{}",
                execution_costs::count(f.calls),
                each(f.cost_seconds.as_ref(), None, format::time),
                each(None, f.cost_cycles.as_ref(), execution_costs::bare_cycles),
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

/// Returns a cell with a cost per execution, its interval as a tooltip.
fn each(
    seconds: Option<&Estimate>,
    cycles: Option<&Estimate>,
    show: impl Fn(&Estimate) -> String,
) -> String {
    let shown = seconds.or(cycles).map(show).unwrap_or_default();
    format!(
        "<td title=\"{}\">{shown}</td>",
        execution_costs::intervals(seconds, cycles)
    )
}

/// Adds a cell with a short name, its long form as a tooltip.
fn place(out: &mut String, long: &str, short: &str, columns: usize) {
    // Cut in the middle, so that the line number at the end remains.
    let (long, short) = (escape_fit(long, 300), escape_fit(short, columns));
    let _ = write!(
        out,
        "<td class=\"l where place\" title=\"{long}\">{short}</td>"
    );
}

/// Escapes the `<` of `<0.1 %`.
pub(super) fn escape_lt(number: &str) -> String {
    number.replace('<', "&lt;")
}

pub(super) fn lines_modules_threads(out: &mut String, profile: &Profile) {
    let tables = [
        (!profile.lines.is_empty(), "source lines"),
        (!profile.modules.is_empty(), "modules"),
        (!profile.threads.is_empty(), "threads"),
    ];
    if tables.iter().all(|t| !t.0) {
        return;
    }
    out.push_str("<h2>Time by line, module and thread</h2>\n");
    let own = |e: &genba_model::Estimate| {
        format!(
            "<td{}>{}</td><td class=\"dim small\">{}</td>",
            heat(e.value),
            escape_lt(&format::percent(e)),
            escape_lt(&format::plus_minus_points(e))
        )
    };
    if tables[0].0 {
        let counted = profile.lines.iter().any(|l| l.count.is_some());
        let mut heads =
            "<th class=\"l\">line</th><th class=\"l\">function</th><th class=\"l\">source</th>"
                .to_owned();
        if counted {
            heads.push_str("<th>count</th><th>each</th>");
        }
        open(out, "source lines", &heads);
        for l in profile
            .lines
            .iter()
            .filter(|l| l.self_share.value >= MIN_SELF_SHARE)
            .take(MAX_ROWS)
        {
            let costs = if counted {
                format!(
                    "<td>{}</td>{}",
                    execution_costs::count(l.count),
                    each(l.cost_seconds.as_ref(), None, format::time)
                )
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "<tr>{}<td class=\"l where\" title=\"{}\">{}</td><td class=\"l name\"><code>{}</code></td><td class=\"l\"><code>{}</code></td>{costs}</tr>",
                own(&l.self_share),
                escape_fit(&l.file, 300),
                escape_fit(&profile::file_line(Some(&l.file), Some(l.line)), 60),
                escape_fit(&l.function, 90),
                escape_fit(l.text.as_deref().unwrap_or_default().trim(), 120),
            );
        }
        close(out);
    }
    if tables[1].0 {
        open(
            out,
            "modules",
            "<th class=\"l\">module</th><th class=\"l\">symbols</th><th class=\"l\">build id</th>",
        );
        for m in profile.modules.iter().take(MAX_ROWS) {
            let _ = writeln!(
                out,
                "<tr>{}<td class=\"l name\"><code>{}</code></td><td class=\"l\">{}</td><td class=\"l where\">{}</td></tr>",
                own(&m.self_share),
                escape_fit(&m.module, 200),
                escape_fit(&m.symbols, 30),
                escape_fit(m.build_id.as_deref().unwrap_or_default(), 48),
            );
        }
        close(out);
    }
    if tables[2].0 {
        open(
            out,
            "threads",
            "<th>pid</th><th>tid</th><th class=\"l\">name</th>",
        );
        for t in profile.threads.iter().take(MAX_ROWS) {
            let _ = writeln!(
                out,
                "<tr>{}<td>{}</td><td>{}</td><td class=\"l\"><code>{}</code></td></tr>",
                own(&t.self_share),
                t.pid,
                t.tid,
                escape_fit(&t.name, 40),
            );
        }
        close(out);
    }
}

fn open(out: &mut String, title: &str, heads: &str) {
    let _ = writeln!(
        out,
        "<details><summary>{title}</summary><div class=\"scroll\"><table><tr><th>self</th><th>±</th>{heads}</tr>"
    );
}

pub(super) fn close(out: &mut String) {
    out.push_str("</table></div></details>\n");
}

/// Maximum number of sentences of one kind.
const MAX_SENTENCES: usize = 12;

/// Adds the source of counts: the engine in a line, its limitations folded, warnings unfolded.
/// `attributes` are HTML for the layout.
pub(super) fn count_source(out: &mut String, counted: &Counted, attributes: &str) {
    for warning in counts::warnings(counted).iter().take(MAX_SENTENCES) {
        let _ = writeln!(
            out,
            "<p class=\"small warm\" {attributes}>{}</p>",
            escape_fit(warning, 600)
        );
    }
    let line = escape_fit(&counts::source(counted), 300);
    let gaps = &counted.engine.gaps;
    if gaps.is_empty() {
        let _ = writeln!(out, "<p class=\"small dim\" {attributes}>{line}</p>");
        return;
    }
    let _ = write!(
        out,
        "<details class=\"small dim\" {attributes}><summary>{line}</summary><ul>"
    );
    for gap in gaps.iter().take(MAX_SENTENCES) {
        let _ = write!(out, "<li>{}</li>", escape_fit(gap, 600));
    }
    out.push_str("</ul></details>\n");
}
