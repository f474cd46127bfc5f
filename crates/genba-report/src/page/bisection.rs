//! The page of a bisection: the culprit, a plot of the measured values, tables.

use std::fmt::Write as _;

use genba_model::{Bisection, Estimate};
use genba_units::format;

use super::comparison::class;
use super::{axis_ticks, document};
use crate::escape_html::{escape, escape_fit};
use crate::wording::{bisection as wording, metrics};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 400;
/// Maximum number of values drawn of one variant.
const MAX_DOTS: usize = 60;

/// Maximum length of a name below the plot, characters.
const MAX_LABEL_CHARS: usize = 18;
/// Room for such a name, in units of the plot.
const LABEL_WIDTH: f64 = 150.0;

/// Renders a bisection as one self-contained HTML file without a script.
#[must_use]
pub fn bisection_html(all: &Bisection) -> String {
    let title = wording::title(all);
    let mut out = String::with_capacity(64 << 10);
    document::experiment(
        &mut out,
        &title,
        all.case.as_deref(),
        &all.started,
        &all.host,
    );
    cards(&mut out, all);
    let mut notes = all.notes.clone();
    notes.extend(all.hazards.iter().map(|hazard| hazard.text.clone()));
    document::note_list(&mut out, notes);
    ranking(&mut out, all);
    if all.ranking.is_empty() {
        picture(&mut out, all);
    }
    comparisons(&mut out, all);
    variants(&mut out, all);
    skipped(&mut out, all);
    document::host_table(&mut out, &all.host, &[]);
    let _ = writeln!(
        out,
        "<p class=\"foot\">Seed {}. Both ends were verified first and the culprit last, in pairs of \
         runs in random order. Intervals are anytime-valid: they hold after every pair. genba {}</p>",
        all.seed,
        escape_fit(&all.genba, 20)
    );
    out.push_str("</main></body></html>\n");
    out
}

fn cards(out: &mut String, all: &Bisection) {
    out.push_str("<section class=\"facts\"><div class=\"fact\"><small>culprit</small>");
    for one in all.culprits.iter().take(6) {
        let _ = write!(
            out,
            "<span class=\"big hot\">{}</span><br>{}",
            escape_fit(&one.name, 40),
            escape_fit(&wording::culprit(all, one), 300),
        );
        if let Some(detail) = &one.detail {
            let _ = write!(out, "<br><small>{}</small>", escape_fit(detail, 300));
        }
        out.push_str("<br>");
    }
    if let Some(sentence) = wording::without_culprit(all) {
        let _ = write!(out, "{}", escape_fit(&sentence, 400));
    }
    out.push_str("</div>");
    let mut card = |label: &str, value: &str, more: &str| {
        let _ = write!(
            out,
            "<div class=\"fact\"><small>{label}</small><span class=\"big\">{value}</span><br>\
             <small>{}</small></div>",
            escape(more)
        );
    };
    card(
        "runs",
        &format::grouped(f64::from(all.runs)),
        &format!(
            "among {} candidates",
            format::grouped(all.candidates as f64)
        ),
    );
    card(
        "elapsed",
        &format::duration(all.elapsed_seconds),
        &all.budget_seconds.map_or_else(String::new, |budget| {
            format!("of a budget of {}", format::duration(budget))
        }),
    );
    if let Some(confidence) = all.confidence {
        let confidence = if all.deterministic {
            "no noise".to_owned()
        } else {
            format::percent_at_most(confidence)
        };
        card("confidence", &confidence, "");
    }
    out.push_str("</section>\n");
}

