//! `genba count` in a terminal: functions by instructions or calls, callers and callees.

use genba_model::{CountedFunction, Counts, Estimate};
use genba_units::format;

use super::call_graph;
use crate::terminal::screen::{DIM, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{counts, profile};
use crate::{Screen, safe_text};

/// Sort order of the table of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountSort {
    /// Most instructions executed in the function itself.
    #[default]
    Instructions,
    /// Most calls.
    Calls,
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct CountsOptions {
    /// Maximum number of rows of a table.
    pub limit: usize,
    /// Sort order.
    pub sort: CountSort,
    /// Show callers and callees of the functions of this name (or, where there are none, of those
    /// whose name contains it) instead of the table.
    pub calls_of: Option<String>,
}

impl Default for CountsOptions {
    fn default() -> Self {
        Self {
            limit: 30,
            sort: CountSort::Instructions,
            calls_of: None,
        }
    }
}

/// Minimum width of a screen for counts with all their digits, columns.
const MIN_WIDTH_FOR_DIGITS: usize = 110;
/// Minimum width of a screen for source and module in columns of their own, columns.
const MIN_WIDTH_FOR_MODULE: usize = 100;
/// Maximum number of sentences of one kind.
const MAX_SENTENCES: usize = 12;

/// Renders counts.
#[must_use]
pub fn counts(counts: &Counts, options: &CountsOptions, screen: Screen) -> String {
    let width = screen.columns();
    let mut out = String::new();
    if !counts.command.is_empty() {
        let command = safe_text::fit(&safe_text::command(&counts.command), width);
        out.push_str(&format!("{}\n", screen.paint(STRONG, &command)));
    }
    paragraph(&mut out, &counts::head(counts), screen);
    if let Some(per) = &counts.per {
        paragraph(&mut out, &counts::unit(per), screen);
    }
    // Warnings come before the figures that they qualify.
    if let Some(why) = &counts.cut_short {
        super::remark(&mut out, &counts::cut_short(why), screen);
    }
    if let Some(sentence) = counts::ended(counts.exit) {
        super::remark(&mut out, &sentence, screen);
    }
    out.push('\n');
    if let Some(wanted) = &options.calls_of {
        out.push_str(&call_graph::of_counts(
            counts,
            wanted,
            options.limit,
            screen,
        ));
    } else {
        functions(&mut out, counts, options, screen);
    }
    if !counts.notes.is_empty() {
        out.push('\n');
    }
    for note in counts.notes.iter().take(MAX_SENTENCES) {
        super::remark(&mut out, note, screen);
    }
    super::limitations(&mut out, &counts.engine, &counts.gaps, screen);
    out
}

fn paragraph(out: &mut String, sentence: &str, screen: Screen) {
    if sentence.is_empty() {
        return;
    }
    for line in super::wrap(&safe_text::sanitise(sentence), screen.columns()) {
        out.push_str(&screen.paint(DIM, &line));
        out.push('\n');
    }
}

/// Indices of the functions in the order of the table.
fn in_order(counts: &Counts, sort: CountSort) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.functions.len()).collect();
    order.sort_by_key(|&index| {
        let f = &counts.functions[index];
        std::cmp::Reverse(match sort {
            CountSort::Instructions => (f.instructions, 0),
            CountSort::Calls => (f.calls, f.instructions),
        })
    });
    order
}

/// Indices of the functions whose file and line [`counts`] may show.
#[must_use]
pub fn functions_shown(counts: &Counts, options: &CountsOptions) -> Vec<usize> {
    match options.calls_of {
        // Callers and callees may be any.
        Some(_) => (0..counts.functions.len()).collect(),
        None => {
            let mut order = in_order(counts, options.sort);
            order.truncate(options.limit);
            order
        }
    }
}

