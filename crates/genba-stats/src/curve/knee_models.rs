//! Models with one change point: a step between two levels, or a hinge between two slopes.

use super::Axis;
use super::least_squares::Row;
use super::setting_levels::Level;
use super::smooth_models::{logarithmic, plain_scale};

/// Penalty of each setting between two levels: a step may be a ramp only where the data ask for it.
const BETWEEN: f64 = 10.0;
/// A ramp is a step if it is no wider than this share of the axis …
const NARROW: f64 = 0.25;
/// … and than so many doublings.
const NARROW_DOUBLINGS: f64 = 2.5;
/// Places of a hinge that are tried from one setting to the next.
const PLACES: usize = 4;
/// The same about the best place.
const FINE_PLACES: usize = 32;

/// Cost of a knee that fits exactly: two coefficients and a place.
pub(super) const LEAST_COST: f64 = 6.0;

/// Where the knee is and of what kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// The last setting of the one level and the first of the other.
    Step(usize, usize),
    /// The place on the axis.
    Hinge(f64),
}

/// The best curve with a knee at one place.
#[derive(Clone, Debug)]
pub(super) struct KneeFit {
    pub place: Place,
    pub misfit: f64,
    /// Misfit with a penalty for each parameter, the position included.
    pub cost: f64,
    /// Degrees of freedom left.
    pub free: f64,
    /// Logarithm of the jump's ratio, or the change of the slope of the logarithm, with its
    /// standard error.
    pub effect: (f64, f64),
    /// Width of the place on the axis, for the weights.
    width: f64,
}

/// All curves with one knee.
pub(super) fn all(levels: &[Level], axis: Axis) -> Vec<KneeFit> {
    let mut found = steps(levels, axis);
    found.extend(hinges(levels, axis));
    found
}

