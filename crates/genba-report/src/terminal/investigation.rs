//! The summary of an investigation on one screen: runs, functions, findings, the next step.

use genba_model::{Investigation, Metric, Profile};
use genba_units::format;

use crate::terminal::distribution_plot;
use crate::terminal::screen::{DIM, HEAD, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{counters, counts, execution_costs, findings, profile, runs};
use crate::{Screen, safe_text};

use super::findings::Detail;
use super::profile_report::MIN_WIDTH_FOR_ALL_COLUMNS;

/// The next steps that the summary names; `None` is not mentioned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Next<'a> {
    /// Path of the page.
    pub page: Option<&'a str>,
    /// A command to run next.
    pub command: Option<&'a str>,
}

/// Maximum number of functions, so that the summary fits one screen.
const MAX_FUNCTIONS: usize = 10;
/// Functions are shown until they have this share of the time together.
const SHARE_OF_SHOWN_FUNCTIONS: f64 = 0.95;
/// Maximum number of findings.
const MAX_FINDINGS: usize = 3;
/// Maximum number of notes.
const MAX_NOTES: usize = 6;

/// Renders the summary.
#[must_use]
pub fn investigation(all: &Investigation, next: Next<'_>, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = String::new();
    let head = format!(
        "genba {} · {} · {}",
        all.genba,
        runs::host(&all.host),
        profile::observed(all)
    );
    for line in super::wrap(&safe_text::sanitise(&head), width) {
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
    let case = format!("case {}", safe_text::sanitise(&all.case));
    let room = width.saturating_sub(safe_text::display_width(&case) + 2);
    let command = safe_text::fit(&safe_text::command(&all.workload.command), room);
    out.push_str(&format!("{case}  {}\n\n", screen.paint(STRONG, &command)));
    runs(&mut out, all, screen);
    if let Some(waits) = &all.waits {
        out.push('\n');
        super::waits::section(&mut out, waits, MAX_FINDINGS, screen);
    }
    if let Some(profile) = &all.profile {
        out.push('\n');
        functions(&mut out, profile, screen);
        if let Some(script) = &all.script {
            super::script_functions::summary(&mut out, script, screen);
        }
        why(&mut out, all, profile, screen);
    }
    let notes = remarks(all);
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes.iter().take(MAX_NOTES) {
        super::remark(&mut out, note, screen);
    }
    if notes.len() > MAX_NOTES {
        out.push_str(&format!(
            "  … {} more on the page\n",
            notes.len() - MAX_NOTES
        ));
    }
    let mut last = Vec::new();
    if let Some(page) = next.page {
        last.push(format!(
            "{}  {}",
            screen.paint(HEAD, "PAGE"),
            safe_text::sanitise(page)
        ));
    }
    if let Some(command) = next.command {
        last.push(format!(
            "{}  {}",
            screen.paint(HEAD, "NEXT"),
            safe_text::sanitise(command)
        ));
    }
    if !last.is_empty() {
        let wide = next.page.unwrap_or_default().len() + next.command.unwrap_or_default().len();
        let between = if wide + 20 > width { "\n" } else { "     " };
        out.push_str(&format!("\n{}\n", last.join(between)));
    }
    out
}

fn runs(out: &mut String, all: &Investigation, screen: Screen) {
    let runs = &all.runs;
    let Some(wall) = runs::summary(runs, Metric::Wall) else {
        let n = runs.runs.len() as u64;
        out.push_str(&if let Some(attached) = &all.attached {
            format!("  {}\n", runs::attached(attached))
        } else if n == 0 {
            "  no run finished\n".to_owned()
        } else {
            format!("  {} finished\n", format::plural(n, "run"))
        });
        return;
    };
    let mut parts = vec![format!(
        "{} wall{}",
        screen.paint(STRONG, &format::time(&wall.median)),
        super::stat::space(&format::plus_minus(&wall.median))
    )];
    let bare = |metric: Metric| runs::summary(runs, metric).map(|m| m.median);
    if let (Some(user), Some(system)) = (bare(Metric::User), bare(Metric::System)) {
        parts.push(format!(
            "user {}  sys {}",
            format::time(&user),
            format::time(&system)
        ));
    }
    if let Some(rss) = bare(Metric::MaxRss) {
        parts.push(format::bytes(rss.value));
    }
    if let Some(faults) = bare(Metric::MinorFaults) {
        parts.push(format!("{} faults", format::count(faults.value)));
    }
    let plot = distribution_plot::sparkline(&runs::walls(runs), 7);
    parts.push(format!(
        "{}{}",
        format::plural(runs.runs.len() as u64, "run"),
        super::stat::space(&plot)
    ));
    // Lines are broken between facts, never within one.
    let plain = |part: &String| safe_text::display_width(&without_styles(part));
    let mut line = String::from("  ");
    let mut used = 2;
    for part in &parts {
        let wide = plain(part);
        if used > 2 && used + 3 + wide > screen.columns() {
            out.push_str(&format!("{line}\n"));
            line = String::from("  ");
            used = 2;
        }
        if used > 2 {
            line.push_str("   ");
            used += 3;
        }
        line.push_str(part);
        used += wide;
    }
    out.push_str(&format!("{line}\n"));
    if let Some(stat) = &all.stat {
        let list = counters::highlights(stat);
        if !list.is_empty() {
            let line = safe_text::fit(&list.join("   "), screen.columns() - 2);
            out.push_str(&format!("  {line}\n"));
        }
    }
    if let Some(floor) = runs::noise_floor(&all.noise_floor) {
        for line in super::wrap(&floor, screen.columns() - 2) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
}

/// Returns the text without the escape sequences of [`Screen::paint`].
fn without_styles(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\x1b' => inside = true,
            'm' if inside => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

fn functions(out: &mut String, profile: &Profile, screen: Screen) {
    let sentence = match &profile.concentration {
        Some(c) => profile::concentration(c, profile.samples),
        None => profile::sampling(profile),
    };
    out.push_str(&format!(
        "{}   {}\n",
        screen.paint(HEAD, "WHERE"),
        safe_text::fit(&sentence, screen.columns() - 8)
    ));
    if profile.functions.is_empty() {
        out.push_str("  no samples: the command used too little CPU time\n");
        return;
    }
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("±"),
        Column::right("total"),
        Column::right("±"),
        Column::flexible("function", 16),
        Column::flexible("source", 10),
        Column::right("calls"),
        Column::right("each"),
    ]);
    let counted = profile.functions.iter().any(|f| f.calls.is_some());
    let all = !counted || screen.columns() >= MIN_WIDTH_FOR_ALL_COLUMNS;
    let mut carried = 0.0;
    for (index, f) in profile.functions.iter().enumerate() {
        let worth = f.self_share.value >= 0.005 || index == 0;
        if index >= MAX_FUNCTIONS || carried >= SHARE_OF_SHOWN_FUNCTIONS || !worth {
            break;
        }
        carried += f.self_share.value;
        let source = profile::file_line(f.file.as_deref(), f.line);
        let place = match (f.kernel, source.is_empty()) {
            (true, _) => "kernel".to_owned(),
            (false, true) => safe_text::file_name(&f.module).to_owned(),
            (false, false) => source,
        };
        table.row(vec![
            Cell::new(format::percent(&f.self_share), heat(f.self_share.value)),
            Cell::new(format::plus_minus_points(&f.self_share), DIM),
            if profile.stacks {
                format::percent(&f.total)
            } else {
                String::new()
            }
            .into(),
            Cell::new(
                match profile.stacks && all {
                    true => format::plus_minus_points(&f.total),
                    false => String::new(),
                },
                DIM,
            ),
            f.function.as_str().into(),
            Cell::new(place, DIM),
            execution_costs::count(f.calls).into(),
            f.cost_seconds
                .map(|e| format::time(&e))
                .or(f.cost_cycles.map(|e| execution_costs::in_cycles(&e)))
                .unwrap_or_default()
                .into(),
        ]);
    }
    out.push_str(&table.render(screen));
    if let Some(counted) = &profile.counted {
        let mut line = counts::source(counted);
        if !counted.engine.gaps.is_empty() {
            // The summary is one screen; the page lists them.
            line.push_str("; its limitations are on the page");
        }
        for line in super::wrap(&safe_text::sanitise(&line), screen.columns() - 2) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
}

/// Adds the first findings. Without counts and findings there is no section: without counts few
/// causes can be detected.
fn why(out: &mut String, all: &Investigation, profile: &Profile, screen: Screen) {
    if all.findings.is_empty() && profile.counted.is_none() {
        return;
    }
    out.push_str(&format!("\n{}\n", screen.paint(HEAD, "WHY")));
    for (index, finding) in all.findings.iter().take(MAX_FINDINGS).enumerate() {
        super::findings::finding(out, index + 1, finding, Detail::Short, screen);
    }
    let rest = match all.findings.len().saturating_sub(MAX_FINDINGS) {
        0 => findings::no_more_findings(&all.findings, genba_model::MIN_GAIN, &all.noise_floor),
        more => format!(
            "{}: see the page or run genba explain.",
            format::plural(more as u64, "more finding")
        ),
    };
    for line in super::wrap(&rest, screen.columns() - 3) {
        out.push_str(&format!("   {}\n", screen.paint(DIM, &line)));
    }
    super::places::section(out, &all.places, &all.findings, all.input_bytes, screen);
}

/// Returns failures, outliers, losses, hazards and notes, each once.
fn remarks(all: &Investigation) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    list.extend(runs::failures(&all.runs));
    list.extend(runs::outliers(&all.runs));
    if let Some(profile) = &all.profile {
        list.extend(profile.counted.iter().flat_map(counts::warnings));
        list.extend(profile::unnamed_code(profile));
        let losses = profile::losses(profile);
        if !losses.is_empty() {
            list.push(format!("samples: {}", losses.trim_start_matches(", ")));
        }
    }
    list.extend(all.hazards.iter().map(runs::hazard));
    list.extend(all.notes.iter().cloned());
    if let Some(profile) = &all.profile {
        list.extend(profile.notes.iter().cloned());
    }
    let mut seen = std::collections::HashSet::new();
    list.retain(|note| seen.insert(note.clone()));
    list
}