fn functions(out: &mut String, counts: &Counts, options: &CountsOptions, screen: Screen) {
    if counts.functions.is_empty() {
        out.push_str("  no executed instruction was counted\n");
        return;
    }
    let order = in_order(counts, options.sort);
    let exact = screen.columns() >= MIN_WIDTH_FOR_DIGITS;
    let wide = screen.columns() >= MIN_WIDTH_FOR_MODULE;
    // On a narrow screen the name needs the remaining columns.
    let each = wide || counts.per.is_none();
    let mut table = Table::new(vec![
        Column::right("calls"),
        Column::right(if exact { "instructions" } else { "instr" }),
        Column::right("self"),
        Column::right("total"),
        Column::right(if each { "per call" } else { "" }),
        Column::right(if wide { "calls/unit" } else { "calls/u" }),
        Column::right(if wide { "instr/unit" } else { "instr/u" }),
        Column::flexible("function", 14),
        Column::flexible("source", 10),
        Column::flexible(if wide { "module" } else { "" }, 6),
    ]);
    let all = counts.instructions.max(1) as f64;
    let per = |value: Option<f64>| match value {
        Some(value) if value != 0.0 => counts::ratio(value),
        _ => String::new(),
    };
    for &index in order.iter().take(options.limit) {
        let f = &counts.functions[index];
        let own = f.instructions as f64 / all;
        let source = profile::file_line(f.file.as_deref(), f.line);
        let module = safe_text::file_name(&f.module);
        let (source, module) = match (wide, source.is_empty()) {
            (true, _) => (source, module),
            (false, true) => (module.to_owned(), ""),
            (false, false) => (source, ""),
        };
        table.row(vec![
            amount(f.calls, exact).into(),
            amount(f.instructions, exact).into(),
            Cell::new(part(own), heat(own)),
            total(f, all).into(),
            Cell::new(
                if each {
                    instructions_per_call(f)
                } else {
                    String::new()
                },
                DIM,
            ),
            per(f.calls_per).into(),
            per(f.instructions_per).into(),
            f.function.as_str().into(),
            Cell::new(source, DIM),
            Cell::new(module, DIM),
        ]);
    }
    out.push_str(&table.render(screen));
    let rest = order.len().saturating_sub(options.limit);
    if rest > 0 {
        let words = format!(
            "  … {} beyond the limit of {}",
            format::plural(rest as u64, "more function"),
            options.limit
        );
        out.push_str(&screen.paint(DIM, &words));
        out.push('\n');
    }
    paragraph(out, &totals_legend(counts), screen);
}

/// Returns how totals are computed; empty where there are none.
pub(super) fn totals_legend(counts: &Counts) -> String {
    let any = |has: fn(&CountedFunction) -> bool| counts.functions.iter().any(has);
    if !any(|f| f.total_instructions.is_some()) {
        return String::new();
    }
    let mut text = "total: including callees, estimated as gprof does: every call of a function \
                    costs the same"
        .to_owned();
    if any(|f| f.cycle.is_some()) {
        text.push_str("; ≤: of mutually recursive functions, the total of their whole cycle");
    }
    text
}

/// Returns the inclusive share of a function, an upper bound for mutually recursive functions.
pub(super) fn total(f: &CountedFunction, all: f64) -> String {
    let mark = if f.cycle.is_some() { "≤" } else { "" };
    f.total_instructions
        .map(|total| format!("{mark}{}", part(total / all)))
        .unwrap_or_default()
}

/// Returns a share of all instructions; by rounding, an estimated total may exceed 100 %.
pub(super) fn part(share: f64) -> String {
    format::percent(&Estimate::exact(share.min(1.0)))
}

/// Returns a count, with all its digits if `exact`; empty for 0.
pub(super) fn amount(count: u64, exact: bool) -> String {
    match (count, exact) {
        (0, _) => String::new(),
        (_, true) => format::grouped(count as f64),
        (_, false) => format::count(count as f64),
    }
}

/// Returns the instructions in the function itself per call.
fn instructions_per_call(f: &CountedFunction) -> String {
    if f.calls == 0 {
        return String::new();
    }
    counts::ratio(f.instructions as f64 / f.calls as f64)
}
