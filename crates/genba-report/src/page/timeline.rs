//! The timeline of threads: a lane for each, states as horizontal strokes in colours and patterns.
//!
//! The picture is an SVG of lines in whole cells of time, which the browser stretches to its width; the
//! script zooms by moving its view box, and reads what is under the pointer from the lines themselves.
//! Without a script it is a static picture of the whole.

use std::fmt::Write as _;

use genba_model::{ThreadSpan, ThreadTime, WaitReason, Waits};
use genba_units::format;

use super::timeline_arrows;
use crate::escape_html::escape_fit;
use crate::wording::waits as wording;

/// Maximum number of lanes.
const MAX_LANES: usize = 400;
/// Maximum number of pieces over all lanes: about 14 bytes each.
const MAX_PIECES: usize = 100_000;
/// Cells of time from the finest to the coarsest; the first whose pieces are few enough is used.
const CELLS: [u32; 7] = [1_000_000, 300_000, 100_000, 30_000, 10_000, 2_000, 200];
/// Height of a lane, pixels.
const LANE_HEIGHT: usize = 20;
/// Labels of the time axis.
const LABELS: usize = 4;

/// All states in the order of the legend, with their CSS classes.
const STATES: [(WaitReason, &str); 15] = [
    (WaitReason::Running, "run"),
    (WaitReason::RunQueue, "ready"),
    (WaitReason::Lock, "lock"),
    (WaitReason::Condition, "cond"),
    (WaitReason::Join, "join"),
    (WaitReason::Child, "child"),
    (WaitReason::Pipe, "pipe"),
    (WaitReason::Socket, "sock"),
    (WaitReason::File, "file"),
    (WaitReason::Fsync, "sync"),
    (WaitReason::PageFault, "fault"),
    (WaitReason::Sleep, "sleep"),
    (WaitReason::Poll, "poll"),
    (WaitReason::Terminal, "term"),
    (WaitReason::Unknown, "none"),
];

fn index_of(state: WaitReason) -> usize {
    let unknown = STATES.len() - 1;
    STATES
        .iter()
        .position(|one| one.0 == state)
        .unwrap_or(unknown)
}

/// A piece of a lane: first cell, end, index of the state.
type Piece = (u32, u32, usize);

/// Returns the pieces of a lane in whole cells. What is shorter than a cell is the state that takes most
/// of it; neighbours of one state are merged.
fn pieces(timeline: &[ThreadSpan], wall: f64, cells: u32) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let mut push = |from: u32, to: u32, state: usize| match out.last_mut() {
        Some(last) if last.1 == from && last.2 == state => last.1 = to,
        _ => out.push((from, to, state)),
    };
    let mut cell = 0_u32;
    let mut inside = [0.0_f64; STATES.len()];
    let flush =
        |cell: u32, inside: &mut [f64; STATES.len()], push: &mut dyn FnMut(u32, u32, usize)| {
            let all: f64 = inside.iter().sum();
            let most = (0..inside.len()).max_by(|&a, &b| inside[a].total_cmp(&inside[b]));
            // A cell that is nearly empty is the time before a thread's start or after its end.
            if let Some(most) = most.filter(|_| all >= 0.5) {
                push(cell, cell + 1, most);
            }
            *inside = [0.0; STATES.len()];
        };
    let mut done = 0.0_f64;
    for span in timeline {
        let scale = |seconds: f64| seconds / wall * f64::from(cells);
        // Hostile spans overlap or run backwards.
        let from = scale(span.from).max(done);
        let to = scale(span.to).min(f64::from(cells));
        if span.from.is_nan() || span.to.is_nan() || to <= from {
            continue;
        }
        done = to;
        let state = index_of(span.state);
        let (first, last) = (from as u32, to as u32);
        if first != cell {
            flush(cell, &mut inside, &mut push);
            cell = first;
        }
        if first == last {
            inside[state] += to - from;
            continue;
        }
        inside[state] += f64::from(first + 1) - from;
        flush(cell, &mut inside, &mut push);
        if last > first + 1 {
            push(first + 1, last, state);
        }
        cell = last;
        inside[state] += to - f64::from(last);
    }
    flush(cell, &mut inside, &mut push);
    out
}

