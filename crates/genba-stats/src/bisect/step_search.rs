//! Search for the position in an ordered list where the level of a metric changes.

use std::collections::{BTreeMap, BTreeSet};

use super::step_likelihood::{Gap, Levels, StepData};
use crate::StatsError;

/// Share of the values that are measured at the two ends, to determine the levels.
const END_SHARE: f64 = 0.15;
/// Step in standard deviations that one run detects, so that the ends need no more runs.
const CLEAR_STEP_SIGMAS: f64 = 8.0;
/// Noise up to this share of the step counts as none: exact counts differ by a few instructions, too.
const NO_NOISE_SHARE: f64 = 0.01;
/// Values that each end needs before there is a posterior.
const MIN_END_VALUES: usize = 2;

/// Finds the one point of an ordered list from which on a metric is at another level, each value
/// being noisy. Points are numbered from 0.
///
/// The posterior over the step's place, both levels and the scatter integrated out, is kept from
/// all values together; the next probe goes to its median, 15 % of the probes to the ends. With
/// flat priors for the levels and 1/σ for the scatter the marginal likelihood of a place is
/// (n₀ n₁)^−½ · SSE^−(n−2)/2 (the changepoint posterior of Smith, "A Bayesian approach to
/// inference about a change-point", Biometrika 62 (1975); probing its median is the noisy
/// bisection of Burnashev and Zigangirov (1974) and Waeber, Frazier and Henderson, "Bisection
/// search with noisy responses", SIAM J. Control Optim. 51 (2013)). Values are winsorised about
/// the levels, since run times have heavy tails. Between measured points the posterior is flat:
/// it costs time in proportion to the values, not to the points.
///
/// Where the values of repeated points agree to a hundredth of the step the noise is nil, and the search is plain
/// bisection: a value belongs to the end that it is nearer to.
#[derive(Clone, Debug)]
pub struct StepSearch {
    points: u64,
    values: BTreeMap<u64, Vec<f64>>,
    skipped: BTreeSet<u64>,
    refuted: BTreeSet<u64>,
}

/// Posterior of a [`StepSearch`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepPlace {
    /// The likeliest place: the first point at the new level, as far as points could be measured.
    pub place: u64,
    /// The last measurable point at the old level: `place − 1` unless points between them were
    /// skipped.
    pub last_before: u64,
    /// Posterior probability that the step lies between the two. While there are points to
    /// measure between `last_before` and `place` it is that of `place` alone.
    pub probability: f64,
    /// First and last place of the central 95 % of the posterior.
    pub range: (u64, u64),
    /// Levels before and after, in the metric's unit.
    pub levels: (f64, f64),
    /// Scatter of a single value as a share of the step's height.
    pub scatter: f64,
    /// Whether nothing is left to measure between `last_before` and `place`.
    pub narrow: bool,
}

impl StepSearch {
    /// A search among so many points.
    ///
    /// # Errors
    /// Fewer than two points.
    pub fn new(points: u64) -> Result<Self, StatsError> {
        if points < 2 {
            return Err(StatsError::TooFew {
                needed: 2,
                got: points as usize,
            });
        }
        Ok(Self {
            points,
            values: BTreeMap::new(),
            skipped: BTreeSet::new(),
            refuted: BTreeSet::new(),
        })
    }

    /// Adds a value measured at a point.
    ///
    /// # Errors
    /// A value that is not finite, a point beyond the last.
    pub fn push(&mut self, point: u64, value: f64) -> Result<(), StatsError> {
        if !value.is_finite() {
            let index = self.count();
            return Err(StatsError::NotFinite { index, value });
        }
        if point >= self.points {
            return Err(StatsError::Parameter {
                name: "point",
                value: point as f64,
                range: "below the number of points",
            });
        }
        self.skipped.remove(&point);
        self.values.entry(point).or_default().push(value);
        Ok(())
    }

    /// Marks a point as not measurable.
    pub fn skip(&mut self, point: u64) {
        self.skipped.insert(point);
    }

    /// Excludes a step right before this point, as shown by a comparison.
    pub fn refute(&mut self, place: u64) {
        self.refuted.insert(place);
    }

