//! Changes of level in a long series of noisy points, such as the results of commits.
//!
//! The method is the multiscale MOSUM of Cho and Kirch ("Two-stage data segmentation permitting
//! multiscale change points, heavy tails and dependence", Annals of the Institute of Statistical
//! Mathematics 74, 2022), on clipped points: the mean of a window before each place is compared
//! with that of one after it, for windows of many lengths on either side. What exceeds the
//! threshold most is accepted first, and no window reaches over an accepted change. A change must
//! stay significant between its neighbours.
//!
//! The noise is that of the series itself: the scatter of neighbouring points, and the
//! low-frequency part which longer windows show (Allan variance), so that a machine that drifts
//! makes the test blunter, not wrong. Points whose own values scatter more than that weigh less. Where the points around a
//! place scatter more than the series, their noise counts: a machine may be busy for a while.

mod point_noise;

use genba_model::Estimate;

use self::point_noise::{chi_squared_limit, local_noise, spread};
use crate::quantile::{MAD_TO_SIGMA, median};
use crate::{StatsError, normal_quantile};

/// Fewest points of a level: a burst of one or two points is not a level.
pub const MIN_POINTS_OF_LEVEL: usize = 3;
/// Lengths of windows, points.
const WINDOWS: [usize; 10] = [3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// Threshold for points whose noise is independent (pairs with an anchor); `bench/bench-history` has
/// the false alarms and the power that follow.
const THRESHOLD: f64 = 4.1;
/// Threshold for points that contain the drift of their host.
const THRESHOLD_OF_DRIFTING: f64 = 6.0;
/// Points that a series needs until its noise is known well: with fewer the threshold is higher in
/// proportion. In 400,000 simulated series of normal noise each, one change in 1,000 points exceeds
/// 6.4, 5.7, 5.1 and 4.4 where there are 6, 8, 10 and 14 points.
const POINTS_OF_KNOWN_NOISE: f64 = 4.0;
/// Times the noise of the series up to which the error of a point says nothing: the scatter of some ten values is known
/// to a fifth.
const UNCERTAIN_ERROR: f64 = 1.3;
/// Points farther than this from the running median are moved there, standard errors.
const CLIP: f64 = 3.0;
/// Points of the running median on either side.
const MEDIAN_REACH: usize = 2;
/// Longest window of the Allan variance, and points that it needs for each of its own.
const MAX_ALLAN_WINDOW: usize = 32;
const POINTS_PER_ALLAN_WINDOW: usize = 16;
/// Excess of the Allan variance over that of white noise which is put down to chance.
const ALLAN_SLACK: f64 = 1.5;
/// Changes expected per point before any is seen.
const PRIOR_CHANGES_PER_POINT: f64 = 1e-3;
/// Probability that the range of a change covers.
const RANGE_MASS: f64 = 0.95;

/// Asymptotic standard error of a median of normal values, × √n ÷ σ: √(π/2).
const MEDIAN_ERROR: f64 = 1.2533;
/// The same of the Hodges-Lehmann estimate: √(π/3).
const HODGES_LEHMANN_ERROR: f64 = 1.0233;

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelPoint {
    /// Natural logarithm of the value, or of its ratio to an anchor.
    pub log_value: f64,
    /// Standard error of it.
    pub error: f64,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// Most likely first point of the new level.
    pub at: usize,
    /// Last point that has the old level for certain (95 %).
    pub last_before: usize,
    /// First point that has the new level for certain.
    pub first_after: usize,
    /// Level after ÷ level before, 95 %.
    pub ratio: Estimate,
    /// Levels before and after on the logarithmic scale, 95 %.
    pub levels: (Estimate, Estimate),
    /// Posterior probability of a change in the range, with one change expected in 1,000 points.
    pub probability: f64,
    /// Difference ÷ its standard error.
    pub statistic: f64,
}

/// The changes of a series, and its noise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelChanges {
    /// The changes in order.
    pub changes: Vec<LevelChange>,
    /// Standard error of a typical point, as a share.
    pub noise: f64,
    /// Smallest step that is found within three points with a probability of 95 %, as a share.
    pub visible_step: f64,
}

