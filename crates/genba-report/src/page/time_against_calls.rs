//! Scatter plot of self time against calls of functions, both logarithmic: it separates functions
//! that are called often from those that are expensive per call.
//!
//! Diagonal lines have equal cost per call. Static, without a script; names are tooltips.

use std::fmt::Write as _;

use genba_model::{FunctionRow, Profile};
use genba_units::format;

use crate::escape_html::escape_fit;
use crate::safe_text;

/// Maximum number of functions, those with most time.
const MAX_POINTS: usize = 300;
/// Maximum number of functions that are named.
const MAX_NAMES: usize = 14;
/// Maximum width of a name, columns.
const MAX_NAME_COLUMNS: usize = 30;

const WIDTH: f64 = 1072.0;
const HEIGHT: f64 = 430.0;
/// The area of the plot.
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 38.0;
/// Width and height of a character of a label.
const CHARACTER_SIZE: (f64, f64) = (6.4, 11.0);
/// Largest power of ten of calls or time; impossible values are drawn there.
const MAX_POWER_OF_TEN: f64 = 20.0;

/// The unit of time.
#[derive(Clone, Copy, PartialEq)]
enum Clock {
    Seconds,
    Cycles,
}

struct Point<'a> {
    function: &'a FunctionRow,
    /// Logarithms of the calls and of the time.
    calls: f64,
    time: f64,
}

/// A rectangle that a label must not overlap.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn within(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }
}

const PLOT: Area = Area {
    left: LEFT,
    top: TOP,
    right: RIGHT,
    bottom: BOTTOM,
};

/// Adds the plot if at least two functions have counts and time.
pub(super) fn picture(out: &mut String, profile: &Profile) {
    let clock = match profile.functions.iter().any(|f| f.cost_seconds.is_some()) {
        true => Clock::Seconds,
        false => Clock::Cycles,
    };
    let mut points: Vec<Point<'_>> = (profile.functions.iter())
        .filter_map(|function| point(function, clock))
        .collect();
    if points.len() < 2 {
        return;
    }
    points.sort_by(|a, b| b.time.total_cmp(&a.time));
    let beyond = points.len().saturating_sub(MAX_POINTS);
    points.truncate(MAX_POINTS);
    let axes = Axes::of(&points);
    let _ = write!(
        out,
        "<p class=\"lead small dim\" style=\"margin-top:18px\">Self time of functions \
         against their number of calls{}. Diagonal lines: equal cost per call.</p>\n\
         <div class=\"scroll\"><svg class=\"plot scatter\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"100%\" style=\"min-width:680px\" role=\"img\" aria-label=\"time against calls of \
         {}\">",
        if beyond > 0 {
            format!(
                ", without the {} with least time",
                format::plural(beyond as u64, "function")
            )
        } else {
            String::new()
        },
        format::plural(points.len() as u64, "function"),
    );
    grid(out, &axes, clock);
    let mut taken = corners(out);
    let areas = dot_areas(&axes, &points);
    diagonals(out, &axes, clock, &areas, &mut taken);
    dots(out, &axes, clock, &points);
    names(out, &axes, &points, &areas, taken);
    out.push_str("</svg></div>\n");
}

fn point(function: &FunctionRow, clock: Clock) -> Option<Point<'_>> {
    let calls = function.calls.filter(|&calls| calls > 0)? as f64;
    let each = match clock {
        Clock::Seconds => function.cost_seconds,
        Clock::Cycles => function.cost_cycles,
    }?;
    let time = (each.value * calls).log10();
    let clamp = |value: f64| value.clamp(-MAX_POWER_OF_TEN, MAX_POWER_OF_TEN);
    time.is_finite().then(|| Point {
        function,
        calls: clamp(calls.log10()),
        time: clamp(time),
    })
}

/// Logarithms of what is at the edges.
struct Axes {
    calls: (f64, f64),
    time: (f64, f64),
}

impl Axes {
    fn of(points: &[Point<'_>]) -> Self {
        let range = |value: fn(&Point<'_>) -> f64, below: f64, above: f64| {
            let values = points.iter().map(value);
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                (l.min(v), h.max(v))
            });
            let (low, high) = (low - below, high + above);
            (low, high.max(low + 2.0))
        };
        Self {
            calls: range(|p| p.calls, 0.3, 0.5),
            // Room above for the names of the corners.
            time: range(|p| p.time, 0.3, 0.7),
        }
    }

    fn x(&self, calls: f64) -> f64 {
        let (low, high) = self.calls;
        LEFT + (calls - low) / (high - low) * (RIGHT - LEFT)
    }

    fn y(&self, time: f64) -> f64 {
        let (low, high) = self.time;
        BOTTOM - (time - low) / (high - low) * (BOTTOM - TOP)
    }
}