    /// Values so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.values().map(Vec::len).sum()
    }

    /// Whether repeated values of a point differ by no more than a hundredth of what the ends
    /// differ by.
    #[must_use]
    pub fn noise_is_nil(&self) -> bool {
        let ends = [0, self.points - 1].map(|point| self.values.get(&point));
        let [Some(first), Some(last)] = ends else {
            return false;
        };
        if first.len().min(last.len()) < MIN_END_VALUES {
            return false;
        }
        let most = NO_NOISE_SHARE * (last[0] - first[0]).abs();
        (self.values.values()).all(|values| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            high - low <= most
        })
    }

    /// The most probable position so far; `None` before both ends have two values, or if all
    /// positions are excluded.
    #[must_use]
    pub fn place(&self) -> Option<StepPlace> {
        let belief = self.belief()?;
        let best = belief.most_likely(self)?;
        let gap = &belief.gaps[best];
        let narrow = self.between(gap).next().is_none();
        // Of a gap with points to measure in it any one place is as likely as another.
        let places = if narrow {
            1.0
        } else {
            (gap.to - gap.from) as f64
        };
        let unscale = |level: f64| if belief.logs { level.exp() } else { level };
        let levels = belief.levels;
        let height = (levels.after - levels.before).abs();
        Some(StepPlace {
            place: gap.to,
            last_before: gap.from,
            probability: belief.masses[best] / places,
            range: (belief.quantile(0.025), belief.quantile(0.975)),
            levels: (unscale(levels.before), unscale(levels.after)),
            scatter: if levels.scatter == 0.0 {
                0.0
            } else {
                levels.scatter / height
            },
            narrow,
        })
    }

    /// The point to measure next. `draw` is a random number in 0…1.
    #[must_use]
    pub fn next(&self, draw: f64) -> u64 {
        let last = self.points - 1;
        let count_at = |point: u64| self.values.get(&point).map_or(0, Vec::len);
        if count_at(0).min(count_at(last)) < MIN_END_VALUES {
            return if count_at(0) <= count_at(last) {
                0
            } else {
                last
            };
        }
        let Some(belief) = self.belief() else {
            return if draw < 0.5 { 0 } else { last };
        };
        let height = (belief.levels.after - belief.levels.before).abs();
        let clear = height > CLEAR_STEP_SIGMAS * belief.levels.scatter;
        let at_ends = (count_at(0) + count_at(last)) as f64;
        let known = at_ends > 2.0 * END_SHARE * self.count() as f64;
        if !clear && !known && draw < END_SHARE {
            return if draw < END_SHARE / 2.0 { 0 } else { last };
        }
        let coin = (draw - END_SHARE) / (1.0 - END_SHARE) < 0.5;
        let place = belief.quantile(0.5);
        let gap = belief.gap_of(place);
        // A clear step is halved exactly; else both sides of the likeliest place are of use.
        let wanted = if coin && !clear { place - 1 } else { place };
        self.nearest(&belief.gaps[gap], wanted, coin)
    }

    /// The measurable point nearest to the one wanted, inside the gap if there is one.
    fn nearest(&self, gap: &Gap, wanted: u64, coin: bool) -> u64 {
        let inside =
            |point: &u64| gap.from < *point && *point < gap.to && !self.skipped.contains(point);
        // Outwards from the point wanted: no more steps than there are skipped points in a row.
        (0..gap.to - gap.from)
            .flat_map(|distance| [wanted.checked_sub(distance), wanted.checked_add(distance)])
            .flatten()
            .find(inside)
            .unwrap_or(if coin { gap.from } else { gap.to })
    }

    /// Points strictly inside a gap that can be measured.
    fn between(&self, gap: &Gap) -> impl Iterator<Item = u64> {
        (gap.from + 1..gap.to).filter(|point| !self.skipped.contains(point))
    }

    fn belief(&self) -> Option<Belief> {
        let ends = [0, self.points - 1];
        let enough = |point: &u64| {
            (self.values.get(point)).is_some_and(|values| values.len() >= MIN_END_VALUES)
        };
        if !ends.iter().all(enough) {
            return None;
        }
        let data = StepData::new(&self.values);
        let mut levels = data.ends();
        let mut gaps = data.gaps(levels);
        if self.noise_is_nil() {
            levels.scatter = 0.0;
            let crossed = self.crossing(levels, data.logs)?;
            for gap in &mut gaps {
                gap.log_likelihood = if gap.from == crossed {
                    0.0
                } else {
                    f64::NEG_INFINITY
                };
            }
            return Belief::new(gaps, levels, data.logs, |gap| self.weight(gap));
        }
        let best = |gaps: &[Gap]| -> Option<Gap> {
            let open = gaps.iter().filter(|gap| self.weight(gap) > 0.0);
            open.max_by(|left, right| left.log_likelihood.total_cmp(&right.log_likelihood))
                .copied()
        };
        // The scatter at the ends alone is poorly known: that about the likeliest step, too.
        for _ in 0..2 {
            let likeliest = best(&gaps)?;
            levels.scatter = levels.scatter.max(data.scatter_about(&likeliest));
            gaps = data.gaps(levels);
        }
        let likeliest = best(&gaps)?;
        (levels.before, levels.after) = likeliest.means;
        Belief::new(gaps, levels, data.logs, |gap| self.weight(gap))
    }

    /// Places of a gap that are not refuted.
    fn weight(&self, gap: &Gap) -> f64 {
        let refuted = self.refuted.range(gap.from + 1..=gap.to).count() as u64;
        // A refuted gap whose inner points cannot be measured is refuted as a whole.
        if refuted > 0 && self.between(gap).next().is_none() {
            return 0.0;
        }
        (gap.to - gap.from - refuted) as f64
    }

    /// Without noise: the last point before the first one that is nearer to the last end's
    /// value, the refuted places left out.
    fn crossing(&self, levels: Levels, logs: bool) -> Option<u64> {
        let middle = levels.before.midpoint(levels.after);
        let side = |values: &[f64]| {
            let value = if logs { values[0].ln() } else { values[0] };
            (value > middle) == (levels.after > levels.before)
        };
        let points: Vec<(u64, bool)> = (self.values.iter())
            .map(|(point, values)| (*point, side(values)))
            .collect();
        (points.windows(2))
            .find(|pair| !pair[0].1 && pair[1].1 && !self.refuted.contains(&pair[1].0))
            .map(|pair| pair[0].0)
    }
}

