//! `genba stat`: event counters as in `perf stat -d`.

use genba_model::{Counter, CounterState, Estimate, Stat, StatInterval};
use genba_units::format;

use crate::terminal::screen::{DIM, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{counters, runs};
use crate::{Screen, safe_text};

/// Renders the counters with derived ratios and the share of the time each was counted where it was
/// multiplexed, the times, and the events that this machine does not support.
#[must_use]
pub fn stat(stat: &Stat, screen: Screen) -> String {
    let width = screen.columns();
    let head = format!(
        "counters of {}{}",
        safe_text::command(&stat.command),
        if stat.runs > 1 {
            format!(", {} runs", stat.runs)
        } else {
            String::new()
        }
    );
    let mut out = format!(
        "{}\n\n",
        screen.paint(STRONG, &safe_text::fit(&head, width))
    );
    if let Some(found) = &stat.topdown {
        out.push_str(&super::topdown::section(found, screen));
    }
    let mut table = table();
    for counter in &stat.counters {
        row(&mut table, counter);
    }
    out.push_str(&table.render(screen));
    for thread in &stat.threads {
        let name = format!("\n  {} {}\n", safe_text::fit(&thread.name, 20), thread.tid);
        out.push_str(&screen.paint(STRONG, &name));
        let mut table = self::table();
        for counter in &thread.counters {
            row(&mut table, counter);
        }
        out.push_str(&table.render(screen));
    }
    let shared = |c: &Counter| c.state == CounterState::Counted && c.running_share < 0.9995;
    if stat.counters.iter().any(shared) {
        let legend = "(…): share of the time that a multiplexed event was counted; its value is extrapolated";
        for line in super::wrap(legend, width - 2) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
    let missing = counters::missing(stat);
    if !missing.is_empty() {
        out.push('\n');
    }
    for (reason, events) in missing {
        for line in super::wrap(
            &safe_text::sanitise(&format!("{reason}: {}", events.join(", "))),
            width - 2,
        ) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
    out.push_str(&format!(
        "\n  {} wall{}   {} user   {} sys\n",
        screen.paint(STRONG, &format::time(&stat.wall)),
        space(&format::plus_minus(&stat.wall)),
        format::time(&stat.user),
        format::time(&stat.system),
    ));
    if !stat.exit.success() {
        let sentence = format!("the command failed: {}", runs::exit(stat.exit));
        super::remark(&mut out, &sentence, screen);
    }
    for note in &stat.notes {
        super::remark(&mut out, note, screen);
    }
    out
}

/// Renders the counters of an interval, each with the time at its end, as `perf stat -I` does.
#[must_use]
pub fn stat_interval(interval: &StatInterval) -> String {
    let mut out = String::new();
    for counter in &interval.counters {
        let (amount, note) = match (&counter.value, counter.state) {
            (Some(value), _) => (amount(counter, value), note(counter)),
            (None, CounterState::NotCounted) => ("<not counted>".to_owned(), String::new()),
            // The totals say why.
            (None, _) => continue,
        };
        let line = format!(
            "{:>12.6} {amount:>18} {:<4} {:<24} {note}",
            interval.end_seconds,
            counter.unit,
            safe_text::fit(&counter.event, 60),
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The head of the lines of [`stat_interval`].
pub const STAT_INTERVAL_HEAD: &str = "#   time (s)             counts unit event\n";

fn table() -> Table {
    Table::new(vec![
        Column::right(""),
        Column::left(""),
        Column::flexible("", 12),
        Column::left(""),
        Column::flexible("", 24),
        Column::right(""),
    ])
}

/// Adds a counter that has a value.
fn row(table: &mut Table, counter: &Counter) {
    let (CounterState::Counted, Some(value)) = (counter.state, &counter.value) else {
        return;
    };
    let multiplexed = if counter.running_share < 0.9995 {
        format!("({})", format::share(counter.running_share))
    } else {
        String::new()
    };
    table.row(vec![
        amount(counter, value).into(),
        counter.unit.as_str().into(),
        Cell::new(counter.event.as_str(), STRONG),
        Cell::new(format::plus_minus(value), DIM),
        note(counter).into(),
        Cell::new(multiplexed, DIM),
    ]);
}

fn amount(counter: &Counter, value: &Estimate) -> String {
    if counter.unit.is_empty() {
        format::counted(value)
    } else {
        format::grouped_decimals(value.value, 2)
    }
}

/// The derived ratio; empty where there is none.
fn note(counter: &Counter) -> String {
    let note = counter.note.as_ref();
    note.map(|one| counters::note_text(one.value, &one.text))
        .unwrap_or_default()
}

/// Returns the text after a blank; empty where it is empty.
pub(super) fn space(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" {text}")
    }
}
