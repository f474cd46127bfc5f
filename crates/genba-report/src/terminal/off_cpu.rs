//! `genba report --off-cpu` in a terminal: functions and stacks by the time of threads off a CPU.

use genba_model::{OffCpu, OffCpuFunction, WaitReason, WallStack};
use genba_units::format;

use super::{ReportOptions, wrap};
use crate::terminal::screen::{DIM, HEAD, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wall_flame_graph::wait_frame;
use crate::wording::waits as wording;
use crate::{Screen, safe_text};

/// Maximum number of stacks, unless fewer rows are requested.
const MAX_STACKS: usize = 10;
/// Maximum number of lines of a stack.
const MAX_STACK_LINES: usize = 4;
/// Maximum number of reasons of a row.
const MAX_REASONS: usize = 3;
/// Maximum number of notes.
const MAX_NOTES: usize = 12;

/// Renders the time off a CPU: functions, then stacks with reason and object.
#[must_use]
pub fn off_cpu(all: &OffCpu, options: &ReportOptions, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = format!("{}\n", screen.paint(STRONG, &wording::off_cpu(all)));
    let command = safe_text::command(&wording::command_or_process(&all.command, all.pid));
    let basis = format::plural(all.snapshots, "snapshot");
    let room = width.saturating_sub(basis.len() + 6).max(20);
    let below = format!("{} · {basis}", safe_text::fit(&command, room));
    out.push_str(&format!("  {}\n", screen.paint(DIM, &below)));
    let share = |seconds: f64| match all.off_cpu_seconds > 0.0 {
        true => seconds / all.off_cpu_seconds,
        false => 0.0,
    };
    functions(&mut out, all, options, &share, screen);
    stacks(&mut out, all, options, &share, screen);
    if !all.notes.is_empty() {
        out.push('\n');
    }
    for note in all.notes.iter().take(MAX_NOTES) {
        super::remark(&mut out, note, screen);
    }
    out
}

fn head(out: &mut String, name: &str, explanation: &str, screen: Screen) {
    let room = screen.columns().saturating_sub(name.len() + 2);
    let words = screen.paint(DIM, &safe_text::fit(explanation, room));
    out.push_str(&format!("\n{}  {words}\n", screen.paint(HEAD, name)));
}

fn functions(
    out: &mut String,
    all: &OffCpu,
    options: &ReportOptions,
    share: &dyn Fn(f64) -> f64,
    screen: Screen,
) {
    let explanation = "self: the innermost function of the user's code; added up over threads";
    head(out, "FUNCTIONS", explanation, screen);
    let mut table = Table::new(vec![
        Column::right("self"),
        Column::right("share"),
        Column::right("total"),
        Column::flexible("function", 16),
        Column::flexible("for", 12),
    ]);
    let shown: Vec<&OffCpuFunction> = (all.functions.iter())
        .filter(|one| share(one.total_seconds) >= options.min_share)
        .take(options.limit)
        .collect();
    for one in &shown {
        let own = share(one.self_seconds);
        let own_time = match one.self_seconds > 0.0 {
            true => (format::seconds(one.self_seconds), format::share(own)),
            false => (String::new(), String::new()),
        };
        table.row(vec![
            own_time.0.into(),
            Cell::new(own_time.1, heat(own)),
            format::seconds(one.total_seconds).into(),
            one.function.as_str().into(),
            Cell::new(reasons(one), DIM),
        ]);
    }
    out.push_str(&table.render(screen));
    more(
        out,
        all.functions.len() - shown.len(),
        "more function",
        screen,
    );
}

/// What the time of a function was spent on: `lock 80 %, file 20 %`.
fn reasons(one: &OffCpuFunction) -> String {
    let words: Vec<String> = one
        .reasons
        .iter()
        .take(MAX_REASONS)
        .map(|part| {
            let name = wording::short_reason(part.reason);
            match one.reasons.len() {
                1 => name.to_owned(),
                _ => format!("{name} {}", format::share(part.seconds / one.total_seconds)),
            }
        })
        .collect();
    words.join(", ")
}

fn stacks(
    out: &mut String,
    all: &OffCpu,
    options: &ReportOptions,
    share: &dyn Fn(f64) -> f64,
    screen: Screen,
) {
    let stacks: Vec<&WallStack> = (all.stacks.iter())
        .filter(|one| share(one.seconds) >= options.min_share)
        .take(options.limit.min(MAX_STACKS))
        .collect();
    if stacks.is_empty() {
        return;
    }
    let explanation = "time, share, reason and object; threads; functions, innermost first";
    head(out, "STACKS", explanation, screen);
    let width = screen.columns();
    for one in &stacks {
        let wait = wait_frame(one).unwrap_or_default();
        let wait = wait.strip_prefix('[').unwrap_or_default();
        let wait = wait.strip_suffix(']').unwrap_or(wait);
        let line = format!(
            "{:>9}  {:>6}  {}",
            format::seconds(one.seconds),
            format::share(share(one.seconds)),
            safe_text::fit(wait, 60),
        );
        let thread = safe_text::fit(&one.thread, 24);
        let snapshots = match (one.state, one.snapshots) {
            // The kernel's account, not snapshots.
            (WaitReason::RunQueue, _) | (_, 0) => String::new(),
            (_, number) => format!(", {}", format::plural(number, "snapshot")),
        };
        let line = safe_text::fit(&line, width);
        out.push_str(&format!(
            "{line}  {}\n",
            screen.paint(DIM, &format!("{thread}{snapshots}"))
        ));
        let functions: Vec<String> = (one.frames.iter().rev())
            .map(|name| safe_text::fit(name, 60))
            .collect();
        let lines = wrap(&functions.join(" ← "), width.saturating_sub(11));
        for line in lines
            .iter()
            .take(MAX_STACK_LINES)
            .filter(|line| !line.is_empty())
        {
            out.push_str(&format!("           {line}\n"));
        }
    }
    more(out, all.stacks.len() - stacks.len(), "more stack", screen);
}

fn more(out: &mut String, number: usize, noun: &str, screen: Screen) {
    if number > 0 {
        let words = format!("  … {}\n", format::plural(number as u64, noun));
        out.push_str(&screen.paint(DIM, &words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    fn shown(all: &OffCpu, width: usize) -> String {
        let screen = Screen {
            width,
            colour: false,
        };
        off_cpu(all, &ReportOptions::default(), screen)
    }

    #[test]
    fn functions_and_stacks_are_shown_with_reasons() {
        insta::assert_snapshot!("off_cpu", shown(&fixture::off_cpu(), 100));
    }

    #[test]
    fn brackets_of_an_object_are_its_own() {
        let mut all = fixture::off_cpu();
        all.stacks[0].object = Some("pipe:[4711]".to_owned());
        assert!(shown(&all, 100).contains("lock: pipe:[4711]  worker"));
    }

    #[test]
    fn rows_below_the_limit_are_counted_not_shown() {
        let all = fixture::off_cpu();
        let options = ReportOptions {
            limit: 1,
            ..ReportOptions::default()
        };
        let screen = Screen {
            width: 80,
            colour: false,
        };
        let text = off_cpu(&all, &options, screen);
        assert!(
            text.contains("… 1 more function") && text.contains("… 1 more stack"),
            "{text}"
        );
    }

    #[test]
    fn hostile_names_are_harmless_and_fit() {
        let mut all = fixture::off_cpu();
        for one in &mut all.stacks {
            one.thread = "\x1b[31m".repeat(1000);
            one.object = Some("\u{202e}".repeat(1000));
            one.frames = vec!["\x07a".repeat(5000); 300];
        }
        all.off_cpu_seconds = f64::NAN;
        let text = shown(&all, 80);
        assert!(!text.contains('\x1b') && !text.contains('\x07') && !text.contains('\u{202e}'));
        assert!(text.len() < 20_000);
    }
}