/// The one of least cost.
pub(super) fn best(all: &[KneeFit]) -> Option<&KneeFit> {
    all.iter().min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// Whether the settings between two others may be a ramp between levels.
pub(super) fn is_narrow(levels: &[Level], before: usize, after: usize, axis: Axis) -> bool {
    let Some((first, last)) = levels.first().zip(levels.last()) else {
        return false;
    };
    let share = (last.u - first.u) * NARROW;
    let most = match axis {
        Axis::Log2 => share.min(NARROW_DOUBLINGS),
        Axis::Linear => share,
    };
    levels[after].u - levels[before].u <= most
}

fn steps(levels: &[Level], axis: Axis) -> Vec<KneeFit> {
    let count = levels.len();
    let mut found = Vec::new();
    if count < 3 {
        return found;
    }
    for before in 0..count - 1 {
        for after in before + 1..count {
            if after - before > 1 && !is_narrow(levels, before, after, axis) {
                break;
            }
            found.extend(step(levels, before, after));
        }
    }
    found
}

/// The best of: two levels; two levels and one slope; two lines.
pub(super) fn step(levels: &[Level], before: usize, after: usize) -> Option<KneeFit> {
    let used: Vec<Level> = (levels[..=before].iter().chain(&levels[after..]))
        .copied()
        .collect();
    let border = levels[before].u.midpoint(levels[after].u);
    let right = |level: &Level| f64::from(u8::from(level.u > border));
    let between = after - before - 1;
    let (left_count, right_count) = (before + 1, levels.len() - after);
    let mut best: Option<KneeFit> = None;
    for columns in 2..=4 {
        // A line with a free end does not determine a jump.
        let needed = if columns == 4 { 2 } else { 1 };
        // Slopes of few settings fit anything.
        let spare = if columns == 2 { 1 } else { 3 };
        if used.len() < columns + spare || left_count.min(right_count) < needed {
            continue;
        }
        if columns == 4 && left_count.max(right_count) < 3 {
            continue;
        }
        let row = |level: &Level| {
            let (r, u) = (right(level), level.u - border);
            [1.0, r, u, r * u]
        };
        let row: Box<dyn Fn(&Level) -> Row> = Box::new(row);
        let Some((solution, misfit, _)) = logarithmic(&used, columns, &*row) else {
            continue;
        };
        // Two lines that meet between the settings, or nearly, are a hinge.
        let jumps =
            [levels[before].u, levels[after].u].map(|u| solution.at(&[0.0, 1.0, 0.0, u - border]));
        let least = jumps[0].abs().min(jumps[1].abs());
        let most = jumps[0].abs().max(jumps[1].abs());
        if columns == 4 && (jumps[0] * jumps[1] <= 0.0 || least < most / 2.0) {
            continue;
        }
        let parameters = columns + 1;
        let cost = misfit + 2.0 * parameters as f64 + BETWEEN * between as f64;
        if best.as_ref().is_none_or(|best| cost < best.cost) {
            let jump = [0.0, 1.0, 0.0, 0.0];
            let effect = (solution.at(&jump), solution.error_of(&jump));
            best = Some(KneeFit {
                place: Place::Step(before, after),
                misfit,
                cost,
                free: used.len() as f64 - parameters as f64,
                effect,
                width: 1.0,
            });
        }
    }
    best
}

fn hinges(levels: &[Level], axis: Axis) -> Vec<KneeFit> {
    match levels.len() {
        0..4 => Vec::new(),
        count => hinges_within(levels, axis, 1..count - 2, PLACES),
    }
}

/// Hinges at closer places in the gaps about the best one, in the stead of those there.
pub(super) fn finer(all: &mut Vec<KneeFit>, levels: &[Level], axis: Axis) {
    let Some(Place::Hinge(at)) = best(all).map(|best| best.place) else {
        return;
    };
    let gap = levels.iter().rposition(|level| level.u <= at).unwrap_or(1);
    let gaps = gap.saturating_sub(1).max(1)..(gap + 2).min(levels.len().saturating_sub(2));
    let (low, high) = (levels[gaps.start].u, levels[gaps.end].u);
    all.retain(|bent| !matches!(bent.place, Place::Hinge(at) if at > low && at < high));
    all.extend(hinges_within(levels, axis, gaps, FINE_PLACES));
}

fn hinges_within(
    levels: &[Level],
    axis: Axis,
    gaps: std::ops::Range<usize>,
    places: usize,
) -> Vec<KneeFit> {
    let mut found = Vec::new();
    for gap in gaps {
        let (from, to) = (levels[gap], levels[gap + 1]);
        let width = (to.u - from.u) / places as f64;
        for part in 0..places {
            let share = (part as f64 + 0.5) / places as f64;
            let u = from.u + (to.u - from.u) * share;
            let x = axis.value(u);
            found.extend(hinge(levels, u, x, width));
        }
    }
    found
}

/// The best of: flat before or after; two slopes; the same of the metric itself instead of its
/// logarithm, along the axis and along x.
fn hinge(levels: &[Level], at: f64, at_x: f64, width: f64) -> Option<KneeFit> {
    let count = levels.len();
    let span = (levels[count - 1].x - levels[0].x).max(f64::MIN_POSITIVE);
    let mut best: Option<(f64, usize, f64)> = None;
    let mut take = |fit: Option<(_, f64, Vec<f64>)>, parameters: usize| {
        let Some((_, misfit, _)): Option<(super::least_squares::Solution, f64, Vec<f64>)> = fit
        else {
            return;
        };
        let cost = misfit + 2.0 * parameters as f64;
        if count > parameters && best.is_none_or(|best| cost < best.0) {
            best = Some((cost, parameters, misfit));
        }
    };
    let one = |value: f64| [1.0, value, 0.0, 0.0];
    let up = |level: &Level| (level.u - at).max(0.0);
    let down = |level: &Level| (at - level.u).max(0.0);
    let up_x = |level: &Level| (level.x - at_x).max(0.0) / span;
    let down_x = |level: &Level| (at_x - level.x).max(0.0) / span;
    take(logarithmic(levels, 2, &|level| one(up(level))), 3);
    take(logarithmic(levels, 2, &|level| one(down(level))), 3);
    take(plain_scale(levels, 2, &|level| one(up(level))), 3);
    take(plain_scale(levels, 2, &|level| one(down(level))), 3);
    take(plain_scale(levels, 2, &|level| one(up_x(level))), 3);
    take(plain_scale(levels, 2, &|level| one(down_x(level))), 3);
    let both = |level: &Level| [1.0, level.u - at, up(level), 0.0];
    let slopes = logarithmic(levels, 3, &both);
    let effect = slopes.as_ref().map(|(solution, _, _)| {
        let change = [0.0, 0.0, 1.0, 0.0];
        (solution.at(&change), solution.error_of(&change))
    });
    take(slopes, 4);
    take(plain_scale(levels, 3, &both), 4);
    let both_x = |level: &Level| [1.0, (level.x - at_x) / span, up_x(level), 0.0];
    take(plain_scale(levels, 3, &both_x), 4);
    let (cost, parameters, misfit) = best?;
    let effect = effect?;
    Some(KneeFit {
        place: Place::Hinge(at),
        misfit,
        cost,
        free: count as f64 - parameters as f64,
        effect,
        width,
    })
}

/// Where the knee of the best one's kind is, by the weights exp(−cost ÷ 2) of its places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    /// Steps: indices of settings. Hinges: places on the axis.
    pub low: f64,
    pub high: f64,
    /// Weight of the places within.
    pub weight: f64,
    /// Whether the places that remain likely have a part in common: of a step, whether no
    /// setting may as well lie before it as after it.
    pub settled: bool,
}

