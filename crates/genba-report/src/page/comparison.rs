//! The page of a comparison: verdicts, distributions, effects, tables.

use std::fmt::Write as _;

use genba_model::{ComparisonReport, Estimate, IterationCost, Variant, VerdictName};
use genba_units::format;

use super::{document, effect_table, run_distribution};
use crate::escape_html::{escape, escape_fit};
use crate::wording::{metrics, verdicts};

/// Maximum number of variants in a table.
const MAX_VARIANTS: usize = 200;
/// Maximum number of verdicts as sentences; of more the table of effects has them.
const MAX_SENTENCES: usize = 3;
/// Maximum number of runs listed of one variant.
const MAX_RUNS: usize = 500;
/// Maximum number of runs listed of all variants together.
const MAX_RUNS_TOGETHER: usize = 5_000;

/// Renders a comparison as one self-contained HTML file without a script.
#[must_use]
pub fn comparison_html(report: &ComparisonReport) -> String {
    let title = title(report);
    let mut out = String::with_capacity(128 << 10);
    document::experiment(
        &mut out,
        &title,
        report.case.as_deref(),
        &report.started,
        &report.host,
    );
    cards(&mut out, report);
    document::note_list(&mut out, verdicts::remarks(report));
    run_distribution::section(&mut out, report);
    effect_table::section(&mut out, report);
    iterations(&mut out, &report.iterations);
    metrics(&mut out, report);
    runs(&mut out, report);
    document::host_table(&mut out, &report.host, &[]);
    footer(&mut out, report);
    out.push_str("</main></body></html>\n");
    out
}

fn title(report: &ComparisonReport) -> String {
    let name = |v: &Variant| v.name.clone();
    match &report.variants[..] {
        [] => "comparison".to_owned(),
        [one] => name(one),
        [first, second] => format!("{} vs. {}", second.name, first.name),
        [first, rest @ ..] => format!(
            "{} vs. {}",
            format::plural(rest.len() as u64, "variant"),
            first.name
        ),
    }
}

/// Returns the CSS class for the colour of a verdict.
pub(super) fn class(verdict: VerdictName) -> &'static str {
    match verdict {
        VerdictName::Faster => "ok",
        VerdictName::Slower => "hot",
        VerdictName::Same => "cool",
        VerdictName::Undecided => "dim",
    }
}

fn cards(out: &mut String, report: &ComparisonReport) {
    let deciding = verdicts::deciding(report);
    out.push_str("<section class=\"facts\"><div class=\"fact\">");
    match deciding[..] {
        [] => {
            let _ = write!(out, "<small>verdict</small>nothing was compared");
        }
        [only] => {
            let big = match only.verdict {
                VerdictName::Same => "equivalent".to_owned(),
                VerdictName::Undecided => "undecided".to_owned(),
                _ => verdicts::short(report, only),
            };
            let _ = write!(
                out,
                "<small>verdict, {}</small><span class=\"big {}\">{}</span><br>{}",
                escape_fit(&metrics::phrase(&report.metric), 60),
                class(only.verdict),
                escape_fit(&big, 60),
                escape_fit(&verdicts::sentence(report, only), 600),
            );
        }
        _ => {
            let _ = write!(
                out,
                "<small>verdicts, {}</small>",
                escape_fit(&metrics::phrase(&report.metric), 60)
            );
            tally(out, &deciding.iter().map(|c| c.verdict).collect::<Vec<_>>());
            if deciding.len() <= MAX_SENTENCES {
                for c in &deciding {
                    let sentence = escape_fit(&verdicts::sentence(report, c), 600);
                    let _ = write!(out, "<br>{sentence}");
                }
            }
        }
    }
    out.push_str("</div>");
    let mut card = |label: &str, value: &str, more: &str| {
        let _ = write!(
            out,
            "<div class=\"fact\"><small>{label}</small><span class=\"big\">{value}</span><br>\
             <small>{more}</small></div>"
        );
    };
    let runs: u64 = report.variants.iter().map(|v| u64::from(v.runs)).sum();
    card(
        "blocks in random order",
        &format::grouped(f64::from(report.blocks)),
        &format::plural(runs, "run"),
    );
    let budget = report.budget_seconds.filter(|b| b.is_finite());
    card(
        "elapsed",
        &format::duration(report.elapsed_seconds),
        &budget.map_or_else(
            || "a fixed number of runs".to_owned(),
            |b| format!("of a budget of {}", format::duration(b)),
        ),
    );
    if let Some(c) = deciding.first() {
        let confidence = verdicts::level(c.alpha);
        let more = format!("equivalence margin ±{}", verdicts::points(c.delta));
        card("confidence", &confidence, &more);
    }
    out.push_str("</section>\n");
}

