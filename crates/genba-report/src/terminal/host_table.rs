//! `genba host table` in a terminal: latency and throughput of instructions on this host.

use genba_model::{Estimate, HostTable, HostTableEntry};
use genba_units::format;

use crate::terminal::screen::{DIM, PLAIN, STRONG, WARN};
use crate::terminal::table::{Cell, Column, Table};
use crate::{Screen, safe_text};

/// Intervals wider than this share of the value are printed.
const MIN_SHARE_OF_SHOWN_INTERVAL: f64 = 0.05;
/// Intervals narrower than this are not printed, cycles.
const MIN_CYCLES_OF_SHOWN_INTERVAL: f64 = 0.05;

/// Renders a head line, one table with a line above each group, and the notes.
#[must_use]
pub fn host_table(table: &HostTable, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = head(table, screen, width);
    let mut rows = Table::new(vec![
        Column::left(""),
        Column::flexible("", 36),
        Column::right("latency"),
        Column::right("throughput"),
        Column::right("time, rate"),
        Column::flexible("", 16),
    ]);
    let mut group = "";
    for entry in &table.entries {
        if entry.group != group {
            group = &entry.group;
            let mut line = vec![Cell::new(group, STRONG)];
            line.extend((1..6).map(|_| Cell::new("", PLAIN)));
            line.swap(0, 1);
            rows.row(line);
        }
        rows.row(row(entry, table.frequency_hz));
    }
    out.push_str(&rows.render(screen));
    out.push('\n');
    let marked = table.entries.iter().any(|entry| entry.disturbed);
    let mut legend = vec![
        "latency: cycles from operands to result in a dependent chain; throughput: reciprocal \
         throughput, cycles per instruction among independent ones. a–b: a range, where \
         measurements scatter or the form can only be measured together with another",
    ];
    if marked {
        legend.push("?: disturbed during the measurement");
    }
    for sentence in legend {
        for line in super::wrap(sentence, width - 2) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
    for note in &table.notes {
        super::remark(&mut out, note, screen);
    }
    out
}

fn head(table: &HostTable, screen: Screen, width: usize) -> String {
    let host = &table.host;
    let mut who = host.cpu.clone();
    if !host.microarchitecture.is_empty() {
        who.push_str(&format!(" ({})", host.microarchitecture));
    }
    if let Some(below) = &host.virtualisation {
        who.push_str(&format!(", {below}"));
    }
    let (low, high) = table.frequency_range_hz;
    let clock = format!(
        "{:.2} GHz ({:.2}–{:.2}) by a chain of additions, measured {} in {}",
        table.frequency_hz / 1e9,
        low / 1e9,
        high / 1e9,
        table.measured,
        format::seconds(table.seconds),
    );
    let mut out = format!(
        "{}\n",
        screen.paint(
            STRONG,
            &safe_text::fit(&format!("instruction costs on {who}"), width)
        )
    );
    for line in super::wrap(&safe_text::sanitise(&clock), width) {
        out.push_str(&format!("{line}\n"));
    }
    out.push('\n');
    out
}

fn row(entry: &HostTableEntry, frequency: f64) -> Vec<Cell> {
    let mark = if entry.disturbed { "?" } else { "" };
    // Above this latency, time is more readable than cycles.
    let natural = entry
        .latency_cycles
        .filter(|it| it.value >= 50.0 && frequency > 0.0)
        .map(|it| it.scaled(1.0 / frequency));
    let time = entry.seconds.or(natural);
    vec![
        Cell::new(mark, WARN),
        format!("  {}", entry.form).into(),
        entry
            .latency_cycles
            .as_ref()
            .map_or(String::new(), cycles)
            .into(),
        entry
            .reciprocal_throughput_cycles
            .as_ref()
            .map_or(String::new(), cycles)
            .into(),
        match (&time, &entry.bytes_per_second) {
            (Some(time), _) => format::time(time),
            (None, Some(rate)) => format!("{}/s", format::bytes(rate.value)),
            (None, None) => String::new(),
        }
        .into(),
        Cell::new(entry.detail.as_deref().unwrap_or(""), DIM),
    ]
}

/// Returns cycles: `12.98`, `0.19`, `1,460`, and `1–8` where the interval is wide.
fn cycles(e: &Estimate) -> String {
    let wide = e.high - e.low;
    if wide > MIN_SHARE_OF_SHOWN_INTERVAL * e.value && wide > MIN_CYCLES_OF_SHOWN_INTERVAL {
        let short = |value: f64| {
            let value = format::grouped_decimals(value, usize::from(value < 99.95));
            value
                .strip_suffix(".0")
                .map_or(value.clone(), str::to_owned)
        };
        return format!("{}–{}", short(e.low), short(e.high));
    }
    match e.value.abs() {
        v if v >= 99.95 => format::grouped(e.value),
        v if v >= 9.995 => format!("{:.1}", e.value),
        _ => format!("{:.2}", e.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safe_text::display_width;
    use crate::test_fixtures::host;

    fn screen(width: usize) -> String {
        host_table(
            &host::table(),
            Screen {
                width,
                colour: false,
            },
        )
    }

    #[test]
    fn table_shows_ranges_units_and_disturbed_entries() {
        insta::assert_snapshot!("host_table", screen(120));
    }

    #[test]
    fn lines_fit_the_screen_and_are_sanitised() {
        for width in [60, 80, 120] {
            let text = screen(width);
            assert!(!text.contains('\u{1b}'));
            for line in text.lines() {
                assert!(display_width(line) <= width, "{width}: {line}");
            }
        }
    }
}
