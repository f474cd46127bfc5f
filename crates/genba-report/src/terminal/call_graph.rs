//! Callers and callees of a function: with counts as in gprof's call graph, or by samples.

use genba_model::{Counts, Profile, best_fits};
use genba_units::format;

use super::counts::{amount, part, totals_legend};
use super::profile_report::ReportOptions;
use crate::terminal::screen::{DIM, HEAD, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{counts, profile};
use crate::{Screen, safe_text};

/// Maximum number of functions whose callers and callees are shown.
const MAX_FUNCTIONS: usize = 5;

/// Renders the functions named `wanted`, each with its callers and callees by counts.
pub(super) fn of_counts(counts: &Counts, wanted: &str, limit: usize, screen: Screen) -> String {
    let names = counts.functions.iter().map(|f| f.function.as_str());
    let found = named(names, wanted);
    if found.is_empty() {
        return format!(
            "  no executed function is named {}\n",
            safe_text::fit(wanted, screen.columns().saturating_sub(45).max(16))
        );
    }
    let mut out = String::new();
    for &index in found.iter().take(MAX_FUNCTIONS) {
        one(&mut out, counts, index, limit, screen);
        out.push('\n');
    }
    let beyond = found.len().saturating_sub(MAX_FUNCTIONS);
    if beyond > 0 {
        out.push_str(&format!("  … and {beyond} more of that name\n"));
    }
    if counts.calls.is_empty() {
        out.push_str("  calls between functions were not recorded\n");
    } else {
        for line in super::wrap(&totals_legend(counts), screen.columns() - 2) {
            out.push_str(&format!("  {}\n", screen.paint(DIM, &line)));
        }
    }
    out
}

/// Returns the indices of the functions that this name means, or, where there are none, of those whose
/// name contains it.
fn named<'a>(names: impl Iterator<Item = &'a str> + Clone, wanted: &str) -> Vec<usize> {
    let meant = best_fits(names.clone(), wanted);
    if !meant.is_empty() {
        return meant;
    }
    let indexed = names.enumerate();
    indexed
        .filter(|(_, name)| name.contains(wanted))
        .map(|(index, _)| index)
        .collect()
}

fn one(out: &mut String, counts: &Counts, index: usize, limit: usize, screen: Screen) {
    let f = &counts.functions[index];
    let width = screen.columns();
    let all = counts.instructions.max(1) as f64;
    let place = profile::file_line(f.file.as_deref(), f.line);
    let name = safe_text::fit(&f.function, width.saturating_sub(30).max(20));
    let tail = format!("{place} {}", safe_text::file_name(&f.module));
    let room = width.saturating_sub(safe_text::display_width(&name) + 2);
    out.push_str(&format!(
        "{}  {}\n",
        screen.paint(STRONG, &name),
        screen.paint(DIM, &safe_text::fit(tail.trim(), room))
    ));
    let mut figures = format!(
        "{}, {} self ({})",
        format::plural(f.calls, "call"),
        format::plural(f.instructions, "instruction"),
        part(f.instructions as f64 / all)
    );
    if let Some(total) = f.total_instructions {
        figures.push_str(&format!(
            ", {}{} total ({})",
            if f.cycle.is_some() { "≤ " } else { "" },
            format::count(total),
            part(total / all)
        ));
        if let Some(cycle) = f.cycle {
            figures.push_str(&format!(
                ", the total of a cycle of {cycle} mutually recursive functions"
            ));
        }
    }
    if let (Some(calls), Some(_)) = (f.calls_per, &counts.per) {
        figures.push_str(&format!(", {} calls per unit", counts::ratio(calls)));
    }
    for line in super::wrap(&figures, width - 2) {
        out.push_str(&format!("  {line}\n"));
    }
    side(out, counts, index, true, limit, screen);
    side(out, counts, index, false, limit, screen);
}