/// Adds `4 better · 1 worse` in the colours of the verdicts.
pub(super) fn tally(out: &mut String, verdicts: &[VerdictName]) {
    let mut parts = Vec::new();
    for (verdict, word) in [
        (VerdictName::Faster, "better"),
        (VerdictName::Slower, "worse"),
        (VerdictName::Same, "equivalent"),
        (VerdictName::Undecided, "undecided"),
    ] {
        let n = verdicts.iter().filter(|&&v| v == verdict).count();
        if n > 0 {
            let class = class(verdict);
            parts.push(format!("<span class=\"big {class}\">{n}</span> {word}"));
        }
    }
    out.push_str(&parts.join(" · "));
}

fn iterations(out: &mut String, list: &[IterationCost]) {
    if list.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Cost per iteration</h2>\n<div class=\"scroll\"><table><tr>\
         <th class=\"l\">variant</th><th class=\"l\">metric</th><th>cost</th><th>low</th>\
         <th>high</th><th>iterations per run</th><th class=\"l\">subtracted</th></tr>\n",
    );
    for cost in list.iter().take(MAX_VARIANTS) {
        let end = |value: f64| {
            let e = Estimate { value, ..cost.cost };
            escape_fit(&metrics::amount(&e, &cost.unit), 60)
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"l\"><code>{}</code></td><td class=\"l\">{}</td><td><b>{}</b></td>\
             <td>{}</td><td>{}</td><td class=\"dim\">{}</td><td class=\"l\"><code>{}</code></td></tr>",
            escape_fit(&cost.variant, 80),
            escape_fit(&metrics::label(&cost.metric), 40),
            end(cost.cost.value),
            end(cost.cost.low),
            end(cost.cost.high),
            format::count(cost.iterations),
            escape_fit(cost.subtracted.as_deref().unwrap_or(""), 80),
        );
    }
    out.push_str("</table></div>\n");
}

/// Returns the names of all metrics in display order.
fn names(report: &ComparisonReport) -> Vec<&str> {
    let all: std::collections::BTreeSet<&str> = report
        .variants
        .iter()
        .flat_map(|v| v.metrics.keys().map(String::as_str))
        .collect();
    let mut list: Vec<&str> = all.into_iter().collect();
    list.sort_by_key(|m| metrics::order(m));
    list.truncate(40);
    list
}