/// The point of a commit: the median of the values or, with an anchor, of the ratios to the
/// anchor's value of the same block; `None` without positive values.
#[must_use]
pub fn level_point(values: &[Option<f64>], anchor: Option<&[Option<f64>]>) -> Option<LevelPoint> {
    let usable = |value: Option<f64>| value.filter(|one| one.is_finite() && *one > 0.0);
    let logs: Vec<f64> = match anchor {
        None => values
            .iter()
            .filter_map(|one| Some(usable(*one)?.ln()))
            .collect(),
        Some(anchor) => (values.iter().zip(anchor))
            .filter_map(|(one, anchor)| Some((usable(*one)? / usable(*anchor)?).ln()))
            .filter(|one| one.is_finite())
            .collect(),
    };
    let (centre, inefficiency) = match anchor {
        Some(_) if logs.len() >= MIN_POINTS_OF_LEVEL => {
            let centre = crate::hodges_lehmann(&logs, 0.95).ok()?.estimate.value;
            (centre, HODGES_LEHMANN_ERROR)
        }
        _ => (median(&logs).ok()?, MEDIAN_ERROR),
    };
    let distances: Vec<f64> = logs.iter().map(|one| (one - centre).abs()).collect();
    let scatter = MAD_TO_SIGMA * median(&distances).ok()?;
    Some(LevelPoint {
        log_value: centre,
        error: inefficiency * scatter / (logs.len() as f64).sqrt(),
    })
}

/// The changes of level in a series. `independent` says that the points do not share a drift of
/// their host: they are ratios to an anchor.
///
/// # Errors
/// A point that is not finite.
pub fn level_changes(points: &[LevelPoint], independent: bool) -> Result<LevelChanges, StatsError> {
    if let Some((index, bad)) = (points.iter().enumerate())
        .find(|(_, one)| !one.log_value.is_finite() || !one.error.is_finite())
    {
        return Err(StatsError::NotFinite {
            index,
            value: bad.log_value + bad.error,
        });
    }
    if points.len() < 2 {
        return Ok(LevelChanges::default());
    }
    let threshold = match independent {
        true => THRESHOLD,
        false => THRESHOLD_OF_DRIFTING,
    } * (1.0 + POINTS_OF_KNOWN_NOISE / points.len() as f64);
    let series = Prepared::of(points)?;
    let places = search(&series, threshold);
    let changes = (0..places.len())
        .map(|index| series.change(&places, index))
        .collect();
    let power = threshold + normal_quantile(0.95);
    let three = MIN_POINTS_OF_LEVEL as f64;
    Ok(LevelChanges {
        changes,
        noise: series.sigma,
        visible_step: (power * (series.sigma.powi(2) / three + 2.0 * series.slow).sqrt()).exp_m1(),
    })
}

/// A series with what the search needs: sums of clipped points, and the noise.
struct Prepared {
    /// Sums of weights and of weighted values before each point.
    weights: Vec<f64>,
    sums: Vec<f64>,
    /// Sums of weighted squares of values, from their median.
    squares: Vec<f64>,
    /// Quantile of χ² by degrees of freedom, which the scatter of a window must exceed.
    scatter_limits: Vec<f64>,
    /// Standard error of a point near each place: that of the series, or more.
    local: Vec<f64>,
    /// Median of the values: sums are of differences from it.
    centre: f64,
    /// Standard error of a point.
    sigma: f64,
    /// Variance of the low-frequency noise.
    slow: f64,
}

impl Prepared {
    fn of(points: &[LevelPoint]) -> Result<Self, StatsError> {
        let values: Vec<f64> = points.iter().map(|one| one.log_value).collect();
        let errors: Vec<f64> = points.iter().map(|one| one.error).collect();
        let steps: Vec<f64> = values
            .windows(2)
            .map(|two| (two[1] - two[0]).abs())
            .collect();
        let sigma = (spread(&steps)? / 2_f64.sqrt())
            .max(median(&errors)?)
            .max(f64::EPSILON);
        let mut weights = vec![0.0];
        let mut sums = vec![0.0];
        let mut squares = vec![0.0];
        let centre = median(&values)?;
        for (index, value) in values.iter().enumerate() {
            let weight = match errors[index] > UNCERTAIN_ERROR * sigma {
                true => (sigma / errors[index]).powi(2),
                false => 1.0,
            };
            let near = &values
                [index.saturating_sub(MEDIAN_REACH)..values.len().min(index + MEDIAN_REACH + 1)];
            let middle = median(near)?;
            let reach = CLIP * sigma / weight.sqrt();
            let clipped = value.clamp(middle - reach, middle + reach) - centre;
            weights.push(weights[index] + weight);
            sums.push(sums[index] + weight * clipped);
            squares.push(squares[index] + weight * clipped.powi(2));
        }
        let longest = WINDOWS[WINDOWS.len() - 1];
        let mut series = Self {
            weights,
            sums,
            squares,
            scatter_limits: (0..=longest).map(chi_squared_limit).collect(),
            local: (0..=values.len())
                .map(|at| local_noise(&steps, at, sigma))
                .collect::<Result<_, _>>()?,
            centre,
            sigma,
            slow: 0.0,
        };
        series.slow = series.slow_noise()?;
        Ok(series)
    }

