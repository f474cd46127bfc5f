//! Head, cards, notes and foot of the page of an investigation.

use std::fmt::Write as _;

use genba_model::{Estimate, Investigation, Metric, RunSummary};
use genba_units::format;

use super::document::{host_table, note_list, when};

use crate::escape_html::{escape, escape_fit};
use crate::safe_text;
use crate::wording::{profile, runs};

pub(super) fn header(out: &mut String, all: &Investigation, command: &str) {
    let name = match &all.workload.name {
        Some(name) => format!(" <span class=\"dim\">{}</span>", escape_fit(name, 120)),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "<header><h1>{}{name}</h1><div class=\"host\">case {} · {} · {} · {}</div></header>",
        escape_fit(command, 600),
        escape_fit(&all.case, 40),
        escape_fit(&when(&all.started), 40),
        escape_fit(&runs::host(&all.host), 200),
        escape_fit(&profile::observed(all), 200),
    );
}

pub(super) fn cards(out: &mut String, all: &Investigation) {
    let runs = &all.runs;
    let Some(wall) = runs::summary(runs, Metric::Wall) else {
        let what = match &all.attached {
            Some(attached) => runs::attached(attached),
            None => format!("{} finished", format::plural(runs.runs.len() as u64, "run")),
        };
        let _ = writeln!(out, "<p class=\"lead\">{what}.</p>");
        return;
    };
    let _ = write!(
        out,
        "<section class=\"facts\"><div class=\"fact\"><small>wall time, median of {}</small>\
         <span class=\"big\">{}</span> <span class=\"dim\">{}</span>{}</div>",
        format::plural(runs.runs.len() as u64, "run"),
        format::time(&wall.median),
        format::plus_minus(&wall.median),
        distribution(runs, &wall.median),
    );
    let median = |metric: Metric| runs::summary(runs, metric).map(|m| m.median);
    let mut card = |label: &str, value: Option<String>, more: String| {
        if let Some(value) = value {
            let _ = write!(
                out,
                "<div class=\"fact\"><small>{label}</small><span class=\"big\">{value}</span>\
                 <br><small>{more}</small></div>"
            );
        }
    };
    let spread = |e: Option<Estimate>| e.map(|e| format::plus_minus(&e)).unwrap_or_default();
    let (user, system) = (median(Metric::User), median(Metric::System));
    card("user", user.map(|e| format::time(&e)), spread(user));
    card("system", system.map(|e| format::time(&e)), spread(system));
    let faults = median(Metric::MinorFaults)
        .map(|e| format!("{} faults", format::count(e.value)))
        .unwrap_or_default();
    let rss = median(Metric::MaxRss).map(|e| format::bytes(e.value));
    card("peak memory", rss, faults);
    let mut floors = all
        .noise_floor
        .iter()
        .filter(|f| f.share.is_finite() && f.share > 0.0);
    if let Some(floor) = floors.next() {
        let mut more = format!("in {} time", runs::metric_label(floor.metric));
        for other in floors {
            let (share, metric) = (format::share(other.share), runs::metric_label(other.metric));
            let _ = write!(more, ", {share} in {metric}");
        }
        card("noise floor", Some(format::share(floor.share)), more);
    }
    out.push_str("</section>\n");
}

/// Maximum number of dots of a plot; more are thinned evenly.
const MAX_DOTS: usize = 400;