fn metrics(out: &mut String, report: &ComparisonReport) {
    if report.variants.is_empty() {
        return;
    }
    out.push_str("<h2>Metrics</h2>\n");
    for metric in names(report) {
        let open = if metric == report.metric { " open" } else { "" };
        let _ = writeln!(
            out,
            "<details{open}><summary>{}</summary><div class=\"scroll\"><table><tr>\
             <th class=\"l\">variant</th><th>median</th><th>±</th><th>midmean</th>\
             <th>mean</th><th>σ</th><th>min</th><th>max</th><th>runs</th></tr>",
            escape_fit(&metrics::phrase(metric), 80)
        );
        for v in report.variants.iter().take(MAX_VARIANTS) {
            let Some(m) = v.metrics.get(metric) else {
                continue;
            };
            let show = |value: f64| {
                let half = (m.median.high - m.median.low) / 2.0;
                let e = Estimate {
                    value,
                    low: value - half,
                    high: value + half,
                };
                escape_fit(&metrics::amount(&e, &m.unit), 60)
            };
            let _ = writeln!(
                out,
                "<tr><td class=\"l\"><code>{}</code></td><td><b>{}</b></td>\
                 <td class=\"dim small\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td>{}</td><td class=\"dim\">{}</td></tr>",
                escape_fit(&v.name, 80),
                escape_fit(&metrics::amount(&m.median, &m.unit), 60),
                escape(&format::plus_minus(&m.median)),
                m.midmean.map(|e| show(e.value)).unwrap_or_default(),
                show(m.mean),
                m.stddev.map(show).unwrap_or_default(),
                show(m.min),
                show(m.max),
                m.values.iter().flatten().count(),
            );
        }
        out.push_str("</table></div></details>\n");
    }
}

fn runs(out: &mut String, report: &ComparisonReport) {
    let metrics: Vec<&str> = names(report).into_iter().take(12).collect();
    if metrics.is_empty() {
        return;
    }
    out.push_str("<h2>Runs</h2>\n");
    let mut room = MAX_RUNS_TOGETHER;
    for v in report.variants.iter().take(MAX_VARIANTS) {
        let runs = v
            .metrics
            .values()
            .map(|m| m.values.len())
            .max()
            .unwrap_or(0);
        let shown = runs.min(MAX_RUNS).min(room);
        room -= shown;
        let left = v.excluded.as_deref().map(|_| ", not compared");
        let _ = write!(
            out,
            "<details><summary><code>{}</code> <span class=\"dim\">{}{}</span></summary>\
             <p class=\"where\">{}</p>",
            escape_fit(&v.name, 80),
            format::plural(u64::from(v.runs), "run"),
            left.unwrap_or_default(),
            escape_fit(&v.command, 1000),
        );
        if !v.parameters.is_empty() {
            let list: Vec<String> = v
                .parameters
                .iter()
                .take(20)
                .map(|(name, value)| {
                    format!("{} = {}", escape_fit(name, 60), escape_fit(value, 60))
                })
                .collect();
            let _ = write!(out, "<p class=\"small\">{}</p>", list.join(", "));
        }
        out.push_str("<div class=\"scroll\"><table><tr><th>run</th>");
        for m in &metrics {
            let _ = write!(out, "<th>{}</th>", escape_fit(&metrics::label(m), 30));
        }
        out.push_str("<th class=\"l\">end</th></tr>\n");
        for index in 0..shown {
            let _ = write!(out, "<tr><td>{}</td>", index + 1);
            for &m in &metrics {
                let value = v.metrics.get(m).and_then(|m| {
                    let value = m.values.get(index).copied().flatten()?;
                    Some(metrics::amount(&Estimate::exact(value), &m.unit))
                });
                let _ = write!(
                    out,
                    "<td>{}</td>",
                    escape_fit(&value.unwrap_or_default(), 60)
                );
            }
            let end = match v.exit_codes.get(index) {
                Some(Some(code)) => format!("exit code {code}"),
                Some(None) => "killed by a signal".to_owned(),
                None => String::new(),
            };
            let _ = writeln!(out, "<td class=\"l dim\">{end}</td></tr>");
        }
        out.push_str("</table></div>");
        if runs > shown {
            let _ = write!(
                out,
                "<p class=\"small dim\">and {} more in the case</p>",
                runs - shown
            );
        }
        out.push_str("</details>\n");
    }
}

fn footer(out: &mut String, report: &ComparisonReport) {
    let _ = writeln!(
        out,
        "<p class=\"foot\">Variants ran in blocks, each block in random order (seed {}); \
         comparisons are paired within blocks. Intervals are anytime-valid: they hold after every \
         pair. genba {}</p>",
        report.seed,
        escape_fit(&report.genba, 20)
    );
}
