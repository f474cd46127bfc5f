//! The page of a sweep: the curve with intervals, change points and scaling law, then the tables.

use std::fmt::Write as _;

use genba_model::{Estimate, ParameterScale, ParameterValue, Sweep};
use genba_units::format;

use super::axis_ticks::ticks;
use super::document;
use crate::escape_html::{escape, escape_fit};
use crate::wording::{metrics, sweep as wording, verdicts};

const WIDTH: f64 = 1072.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = HEIGHT - 36.0;
/// Ratio of the largest to the smallest value from which the scale is logarithmic.
const MIN_RATIO_FOR_LOG_SCALE: f64 = 20.0;
/// Maximum number of rows of a table.
const MAX_ROWS: usize = 500;

/// Renders a sweep as one self-contained HTML file without a script.
#[must_use]
pub fn sweep_html(sweep: &Sweep) -> String {
    let title = wording::title(sweep);
    let mut out = String::with_capacity(64 << 10);
    document::experiment(
        &mut out,
        &title,
        sweep.case.as_deref(),
        &sweep.started,
        &sweep.host,
    );
    cards(&mut out, sweep);
    let mut notes: Vec<String> = sweep.hazards.iter().map(|one| one.text.clone()).collect();
    notes.extend(sweep.notes.iter().cloned());
    document::note_list(&mut out, notes);
    picture(&mut out, sweep);
    points(&mut out, sweep);
    document::host_table(&mut out, &sweep.host, &[]);
    let _ = writeln!(
        out,
        "<p class=\"foot\">Settings ran in blocks, each block in random order (seed {}). A change \
         point is reported only if no smooth curve (constant, logarithm, power, linear, n log n, \
         quadratic, each with a constant part, or a gentle bend) fits nearly as well, tested by a \
         bootstrap. Equivalence margin: changes smaller than {} are treated as none. genba {}</p>\n</main></body></html>",
        sweep.seed,
        verdicts::points(sweep.delta),
        escape_fit(&sweep.genba, 20)
    );
    out
}

fn cards(out: &mut String, sweep: &Sweep) {
    out.push_str("<section class=\"facts\"><div class=\"fact\"><small>findings</small>");
    let findings = wording::findings(sweep);
    if findings.is_empty() {
        out.push_str("<div>no change points, no scaling law</div>");
    }
    for finding in &findings {
        let _ = write!(out, "<div>{}</div>", escape_fit(finding, 300));
    }
    let _ = writeln!(
        out,
        "</div><div class=\"fact\"><small>effort</small>{}</div></section>",
        escape_fit(&wording::effort(sweep), 200)
    );
}

/// The scales of a picture.
struct Axes {
    left: f64,
    right: f64,
    low: f64,
    high: f64,
    doublings: bool,
    logarithmic: bool,
}

impl Axes {
    fn of(sweep: &Sweep, points: &[(f64, Estimate)]) -> Option<Self> {
        let doublings = sweep.parameters[0].scale == ParameterScale::Log2;
        let place = |x: f64| if doublings { x.log2() } else { x };
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                (l.min(v), h.max(v))
            })
        };
        let (left, right) = range(&mut points.iter().map(|point| place(point.0)));
        let ends = points.iter().flat_map(|point| [point.1.low, point.1.high]);
        let (low, high) = range(&mut ends.clone());
        let logarithmic = low > 0.0 && high / low > MIN_RATIO_FOR_LOG_SCALE;
        let (low, high) = if logarithmic {
            (low.ln(), high.ln())
        } else {
            (low, high)
        };
        let margin = (high - low) * 0.06;
        let (low, high) = (low - margin, high + margin);
        let finite = [left, right, low, high].iter().all(|v| v.is_finite());
        (finite && right > left).then_some(Self {
            left,
            right,
            low,
            high: high.max(low + f64::MIN_POSITIVE),
            doublings,
            logarithmic,
        })
    }

    fn x(&self, x: f64) -> f64 {
        let place = if self.doublings { x.log2() } else { x };
        let share = (place - self.left) / (self.right - self.left);
        LEFT + share.clamp(-0.02, 1.02) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.ln() } else { value };
        let share = (value - self.low) / (self.high - self.low);
        if !share.is_finite() {
            return BOTTOM;
        }
        BOTTOM - share.clamp(-0.02, 1.02) * (BOTTOM - TOP)
    }

    fn value(&self, share: f64) -> f64 {
        let value = self.low + (self.high - self.low) * share;
        if self.logarithmic { value.exp() } else { value }
    }
}