fn ranking(out: &mut String, all: &Bisection) {
    if all.ranking.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Effect of each</h2>\n<div class=\"scroll\"><table><tr><th>effect</th><th>low</th>\
         <th>high</th><th>share</th><th class=\"l\"></th><th class=\"l\">kind</th>\
         <th class=\"l\">name</th><th>lines</th><th></th></tr>\n",
    );
    let most = (all.ranking.iter())
        .map(|part| part.share.value.abs())
        .fold(f64::MIN_POSITIVE, f64::max);
    for part in all.ranking.iter().take(MAX_ROWS) {
        let end = |value: f64| {
            let e = Estimate {
                value,
                ..part.effect
            };
            escape_fit(&wording::amount(all, &e), 40)
        };
        let share = Some(part.share.value.abs() / most).filter(|share| share.is_finite());
        let width = 100.0 * share.unwrap_or(0.0).clamp(0.0, 1.0);
        let lines = match (part.line, part.end_line) {
            (Some(first), Some(last)) if first != last => format!("{first}–{last}"),
            (Some(first), _) => first.to_string(),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "<tr><td><b>{}</b></td><td class=\"dim\">{}</td><td class=\"dim\">{}</td>\
             <td>{}</td><td class=\"l\"><span class=\"track\"><i style=\"width:{width:.1}%\">\
             </i></span></td><td class=\"l dim\">{}</td><td class=\"l\">{}<code>{}</code></td>\
             <td>{lines}</td><td class=\"ok\">{}</td></tr>",
            end(part.effect.value),
            end(part.effect.low),
            end(part.effect.high),
            wording::percent(part.share.value),
            escape_fit(&part.kind, 20),
            "&nbsp;&nbsp;".repeat(part.depth.min(8) as usize),
            escape_fit(&part.name, 100),
            if part.verified { "verified" } else { "" },
        );
    }
    out.push_str("</table></div>\n");
}

/// Adds a plot of all values by position in the list.
fn picture(out: &mut String, all: &Bisection) {
    let series: Vec<(usize, Vec<f64>)> = (all.variants.iter().enumerate())
        .take(MAX_ROWS)
        .filter_map(|(place, variant)| {
            let metric = variant.metrics.get(&all.metric)?;
            let values = metric.values.iter().flatten().copied();
            Some((
                place,
                values
                    .filter(|value| value.is_finite())
                    .take(MAX_DOTS)
                    .collect(),
            ))
        })
        .collect();
    let values: Vec<f64> = series
        .iter()
        .flat_map(|(_, values)| values.iter().copied())
        .collect();
    if series.len() < 2 || values.is_empty() {
        return;
    }
    // The axis covers the middle 96 %: one disturbed run must not flatten the plot.
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |p: f64| sorted[((sorted.len() - 1) as f64 * p).round() as usize];
    let (low, high) = (at(0.02), at(0.98));
    let room = (high - low).max(low.abs() * 1e-3).max(f64::MIN_POSITIVE) * 0.1;
    let (low, high) = (low - room, high + room);
    let (width, height, left, below) = (1000.0, 240.0, 80.0, 24.0);
    let count = all.variants.len().max(2) as f64 - 1.0;
    let x = |place: usize| left + 12.0 + (width - left - 24.0) * place as f64 / count;
    let y = |value: f64| {
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        6.0 + (height - below - 12.0) * (1.0 - share)
    };
    let _ = write!(
        out,
        "<h2>Measured values, in order</h2>\n<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" \
         width=\"100%\" role=\"img\" aria-label=\"values of the candidates\">"
    );
    let marks = axis_ticks::ticks(low, high, false);
    let step = marks
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .fold(room, f64::min);
    for value in marks {
        let e = Estimate {
            value,
            low: value - step / 4.0,
            high: value + step / 4.0,
        };
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{width}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"var(--line)\"/>\
             <text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(value),
            left - 6.0,
            y(value) + 4.0,
            escape_fit(&wording::amount(all, &e), 14),
        );
    }
    let culprit = all.culprits.first().and_then(|culprit| {
        all.variants
            .iter()
            .position(|variant| variant.name == culprit.name)
    });
    if let Some(place) = culprit.filter(|place| *place > 0) {
        let middle = (x(place) + x(place - 1)) / 2.0;
        let _ = write!(
            out,
            "<line x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"0\" y2=\"{}\" stroke=\"var(--hot)\" \
             stroke-dasharray=\"3 4\"/>",
            height - below
        );
    }
    for (place, values) in &series {
        let behind = culprit.is_some_and(|culprit| *place >= culprit);
        let colour = if behind { "var(--hot)" } else { "var(--cool)" };
        let name = escape_fit(&all.variants[*place].name, 80);
        let _ = write!(out, "<g><title>{name}</title>");
        for value in values {
            let _ = write!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" fill=\"{colour}\" opacity=\".55\"/>",
                x(*place),
                y(*value)
            );
        }
        out.push_str("</g>");
    }
    for place in named_places(all.variants.len(), culprit, &|place| x(place)) {
        let anchor = match place {
            0 => "start",
            place if place == all.variants.len() - 1 => "end",
            _ => "middle",
        };
        let class = match culprit == Some(place) {
            true => " style=\"fill:var(--hot)\"",
            false => "",
        };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\"{class}>{}</text>",
            x(place),
            height - 6.0,
            escape_fit(&all.variants[place].name, MAX_LABEL_CHARS)
        );
    }
    out.push_str("</svg>\n");
}