/// Adds callers or callees: calls, their share of all calls of the callee, calls per call of the
/// caller, the instructions that the model assigns to them.
fn side(
    out: &mut String,
    counts: &Counts,
    index: usize,
    callers: bool,
    limit: usize,
    screen: Screen,
) {
    let near = |call: &&genba_model::CountedCall| {
        let end = if callers { call.callee } else { call.caller };
        end as usize == index
    };
    let mut list: Vec<_> = counts.calls.iter().filter(near).collect();
    if list.is_empty() {
        return;
    }
    list.sort_by_key(|call| std::cmp::Reverse(call.calls));
    let title = if callers { "callers" } else { "callees" };
    out.push_str(&format!("{}\n", screen.paint(HEAD, title)));
    let mut table = Table::new(vec![
        Column::right("calls"),
        Column::right("of its calls"),
        Column::right("per call"),
        Column::right("total"),
        Column::flexible("function", 14),
        Column::flexible("source", 8),
        Column::flexible("module", 6),
    ]);
    let exact = screen.columns() >= 80;
    let all = counts.instructions.max(1) as f64;
    for call in list.iter().take(limit) {
        let far = if callers { call.caller } else { call.callee } as usize;
        let (Some(caller), Some(callee), Some(other)) = (
            counts.functions.get(call.caller as usize),
            counts.functions.get(call.callee as usize),
            counts.functions.get(far),
        ) else {
            continue;
        };
        let share = call.calls as f64 / callee.calls.max(1) as f64;
        // Calls within a cycle of recursive functions have no total: the model cannot separate them.
        let total = (call.total_instructions > 0.0).then_some(call.total_instructions / all);
        table.row(vec![
            amount(call.calls, exact).into(),
            if callee.calls > 0 {
                part(share)
            } else {
                String::new()
            }
            .into(),
            if caller.calls > 0 {
                counts::ratio(call.calls as f64 / caller.calls as f64)
            } else {
                String::new()
            }
            .into(),
            Cell::new(total.map(part).unwrap_or_default(), total.map_or(DIM, heat)),
            if far == index {
                format!("{} (recursive)", other.function)
            } else {
                other.function.clone()
            }
            .into(),
            Cell::new(profile::file_line(other.file.as_deref(), other.line), DIM),
            Cell::new(safe_text::file_name(&other.module), DIM),
        ]);
    }
    out.push_str(&table.render(screen));
    let rest = list.len().saturating_sub(limit);
    if rest > 0 {
        let words = format!("  … and {rest} more");
        out.push_str(&format!("{}\n", screen.paint(DIM, &words)));
    }
}

/// Renders the functions named `wanted`, each with its callers and callees by samples.
pub(super) fn of_samples(
    profile: &Profile,
    wanted: &str,
    options: &ReportOptions,
    screen: Screen,
) -> String {
    if !profile.stacks {
        return "  this profile has no call stacks: record with -g or --call-graph dwarf\n"
            .to_owned();
    }
    let names = profile.functions.iter().map(|f| f.function.as_str());
    let found = named(names, wanted);
    if found.is_empty() {
        let mut text = format!(
            "  no function in this profile is named {}\n",
            safe_text::fit(wanted, 60)
        );
        // The code of another program's profile is not known.
        if profile.imported_from.is_none() {
            let input = options.input.iter().flat_map(|input| ["-i", input]);
            let words = ["genba", "annotate"]
                .into_iter()
                .chain(input)
                .chain([wanted]);
            let words: Vec<String> = words.map(str::to_owned).collect();
            let command = safe_text::command(&words);
            text.push_str(&format!("  where it was inlined: {command}\n"));
        }
        return text;
    }
    let mut out = String::new();
    let beyond = found.len().saturating_sub(MAX_FUNCTIONS);
    for &index in found.iter().take(MAX_FUNCTIONS) {
        let f = &profile.functions[index];
        let place = profile::file_line(f.file.as_deref(), f.line);
        let head = format!(
            "{} {place}",
            safe_text::fit(&f.function, screen.columns() - 20)
        );
        out.push_str(&format!(
            "{}\n  self {}   total {}\n",
            screen.paint(STRONG, &safe_text::fit(&head, screen.columns())),
            format::percent(&f.self_share),
            format::percent(&f.total),
        ));
        let side = |callers: bool| -> Vec<(f64, usize)> {
            let mut list: Vec<(f64, usize)> = profile
                .edges
                .iter()
                .filter_map(|e| {
                    let (near, far) = if callers {
                        (e.callee, e.caller)
                    } else {
                        (e.caller, e.callee)
                    };
                    (near as usize == index).then_some((e.share, far as usize))
                })
                .collect();
            list.sort_by(|a, b| b.0.total_cmp(&a.0));
            list
        };
        for (title, list) in [("callers", side(true)), ("callees", side(false))] {
            if list.is_empty() {
                continue;
            }
            out.push_str(&format!("{}\n", screen.paint(HEAD, title)));
            let mut table = Table::new(vec![
                Column::right(""),
                Column::right(""),
                Column::flexible("", 16),
                Column::flexible("", 8),
            ]);
            for &(share, far) in list.iter().take(options.limit) {
                let Some(other) = profile.functions.get(far) else {
                    continue;
                };
                let of_total = if f.total.value > 0.0 {
                    share / f.total.value
                } else {
                    0.0
                };
                table.row(vec![
                    Cell::new(format::share(share), heat(share)),
                    Cell::new(format!("{} of total", format::share(of_total)), DIM),
                    if far == index {
                        format!("{} (recursive)", other.function)
                    } else {
                        other.function.clone()
                    }
                    .into(),
                    Cell::new(safe_text::file_name(&other.module), DIM),
                ]);
            }
            out.push_str(&table.render(screen));
        }
        out.push('\n');
    }
    if beyond > 0 {
        out.push_str(&format!("  … and {beyond} more of that name\n"));
    }
    out
}
