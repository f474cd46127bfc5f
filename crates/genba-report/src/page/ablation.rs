//! The page of an ablation: the cost of each component as bars and as a table, then the variants.

use std::fmt::Write as _;

use genba_model::{Ablation, AblationCost};
use genba_units::format;

use super::document;
use crate::escape_html::escape_fit;
use crate::wording::{ablation as wording, metrics, verdicts};

/// Maximum number of rows.
const MAX_ROWS: usize = 200;
/// Size of the plot and of a row, and the ends of its bars.
const WIDTH: f64 = 1072.0;
const ROW: f64 = 26.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = WIDTH - 150.0;

/// Renders an ablation as one self-contained HTML file without a script.
#[must_use]
pub fn ablation_html(ablation: &Ablation) -> String {
    let report = &ablation.report;
    let command = report
        .variants
        .first()
        .map_or("", |one| one.command.as_str());
    let mut out = String::with_capacity(64 << 10);
    document::experiment(
        &mut out,
        command,
        report.case.as_deref(),
        &report.started,
        &report.host,
    );
    out.push_str("<section class=\"facts\"><div class=\"fact\"><small>components</small>\n");
    for sentence in wording::sentences(ablation) {
        let _ = write!(out, "<div>{}</div>", escape_fit(&sentence, 400));
    }
    let _ = writeln!(
        out,
        "</div><div class=\"fact\"><small>effort</small>{}, {}</div></section>",
        format::plural(u64::from(report.blocks), "block"),
        format::duration(report.elapsed_seconds)
    );
    document::note_list(&mut out, verdicts::remarks(report));
    picture(&mut out, ablation);
    table(&mut out, ablation);
    variants(&mut out, ablation);
    document::host_table(&mut out, &report.host, &[]);
    let _ = writeln!(
        out,
        "<p class=\"foot\">All variants ran in blocks, each block in random order (seed {}); the \
         cost of a component is the baseline minus the variant without it, block by block. \
         Intervals are 95 %. genba {}</p>\n</main></body></html>",
        report.seed,
        escape_fit(&report.genba, 20)
    );
    out
}

/// Returns the rows of plot and table: baseline, components, remaining cost.
fn rows(ablation: &Ablation) -> Vec<(String, &[AblationCost])> {
    let mut rows = vec![("baseline".to_owned(), ablation.baseline.as_slice())];
    for part in ablation.components.iter().take(MAX_ROWS) {
        rows.push((part.name.clone(), part.costs.as_slice()));
    }
    rows.push(("remaining".to_owned(), ablation.residual.as_slice()));
    rows
}

fn picture(out: &mut String, ablation: &Ablation) {
    let metric = &ablation.report.metric;
    let of = |costs: &[AblationCost]| {
        let found = costs.iter().find(|cost| cost.metric == *metric);
        found.map(|cost| (cost.cost, cost.unit.clone()))
    };
    let rows = rows(ablation);
    let ends = rows
        .iter()
        .filter_map(|row| of(row.1))
        .flat_map(|(e, _)| [e.low, e.high]);
    let (low, high) = ends.fold((0.0f64, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    if !(high > low && (high - low).is_finite()) {
        return;
    }
    let x = |value: f64| LEFT + (value - low) / (high - low) * (RIGHT - LEFT);
    let height = rows.len() as f64 * ROW + 8.0;
    let _ = write!(
        out,
        "<h2>{}, {}</h2>\n<div class=\"scroll\"><svg class=\"plot\" viewBox=\"0 0 {WIDTH} \
         {height}\" width=\"100%\" style=\"min-width:680px\" role=\"img\" aria-label=\"cost of {} \
         components\">",
        escape_fit(&metrics::phrase(metric), 40),
        escape_fit(&wording::basis(ablation), 80),
        ablation.components.len()
    );
    for (index, (name, costs)) in rows.iter().enumerate() {
        let top = index as f64 * ROW + 4.0;
        let middle = top + ROW / 2.0;
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            middle + 3.5,
            escape_fit(name, 34)
        );
        let Some((cost, unit)) = of(costs) else {
            continue;
        };
        let (from, to) = (x(cost.value.min(0.0)), x(cost.value.max(0.0)));
        let colour = match index {
            0 => "cool",
            _ if index + 1 == rows.len() => "dim",
            _ => "warm",
        };
        let _ = write!(
            out,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"var(--{colour})\" opacity=\".75\"/><line x1=\"{:.1}\" x2=\"{:.1}\" \
             y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"var(--ink)\" stroke-width=\"1.5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            top + 5.0,
            (to - from).max(0.5),
            ROW - 10.0,
            x(cost.low),
            x(cost.high),
            x(cost.high.max(cost.value)) + 8.0,
            middle + 3.5,
            escape_fit(&wording::amount(&cost, &unit), 40)
        );
    }
    out.push_str("</svg></div>\n");
}

fn table(out: &mut String, ablation: &Ablation) {
    let metrics = wording::metrics(ablation);
    out.push_str("<h2>Components</h2>\n<div class=\"scroll\"><table><tr><th class=\"l\"></th>");
    for metric in &metrics {
        let _ = write!(out, "<th>{}</th>", escape_fit(&metrics::label(metric), 40));
    }
    out.push_str("<th>share</th><th class=\"l\">disabled by</th></tr>\n");
    for (index, (name, costs)) in rows(ablation).into_iter().enumerate() {
        let _ = write!(out, "<tr><td class=\"l\">{}</td>", escape_fit(&name, 60));
        for metric in &metrics {
            let _ = write!(
                out,
                "<td>{}</td>",
                escape_fit(&wording::cost(costs, metric), 60)
            );
        }
        let how = index
            .checked_sub(1)
            .and_then(|index| ablation.components.get(index));
        let _ = writeln!(
            out,
            "<td>{}</td><td class=\"l name dim\">{}</td></tr>",
            escape_fit(&wording::share(costs, &ablation.report.metric), 20),
            escape_fit(how.map_or("", |part| part.disabled_by.as_str()), 300)
        );
    }
    out.push_str("</table></div>\n");
}

fn variants(out: &mut String, ablation: &Ablation) {
    let metrics = wording::metrics(ablation);
    out.push_str(
        "<h2>Variants, per run</h2>\n<div class=\"scroll\"><table><tr><th class=\"l\"></th>",
    );
    for metric in &metrics {
        let _ = write!(out, "<th>{}</th>", escape_fit(&metrics::label(metric), 40));
    }
    out.push_str("<th>runs</th><th class=\"l\">command</th></tr>\n");
    for variant in ablation.report.variants.iter().take(MAX_ROWS) {
        let _ = write!(
            out,
            "<tr><td class=\"l\">{}</td>",
            escape_fit(&variant.name, 60)
        );
        for metric in &metrics {
            let text = (variant.metrics.get(*metric)).map_or_else(String::new, |found| {
                metrics::amount(&found.median, &found.unit)
            });
            let _ = write!(out, "<td>{}</td>", escape_fit(&text, 60));
        }
        let _ = writeln!(
            out,
            "<td class=\"dim\">{}</td><td class=\"l name dim\">{}</td></tr>",
            variant.runs,
            escape_fit(&variant.command, 300)
        );
    }
    out.push_str("</table></div>\n");
}
