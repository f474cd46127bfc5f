//! `genba wait` in a terminal: how the wall time divides, causes of waiting, the critical path, waits
//! and threads.

use genba_model::{ThreadTime, WaitFinding, WaitReason, Waits};
use genba_units::format;

use super::findings::fact;
use super::{remark, wrap};
use crate::terminal::screen::{DIM, GOOD, HEAD, PLAIN, STRONG, WARM, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{wait_findings, waits as wording};
use crate::{Screen, safe_text};

/// Maximum number of rows of a table, and of findings.
const MAX_ROWS: usize = 10;
/// Maximum number of sources and notes.
const MAX_NOTES: usize = 12;
/// Minimum width of a screen for all columns.
const MIN_WIDTH_FOR_ALL_COLUMNS: usize = 100;
/// Steps of the critical path that are shown beside another result.
const MAX_STEPS_OF_SECTION: usize = 4;
/// Columns of the bar that divides a thread's time.
const BAR_COLUMNS: usize = 16;

/// Renders what the wall clock waited for.
#[must_use]
pub fn waits(all: &Waits, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = format!("{}\n", screen.paint(STRONG, &wording::division(all)));
    let command = safe_text::command(&wording::target(all));
    let basis = wording::basis(all);
    let room = width.saturating_sub(basis.chars().count() + 4).max(20);
    let below = format!("{} · {basis}", safe_text::fit(&command, room));
    for line in wrap(&below, width.saturating_sub(2)) {
        out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
    }
    if let Some(requests) = &all.requests {
        super::requests::section(&mut out, requests, screen);
    }
    causes(&mut out, all, screen);
    critical_path(&mut out, all, screen);
    wait_table(&mut out, all, screen);
    threads(&mut out, &all.threads, all.more_threads, MAX_ROWS, screen);
    if let Some(totals) = wording::thread_totals(&all.all_threads) {
        for line in wrap(&totals, width.saturating_sub(2)) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
    if !all.sources.is_empty() {
        head(&mut out, "SOURCES", "", screen);
        for source in all.sources.iter().take(MAX_NOTES) {
            for line in wrap(&safe_text::sanitise(source), width.saturating_sub(2)) {
                out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
            }
        }
    }
    if !all.notes.is_empty() {
        out.push('\n');
    }
    for note in all.notes.iter().take(MAX_NOTES) {
        remark(&mut out, note, screen);
    }
    more(
        &mut out,
        all.notes.len().saturating_sub(MAX_NOTES),
        "more note",
        screen,
    );
    out
}

/// Adds how the wall time divides and why, to another result: at most `findings` causes and no
/// tables.
pub(super) fn section(out: &mut String, all: &Waits, findings: usize, screen: Screen) {
    let division = wording::division(all);
    out.push_str(&format!(
        "{}   {}\n",
        screen.paint(HEAD, "WALL"),
        safe_text::fit(&division, screen.columns().saturating_sub(7))
    ));
    // Numbers are those of the findings below, which `fix`, `prove` and `annotate` take.
    for one in all.findings.iter().take(findings) {
        finding(out, " ·", one, screen);
    }
    no_cause(out, all, screen);
    for (text, share) in short_steps(all).into_iter().take(MAX_STEPS_OF_SECTION) {
        let line = format!("{} {text}", format::short_percent(share));
        let line = safe_text::fit(&line, screen.columns().saturating_sub(4));
        out.push_str(&format!("    {}\n", screen.paint(DIM, &line)));
    }
}

/// Returns the steps of the critical path with their shares, largest first. Of a thread that has no CPU the place is not
/// known: it has its name instead. Steps that differ in nothing that is shown are one.
fn short_steps(all: &Waits) -> Vec<(String, f64)> {
    let mut steps: Vec<(String, f64)> = Vec::new();
    for step in &all.critical_path {
        let place = match wording::is_known(&step.place) {
            true => wording::place(&step.place),
            false => format!("thread {}", step.thread),
        };
        let text = format!("{}, {place}", wording::reason(step.state));
        match steps.iter_mut().find(|(known, _)| *known == text) {
            Some((_, share)) => *share += step.share.value,
            None => steps.push((text, step.share.value)),
        }
    }
    steps.sort_by(|a, b| b.1.total_cmp(&a.1));
    steps
}

/// Adds the head of a section with an explanation.
fn head(out: &mut String, name: &str, explanation: &str, screen: Screen) {
    out.push('\n');
    out.push_str(&screen.paint(HEAD, name));
    if !explanation.is_empty() {
        let room = screen.columns().saturating_sub(name.len() + 2);
        let words = safe_text::fit(explanation, room);
        out.push_str(&format!("  {}", screen.paint(DIM, &words)));
    }
    out.push('\n');
}

fn more(out: &mut String, number: usize, noun: &str, screen: Screen) {
    if number > 0 {
        let words = format!("  … {}\n", format::plural(number as u64, noun));
        out.push_str(&screen.paint(DIM, &words));
    }
}

fn causes(out: &mut String, all: &Waits, screen: Screen) {
    if all.snapshots == 0 {
        return;
    }
    head(out, "WHY", "", screen);
    no_cause(out, all, screen);
    for (index, one) in all.findings.iter().take(MAX_ROWS).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        finding(out, &format!("{:>2}", index + 1), one, screen);
    }
    let rest = all.findings.len().saturating_sub(MAX_ROWS);
    more(out, rest, "more finding", screen);
}

fn no_cause(out: &mut String, all: &Waits, screen: Screen) {
    if all.findings.is_empty() {
        let text = safe_text::sanitise(&wording::no_cause(all));
        for line in wrap(&text, screen.columns().saturating_sub(2)) {
            out.push_str(&format!("  {line}\n"));
        }
    }
}

fn finding(out: &mut String, number: &str, one: &WaitFinding, screen: Screen) {
    let gain = wait_findings::gain(one);
    let cause = one.cause.id();
    let left = format!("{number} {}", screen.paint(STRONG, cause));
    let used = 3 + cause.len() + gain.chars().count();
    let gap = screen.columns().saturating_sub(used).clamp(2, 40);
    let style = match wait_findings::is_gain_unknown(one) {
        true => DIM,
        false => GOOD,
    };
    let gain = screen.paint(style, &gain);
    out.push_str(&format!("{left}{}{gain}\n", " ".repeat(gap)));
    fact(out, "cause", wait_findings::title(one.cause), screen);
    fact(out, "share", &wording::wall_share(&one.wall_share), screen);
    if wording::is_known(&one.waiter) {
        fact(out, "waiter", &wording::place(&one.waiter), screen);
    }
    if let Some(holder) = &one.holder {
        let role = wait_findings::holder_role(one.cause);
        fact(out, role, &wording::place(holder), screen);
    }
    fact(
        out,
        "object",
        one.object.as_deref().unwrap_or_default(),
        screen,
    );
    fact(out, "seen", &wait_findings::evidence(one), screen);
    fact(out, "fix", &wait_findings::fix(one), screen);
}

fn critical_path(out: &mut String, all: &Waits, screen: Screen) {
    if all.critical_path.is_empty() {
        return;
    }
    let explanation = "where the wall time went in the end";
    head(out, "CRITICAL PATH", explanation, screen);
    let mut table = Table::new(vec![
        Column::right("share"),
        Column::right("±"),
        Column::right("time"),
        Column::left("state"),
        Column::flexible("place", 18),
        Column::flexible("object", 8),
        Column::flexible("thread", 8),
        Column::flexible("waited for through", 10),
    ]);
    let wide = screen.columns() >= MIN_WIDTH_FOR_ALL_COLUMNS;
    // What would be 0.0 % is among the steps that are not listed; they are sorted by time.
    let steps = &all.critical_path;
    let shown = steps.iter().take(MAX_ROWS);
    let shown = shown.take_while(|step| step.share.value >= MIN_SHARE_OF_STEP);
    let rows = shown.clone().count();
    for step in shown {
        table.row(vec![
            Cell::new(format::percent(&step.share), heat(step.share.value)),
            Cell::new(format::plus_minus_points(&step.share), DIM),
            format::seconds(step.seconds).into(),
            wording::short_reason(step.state).into(),
            wording::place(&step.place).into(),
            step.object.as_deref().unwrap_or_default().into(),
            Cell::new(step.thread.as_str(), DIM),
            Cell::new(
                if wide {
                    wording::through(step)
                } else {
                    String::new()
                },
                DIM,
            ),
        ]);
    }
    out.push_str(&table.render(screen));
    more(out, steps.len() - rows, "more step", screen);
}

/// Least share of a step that is listed.
const MIN_SHARE_OF_STEP: f64 = 0.0005;

fn wait_table(out: &mut String, all: &Waits, screen: Screen) {
    if all.waits.is_empty() {
        return;
    }
    let explanation = "added up over threads; share: of the wall time";
    head(out, "WAITS", explanation, screen);
    let mut table = Table::new(vec![
        Column::right("time"),
        Column::right("share"),
        Column::right("count"),
        Column::left("for"),
        Column::flexible("object", 8),
        Column::flexible("waiter", 16),
        Column::flexible("holder", 12),
        Column::left("which is"),
    ]);
    let wide = screen.columns() >= MIN_WIDTH_FOR_ALL_COLUMNS;
    for one in all.waits.iter().take(MAX_ROWS) {
        let holder = one.holder.as_ref().map(wording::place);
        let does = one.holder_reason.unwrap_or(WaitReason::Running);
        let does = holder.as_ref().filter(|_| wide).map(|_| does);
        table.row(vec![
            format::seconds(one.seconds).into(),
            Cell::new(format::share(one.critical_share), heat(one.critical_share)),
            Cell::new(format::count(wait_findings::rounded(one.count) as f64), DIM),
            wording::short_reason(one.reason).into(),
            one.object.as_deref().unwrap_or_default().into(),
            wording::place(&one.waiter).into(),
            holder.unwrap_or_default().into(),
            Cell::new(does.map_or("", wording::short_reason), DIM),
        ]);
    }
    out.push_str(&table.render(screen));
    more(
        out,
        all.waits.len().saturating_sub(MAX_ROWS),
        "more wait",
        screen,
    );
}

/// Renders how the wall time of threads divides, at most `limit` of them; nothing without threads.
#[must_use]
pub fn thread_times(all: &[ThreadTime], limit: usize, screen: Screen) -> String {
    let mut out = String::new();
    threads(&mut out, all, 0, limit, screen);
    out
}

/// Renders how the wall time of all these threads divides, in one line.
#[must_use]
pub fn thread_division(all: &[ThreadTime]) -> String {
    let sum = |of: fn(&ThreadTime) -> f64| all.iter().map(of).sum::<f64>();
    let wall = sum(|one| one.wall);
    let share = |seconds: f64| match wall > 0.0 {
        true => format::short_percent(seconds / wall),
        false => "-".to_owned(),
    };
    format!(
        "{}: running {}, runnable {}, blocked {}",
        format::plural(all.len() as u64, "thread"),
        share(sum(|one| one.running)),
        share(sum(|one| one.runnable)),
        share(sum(|one| one.blocked + one.unknown))
    )
}

fn threads(out: &mut String, all: &[ThreadTime], more_threads: u64, limit: usize, screen: Screen) {
    if all.is_empty() {
        return;
    }
    let explanation = "█ running  ▒ runnable without a CPU  ░ blocked  ? unknown";
    head(out, "THREADS", explanation, screen);
    let mut table = Table::new(vec![
        Column::flexible("name", 10),
        Column::right("tid"),
        Column::right("wall"),
        Column::left(""),
        Column::right("running"),
        Column::right("runnable"),
        Column::right("blocked"),
        Column::right("unknown"),
        Column::right("switches"),
    ]);
    let wide = screen.columns() >= MIN_WIDTH_FOR_ALL_COLUMNS;
    for one in busiest(all, limit) {
        let part = |seconds: f64| match one.wall > 0.0 {
            true => Cell::new(format::share(seconds / one.wall), PLAIN),
            false => Cell::new("", PLAIN),
        };
        table.row(vec![
            one.name.as_str().into(),
            Cell::new(
                if wide {
                    one.tid.to_string()
                } else {
                    String::new()
                },
                DIM,
            ),
            format::seconds(one.wall).into(),
            Cell::new(bar(one), WARM),
            part(one.running),
            part(one.runnable),
            part(one.blocked),
            part(one.unknown),
            Cell::new(
                if wide {
                    format::count(one.switches as f64)
                } else {
                    String::new()
                },
                DIM,
            ),
        ]);
    }
    out.push_str(&table.render(screen));
    let rest = all.len().saturating_sub(limit) as u64 + more_threads;
    more(out, rest as usize, "more thread", screen);
}

/// Returns at most so many threads in their order: those that had or wanted a CPU longest.
fn busiest(all: &[ThreadTime], limit: usize) -> Vec<&ThreadTime> {
    let active = |index: &usize| all[*index].running + all[*index].runnable;
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| active(b).total_cmp(&active(a)));
    order.truncate(limit);
    order.sort_unstable();
    order.into_iter().map(|index| &all[index]).collect()
}

