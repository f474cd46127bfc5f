//! Plots of all runs as dots, the variants one below the other on a common axis.

use std::fmt::Write as _;

use genba_model::{ComparisonReport, Estimate, Variant};
use genba_units::format;

use crate::escape_html::escape_fit;
use crate::variants;
use crate::wording::metrics;

/// Maximum number of variants.
const MAX_ROWS: usize = 60;
/// Maximum number of dots of a variant; more are thinned evenly.
const MAX_DOTS: usize = 240;
/// Size of one variant's plot.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 46.0;
/// Distance of the ends of the axis from the edges.
const MARGIN: f64 = 8.0;

pub(super) fn section(out: &mut String, report: &ComparisonReport) {
    let shown = variants::ordered(report);
    let metric = report.metric.as_str();
    let Some(axis) = variants::axis(&shown, metric) else {
        return;
    };
    let ranked = !report.ranks.is_empty();
    let _ = write!(
        out,
        "<h2>{} of all runs</h2>\n<div class=\"scroll\"><table class=\"wide picture\"><tr>{}\
         <th class=\"l\">variant</th><th class=\"l\">each dot is a run; median with \
         95 % interval</th><th>median</th><th>±</th><th>runs</th></tr>\n",
        escape_fit(&metrics::phrase(metric), 60),
        if ranked { "<th>rank</th>" } else { "" },
    );
    let mut far = 0;
    for variant in shown.iter().take(MAX_ROWS) {
        let Some(m) = variant.metrics.get(metric) else {
            continue;
        };
        far += variants::outside_axis(&variants::values(variant, metric), axis);
        if ranked {
            let rank = variants::rank(report, &variant.name);
            let _ = write!(out, "<tr><td class=\"dim\">{rank}</td>");
        } else {
            out.push_str("<tr>");
        }
        let _ = writeln!(
            out,
            "<td class=\"l\"><code>{}</code>{}</td><td class=\"l\">{}</td><td><b>{}</b></td>\
             <td class=\"dim small\">{}</td><td class=\"dim\">{}</td></tr>",
            escape_fit(&variant.name, 30),
            command(variant),
            plot(variant, metric, &m.unit, &m.median, axis),
            escape_fit(&metrics::amount(&m.median, &m.unit), 40),
            format::plus_minus(&m.median).replace('<', "&lt;"),
            variant.runs,
        );
    }
    let unit = shown
        .iter()
        .find_map(|v| v.metrics.get(metric))
        .map_or("", |m| m.unit.as_str());
    let lead = if ranked { "<td></td>" } else { "" };
    let _ = writeln!(
        out,
        "<tr>{lead}<td></td><td class=\"l\">{}</td><td></td><td></td><td></td></tr></table></div>",
        scale(axis, unit)
    );
    if far > 0 {
        let _ = writeln!(
            out,
            "<p class=\"small dim\">{} outside of the axis, drawn at its ends.</p>",
            format::plural(far as u64, "run")
        );
    }
}

fn command(variant: &Variant) -> String {
    if variant.command == variant.name {
        return String::new();
    }
    format!(
        "<br><span class=\"where\">{}</span>",
        escape_fit(&variant.command, 30)
    )
}

fn place(value: f64, (low, high): (f64, f64)) -> f64 {
    MARGIN + ((value - low) / (high - low)).clamp(0.0, 1.0) * (WIDTH - 2.0 * MARGIN)
}