fn grid(out: &mut String, axes: &Axes, clock: Clock) {
    let ticks = |(low, high): (f64, f64)| {
        let step = if high - low > 9.0 { 3 } else { 1 };
        (low.ceil() as i32..=high.floor() as i32).filter(move |power| power.rem_euclid(step) == 0)
    };
    for power in ticks(axes.calls) {
        let x = axes.x(power.into());
        // The last label would stand out of the picture.
        let label = if x < RIGHT - 8.0 {
            calls_label(power)
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\" \
             stroke=\"var(--line)\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            BOTTOM + 15.0,
        );
    }
    for power in ticks(axes.time) {
        let y = axes.y(power.into());
        let _ = write!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" \
             stroke=\"var(--line)\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            y + 3.5,
            time_label(power, clock),
        );
    }
    let _ = write!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"{TOP}\" y2=\"{BOTTOM}\" stroke=\"var(--dim)\"/>\
         <line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\" \
         stroke=\"var(--dim)\"/><text x=\"0\" y=\"12\">self time per run</text>\
         <text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\">calls</text>",
        HEIGHT - 6.0
    );
}

/// Returns `1`, `100`, `10 k`, `1 M`.
fn calls_label(power: i32) -> String {
    scaled(
        power,
        &[(0, ""), (3, " k"), (6, " M"), (9, " G"), (12, " T")],
    )
}

/// Returns `10 ns`, `1 ms`, `100 s`.
fn time_label(power: i32, clock: Clock) -> String {
    match clock {
        Clock::Seconds => scaled(power, &[(-9, " ns"), (-6, " µs"), (-3, " ms"), (0, " s")]),
        Clock::Cycles => format!(
            "{} cyc",
            scaled(
                power,
                &[(0, ""), (3, " k"), (6, " M"), (9, " G"), (12, " T")]
            )
        ),
    }
}

/// Returns a power of ten in the largest unit that is not larger.
fn scaled(power: i32, units: &[(i32, &str)]) -> String {
    let unit = units.iter().rev().find(|unit| unit.0 <= power);
    match unit.map(|&(base, name)| (power - base, name)) {
        Some((zeros @ 0..=2, name)) => format!("1{}{name}", "0".repeat(zeros as usize)),
        _ => format!("1e{power}"),
    }
}

/// Adds labels of the two upper corners and returns their areas.
fn corners(out: &mut String) -> Vec<Area> {
    let y = TOP + 17.0;
    let _ = write!(
        out,
        "<text class=\"corner\" x=\"{:.1}\" y=\"{y}\">◤ expensive per call</text>\
         <text class=\"corner\" x=\"{:.1}\" y=\"{y}\" text-anchor=\"end\">called often ◥</text>",
        LEFT + 8.0,
        RIGHT - 8.0,
    );
    let area = |left: f64, right: f64| Area {
        left,
        top: TOP,
        right,
        bottom: TOP + 24.0,
    };
    vec![area(LEFT, LEFT + 160.0), area(RIGHT - 140.0, RIGHT)]
}