/// Adds the timeline; nothing where no thread has one.
pub(super) fn picture(out: &mut String, all: &Waits) {
    let wall = all.wall_seconds;
    let lanes: Vec<&ThreadTime> = all
        .threads
        .iter()
        .filter(|one| !one.timeline.is_empty())
        .take(MAX_LANES)
        .collect();
    if lanes.is_empty() || !wall.is_finite() || wall <= 0.0 {
        return;
    }
    let (cells, drawn) = drawn(&lanes, wall);
    out.push_str("<h2>Timeline</h2>\n<div class=\"timeline\">\n");
    let present: Vec<usize> = (0..STATES.len())
        .filter(|&state| drawn.iter().flatten().any(|piece| piece.2 == state))
        .collect();
    legend(out, &present);
    out.push_str(
        "<div class=\"tools\"><output>Time from left to right; a lane for each thread.</output>\
         <button type=\"button\" aria-label=\"earlier\" hidden>◀</button>\
         <button type=\"button\" aria-label=\"later\" hidden>▶</button>\
         <button type=\"button\" aria-label=\"zoom in\" hidden>+</button>\
         <button type=\"button\" aria-label=\"zoom out\" hidden>−</button>\
         <button type=\"button\" hidden>reset zoom</button></div>\n\
         <div class=\"lanes\"><div class=\"names\">",
    );
    for one in &lanes {
        let _ = write!(
            out,
            "<div title=\"{}, process {}, thread {}\">{}</div>",
            escape_fit(&one.name, 60),
            one.pid,
            one.tid,
            escape_fit(&one.name, 30),
        );
    }
    let height = lanes.len() * LANE_HEIGHT;
    let _ = writeln!(
        out,
        "</div><div class=\"time\"><svg class=\"spans\" viewBox=\"0 0 {cells} {height}\" \
         preserveAspectRatio=\"none\" height=\"{height}\" role=\"img\" \
         aria-label=\"states of threads over time; their sums are in the table of threads\">"
    );
    patterns(out, &present, cells);
    for (lane, pieces) in drawn.iter().enumerate() {
        let y = lane * LANE_HEIGHT + LANE_HEIGHT / 2;
        for &state in &present {
            let mut path = String::new();
            for piece in pieces.iter().filter(|piece| piece.2 == state) {
                let _ = write!(path, "M{} {y}h{}", piece.0, piece.1 - piece.0);
            }
            if !path.is_empty() {
                let class = STATES[state].1;
                let _ = writeln!(
                    out,
                    "<path stroke=\"url(#t-{class})\" class=\"{class}\" d=\"{path}\"/>"
                );
            }
        }
    }
    let scale = (wall, cells, LANE_HEIGHT);
    let pixel = f64::from(cells) / USUAL_WIDTH;
    let (arrows, no_arrows) = timeline_arrows::arrows(out, &lanes, &all.wake_ups, scale, pixel);
    out.push_str("</svg></div>");
    axis(out, wall);
    out.push_str("</div>\n");
    let left_out = all.threads.len() as u64 + all.more_threads - lanes.len() as u64;
    let mut words = vec![
        "Drag across a range to zoom into it; Ctrl and the wheel zoom, Shift and the wheel \
         move; in the picture + and − zoom, arrows move, Escape resets."
            .to_owned(),
    ];
    words.push(format!(
        "Pieces shorter than {} are merged with their neighbours.",
        format::seconds(wall / f64::from(cells))
    ));
    if arrows > 0 {
        words.push(
            "Arrows lead from the thread that ended a wait to the one that waited, where only one can \
             have ended it; those after the longest waits first, more as it is zoomed."
                .to_owned(),
        );
        if no_arrows > 0 {
            words.push(format!(
                "{} not drawn.",
                format::plural(no_arrows as u64, "shorter wait")
            ));
        }
    }
    if left_out > 0 {
        words.push(format!("{} not drawn.", format::plural(left_out, "thread")));
    }
    let _ = writeln!(
        out,
        "<p class=\"small dim\">{}</p></div>",
        escape_fit(&words.join(" "), 800)
    );
}

/// The pieces of all lanes at the finest resolution at which they are few enough.
fn drawn(lanes: &[&ThreadTime], wall: f64) -> (u32, Vec<Vec<Piece>>) {
    let at = |cells: u32| -> Vec<Vec<Piece>> {
        let of = |one: &&ThreadTime| pieces(&one.timeline, wall, cells);
        lanes.iter().map(of).collect()
    };
    let mut last = (0, Vec::new());
    for cells in CELLS {
        let all = at(cells);
        let number: usize = all.iter().map(Vec::len).sum();
        last = (cells, all);
        if number <= MAX_PIECES {
            break;
        }
    }
    last
}

fn legend(out: &mut String, present: &[usize]) {
    out.push_str("<div class=\"legend small\">");
    let ready = present.contains(&index_of(WaitReason::RunQueue));
    for &state in present {
        let (reason, class) = STATES[state];
        let _ = write!(
            out,
            "<span><svg width=\"26\" height=\"12\"><defs>{}</defs><rect width=\"26\" height=\"12\" \
             fill=\"url(#k-{class})\"/></svg> {}</span>",
            pattern(class),
            match reason {
                // Snapshots do not tell them apart, unless they have a state of their own.
                WaitReason::Running if !ready => "on a CPU, or runnable",
                _ => wording::reason(reason),
            }
        );
    }
    out.push_str("</div>\n");
}