/// The posterior as a mass for every gap.
struct Belief {
    gaps: Vec<Gap>,
    masses: Vec<f64>,
    levels: Levels,
    logs: bool,
}

impl Belief {
    fn new(
        gaps: Vec<Gap>,
        levels: Levels,
        logs: bool,
        weight: impl Fn(&Gap) -> f64,
    ) -> Option<Self> {
        let logs_of_mass: Vec<f64> = (gaps.iter())
            .map(|gap| gap.log_likelihood + weight(gap).ln())
            .collect();
        let most = logs_of_mass
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() {
            return None;
        }
        let mut masses: Vec<f64> = logs_of_mass.iter().map(|log| (log - most).exp()).collect();
        let sum: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= sum);
        Some(Self {
            gaps,
            masses,
            levels,
            logs,
        })
    }

    /// The gap with the most probable place; of gaps that cannot be divided the whole counts.
    fn most_likely(&self, search: &StepSearch) -> Option<usize> {
        let of_place = |index: &usize| {
            let gap = &self.gaps[*index];
            let narrow = search.between(gap).next().is_none();
            let places = if narrow {
                1.0
            } else {
                (gap.to - gap.from) as f64
            };
            self.masses[*index] / places
        };
        (0..self.gaps.len()).max_by(|left, right| of_place(left).total_cmp(&of_place(right)))
    }

    /// The place up to which a share `p` of the posterior lies.
    fn quantile(&self, p: f64) -> u64 {
        let mut below = 0.0;
        for (gap, mass) in self.gaps.iter().zip(&self.masses) {
            if *mass > 0.0 && below + mass >= p {
                let width = (gap.to - gap.from) as f64;
                let inside = ((p - below) / mass * width).ceil().clamp(1.0, width);
                return gap.from + inside as u64;
            }
            below += mass;
        }
        self.gaps.last().map_or(1, |gap| gap.to)
    }

    fn gap_of(&self, place: u64) -> usize {
        let at = self.gaps.partition_point(|gap| gap.to < place);
        at.min(self.gaps.len().saturating_sub(1))
    }
}