/// Adds lines of equal cost per call, labelled near their upper end where there is space.
fn diagonals(out: &mut String, axes: &Axes, clock: Clock, dots: &[Area], taken: &mut Vec<Area>) {
    let lines: [(f64, &str); 4] = match clock {
        Clock::Seconds => [
            (-9.0, "1 ns each"),
            (-6.0, "1 µs each"),
            (-3.0, "1 ms each"),
            (0.0, "1 s each"),
        ],
        Clock::Cycles => [
            (0.0, "1 cycle each"),
            (3.0, "1,000 cycles each"),
            (6.0, "1 M cycles each"),
            (9.0, "1 G cycles each"),
        ],
    };
    for (each, name) in lines {
        // time = each + calls, within the box.
        let from = axes.calls.0.max(axes.time.0 - each);
        let to = axes.calls.1.min(axes.time.1 - each);
        if to - from < 0.3 {
            continue;
        }
        let _ = write!(
            out,
            "<line class=\"each\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            axes.x(from),
            axes.y(from + each),
            axes.x(to),
            axes.y(to + each),
        );
        let wide = safe_text::display_width(name) as f64 * CHARACTER_SIZE.0;
        let free = [0.8, 0.6, 0.4, 0.2].into_iter().find_map(|part| {
            let at = from + (to - from) * part;
            // Below the line, to its right.
            let (x, base) = (axes.x(at) + 7.0, axes.y(at + each) + 9.0);
            let area = label(x.min(RIGHT - wide - 3.0), base, wide);
            let mut others = taken.iter().chain(dots);
            let clear = area.within(&PLOT) && !others.any(|other| area.meets(other));
            clear.then_some((area, base))
        });
        if let Some((area, base)) = free {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{base:.1}\">{name}</text>",
                area.left
            );
            taken.push(area);
        }
    }
}

/// Returns the area of a text that begins at `left`, on this base line.
fn label(left: f64, base: f64, wide: f64) -> Area {
    Area {
        left,
        top: base - CHARACTER_SIZE.1 + 2.0,
        right: left + wide,
        bottom: base + 3.0,
    }
}

fn dots(out: &mut String, axes: &Axes, clock: Clock, points: &[Point<'_>]) {
    // The largest last, so that they are on top.
    for point in points.iter().rev() {
        let f = point.function;
        let share = f.self_share.value;
        let colour = match share {
            s if s >= 0.10 => "hot",
            s if s >= 0.02 => "warm",
            _ => "cool",
        };
        let each = match clock {
            Clock::Seconds => f.cost_seconds.map(|e| format::time(&e)),
            Clock::Cycles => f.cost_cycles.map(|e| {
                format!(
                    "{} cycles",
                    crate::wording::execution_costs::bare_cycles(&e)
                )
            }),
        };
        let _ = write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{}\" fill=\"var(--{colour})\" opacity=\".8\">\
             <title>{}: {} of the time, {} calls, {} each</title></circle>",
            axes.x(point.calls),
            axes.y(point.time),
            if share >= 0.02 { 5 } else { 3 },
            escape_fit(&f.function, 160),
            format::percent(&f.self_share).replace('<', "&lt;"),
            crate::wording::execution_costs::count(f.calls),
            each.unwrap_or_default().replace('<', "&lt;"),
        );
    }
}

/// Returns the areas of the dots.
fn dot_areas(axes: &Axes, points: &[Point<'_>]) -> Vec<Area> {
    points
        .iter()
        .map(|point| {
            let (x, y) = (axes.x(point.calls), axes.y(point.time));
            Area {
                left: x - 4.0,
                top: y - 4.0,
                right: x + 4.0,
                bottom: y + 4.0,
            }
        })
        .collect()
}

/// Adds names beside the largest dots, where there is space.
fn names(
    out: &mut String,
    axes: &Axes,
    points: &[Point<'_>],
    areas: &[Area],
    mut taken: Vec<Area>,
) {
    for (index, point) in points.iter().enumerate().take(MAX_NAMES) {
        let name = safe_text::fit(&point.function.function, MAX_NAME_COLUMNS);
        let wide = safe_text::display_width(&name) as f64 * CHARACTER_SIZE.0;
        let (x, y) = (axes.x(point.calls), axes.y(point.time));
        let places = [
            (x + 9.0, y + 3.5),
            (x - 9.0 - wide, y + 3.5),
            (x - wide / 2.0, y - 10.0),
            (x - wide / 2.0, y + 17.0),
            (x + 9.0, y - 8.0),
            (x + 9.0, y + 15.0),
        ];
        let free = places.into_iter().find_map(|(left, base)| {
            let area = label(left, base, wide);
            let others = areas.iter().enumerate().filter(|(at, _)| *at != index);
            let clear = area.within(&PLOT)
                && !taken.iter().any(|other| area.meets(other))
                && !others.map(|(_, dot)| dot).any(|dot| area.meets(dot));
            clear.then_some((area, base))
        });
        if let Some((area, base)) = free {
            let _ = write!(
                out,
                "<text class=\"name\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
                area.left,
                escape_fit(&point.function.function, MAX_NAME_COLUMNS),
            );
            taken.push(area);
        }
    }
}
