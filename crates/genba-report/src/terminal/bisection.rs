//! `genba bisect` in a terminal: the culprit, its confidence, the variants that were measured.

use genba_model::{Bisection, BisectionKind};
use genba_units::format;

use super::remark;
use crate::terminal::screen::{DIM, GOOD, HEAD, HOT, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::bisection as wording;
use crate::{Screen, safe_text};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 24;
/// Maximum number of skipped candidates that are named.
const MAX_SKIPPED: usize = 6;
/// Maximum number of elements of one culprit that are named.
const MAX_ELEMENTS: usize = 8;

/// Renders the result of `genba bisect`.
#[must_use]
pub fn bisection(all: &Bisection, screen: Screen) -> String {
    let mut out = String::new();
    let width = screen.columns();
    for one in &all.culprits {
        let name = safe_text::fit(&one.name, width.saturating_sub(12));
        let line = safe_text::fit(&wording::culprit(all, one), width.saturating_sub(10));
        out.push_str(&format!(
            "{}   {}\n          {line}\n",
            screen.paint(HOT, if one.verified { "culprit" } else { "suspect" }),
            screen.paint(STRONG, &name)
        ));
        if let Some(detail) = &one.detail {
            out.push_str(&format!(
                "          {}\n",
                safe_text::fit(detail, width - 10)
            ));
        }
        if one.elements.len() > 1 && one.before.is_some() {
            let shown: Vec<&str> = one
                .elements
                .iter()
                .take(MAX_ELEMENTS)
                .map(String::as_str)
                .collect();
            let more = one.elements.len().saturating_sub(MAX_ELEMENTS);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let line = format!("one of {}{more}", shown.join(", "));
            out.push_str(&format!(
                "          {}\n",
                safe_text::fit(&line, width - 10)
            ));
        }
    }
    if let Some(sentence) = wording::without_culprit(all) {
        let style = if all.culprits.is_empty() {
            STRONG
        } else {
            PLAIN
        };
        out.push_str(&screen.paint(style, &safe_text::fit(&sentence, width)));
        out.push('\n');
    }
    for line in super::wrap(&safe_text::sanitise(&wording::effort(all)), width - 2) {
        out.push_str(&screen.paint(DIM, &format!("  {line}")));
        out.push('\n');
    }
    if all.ranking.is_empty() {
        measured_variants(&mut out, all, screen);
    } else {
        ranking(&mut out, all, screen);
    }
    for one in all.skipped.iter().take(MAX_SKIPPED) {
        let reason = one.reason.lines().next().unwrap_or_default();
        remark(
            &mut out,
            &format!("{} was skipped: {reason}", one.what),
            screen,
        );
    }
    if all.skipped.len() > MAX_SKIPPED {
        let more = all.skipped.len() - MAX_SKIPPED;
        out.push_str(&format!("  … {more} more skipped\n"));
    }
    for hazard in all.hazards.iter().filter(|hazard| hazard.id == "busy") {
        remark(&mut out, &hazard.text, screen);
    }
    for note in &all.notes {
        remark(&mut out, note, screen);
    }
    out
}

/// Adds the measured variants in the order of the list, those near the culprit where there are many.
fn measured_variants(out: &mut String, all: &Bisection, screen: Screen) {
    let Some(baseline) = all
        .variants
        .first()
        .and_then(|one| wording::median(all, one))
    else {
        return;
    };
    let mut table = Table::new(vec![
        Column::left(""),
        Column::flexible("variant", 12),
        Column::right("median"),
        Column::right("±"),
        Column::right("ratio to first"),
        Column::right("runs"),
    ]);
    let place = all.culprits.first().and_then(|culprit| {
        all.variants
            .iter()
            .position(|variant| variant.name == culprit.name)
    });
    // Without a culprit the variant that was measured most often is the most informative.
    let most = || {
        let variants = all.variants.iter().enumerate().skip(1);
        let inner = variants.take(all.variants.len().saturating_sub(2));
        inner
            .max_by_key(|(_, variant)| variant.runs)
            .map(|(place, _)| place)
    };
    let middle = place.or_else(most);
    let from = middle.map_or(0, |place| place.saturating_sub(MAX_ROWS / 2));
    let last = all.variants.len().saturating_sub(1);
    let inside =
        |row: &usize| *row == 0 || *row == last || (from..from + MAX_ROWS - 2).contains(row);
    let mut hidden = 0;
    for (row, variant) in all.variants.iter().enumerate() {
        if !inside(&row) {
            hidden += 1;
            continue;
        }
        let Some(median) = wording::median(all, variant) else {
            continue;
        };
        let ratio = median.value / baseline.value;
        let here = Some(row) == place;
        table.row(vec![
            Cell::new(if here { "►" } else { "" }, HOT),
            Cell::new(variant.name.as_str(), if here { STRONG } else { PLAIN }),
            wording::amount(all, &median).into(),
            Cell::new(format::plus_minus(&median).replace('±', ""), DIM),
            if row == 0 || !ratio.is_finite() {
                "".into()
            } else {
                format!("{ratio:.3}×").into()
            },
            Cell::new(variant.runs.to_string(), DIM),
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(screen));
    if hidden > 0 {
        out.push_str(&format!("  … {hidden} more variants\n"));
    }
}

/// Adds elements or regions with their effects.
fn ranking(out: &mut String, all: &Bisection, screen: Screen) {
    let source = all.of == BisectionKind::Source;
    let mut table = Table::new(vec![
        Column::right(if source { "saves" } else { "adds" }),
        Column::right("share"),
        Column::right("low"),
        Column::right("high"),
        Column::left(""),
        Column::flexible(if source { "region" } else { "element" }, 16),
        Column::left("lines"),
        Column::left(""),
    ]);
    for part in all.ranking.iter().take(MAX_ROWS) {
        let lines = match (part.line, part.end_line) {
            (Some(first), Some(last)) if first != last => format!("{first}–{last}"),
            (Some(first), _) => first.to_string(),
            _ => String::new(),
        };
        let name = format!("{}{}", "  ".repeat(part.depth.min(8) as usize), part.name);
        let certain = part.effect.low > 0.0 || part.effect.high < 0.0;
        table.row(vec![
            Cell::new(
                wording::amount(all, &part.effect).replace('-', "−"),
                if certain { STRONG } else { DIM },
            ),
            wording::percent(part.share.value).into(),
            Cell::new(wording::percent(part.share.low), DIM),
            Cell::new(wording::percent(part.share.high), DIM),
            Cell::new(
                if part.kind == "element" {
                    ""
                } else {
                    part.kind.as_str()
                },
                DIM,
            ),
            Cell::new(name, if part.verified { STRONG } else { PLAIN }),
            Cell::new(lines, DIM),
            Cell::new(if part.verified { "verified" } else { "" }, GOOD),
        ]);
    }
    out.push('\n');
    out.push_str(&screen.paint(HEAD, if source { "DISABLED" } else { "ENABLED" }));
    out.push_str(&screen.paint(DIM, "   95 % intervals\n"));
    out.push_str(&table.render(screen));
    if all.ranking.len() > MAX_ROWS {
        out.push_str(&format!("  … {} more\n", all.ranking.len() - MAX_ROWS));
    }
}

#[cfg(test)]
#[path = "bisection_tests.rs"]
mod tests;
