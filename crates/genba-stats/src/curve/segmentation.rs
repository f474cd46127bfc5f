//! Segmentation of the curve by dynamic programming over all divisions (Jackson
//! et al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal
//! Processing Letters 12 (2005)). It proposes; the bootstrap decides.

use super::least_squares::Row;
use super::setting_levels::Level;
use super::smooth_models::{self, logarithmic, plain_scale};

/// Penalty of a border between segments, beside the parameters of one more segment.
const BORDER: f64 = 10.0;
/// More settings than this are not divided.
pub(super) const MOST: usize = 200;

/// Indices of the last setting of every segment but the last; empty where one smooth curve fits.
pub(super) fn borders(levels: &[Level]) -> Vec<usize> {
    let count = levels.len();
    if !(3..=MOST).contains(&count) {
        return Vec::new();
    }
    // Least cost of the settings before `end`, and where its last segment begins.
    let mut least = vec![(0.0, 0); count + 1];
    for end in 1..=count {
        least[end] = (0..end)
            .map(|start| {
                let border = if start == 0 { 0.0 } else { BORDER };
                let segment = segment_cost(&levels[start..end]);
                (least[start].0 + border + segment, start)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::INFINITY, 0));
    }
    let whole = smooth_models::best(levels).map_or(f64::INFINITY, |fit| fit.cost());
    if whole <= least[count].0 {
        return Vec::new();
    }
    let mut borders = Vec::new();
    let mut end = count;
    while least[end].1 > 0 {
        end = least[end].1;
        borders.push(end - 1);
    }
    borders.reverse();
    borders
}

/// Cost of the best of a constant, a line, and a straight line of the metric itself.
fn segment_cost(levels: &[Level]) -> f64 {
    let constant = |_: &Level| -> Row { [1.0, 0.0, 0.0, 0.0] };
    let mut best =
        logarithmic(levels, 1, &constant).map_or(f64::INFINITY, |(_, misfit, _)| misfit + 2.0);
    if levels.len() >= 3 {
        let line = |level: &Level| -> Row { [1.0, level.u - levels[0].u, 0.0, 0.0] };
        if let Some((_, misfit, _)) = logarithmic(levels, 2, &line) {
            best = best.min(misfit + 4.0);
        }
        let span = levels[levels.len() - 1].x - levels[0].x;
        let plain = |level: &Level| -> Row { [1.0, (level.x - levels[0].x) / span, 0.0, 0.0] };
        if let Some((_, misfit, _)) = plain_scale(levels, 2, &plain) {
            best = best.min(misfit + 4.0);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(f: impl Fn(usize) -> f64) -> Vec<Level> {
        (0..17)
            .map(|i| Level {
                x: (i as f64).exp2(),
                u: i as f64,
                z: f(i),
                se: 0.01,
            })
            .collect()
    }

    #[test]
    fn staircase_is_divided_at_its_steps() {
        let stairs = levels(|i| match i {
            0..5 => 0.0,
            5..10 => 1.2,
            10..14 => 2.5,
            _ => 4.0,
        });
        assert_eq!(borders(&stairs), [4, 9, 13]);
        assert!(borders(&levels(|_| 1.0)).is_empty());
        assert!(borders(&levels(|i| 0.3 * i as f64)).is_empty());
        assert!(borders(&levels(|i| (1.0 + (i as f64).exp2() / 300.0).ln())).is_empty());
    }
}