    fn count(&self) -> usize {
        self.weights.len() - 1
    }

    fn weight(&self, from: usize, to: usize) -> f64 {
        self.weights[to] - self.weights[from]
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.sums[to] - self.sums[from]) / self.weight(from, to)
    }

    /// What the Allan variance of longer windows has beyond white noise.
    fn slow_noise(&self) -> Result<f64, StatsError> {
        let mut slow: f64 = 0.0;
        let mut window = 2;
        while window <= MAX_ALLAN_WINDOW && self.count() >= POINTS_PER_ALLAN_WINDOW * window {
            let steps: Vec<f64> = (window..=self.count() - window)
                .map(|at| self.mean(at, at + window) - self.mean(at - window, at))
                .map(f64::abs)
                .collect();
            // A change of level is in two windows' lengths of the steps, which the median ignores.
            let allan = (median(&steps)? * MAD_TO_SIGMA).powi(2) / 2.0;
            slow = slow.max(allan - ALLAN_SLACK * self.sigma.powi(2) / window as f64);
            window *= 2;
        }
        Ok(slow)
    }

    /// Difference of the levels at either side of a place, and its standard error by the noise of the series.
    fn difference(&self, from: usize, at: usize, to: usize, slow: f64) -> (f64, f64) {
        let (left, right) = (self.weight(from, at), self.weight(at, to));
        let variance = self.sigma.powi(2) * (1.0 / left + 1.0 / right) + 2.0 * slow;
        (self.mean(at, to) - self.mean(from, at), variance.sqrt())
    }

    /// The same with the noise of these points, where they scatter more than the series.
    fn difference_here(&self, from: usize, at: usize, to: usize) -> (f64, f64) {
        let (difference, _) = self.difference(from, at, to, 0.0);
        let variance = self.variance(from, at, self.local[at]) / self.weight(from, at)
            + self.variance(at, to, self.local[at]) / self.weight(at, to)
            + 2.0 * self.slow;
        (difference, variance.sqrt())
    }

    /// Variance of a point of weight 1 between two places: that of the noise, or what the points there have at least.
    fn variance(&self, from: usize, to: usize, noise: f64) -> f64 {
        let points = to - from;
        let freedom = (points - 1).min(self.scatter_limits.len() - 1);
        if freedom == 0 {
            return noise.powi(2);
        }
        let weight = self.weight(from, to);
        let mean = (self.sums[to] - self.sums[from]) / weight;
        let scatter = self.squares[to] - self.squares[from] - weight * mean.powi(2);
        let of_freedom = scatter * freedom as f64 / (points - 1) as f64;
        (of_freedom / self.scatter_limits[freedom]).max(noise.powi(2))
    }

    fn statistic(&self, from: usize, at: usize, to: usize) -> f64 {
        let (difference, error) = self.difference_here(from, at, to);
        (difference / error).abs()
    }

    /// The place between two others that divides their points best.
    fn best_place(&self, from: usize, to: usize) -> Option<usize> {
        let explained = |at: &usize| {
            let (difference, error) = self.difference(from, *at, to, 0.0);
            (difference / error).abs()
        };
        (from + MIN_POINTS_OF_LEVEL..=to.checked_sub(MIN_POINTS_OF_LEVEL)?)
            .max_by(|a, b| explained(a).total_cmp(&explained(b)))
    }

    /// The change at one of the accepted places.
    fn change(&self, places: &[usize], index: usize) -> LevelChange {
        let at = places[index];
        let (from, to) = neighbours(places, index, self.count());
        let (difference, error) = self.difference_here(from, at, to);
        // The likelihood of every other place between the neighbours.
        let fit = |at: usize| {
            let (difference, error) = self.difference(from, at, to, 0.0);
            (difference / error).powi(2) / 2.0
        };
        let best = fit(at);
        let all: Vec<(usize, f64)> = (from + 1..to)
            .map(|at| (at, (fit(at) - best).exp()))
            .collect();
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        let (mut low, mut high) = (at, at);
        let mut mass = 1.0 / total;
        let weight = |at: usize| {
            let index = at.checked_sub(from + 1);
            index
                .and_then(|index| all.get(index))
                .map_or(0.0, |one| one.1 / total)
        };
        while mass < RANGE_MASS {
            let (below, above) = (weight(low - 1), weight(high + 1));
            if below == 0.0 && above == 0.0 {
                break;
            }
            if below >= above {
                low -= 1;
                mass += below;
            } else {
                high += 1;
                mass += above;
            }
        }
        let statistic = difference / error;
        // The Bayes factor with a unit-information prior for the size (Kass and Wasserman 1995).
        let information = 1.0 / (1.0 / self.weight(from, at) + 1.0 / self.weight(at, to));
        let log_odds = statistic.powi(2) / 2.0 - 0.5 * (1.0 + information).ln()
            + (PRIOR_CHANGES_PER_POINT * total).ln();
        let level = |from: usize, to: usize| {
            let variance = self.variance(from, to, self.sigma) / self.weight(from, to) + self.slow;
            let half = 1.96 * variance.sqrt();
            let value = self.mean(from, to) + self.centre;
            Estimate {
                value,
                low: value - half,
                high: value + half,
            }
        };
        LevelChange {
            at,
            last_before: low - 1,
            first_after: high,
            ratio: Estimate {
                value: difference.exp(),
                low: (difference - 1.96 * error).exp(),
                high: (difference + 1.96 * error).exp(),
            },
            levels: (level(from, at), level(at, to)),
            probability: mass.min(1.0) / (1.0 + (-log_odds).exp()),
            statistic,
        }
    }
}