/// The interval that leaves `tail` out at either side.
pub(super) fn region(all: &[KneeFit], best: &KneeFit, tail: f64) -> Region {
    let is_step = matches!(best.place, Place::Step(..));
    let inflation = inflation(best);
    let mut places: Vec<(f64, f64, f64)> = (all.iter())
        .filter_map(|bent| {
            // The misfit is worth less where all fit badly, the prices of parameters are not
            // (QAIC; Burnham and Anderson, "Model selection and multimodel inference", 2.5).
            let misfit = (bent.misfit - best.misfit) / inflation;
            let price = (bent.cost - bent.misfit) - (best.cost - best.misfit);
            let weight = (-(misfit + price) / 2.0).exp() * bent.width;
            match bent.place {
                Place::Step(before, after) if is_step => {
                    Some((before as f64, after as f64, weight))
                }
                Place::Hinge(at) if !is_step => {
                    Some((at - bent.width / 2.0, at + bent.width / 2.0, weight))
                }
                _ => None,
            }
        })
        .collect();
    let total: f64 = places.iter().map(|place| place.2).sum();
    let likely = places.iter().filter(|place| place.2 > tail * total);
    let (last_start, first_end) = likely
        .fold((f64::NEG_INFINITY, f64::INFINITY), |(start, end), place| {
            (start.max(place.0), end.min(place.1))
        });
    let mut cut = |by: fn(&(f64, f64, f64)) -> f64, up: bool| {
        places.sort_by(|a, b| by(a).total_cmp(&by(b)));
        let mut sum = 0.0;
        let mut ordered: Vec<&(f64, f64, f64)> = places.iter().collect();
        if !up {
            ordered.reverse();
        }
        for place in ordered {
            sum += place.2;
            if sum > tail * total {
                return by(place);
            }
        }
        f64::NAN
    };
    let low = cut(|place| place.0, true);
    let high = cut(|place| place.1, false);
    let within: f64 = (places.iter())
        .filter(|place| place.0 >= low && place.1 <= high)
        .map(|place| place.2)
        .sum();
    Region {
        low,
        high,
        weight: (within / total).min(1.0),
        // The place of a hinge is one of many by nature.
        settled: !is_step || last_start < first_end,
    }
}

/// How much worse the best curve fits than the errors of the levels allow: 1 if it does not.
pub(super) fn inflation(best: &KneeFit) -> f64 {
    if best.free < 1.0 {
        return 1.0;
    }
    (best.misfit / best.free).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(f: impl Fn(f64) -> f64) -> Vec<Level> {
        (0..11)
            .map(|u| {
                let u = f64::from(u);
                Level {
                    x: u.exp2(),
                    u,
                    z: f(u),
                    se: 0.005,
                }
            })
            .collect()
    }

    #[test]
    fn step_is_located_between_its_settings() {
        let levels = levels(|u| if u >= 4.0 { 0.1 } else { 0.0 });
        let all = all(&levels, Axis::Log2);
        let best = best(&all).unwrap();
        assert_eq!(best.place, Place::Step(3, 4));
        assert!((best.effect.0 - 0.1).abs() < 1e-9);
        let region = region(&all, best, 0.025);
        assert_eq!((region.low, region.high), (3.0, 4.0));
        assert!(region.weight > 0.95 && region.settled);
    }

    #[test]
    fn step_on_either_side_of_a_noisy_setting_is_not_settled() {
        let mut levels = levels(|u| if u >= 4.0 { 0.1 } else { 0.0 });
        levels[4].z = 0.05;
        levels[4].se = 0.03;
        let all = all(&levels, Axis::Log2);
        let region = region(&all, best(&all).unwrap(), 0.025);
        assert_eq!((region.low, region.high), (3.0, 5.0));
        assert!(!region.settled, "{region:?}");
        levels[4].se = 0.001;
        let all = self::all(&levels, Axis::Log2);
        let region = self::region(&all, best(&all).unwrap(), 0.025);
        // The setting lies between the two levels.
        assert!(region.settled, "{region:?}");
    }

    #[test]
    fn no_knee_costs_less_than_one_that_fits_exactly() {
        let step = |u: f64| if u >= 4.0 { 0.1 } else { 0.0 };
        let hinge = |u: f64| 0.1 * (u - 4.625).max(0.0);
        for levels in [levels(step), levels(hinge)] {
            let all = all(&levels, Axis::Log2);
            let least = best(&all).unwrap().cost;
            assert!((LEAST_COST..LEAST_COST + 1e-6).contains(&least), "{least}");
        }
    }

    #[test]
    fn ramp_is_fitted_as_a_wide_step() {
        let levels = levels(|u| ((u - 3.0) / 2.0).clamp(0.0, 1.0) * -0.3);
        let all = all(&levels, Axis::Log2);
        assert_eq!(best(&all).unwrap().place, Place::Step(3, 5));
    }

    #[test]
    fn hinge_is_not_taken_for_a_step() {
        let levels = levels(|u| 0.1 * (u - 5.0).max(0.0));
        let all = all(&levels, Axis::Log2);
        let best = best(&all).unwrap();
        assert!(
            matches!(best.place, Place::Hinge(at) if (at - 5.0).abs() < 0.3),
            "{best:?}"
        );
        let region = region(&all, best, 0.025);
        assert!(region.low <= 5.0 && region.high >= 5.0, "{region:?}");
    }
}
