//! `genba diff`: two profiles side by side.

use genba_model::{Estimate, FunctionDiff, LineDiff, ProfileDiff};
use genba_units::format;

use crate::terminal::screen::{DIM, GOOD, HEAD, HOT, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::profile_diff::{self as wording, TimeUnit};
use crate::{Screen, safe_text};

/// Minimum change of a function to be shown, as a share of a run's time.
const MIN_SHARE_OF_CHANGE: f64 = 0.002;
/// Maximum number of remarks.
const MAX_REMARKS: usize = 8;

/// Renders the result of `genba diff`, with at most `rows` rows in each table.
#[must_use]
pub fn profile_diff(diff: &ProfileDiff, rows: usize, screen: Screen) -> String {
    let mut out = String::new();
    head(&mut out, diff, screen);
    functions(&mut out, diff, rows, screen);
    lines(&mut out, diff, rows, screen);
    instructions(&mut out, diff, rows, screen);
    let least = least_listed(diff);
    let hidden = least_noticeable(diff)..least;
    if (diff.functions.iter()).any(|one| hidden.contains(&one.change.value.abs())) {
        super::remark(&mut out, &wording::not_listed(diff, least), screen);
    }
    for note in diff.notes.iter().take(MAX_REMARKS) {
        super::remark(&mut out, note, screen);
    }
    out
}

fn head(out: &mut String, diff: &ProfileDiff, screen: Screen) {
    let name = |name: &str| safe_text::fit(&safe_text::sanitise(name), 40);
    let mut line = format!("{} → {}", name(&diff.before.name), name(&diff.after.name));
    if let (Some(before), Some(after)) = (diff.before.seconds, diff.after.seconds) {
        line.push_str(&format!(
            "   {} → {} CPU time per run",
            format::seconds(before),
            format::seconds(after)
        ));
    }
    if let (Some(before), Some(after)) = (diff.before.instructions, diff.after.instructions) {
        line.push_str(&format!(
            "   {} → {} instructions",
            format::count(before as f64),
            format::count(after as f64)
        ));
    }
    out.push_str(&format!("{}\n", screen.paint(HEAD, &line)));
}

fn side(time: Option<Estimate>, unit: TimeUnit) -> String {
    time.map_or_else(|| "—".to_owned(), |time| unit.amount(time.value))
}

/// Smallest change that is noticeable.
fn least_noticeable(diff: &ProfileDiff) -> f64 {
    let unit = TimeUnit::of(diff);
    MIN_SHARE_OF_CHANGE * unit.whole(&diff.before).max(unit.whole(&diff.after))
}

/// Smallest change that is listed: it is noticeable, and more than chance can make of the samples.
fn least_listed(diff: &ProfileDiff) -> f64 {
    let by_chance = wording::least_change(diff).unwrap_or(0.0);
    by_chance.max(least_noticeable(diff))
}

fn functions(out: &mut String, diff: &ProfileDiff, rows: usize, screen: Screen) {
    let counted = diff.functions.iter().any(|one| one.calls.is_some());
    let unit = TimeUnit::of(diff);
    let timed = (diff.functions.iter()).any(|one| one.before.is_some() || one.after.is_some());
    let mut columns = vec![];
    if timed {
        columns.extend([
            Column::right("change"),
            Column::right("before"),
            Column::right("after"),
        ]);
    }
    if counted {
        columns.extend([Column::right("calls"), Column::right("instructions")]);
    }
    columns.extend([Column::flexible("function", 14), Column::flexible("", 14)]);
    let mut table = Table::new(columns);
    // Functions that neither moved nor changed noticeably are not shown.
    let least = least_listed(diff);
    let by_chance = wording::least_change(diff).unwrap_or(0.0);
    let is_shown = |one: &&FunctionDiff| {
        let change = one.change.value.abs();
        !timed || change >= least || !one.moved.is_empty() && change >= by_chance
    };
    if !diff.functions.iter().any(|one| is_shown(&one)) {
        out.push_str(&format!(
            "  no function changed by {} or more\n",
            unit.amount(least)
        ));
        return;
    }
    for one in diff.functions.iter().filter(is_shown).take(rows) {
        let mut row = Vec::new();
        let style = match one.change.value {
            _ if !wording::is_more_than_chance(diff, one) => PLAIN,
            change if change < 0.0 => GOOD,
            _ => HOT,
        };
        if timed {
            row.push(Cell::new(unit.change(one.change.value), style));
            row.push(side(one.before, unit).into());
            row.push(side(one.after, unit).into());
        }
        if counted {
            row.push(Cell::new(wording::pair(one.calls), DIM));
            row.push(Cell::new(wording::pair(one.instructions), DIM));
        }
        row.push(Cell::new(one.function.as_str(), STRONG));
        row.push(wording::remarks(one, unit).into());
        table.row(row);
    }
    out.push_str(&table.render(screen));
}

fn lines(out: &mut String, diff: &ProfileDiff, rows: usize, screen: Screen) {
    let least = least_listed(diff);
    let is_shown = |line: &&LineDiff| (line.after - line.before).abs() >= least;
    if !diff.lines.iter().any(|line| is_shown(&line)) {
        return;
    }
    let unit = TimeUnit::of(diff);
    let mut table = Table::new(vec![
        Column::right("change"),
        Column::right("executions"),
        Column::flexible("line", 12),
        Column::flexible("", 12),
        Column::flexible("", 12),
    ]);
    for line in diff.lines.iter().filter(is_shown).take(rows) {
        let inside = match (&line.inside_before, &line.inside_after) {
            (Some(before), Some(after)) if before != after => format!("now in {after}"),
            _ => String::new(),
        };
        let at = format!("{}:{}", safe_text::file_name(&line.file), line.line);
        table.row(vec![
            unit.change(line.after - line.before).into(),
            Cell::new(wording::pair(line.executions), DIM),
            Cell::new(at, STRONG),
            line.text.clone().unwrap_or_default().trim().into(),
            Cell::new(inside, DIM),
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(screen));
}

fn instructions(out: &mut String, diff: &ProfileDiff, rows: usize, screen: Screen) {
    let gap = |one: &genba_model::InstructionDiff| {
        (one.after.unwrap_or(0.0) - one.before.unwrap_or(0.0)).abs()
    };
    let unit = TimeUnit::of(diff);
    let least = least_listed(diff);
    let mut all: Vec<_> = (diff.instructions.iter())
        .filter(|one| gap(one) >= least)
        .collect();
    if all.is_empty() {
        return;
    }
    all.sort_by(|one, two| gap(two).total_cmp(&gap(one)));
    let mut table = Table::new(vec![
        Column::right("change"),
        Column::right("count"),
        Column::flexible("instruction", 16),
        Column::flexible("function", 12),
        Column::right("address"),
    ]);
    for one in all.into_iter().take(rows) {
        let count =
            |count: Option<u64>| count.map_or("—".to_owned(), |n| format::count(n as f64));
        let times = match (one.count_before, one.count_after) {
            (None, None) => String::new(),
            (before, after) if before == after => count(before),
            (before, after) => format!("{} → {}", count(before), count(after)),
        };
        let address = one.address_after.or(one.address_before);
        table.row(vec![
            unit.change(one.after.unwrap_or(0.0) - one.before.unwrap_or(0.0))
                .into(),
            Cell::new(times, DIM),
            one.text.as_str().into(),
            Cell::new(one.function.as_str(), STRONG),
            Cell::new(address.map_or(String::new(), |at| format!("{at:x}")), DIM),
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(screen));
}