/// The accepted places, in order.
fn search(series: &Prepared, threshold: f64) -> Vec<usize> {
    let count = series.count();
    let mut places: Vec<usize> = Vec::new();
    // The best statistic of each place; computed again only where a new change cuts windows.
    let mut best: Vec<f64> = vec![0.0; count + 1];
    let (mut from, mut to) = (0, count);
    loop {
        for (at, best) in best.iter_mut().enumerate().take(to).skip(from) {
            *best = best_statistic(series, &places, at);
        }
        let found = (best.iter().enumerate())
            .max_by(|a, b| a.1.total_cmp(b.1))
            .filter(|(_, statistic)| **statistic >= threshold);
        let Some((at, _)) = found else {
            break;
        };
        let index = places.partition_point(|one| *one < at);
        places.insert(index, at);
        (from, to) = neighbours(&places, index, count);
    }
    refine(series, &mut places, threshold);
    places
}

/// The accepted places, or ends of the series, beside one of them.
fn neighbours(places: &[usize], index: usize, count: usize) -> (usize, usize) {
    let before = index.checked_sub(1).map_or(0, |index| places[index]);
    (before, places.get(index + 1).copied().unwrap_or(count))
}

fn best_statistic(series: &Prepared, places: &[usize], at: usize) -> f64 {
    let index = places.partition_point(|one| *one < at);
    let before = index.checked_sub(1).map_or(0, |index| places[index]);
    let after = places.get(index).copied().unwrap_or(series.count());
    if at < before + MIN_POINTS_OF_LEVEL || at + MIN_POINTS_OF_LEVEL > after {
        return 0.0;
    }
    let mut best: f64 = 0.0;
    for left in WINDOWS {
        let from = at.saturating_sub(left).max(before);
        for right in WINDOWS {
            let to = (at + right).min(after);
            best = best.max(series.statistic(from, at, to));
            if to == after {
                break;
            }
        }
        if from == before {
            break;
        }
    }
    best
}

/// Moves each change to the best place between its neighbours, and drops those that are not
/// significant there, the weakest first.
fn refine(series: &Prepared, places: &mut Vec<usize>, threshold: f64) {
    loop {
        for index in 0..places.len() {
            let (from, to) = neighbours(places, index, series.count());
            if let Some(at) = series.best_place(from, to) {
                places[index] = at;
            }
        }
        let weakest = (0..places.len())
            .map(|index| {
                let (from, to) = neighbours(places, index, series.count());
                (index, series.statistic(from, places[index], to))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((index, statistic)) if statistic < threshold => {
                places.remove(index);
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests;