/// The pattern of a state: its colour, with marks that tell it from others without colour.
fn pattern(class: &str) -> String {
    let marks = match class {
        "ready" => "M2 0v8",
        "lock" => "M-2 10L10 -2M-2 2L2 -2M6 10L10 6",
        "cond" => "M3 4h2",
        "join" => "M0 4h8",
        "child" => "M0 4h8M4 0v8",
        "pipe" => "M-2 -2L10 10M-2 6L2 10M6 -2L10 2",
        "sock" => "M-2 -2L10 10M-2 6L2 10M6 -2L10 2M-2 10L10 -2M-2 2L2 -2M6 10L10 6",
        "file" => "M0 2h8M0 6h8",
        "sync" => "M2 0v8M6 0v8",
        "fault" => "M0 2h8M0 6h8M4 0v8",
        "sleep" => "M1 2h2M5 6h2",
        "poll" => "M1 6L4 2L7 6",
        "term" => "M4 0v4",
        "none" => "M0 0L1 1M4 4L5 5",
        _ => "",
    };
    format!(
        "<pattern id=\"k-{class}\" class=\"{class}\" width=\"8\" height=\"8\" \
         patternUnits=\"userSpaceOnUse\"><rect width=\"8\" height=\"8\"/><path d=\"{marks}\"/></pattern>"
    )
}

/// Width in pixels for which the patterns are scaled until the script knows the real one.
const USUAL_WIDTH: f64 = 900.0;

/// The same patterns for the stretched picture; the script keeps them in shape.
fn patterns(out: &mut String, present: &[usize], cells: u32) {
    out.push_str("<defs>");
    for &state in present {
        let class = STATES[state].1;
        let _ = write!(
            out,
            "<pattern id=\"t-{class}\" href=\"#k-{class}\" patternTransform=\"scale({:.3} 1)\"/>",
            f64::from(cells) / USUAL_WIDTH
        );
    }
    out.push_str("</defs>\n");
}

/// Labels at equal distances, which the script rewrites.
fn axis(out: &mut String, wall: f64) {
    let _ = write!(
        out,
        "<div class=\"axis\" title=\"{} s\">",
        // The script reads the length of the whole from here.
        wall
    );
    for label in 0..=LABELS {
        let at = wall * label as f64 / LABELS as f64;
        let _ = write!(out, "<span>{}</span>", format::seconds(at));
    }
    out.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: f64, to: f64, state: WaitReason) -> ThreadSpan {
        ThreadSpan { from, to, state }
    }

    const RUN: usize = 0;
    const LOCK: usize = 2;

    #[test]
    fn neighbours_of_one_state_are_merged() {
        let spans = [
            span(0.0, 0.25, WaitReason::Running),
            span(0.25, 0.5, WaitReason::Running),
            span(0.5, 1.0, WaitReason::Lock),
        ];
        assert_eq!(pieces(&spans, 1.0, 100), [(0, 50, RUN), (50, 100, LOCK)]);
    }

    #[test]
    fn shorter_pieces_than_a_cell_become_the_most_frequent_state() {
        let spans: Vec<ThreadSpan> = (0..1000)
            .map(|i| {
                let state = if i % 4 == 0 {
                    WaitReason::Lock
                } else {
                    WaitReason::Running
                };
                span(f64::from(i) / 1000.0, f64::from(i + 1) / 1000.0, state)
            })
            .collect();
        assert_eq!(pieces(&spans, 1.0, 10), [(0, 10, RUN)]);
    }

    #[test]
    fn time_without_spans_stays_empty() {
        let spans = [
            span(0.2, 0.4, WaitReason::Running),
            span(0.8, 0.9, WaitReason::Lock),
        ];
        assert_eq!(pieces(&spans, 1.0, 10), [(2, 4, RUN), (8, 9, LOCK)]);
    }

    #[test]
    fn spans_that_overlap_or_are_not_numbers_do_no_harm() {
        let spans = [
            span(f64::NEG_INFINITY, 0.5, WaitReason::Running),
            span(0.3, f64::NAN, WaitReason::Lock),
            span(0.3, 0.7, WaitReason::Lock),
            span(0.6, 1e300, WaitReason::Running),
        ];
        assert_eq!(
            pieces(&spans, 1.0, 10),
            [(0, 5, RUN), (5, 7, LOCK), (7, 10, RUN)]
        );
    }

    #[test]
    fn states_all_have_a_class() {
        assert_eq!(index_of(WaitReason::Unknown), STATES.len() - 1);
        assert_eq!(index_of(WaitReason::Running), RUN);
        assert_eq!(index_of(WaitReason::Lock), LOCK);
    }
}