fn plot(
    variant: &Variant,
    metric: &str,
    unit: &str,
    median: &Estimate,
    axis: (f64, f64),
) -> String {
    let values = variants::values(variant, metric);
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"runs of {}\">",
        escape_fit(&variant.name, 60)
    );
    let floor = HEIGHT - 4.5;
    if [median.low, median.value, median.high]
        .iter()
        .all(|v| v.is_finite())
    {
        let (left, right) = (place(median.low, axis), place(median.high, axis));
        let middle = place(median.value, axis);
        let _ = write!(
            out,
            "<rect x=\"{left:.1}\" y=\"2\" width=\"{:.1}\" height=\"{:.1}\" fill=\"var(--cool)\" \
             opacity=\".16\"/><line x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"2\" y2=\"{floor}\" \
             stroke=\"var(--cool)\"/>",
            (right - left).max(1.0),
            floor - 2.0,
        );
    }
    let _ = write!(
        out,
        "<line x1=\"0\" x2=\"{WIDTH}\" y1=\"{floor}\" y2=\"{floor}\" stroke=\"var(--line)\"/>"
    );
    let step = values.len().div_ceil(MAX_DOTS).max(1);
    let dots: Vec<f64> = values
        .iter()
        .step_by(step)
        .map(|&v| place(v, axis))
        .collect();
    let (size, bin) = if dots.len() > 60 {
        (2.0, 4.0)
    } else {
        (3.5, 7.0)
    };
    let column = |x: f64| (x / bin) as usize;
    let mut heights = vec![0_usize; column(WIDTH) + 1];
    for &x in &dots {
        heights[column(x)] += 1;
    }
    let tallest = heights.iter().copied().max().unwrap_or(1).max(1);
    let rise = ((floor - 2.0 - 2.0 * size) / tallest as f64).min(2.0 * size + 0.5);
    heights.fill(0);
    for (index, x) in dots.into_iter().enumerate() {
        let level = &mut heights[column(x)];
        let y = floor - size - 1.0 - *level as f64 * rise;
        *level += 1;
        let value = values.get(index * step).copied().unwrap_or(f64::NAN);
        let far = value < axis.0 || value > axis.1;
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\" fill=\"var(--{})\" opacity=\".75\">\
             <title>{}</title></circle>",
            if far { "warm" } else { "cool" },
            escape_fit(&metrics::amount(&Estimate::exact(value), unit), 40),
        );
    }
    out.push_str("</svg>");
    out
}

/// Returns the axis below all plots, with round numbers.
fn scale(axis: (f64, f64), unit: &str) -> String {
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} 18\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"axis\">"
    );
    let ticks = ticks(axis);
    // As many digits as distinguish neighbouring ticks.
    let half = ticks.get(1).map_or(0.0, |second| (second - ticks[0]) / 2.0);
    for value in ticks {
        let x = place(value, axis);
        let anchor = match x {
            x if x < 40.0 => "start",
            x if x > WIDTH - 40.0 => "end",
            _ => "middle",
        };
        let e = Estimate {
            value,
            low: value - half,
            high: value + half,
        };
        let _ = write!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"4\" stroke=\"var(--dim)\"/>\
             <text x=\"{x:.1}\" y=\"15\" text-anchor=\"{anchor}\">{}</text>",
            escape_fit(&metrics::amount(&e, unit), 24)
        );
    }
    out.push_str("</svg>");
    out
}

/// Returns three to seven round numbers within the axis.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= rough)
        .unwrap_or(rough);
    let first = (low / step).ceil();
    (0..12)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|&v| v <= high)
        .filter(|v| v.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        let close = |got: Vec<f64>, want: &[f64]| {
            assert_eq!(got.len(), want.len(), "{got:?}");
            for (g, w) in got.iter().zip(want) {
                assert!((g - w).abs() < 1e-12, "{got:?}");
            }
        };
        close(ticks((1.78, 2.75)), &[1.8, 2.0, 2.2, 2.4, 2.6]);
        close(ticks((0.0, 1.0)), &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
    }

    proptest! {
        #[test]
        fn ticks_are_within_the_axis(low in -1e6_f64..1e6, width in 1e-6_f64..1e6) {
            let axis = (low, low + width);
            let list = ticks(axis);
            prop_assert!(list.len() <= 8);
            prop_assert!(list.iter().all(|&v| v >= axis.0 - width * 1e-3 && v <= axis.1));
        }
    }
}