fn picture(out: &mut String, sweep: &Sweep) {
    if sweep.parameters.len() != 1 || sweep.parameters[0].scale == ParameterScale::Words {
        return;
    }
    let points: Vec<(f64, Estimate)> = (sweep.points.iter())
        .filter_map(|point| match point.value {
            ParameterValue::Number(x) => Some((x, point.metric)),
            ParameterValue::Word(_) => None,
        })
        .collect();
    let Some(axes) = Axes::of(sweep, &points) else {
        return;
    };
    let _ = write!(
        out,
        "<h2>{} by {}</h2>\n<div class=\"scroll\"><svg class=\"plot\" viewBox=\"0 0 {WIDTH} \
         {HEIGHT}\" width=\"100%\" style=\"min-width:680px\" role=\"img\" aria-label=\"curve of {} \
         settings\">",
        escape_fit(&wording::unit(sweep), 60),
        escape_fit(&sweep.parameters[0].name, 40),
        points.len()
    );
    for knee in &sweep.knees {
        let (from, to) = (axes.x(knee.low), axes.x(knee.high));
        let _ = write!(
            out,
            "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"var(--tint)\"><title>{} between {} and {}</title></rect>",
            (to - from).max(2.0),
            BOTTOM - TOP,
            match knee.kind {
                genba_model::KneeKind::Step => "step",
                genba_model::KneeKind::Hinge => "hinge",
            },
            wording::value(sweep, knee.low),
            wording::value(sweep, knee.high),
        );
    }
    grid(out, sweep, &axes, &points);
    if let Some(growth) = &sweep.scaling_law
        && growth.fitted.len() > 1
        && growth.law != "unknown"
    {
        let path: Vec<String> = (growth.fitted.iter())
            .map(|(x, value)| format!("{:.1},{:.1}", axes.x(*x), axes.y(*value)))
            .collect();
        let _ = write!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--cool)\" stroke-width=\"1.5\" \
             stroke-dasharray=\"5 4\"><title>{}</title></polyline>",
            path.join(" "),
            escape(&growth.law)
        );
    }
    for (x, metric) in &points {
        let (at, low, high) = (axes.x(*x), axes.y(metric.low), axes.y(metric.high));
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" \
             stroke=\"var(--ink)\"/><circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3.5\" \
             fill=\"var(--hot)\"><title>{}: {}</title></circle>",
            axes.y(metric.value),
            wording::value(sweep, *x),
            escape_fit(&metrics::amount(metric, &sweep.unit), 40),
        );
    }
    out.push_str("</svg></div>\n");
}

fn grid(out: &mut String, sweep: &Sweep, axes: &Axes, points: &[(f64, Estimate)]) {
    let marks = ticks(axes.value(0.0), axes.value(1.0), axes.logarithmic);
    let labels = metrics::axis_labels(&marks, &sweep.unit);
    for (value, label) in marks.into_iter().zip(labels) {
        let y = axes.y(value);
        let _ = write!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" \
             stroke=\"var(--line)\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            y + 3.5,
            escape_fit(&label, 20)
        );
    }
    let _ = write!(
        out,
        "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
         <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        BOTTOM + 31.0,
        escape_fit(&sweep.parameters[0].name, 40),
        LEFT + 6.0,
        TOP + 8.0,
        escape_fit(&wording::unit(sweep), 60),
    );
    let mut used = f64::NEG_INFINITY;
    for (x, _) in points {
        let (at, label) = (axes.x(*x), wording::value(sweep, *x));
        let wide = label.chars().count() as f64 * 6.4;
        if at - wide / 2.0 > used + 8.0 {
            let _ = write!(
                out,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                BOTTOM + 16.0
            );
            used = at + wide / 2.0;
        }
    }
}

fn points(out: &mut String, sweep: &Sweep) {
    out.push_str("<h2>Settings</h2>\n<div class=\"scroll\"><table><tr>");
    for parameter in &sweep.parameters {
        let _ = write!(
            out,
            "<th class=\"l\">{}</th>",
            escape_fit(&parameter.name, 40)
        );
    }
    let _ = writeln!(
        out,
        "<th>{}</th><th>95 % interval</th><th>runs</th><th class=\"l\"></th></tr>",
        escape_fit(&metrics::label(&sweep.metric), 40)
    );
    for point in sweep.points.iter().take(MAX_ROWS) {
        let show = |value: &ParameterValue| match value {
            ParameterValue::Number(x) => wording::value(sweep, *x),
            ParameterValue::Word(word) => escape_fit(word, 60),
        };
        let second = (point.second.as_ref()).map_or_else(String::new, |second| {
            format!("<td class=\"l\">{}</td>", show(second))
        });
        let end = |value: f64| {
            let e = Estimate {
                value,
                ..point.metric
            };
            escape_fit(&metrics::amount(&e, &sweep.unit), 40)
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"l\">{}</td>{second}<td>{}</td><td class=\"dim\">{} … {}</td>\
             <td class=\"dim\">{}</td><td class=\"l dim\">{}</td></tr>",
            show(&point.value),
            end(point.metric.value),
            end(point.metric.low),
            end(point.metric.high),
            format::grouped(f64::from(point.runs)),
            if point.refined {
                "added adaptively"
            } else {
                ""
            }
        );
    }
    out.push_str("</table></div>\n");
}