/// Returns a plot of all runs as stacked dots, with the median and its interval behind them.
fn distribution(runs: &RunSummary, median: &Estimate) -> String {
    const WIDTH: f64 = 360.0;
    const FLOOR: f64 = 44.0;
    let all = &runs.runs;
    let step = all.len().div_ceil(MAX_DOTS).max(1);
    let dots: Vec<(usize, f64)> = all
        .iter()
        .enumerate()
        .step_by(step)
        .map(|(i, r)| (i, r.wall_seconds))
        .filter(|(_, w)| w.is_finite())
        .collect();
    let low = dots.iter().map(|d| d.1).fold(f64::INFINITY, f64::min);
    let high = dots.iter().map(|d| d.1).fold(f64::NEG_INFINITY, f64::max);
    if dots.len() < 2 || high <= low {
        return String::new();
    }
    let place = |v: f64| 6.0 + ((v - low) / (high - low)).clamp(0.0, 1.0) * (WIDTH - 12.0);
    let mut columns = std::collections::BTreeMap::<i64, usize>::new();
    for dot in &dots {
        *columns.entry((place(dot.1) / 8.0) as i64).or_default() += 1;
    }
    let tallest = columns.values().copied().max().unwrap_or(1).max(1);
    let rise = (36.0 / tallest as f64).min(8.0);
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} 60\" width=\"100%\" role=\"img\" \
         aria-label=\"distribution of the run times, {} to {}\">\
         <rect x=\"{:.1}\" y=\"2\" width=\"{:.1}\" height=\"46\" fill=\"var(--cool)\" opacity=\".13\"/>\
         <line x1=\"{m:.1}\" x2=\"{m:.1}\" y1=\"2\" y2=\"48\" stroke=\"var(--cool)\"/>\
         <line x1=\"0\" x2=\"{WIDTH}\" y1=\"48.5\" y2=\"48.5\" stroke=\"var(--line)\"/>",
        format::seconds(low),
        format::seconds(high),
        place(median.low),
        (place(median.high) - place(median.low)).max(1.0),
        m = place(median.value),
    );
    let mut heights = std::collections::BTreeMap::<i64, usize>::new();
    for (index, wall) in dots {
        let x = place(wall);
        let level = heights.entry((x / 8.0) as i64).or_default();
        let y = FLOOR - *level as f64 * rise;
        *level += 1;
        let far = runs.outliers.contains(&(index as u32));
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{}\" fill=\"var(--{})\" opacity=\".8\">\
             <title>run {}: {}</title></circle>",
            if rise < 5.0 { 2 } else { 4 },
            if far { "warm" } else { "cool" },
            index + 1,
            fine(wall)
        );
    }
    let _ = write!(
        out,
        "<text x=\"0\" y=\"59\">{}</text><text x=\"{WIDTH}\" y=\"59\" text-anchor=\"end\">{}</text></svg>",
        fine(low),
        fine(high)
    );
    out
}

/// Returns a single measurement with four digits.
pub(super) fn fine(seconds: f64) -> String {
    format::time(&Estimate::exact(seconds))
}

pub(super) fn notes(out: &mut String, all: &Investigation) {
    let mut list: Vec<String> = Vec::new();
    list.extend(runs::failures(&all.runs));
    list.extend(runs::outliers(&all.runs));
    list.extend(all.profile.as_ref().and_then(profile::truncated_stacks));
    list.extend(all.profile.as_ref().and_then(profile::unnamed_code));
    list.extend(all.hazards.iter().map(runs::hazard));
    list.extend(all.notes.iter().cloned());
    if let Some(profile) = &all.profile {
        list.extend(profile.notes.iter().cloned());
    }
    if let Some(stat) = &all.stat {
        list.extend(stat.notes.iter().cloned());
    }
    note_list(out, list);
}

pub(super) fn host(out: &mut String, all: &Investigation) {
    let shell = all.workload.shell.as_deref();
    host_table(
        out,
        &all.host,
        &[
            ("directory", &all.workload.directory),
            ("shell", shell.unwrap_or("none (started directly)")),
        ],
    );
}

pub(super) fn footer(out: &mut String, all: &Investigation, command: &str) {
    // One string goes to a shell unless -N says otherwise; several words never do.
    let how = match (all.workload.shell.as_deref(), all.workload.command.len()) {
        (Some("sh"), _) => String::new(),
        (Some(shell), _) => format!("-S {} ", safe_text::command(&[shell.to_owned()])),
        (None, 1) => "-N ".to_owned(),
        (None, _) => String::new(),
    };
    let reproduce = match &all.attached {
        Some(_) => "genba investigate -p PID".to_owned(),
        None => format!("genba investigate {how}-- {command}"),
    };
    let _ = writeln!(
        out,
        "<p class=\"foot\">Reproduce: <code>{}</code><br>Intervals are 95 %. genba {}</p>",
        escape(&reproduce),
        escape_fit(&all.genba, 20)
    );
}
