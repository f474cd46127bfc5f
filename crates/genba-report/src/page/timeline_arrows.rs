//! Wake-ups in the timeline of threads: arrows from the lane of the thread that ended a wait to that of
//! the thread that waited.
//!
//! The picture is stretched to the width of the page, so tips have a scale of their own, which the script
//! keeps as it keeps that of the patterns. Few arrows are shown of the whole, more as it is zoomed.

use std::collections::HashMap;
use std::fmt::Write as _;

use genba_model::{ThreadTime, WakeUp};
use genba_units::format;

use crate::escape_html::escape_fit;

/// Arrows of each level of zoom, those after the longest waits first; the first are always shown.
const LEVELS: [usize; 3] = [40, 300, 1_500];
/// Maximum length of a name in a tooltip, characters.
const MAX_NAME_CHARS: usize = 20;

/// A lane's number and its thread.
type Lane<'a> = (usize, &'a ThreadTime);

/// Adds the arrows to the picture; returns how many, and how many others are not drawn.
pub(super) fn arrows(
    out: &mut String,
    lanes: &[&ThreadTime],
    wake_ups: &[WakeUp],
    (wall, cells, lane_height): (f64, u32, usize),
    pixel: f64,
) -> (usize, usize) {
    let of_tid: HashMap<i32, Lane<'_>> = lanes
        .iter()
        .enumerate()
        .map(|(at, one)| (one.tid, (at, *one)))
        .collect();
    let mut known: Vec<(&WakeUp, Lane<'_>, Lane<'_>)> = wake_ups
        .iter()
        .filter(|one| (0.0..=wall).contains(&one.at) && one.waited.is_finite())
        .filter_map(|one| {
            let (waker, woken) = (*of_tid.get(&one.waker)?, *of_tid.get(&one.woken)?);
            (waker.0 != woken.0).then_some((one, waker, woken))
        })
        .collect();
    known.sort_by(|a, b| b.0.waited.total_cmp(&a.0.waited));
    let drawn = known.len().min(LEVELS[LEVELS.len() - 1]);
    if drawn == 0 {
        return (0, wake_ups.len());
    }
    out.push_str("<defs>");
    for (id, shape) in [
        ("tip-down", "M0 0L-3.5 -7H3.5Z"),
        ("tip-up", "M0 0L-3.5 7H3.5Z"),
    ] {
        let _ = write!(
            out,
            "<marker id=\"{id}\" class=\"tip\" markerUnits=\"userSpaceOnUse\" overflow=\"visible\">\
             <path d=\"{shape}\" transform=\"scale({pixel:.3} 1)\"/></marker>"
        );
    }
    out.push_str("</defs>\n<g class=\"arrows\">\n");
    let middle = |lane: usize| lane * lane_height + lane_height / 2;
    for (index, (one, waker, woken)) in known[..drawn].iter().enumerate() {
        let level = LEVELS.iter().filter(|&&number| index >= number).count();
        let tip = if woken.0 > waker.0 { "down" } else { "up" };
        let x = (one.at / wall * f64::from(cells)) as u32;
        let _ = writeln!(
            out,
            "<path class=\"w{level}\" marker-end=\"url(#tip-{tip})\" d=\"M{x} {}V{}\">\
             <title>{} ends the wait of {} ({})</title></path>",
            middle(waker.0),
            middle(woken.0),
            escape_fit(&waker.1.name, MAX_NAME_CHARS),
            escape_fit(&woken.1.name, MAX_NAME_CHARS),
            format::seconds(one.waited.max(0.0)),
        );
    }
    out.push_str("</g>\n");
    (drawn, wake_ups.len() - drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures as fixture;

    fn drawn(wake_ups: &[WakeUp]) -> (String, (usize, usize)) {
        let all = fixture::waits();
        let lanes: Vec<&ThreadTime> = all.threads.iter().collect();
        let mut out = String::new();
        let counts = arrows(&mut out, &lanes, wake_ups, (3.2, 1000, 20), 2.0);
        (out, counts)
    }

    fn wake_up(at: f64, waited: f64, waker: i32, woken: i32) -> WakeUp {
        WakeUp {
            at,
            waited,
            waker,
            woken,
        }
    }

    #[test]
    fn arrows_lead_from_the_waker_to_who_waited() {
        let all = fixture::waits();
        let (first, second) = (all.threads[0].tid, all.threads[1].tid);
        let down = drawn(&[wake_up(1.6, 0.5, first, second)]).0;
        assert!(down.contains("url(#tip-down)\" d=\"M500 10V30\""), "{down}");
        let up = drawn(&[wake_up(1.6, 0.5, second, first)]).0;
        assert!(up.contains("url(#tip-up)\" d=\"M500 30V10\""), "{up}");
    }

    #[test]
    fn arrows_after_the_longest_waits_are_shown_first_and_their_number_is_bounded() {
        let all = fixture::waits();
        let (first, second) = (all.threads[0].tid, all.threads[1].tid);
        let many: Vec<WakeUp> = (0..5000)
            .map(|at| {
                wake_up(
                    f64::from(at) / 5000.0,
                    f64::from(at * 7 % 5000),
                    first,
                    second,
                )
            })
            .collect();
        let (text, counts) = drawn(&many);
        assert_eq!(counts, (1500, 3500));
        assert_eq!(text.matches("class=\"w0\"").count(), 40);
        assert!(text.len() < 250_000);
    }

    #[test]
    fn threads_without_a_lane_and_times_outside_have_no_arrow() {
        let first = fixture::waits().threads[0].tid;
        let wrong = [
            wake_up(1.0, 0.5, first, 99_999),
            wake_up(1.0, 0.5, first, first),
            wake_up(f64::NAN, 0.5, first, first + 1),
            wake_up(1e300, 0.5, first, first + 1),
        ];
        assert_eq!(drawn(&wrong), (String::new(), (0, 4)));
    }
}