/// Returns the places whose names are written below a plot, without one over another: the culprit, the ends, and others where
/// there is room.
fn named_places(count: usize, culprit: Option<usize>, x: &dyn Fn(usize) -> f64) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let first = culprit.into_iter().chain([0, count.saturating_sub(1)]);
    for place in first.chain(1..count) {
        if place < count
            && chosen
                .iter()
                .all(|&other| (x(other) - x(place)).abs() >= LABEL_WIDTH)
        {
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    chosen
}

fn comparisons(out: &mut String, all: &Bisection) {
    if all.comparisons.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Verified</h2>\n<div class=\"scroll\"><table><tr><th class=\"l\">variant</th>\
         <th class=\"l\">baseline</th><th class=\"l\">effect</th><th class=\"l\">verdict</th>\
         <th>pairs</th><th>α</th></tr>\n",
    );
    for one in all.comparisons.iter().take(MAX_ROWS) {
        let verdict = match one.verdict {
            genba_model::VerdictName::Faster => "better",
            genba_model::VerdictName::Slower => "worse",
            genba_model::VerdictName::Same => "equivalent",
            genba_model::VerdictName::Undecided => "undecided",
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"l\"><code>{}</code></td><td class=\"l\"><code>{}</code></td>\
             <td class=\"l\">{}</td><td class=\"l\"><span class=\"{}\">{verdict}</span></td>\
             <td class=\"dim\">{}</td><td class=\"dim\">{:.2} %</td></tr>",
            escape_fit(&one.variant, 60),
            escape_fit(&one.baseline, 60),
            escape_fit(&wording::change(all, &one.ratio), 120),
            class(one.verdict),
            one.pairs,
            100.0 * one.alpha,
        );
    }
    out.push_str("</table></div>\n");
}

fn variants(out: &mut String, all: &Bisection) {
    let _ = writeln!(
        out,
        "<h2>Variants</h2>\n<details{}><summary>{}, {}</summary><div class=\"scroll\"><table><tr>\
         <th class=\"l\">variant</th><th>{}</th><th>±</th><th>runs</th><th class=\"l\">command</th></tr>",
        if all.variants.len() <= 30 {
            " open"
        } else {
            ""
        },
        format::plural(all.variants.len() as u64, "variant"),
        format::plural(u64::from(all.runs), "run"),
        escape_fit(&metrics::label(&all.metric), 40),
    );
    for variant in all.variants.iter().take(MAX_ROWS) {
        let median = wording::median(all, variant);
        let _ = writeln!(
            out,
            "<tr><td class=\"l\"><code>{}</code></td><td><b>{}</b></td><td class=\"dim\">{}</td>\
             <td class=\"dim\">{}</td><td class=\"l name dim small\">{}</td></tr>",
            escape_fit(&variant.name, 80),
            median
                .map(|e| escape_fit(&wording::amount(all, &e), 40))
                .unwrap_or_default(),
            median
                .map(|e| escape(&format::plus_minus(&e)))
                .unwrap_or_default(),
            variant.runs,
            escape_fit(&variant.command, 200),
        );
    }
    out.push_str("</table></div></details>\n");
}

fn skipped(out: &mut String, all: &Bisection) {
    if all.skipped.is_empty() {
        return;
    }
    out.push_str("<h2>Skipped</h2>\n<ul class=\"notes\">");
    for one in all.skipped.iter().take(100) {
        let _ = write!(
            out,
            "<li><code>{}</code>: {}</li>",
            escape_fit(&one.what, 80),
            escape_fit(&one.reason, 600)
        );
    }
    out.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::named_places;

    #[test]
    fn culprit_and_ends_are_named_and_no_name_is_over_another() {
        let x = |place: usize| 10.0 * place as f64;
        assert_eq!(named_places(100, Some(50), &x), [0, 15, 30, 50, 65, 80, 99]);
        // Beside an end, the culprit's name is the one that is written.
        assert_eq!(named_places(100, Some(98), &x)[0], 0);
        assert!(named_places(100, Some(98), &x).contains(&98));
        assert_eq!(named_places(2, None, &|place| 900.0 * place as f64), [0, 1]);
    }
}
