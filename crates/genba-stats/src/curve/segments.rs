//! Segments of a curve between its change points.

use super::change_points::Segment;
use super::knee_search::Found;
use super::setting_levels::Level;
use super::smooth_models;

/// What lies before, between and behind the knees; flat where a constant describes it.
pub(super) fn segments(all: &[Level], knees: &[Found], delta: f64) -> Vec<Segment> {
    let mut starts = vec![0];
    let mut ends = Vec::new();
    for found in knees {
        // What lies within the interval belongs to neither side.
        let below = all.iter().rposition(|level| level.x <= found.knee.low);
        let above = all.iter().position(|level| level.x >= found.knee.high);
        ends.push(below.unwrap_or(found.before));
        starts.push(above.unwrap_or(found.after));
    }
    ends.push(all.len() - 1);
    (starts.into_iter().zip(ends))
        .filter(|(from, to)| from <= to)
        .map(|(from, to)| {
            let part = &all[from..=to];
            let zs: Vec<f64> = part.iter().map(|level| level.z).collect();
            let (low, high) = (zs.iter()).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), z| {
                (l.min(*z), h.max(*z))
            });
            let flat = match (
                smooth_models::best(part),
                smooth_models::fit(part, smooth_models::Form::Constant),
            ) {
                (Some(best), Some(constant)) => {
                    let change = best.fitted[best.fitted.len() - 1] - best.fitted[0];
                    let fits = constant.misfit < 4.0 * part.len() as f64;
                    fits && (constant.cost() <= best.cost() + 4.0 || change.abs() < delta)
                }
                _ => false,
            };
            Segment {
                from: all[from].x,
                to: all[to].x,
                flat,
                within: ((high - low) / 2.0).exp_m1(),
            }
        })
        .collect()
}
