//! `genba report --by data`: where the data of sampled loads and stores was.

use genba_model::{DataAccesses, DataFunction, DataProfile};
use genba_units::format;

use crate::terminal::ScriptOptions;
use crate::terminal::screen::{DIM, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::{Screen, safe_text};

/// Maximum number of levels under a function.
const MAX_LEVELS: usize = 3;

/// Renders the levels of all accesses, and the functions with most accesses and latency.
#[must_use]
pub fn data(profile: &DataProfile, options: ScriptOptions, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = String::new();
    if !profile.command.is_empty() {
        let command = safe_text::fit(&safe_text::command(&profile.command), width);
        out.push_str(&format!("{}\n", screen.paint(STRONG, &command)));
    }
    let all = &profile.all;
    let head = format!(
        "measured: {} samples of {} ({} loads, {} stores), {} page walks, {} lines modified by another core",
        format::grouped(all.samples as f64),
        profile.event.name,
        format::grouped(all.loads as f64),
        format::grouped(all.stores as f64),
        format::grouped(all.page_walks as f64),
        format::grouped(all.modified_elsewhere as f64),
    );
    for line in super::wrap(&safe_text::sanitise(&head), width) {
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
    out.push('\n');
    let mut table = Table::new(vec![
        Column::right("samples"),
        Column::right("share"),
        Column::right("mean latency"),
        Column::left("level"),
    ]);
    for row in &all.levels {
        table.row(vec![
            format::grouped(row.samples as f64).into(),
            share(row.samples, all.samples),
            latency(row.mean_latency_cycles).into(),
            row.level.as_str().into(),
        ]);
    }
    out.push_str(&table.render(screen));
    out.push('\n');
    let mut table = Table::new(vec![
        Column::right("samples"),
        Column::right("share"),
        Column::right("mean latency"),
        Column::flexible("levels", 20),
        Column::flexible("function", 16),
    ]);
    let worth =
        |one: &&DataFunction| one.accesses.samples as f64 >= options.min_share * all.samples as f64;
    for one in profile.functions.iter().filter(worth).take(options.limit) {
        table.row(vec![
            format::grouped(one.accesses.samples as f64).into(),
            share(one.accesses.samples, all.samples),
            latency(one.accesses.mean_latency_cycles).into(),
            Cell::new(levels(&one.accesses), DIM),
            one.function.as_str().into(),
        ]);
    }
    out.push_str(&table.render(screen));
    for note in &profile.notes {
        super::remark(&mut out, note, screen);
    }
    out
}

fn share(part: u64, all: u64) -> Cell {
    let share = part as f64 / all.max(1) as f64;
    Cell::new(format::share(share), heat(share))
}

fn latency(cycles: Option<f64>) -> String {
    cycles.map_or(String::new(), |cycles| {
        format!("{} cycles", format::grouped_decimals(cycles, 0))
    })
}

/// The levels with most accesses: `memory 61 %, L2 20 %`.
fn levels(accesses: &DataAccesses) -> String {
    let mut rows: Vec<_> = accesses.levels.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
    let all = accesses.samples.max(1) as f64;
    let parts: Vec<String> = (rows.iter().take(MAX_LEVELS))
        .map(|row| {
            format!(
                "{} {}",
                row.level,
                format::short_percent(row.samples as f64 / all)
            )
        })
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::{DataLevelRow, Event, Precision};

    #[test]
    fn levels_and_functions_have_counts_and_latencies() {
        let row = |level: &str, samples, latency| DataLevelRow {
            level: level.to_owned(),
            samples,
            mean_latency_cycles: latency,
        };
        let all = DataAccesses {
            samples: 1000,
            loads: 900,
            stores: 100,
            page_walks: 5,
            modified_elsewhere: 2,
            mean_latency_cycles: Some(150.0),
            levels: vec![row("L1d", 250, None), row("memory", 750, Some(312.4))],
        };
        let profile = DataProfile {
            event: Event {
                name: "ibs_op//".to_owned(),
                hardware: true,
                frequency_hz: 4999,
                kernel: true,
                precision: Precision::Precise,
            },
            command: vec!["./prog".to_owned()],
            functions: vec![DataFunction {
                function: "walk".to_owned(),
                module: "prog".to_owned(),
                accesses: all.clone(),
            }],
            all,
            notes: vec!["a note".to_owned()],
        };
        let options = ScriptOptions {
            limit: 10,
            min_share: 0.001,
        };
        let text = data(&profile, options, Screen::default());
        for part in [
            "1,000 samples of ibs_op//",
            "75 %",
            "312 cycles",
            "memory 75 %, L1d 25 %",
            "walk",
            "a note",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
