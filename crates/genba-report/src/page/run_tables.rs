//! Tables of event counters and of runs.

use std::fmt::Write as _;

use genba_model::{CounterState, Investigation, Stat, Unit};
use genba_units::format;

use super::profile_tables::{MAX_ROWS, close, escape_lt};
use super::summary::fine;
use crate::escape_html::escape_fit;
use crate::wording::{counters, runs};

/// Maximum number of runs in the table.
const MAX_RUNS: usize = 500;

pub(super) fn counters(out: &mut String, stat: &Stat) {
    out.push_str("<h2>Counters</h2>\n<div class=\"scroll\"><table>");
    let multiplexed = stat
        .counters
        .iter()
        .any(|c| c.state == CounterState::Counted && c.running_share < 0.9995);
    out.push_str("<tr><th class=\"l\">event</th><th>value</th><th class=\"l\"></th><th>±</th><th class=\"l\"></th>");
    if multiplexed {
        out.push_str("<th>counted</th>");
    }
    out.push_str("</tr>\n");
    for c in stat.counters.iter().take(MAX_ROWS) {
        let (CounterState::Counted, Some(value)) = (c.state, &c.value) else {
            continue;
        };
        let amount = if c.unit.is_empty() {
            format::counted(value)
        } else {
            format::grouped_decimals(value.value, 2)
        };
        let note = c
            .note
            .as_ref()
            .map(|n| counters::note_text(n.value, &n.text))
            .unwrap_or_default();
        let _ = write!(
            out,
            "<tr><td class=\"l\"><code>{}</code></td><td>{amount}</td><td class=\"l dim\">{}</td><td class=\"dim small\">{}</td><td class=\"l\">{}</td>",
            escape_fit(&c.event, 60),
            escape_fit(&c.unit, 12),
            escape_lt(&format::plus_minus(value)),
            escape_fit(&note, 80),
        );
        if multiplexed {
            let share = if c.running_share < 0.9995 {
                format::share(c.running_share)
            } else {
                String::new()
            };
            let _ = write!(out, "<td class=\"dim small\">{share}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    for (reason, events) in counters::missing(stat) {
        let list: Vec<String> = events.iter().take(60).map(|e| escape_fit(e, 60)).collect();
        let _ = writeln!(
            out,
            "<p class=\"small dim\">{reason}: {}</p>",
            list.join(", ")
        );
    }
}

pub(super) fn runs(out: &mut String, all: &Investigation) {
    let runs = &all.runs.runs;
    if runs.is_empty() {
        return;
    }
    out.push_str("<h2>Runs</h2>\n");
    if !all.runs.metrics.is_empty() {
        out.push_str("<div class=\"scroll\"><table><tr><th class=\"l\">all runs</th><th>median</th><th>±</th><th>min</th><th>max</th></tr>\n");
        for m in &all.runs.metrics {
            let show = |value: f64| match m.unit {
                Unit::Seconds => fine(value),
                Unit::Bytes => format::bytes(value),
                Unit::Count => format::count(value),
            };
            let median = match m.unit {
                Unit::Seconds => format::time(&m.median),
                _ => show(m.median.value),
            };
            let _ = writeln!(
                out,
                "<tr><td class=\"l\">{}</td><td>{median}</td><td class=\"dim small\">{}</td><td>{}</td><td>{}</td></tr>",
                runs::metric_label(m.metric),
                escape_lt(&format::plus_minus(&m.median)),
                show(m.min),
                show(m.max),
            );
        }
        out.push_str("</table></div>\n");
    }
    let _ = writeln!(
        out,
        "<details><summary>all {}</summary><div class=\"scroll\"><table><tr><th>run</th><th>wall</th><th>user</th><th>sys</th><th>peak memory</th><th>faults</th><th>major</th><th>vol. switches</th><th>invol. switches</th><th class=\"l\">end</th><th class=\"l\"></th></tr>",
        format::plural(runs.len() as u64, "run")
    );
    for (index, r) in runs.iter().take(MAX_RUNS).enumerate() {
        let far = all.runs.outliers.contains(&(index as u32));
        let cpu = r.cpu();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td{}>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"l\">{}</td><td class=\"l dim\">{}</td></tr>",
            index + 1,
            if far { " class=\"warm\"" } else { "" },
            fine(r.wall_seconds),
            fine(cpu.user),
            fine(cpu.system),
            format::bytes(r.max_rss_bytes as f64),
            format::grouped(r.minor_faults as f64),
            format::grouped(r.major_faults as f64),
            format::grouped(r.voluntary_switches as f64),
            format::grouped(r.involuntary_switches as f64),
            runs::exit(r.exit),
            if far { "outlier" } else { "" },
        );
    }
    close(out);
    if runs.len() > MAX_RUNS {
        let _ = writeln!(
            out,
            "<p class=\"small dim\">and {} more in the case</p>",
            runs.len() - MAX_RUNS
        );
    }
}
