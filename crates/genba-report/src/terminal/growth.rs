//! `genba grow` in a terminal: what grows too fast, and the law of each function.

use genba_model::{FunctionGrowth, Growth};
use genba_units::format;

use super::{remark, wrap};
use crate::terminal::screen::{DIM, HEAD, PLAIN, STRONG, WARN, heat};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::growth as wording;
use crate::wording::profile::file_line;
use crate::{Screen, safe_text};

/// Share at the size asked for below which fast growth is not told in a sentence.
const MIN_TOLD_SHARE: f64 = 0.02;

/// Renders the growth: sentences on what grows too fast, then at most `limit` functions.
#[must_use]
pub fn growth(all: &Growth, limit: usize, screen: Screen) -> String {
    let width = screen.columns();
    let n = safe_text::sanitise(&all.parameter);
    let mut out = String::new();
    let command = safe_text::fit(&safe_text::command(&all.command), width);
    out.push_str(&format!("{}\n", screen.paint(STRONG, &command)));
    head(&mut out, all, &n, screen);
    out.push('\n');
    let steep: Vec<&FunctionGrowth> = (all.functions.iter())
        .filter(|one| {
            wording::is_steep(&one.growth)
                && one
                    .extrapolated_share
                    .is_some_and(|share| share >= MIN_TOLD_SHARE)
        })
        .collect();
    for one in &steep {
        for (index, line) in wrap(&safe_text::sanitise(&wording::steep(one, all)), width - 4)
            .iter()
            .enumerate()
        {
            let indent = if index == 0 { "  " } else { "    " };
            out.push_str(&format!("{indent}{}\n", screen.paint(WARN, line)));
        }
    }
    if steep.is_empty() && !all.functions.is_empty() {
        out.push_str("  no function executes more than n log n instructions\n");
    }
    out.push('\n');
    table(&mut out, all, &n, limit, screen);
    for note in &all.notes {
        remark(&mut out, note, screen);
    }
    super::limitations(&mut out, &all.engine.name, &all.engine.gaps, screen);
    out
}

fn head(out: &mut String, all: &Growth, n: &str, screen: Screen) {
    let (Some(first), Some(last)) = (all.sizes.first(), all.sizes.last()) else {
        return;
    };
    let law = all.total.as_ref().map_or(String::new(), |law| {
        let all = wording::share_of_leading_term(law, last.size as f64, last.instructions as f64);
        let below = match all {
            Some(share) if share < 0.5 => {
                format!(
                    " above lower terms, which are most of it up to {n} = {}",
                    format::grouped(last.size as f64)
                )
            }
            _ => String::new(),
        };
        format!(
            "; all together {}: {}{below}",
            law.law,
            wording::formula(law, n)
        )
    });
    let sentence = format!(
        "instructions over {n}, counted at {} from {} to {}{law}",
        format::plural(all.sizes.len() as u64, "size"),
        format::grouped(first.size as f64),
        format::grouped(last.size as f64),
    );
    for line in wrap(&sentence, screen.columns()) {
        out.push_str(&format!("{}\n", screen.paint(DIM, &line)));
    }
}

fn table(out: &mut String, all: &Growth, n: &str, limit: usize, screen: Screen) {
    let largest = all.sizes.last().map_or(0, |one| one.size);
    let mut rows = Table::new(vec![
        Column::left("law"),
        Column::left("instructions"),
        Column::right("now"),
        Column::right("then"),
        Column::left("calls"),
        Column::flexible("function", 14),
        Column::flexible("source", 10),
    ]);
    for one in all.functions.iter().take(limit) {
        let style = if wording::is_steep(&one.growth) {
            WARN
        } else {
            PLAIN
        };
        let calls = one.calls_growth.as_ref();
        rows.row(vec![
            Cell::new(&one.growth.law, style),
            wording::formula(&one.growth, n).into(),
            Cell::new(format::short_percent(one.share), heat(one.share)),
            match one.extrapolated_share {
                Some(share) => Cell::new(format::short_percent(share), heat(share)),
                None => Cell::new("?", DIM),
            },
            Cell::new(
                calls.map_or(String::new(), |law| wording::formula(law, n)),
                DIM,
            ),
            one.function.as_str().into(),
            Cell::new(file_line(one.file.as_deref(), one.line), DIM),
        ]);
    }
    if all.functions.is_empty() {
        return;
    }
    out.push_str(&rows.render(screen));
    let rest = all.functions.len().saturating_sub(limit);
    if rest > 0 {
        let words = format!(
            "  … {} beyond the limit of {limit}\n",
            format::plural(rest as u64, "more function")
        );
        out.push_str(&screen.paint(DIM, &words));
    }
    let legend = format!(
        "now: share of the instructions at {n} = {}, counted; then: at {n} = {}, by the laws",
        format::grouped(largest as f64),
        format::grouped(all.at)
    );
    for line in wrap(&legend, screen.columns().saturating_sub(2)) {
        out.push_str(&format!("  {}\n", screen.paint(HEAD, &line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    fn screen(width: usize) -> Screen {
        Screen {
            width,
            colour: false,
        }
    }

    #[test]
    fn growth_tells_what_is_quadratic_and_shows_the_laws() {
        insta::assert_snapshot!("growth", growth(&fixture::growth(), 30, screen(120)));
    }

    #[test]
    fn lines_fit_the_screen() {
        for width in [70, 80, 120] {
            for line in growth(&fixture::growth(), 30, screen(width)).lines() {
                assert!(safe_text::display_width(line) <= width, "{width}: {line}");
            }
        }
    }
}
