//! Counters, as `perf stat -d` has them.

use genba_model::{CounterState, Stat};

use crate::terminal::screen::{DIM, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{counters, runs};
use crate::{Screen, number, safe_text};

/// The table of counters with derived ratios, the share of the time that each was on the
/// hardware where it was not all of it, the times, and once what this machine does not have.
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
    let mut table = Table::new(vec![
        Column::right(""),
        Column::left(""),
        Column::flexible("", 12),
        Column::left(""),
        Column::flexible("", 24),
        Column::right(""),
    ]);
    for counter in &stat.counters {
        let (CounterState::Counted, Some(value)) = (counter.state, &counter.value) else {
            continue;
        };
        let amount = if counter.unit.is_empty() {
            number::counted(value)
        } else {
            number::grouped_decimals(value.value, 2)
        };
        let note = counter
            .note
            .as_ref()
            .map(|n| counters::note_text(n.value, &n.text))
            .unwrap_or_default();
        let multiplexed = if counter.running_share < 0.9995 {
            format!("({})", number::share(counter.running_share))
        } else {
            String::new()
        };
        table.row(vec![
            amount.into(),
            counter.unit.as_str().into(),
            Cell::new(counter.event.as_str(), STRONG),
            Cell::new(number::plus_minus(value), DIM),
            note.into(),
            Cell::new(multiplexed, DIM),
        ]);
    }
    out.push_str(&table.render(screen));
    let shared =
        |c: &genba_model::Counter| c.state == CounterState::Counted && c.running_share < 0.9995;
    if stat.counters.iter().any(shared) {
        let legend = "(…): share of the time on the hardware; the value is extrapolated";
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
        screen.paint(STRONG, &number::time(&stat.wall)),
        space(&number::plus_minus(&stat.wall)),
        number::time(&stat.user),
        number::time(&stat.system),
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

pub(super) fn space(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" {text}")
    }
}
