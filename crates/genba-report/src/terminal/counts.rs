//! The screen of `genba count`: functions by instructions or calls, callers and callees.

use genba_model::{CountedFunction, Counts, Estimate};

use super::call_graph;
use crate::terminal::screen::{DIM, STRONG, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{counts, profile};
use crate::{Screen, number, safe_text};

/// What comes first in the table of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountSort {
    /// Most instructions executed in the function itself.
    #[default]
    Instructions,
    /// Most calls.
    Calls,
}

/// What the screen shows.
#[derive(Clone, Debug)]
pub struct CountsOptions {
    /// Most rows of a table.
    pub limit: usize,
    /// What comes first.
    pub sort: CountSort,
    /// Show callers and callees of the functions whose name contains this text (those of the
    /// same name, where there are such) instead of the table.
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

/// Counts exact to the last digit where the screen is as wide.
const ROOM_FOR_DIGITS: usize = 110;
/// Source and module each have a column where the screen is as wide.
const ROOM_FOR_MODULE: usize = 100;
/// Sentences of one kind at most.
const MOST_SENTENCES: usize = 12;

/// The screen.
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
    // Before the figures that it spoils.
    if let Some(why) = &counts.cut_short {
        super::remark(&mut out, &counts::cut_short(why), screen);
    }
    if let Some(sentence) = counts::ended(counts.exit) {
        super::remark(&mut out, &sentence, screen);
    }
    out.push('\n');
    if let Some(wanted) = &options.calls_of {
        out.push_str(&call_graph::of(counts, wanted, options.limit, screen));
    } else {
        functions(&mut out, counts, options, screen);
    }
    if !counts.notes.is_empty() {
        out.push('\n');
    }
    for note in counts.notes.iter().take(MOST_SENTENCES) {
        super::remark(&mut out, note, screen);
    }
    super::gaps(&mut out, &counts.engine, &counts.gaps, screen);
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

fn functions(out: &mut String, counts: &Counts, options: &CountsOptions, screen: Screen) {
    if counts.functions.is_empty() {
        out.push_str("  nothing was executed that could be counted\n");
        return;
    }
    let mut order: Vec<&CountedFunction> = counts.functions.iter().collect();
    match options.sort {
        CountSort::Instructions => order.sort_by_key(|f| std::cmp::Reverse(f.instructions)),
        CountSort::Calls => order.sort_by_key(|f| std::cmp::Reverse((f.calls, f.instructions))),
    }
    let exact = screen.columns() >= ROOM_FOR_DIGITS;
    let wide = screen.columns() >= ROOM_FOR_MODULE;
    // Of a narrow screen the name needs what is left.
    let each = wide || counts.per.is_none();
    let mut table = Table::new(vec![
        Column::right("calls"),
        Column::right(if exact { "instructions" } else { "instr" }),
        Column::right("self"),
        Column::right("total"),
        Column::right(if each { "a call" } else { "" }),
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
    for f in order.iter().take(options.limit) {
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
            Cell::new(if each { a_call(f) } else { String::new() }, DIM),
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
            number::plural(rest as u64, "more function"),
            options.limit
        );
        out.push_str(&screen.paint(DIM, &words));
        out.push('\n');
    }
    paragraph(out, &model(counts), screen);
}

/// What the totals are; nothing where there are none.
pub(super) fn model(counts: &Counts) -> String {
    let any = |has: fn(&CountedFunction) -> bool| counts.functions.iter().any(has);
    if !any(|f| f.total_instructions.is_some()) {
        return String::new();
    }
    let mut text = "total: with what it called, modelled as gprof does: every call of a function \
                    costs the same"
        .to_owned();
    if any(|f| f.cycle.is_some()) {
        text.push_str("; ≤: of functions that call one another, that of all of them together");
    }
    text
}

/// The share of a function with what it called, an upper bound where functions call one
/// another.
pub(super) fn total(f: &CountedFunction, all: f64) -> String {
    let mark = if f.cycle.is_some() { "≤" } else { "" };
    f.total_instructions
        .map(|total| format!("{mark}{}", part(total / all)))
        .unwrap_or_default()
}

/// A share of all instructions; a total by the model may pass the whole by rounding.
pub(super) fn part(share: f64) -> String {
    number::percent(&Estimate::exact(share.min(1.0)))
}

/// A count, all its digits where there is room; nothing for none.
pub(super) fn amount(count: u64, exact: bool) -> String {
    match (count, exact) {
        (0, _) => String::new(),
        (_, true) => number::grouped(count as f64),
        (_, false) => number::count(count as f64),
    }
}

/// Instructions in the function itself for each of its calls.
fn a_call(f: &CountedFunction) -> String {
    if f.calls == 0 {
        return String::new();
    }
    counts::ratio(f.instructions as f64 / f.calls as f64)
}
