//! Tables of event counters and of runs.

use std::fmt::Write as _;

use genba_model::{CounterState, Investigation, Stat, Unit};

use super::profile_tables::{MOST_ROWS, close, escape_lt};
use super::summary::fine;
use crate::escape_html::escape_fit;
use crate::number;
use crate::wording::{counters, runs};

/// Runs in the table at most.
const MOST_RUNS: usize = 500;

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
    for c in stat.counters.iter().take(MOST_ROWS) {
        let (CounterState::Counted, Some(value)) = (c.state, &c.value) else {
            continue;
        };
        let amount = if c.unit.is_empty() {
            number::counted(value)
        } else {
            number::grouped_decimals(value.value, 2)
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
            escape_lt(&number::plus_minus(value)),
            escape_fit(&note, 80),
        );
        if multiplexed {
            let share = if c.running_share < 0.9995 {
                number::share(c.running_share)
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
        out.push_str("<div class=\"scroll\"><table><tr><th class=\"l\">over all runs</th><th>median</th><th>±</th><th>least</th><th>most</th></tr>\n");
        for m in &all.runs.metrics {
            let show = |value: f64| match m.unit {
                Unit::Seconds => fine(value),
                Unit::Bytes => number::bytes(value),
                Unit::Count => number::count(value),
            };
            let median = match m.unit {
                Unit::Seconds => number::time(&m.median),
                _ => show(m.median.value),
            };
            let _ = writeln!(
                out,
                "<tr><td class=\"l\">{}</td><td>{median}</td><td class=\"dim small\">{}</td><td>{}</td><td>{}</td></tr>",
                runs::metric_label(m.metric),
                escape_lt(&number::plus_minus(&m.median)),
                show(m.min),
                show(m.max),
            );
        }
        out.push_str("</table></div>\n");
    }
    let _ = writeln!(
        out,
        "<details><summary>each of {}</summary><div class=\"scroll\"><table><tr><th>run</th><th>wall</th><th>user</th><th>sys</th><th>peak memory</th><th>faults</th><th>major</th><th>waited</th><th>preempted</th><th class=\"l\">end</th><th class=\"l\"></th></tr>",
        number::plural(runs.len() as u64, "run")
    );
    for (index, r) in runs.iter().take(MOST_RUNS).enumerate() {
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
            number::bytes(r.max_rss_bytes as f64),
            number::grouped(r.minor_faults as f64),
            number::grouped(r.major_faults as f64),
            number::grouped(r.voluntary_switches as f64),
            number::grouped(r.involuntary_switches as f64),
            runs::exit(r.exit),
            if far { "far from the rest" } else { "" },
        );
    }
    close(out);
    if runs.len() > MOST_RUNS {
        let _ = writeln!(
            out,
            "<p class=\"small dim\">and {} more in the case</p>",
            runs.len() - MOST_RUNS
        );
    }
}