/// A bar of fixed width that divides a thread's wall time; nothing for one without any.
fn bar(one: &ThreadTime) -> String {
    if one.wall.is_nan() || one.wall <= 0.0 {
        return String::new();
    }
    let mut text = String::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (seconds, mark) in [
        (one.running, '█'),
        (one.runnable, '▒'),
        (one.blocked, '░'),
        (one.unknown, '?'),
    ] {
        sum += seconds.max(0.0);
        // Ends are rounded, not lengths, so that the parts add up.
        let end = (sum / one.wall * BAR_COLUMNS as f64).round() as usize;
        let end = end.min(BAR_COLUMNS);
        text.extend(std::iter::repeat_n(mark, end - drawn));
        drawn = end;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    fn screen(width: usize) -> Screen {
        Screen {
            width,
            colour: false,
        }
    }

    #[test]
    fn division_causes_path_waits_and_threads_are_shown() {
        insta::assert_snapshot!("waits", waits(&fixture::waits(), screen(120)));
    }

    #[test]
    fn busiest_threads_are_listed_where_not_all_are() {
        let mut all = vec![fixture::waits().threads[0].clone(); 4];
        for (index, one) in (0..).zip(&mut all) {
            one.tid = index;
            (one.running, one.runnable) = (0.0, 0.0);
        }
        all[3].runnable = 2.0;
        all[1].running = 1.0;
        let tids = |limit| {
            busiest(&all, limit)
                .iter()
                .map(|one| one.tid)
                .collect::<Vec<_>>()
        };
        assert_eq!(tids(2), [1, 3]);
        assert_eq!(tids(9), [0, 1, 2, 3]);
    }

    #[test]
    fn narrow_screens_shorten_names() {
        insta::assert_snapshot!("waits_narrow", waits(&fixture::waits(), screen(72)));
    }

    #[test]
    fn lines_fit_the_screen() {
        for all in [fixture::waits(), fixture::hostile_waits()] {
            for width in [72, 80, 120, 200] {
                for line in waits(&all, screen(width)).lines() {
                    assert!(safe_text::display_width(line) <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn run_without_snapshots_shows_no_shares() {
        let mut all = fixture::waits();
        all.snapshots = 0;
        all.findings.clear();
        all.waits.clear();
        all.critical_path.clear();
        let text = waits(&all, screen(100));
        assert!(text.contains("too short to see where it went"), "{text}");
        assert!(!text.contains("no cause"), "{text}");
    }

    #[test]
    fn waiting_without_a_cause_says_what_it_is_for() {
        let mut all = fixture::waits();
        all.findings.clear();
        let text = waits(&all, screen(200));
        let line = text
            .lines()
            .find(|line| line.contains("no cause of needless"));
        insta::assert_snapshot!(
            line.unwrap_or_default(),
            @"  no cause of needless waiting found; 71 % of the wall time: waiting for fsync, most at journal.c:88 in flush_journal (/srv/journal)"
        );
        all.critical_path
            .retain(|step| step.state == WaitReason::Running);
        let text = waits(&all, screen(200));
        assert!(
            text.contains("  no cause of needless waiting found\n"),
            "{text}"
        );
    }

    #[test]
    fn rows_beyond_the_limit_are_counted() {
        let mut all = fixture::waits();
        all.waits = vec![all.waits[0].clone(); 25];
        let text = waits(&all, screen(100));
        assert!(text.contains("… 15 more waits"), "{text}");
        assert!(text.contains("… 2 more threads"), "{text}");
    }

    #[test]
    fn bars_have_one_width_and_parts_that_add_up() {
        let mut one = fixture::waits().threads[1].clone();
        for running in [0.0, 0.001, 0.4, 1.0, 7.0] {
            (one.wall, one.running, one.runnable) = (1.0, running, 0.0);
            (one.blocked, one.unknown) = (1.0 - running, 0.0);
            assert_eq!(bar(&one).chars().count(), BAR_COLUMNS, "{running}");
        }
        one.wall = 0.0;
        assert_eq!(bar(&one), "");
    }
}
