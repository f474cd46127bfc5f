//! Knees of a curve: proposed by the division into pieces, tested one by one.

use genba_model::Estimate;

use super::bent::{self, Bent, Place};
use super::levels::{Level, Levels};
use super::random::Random;
use super::{Axis, CurvePoint, pieces, smooth};
use crate::{StatsError, check};

/// What is asked of a curve.
#[derive(Clone, Copy, Debug)]
pub struct CurveQuestion {
    /// How the parameter is laid out.
    pub axis: Axis,
    /// Changes up to this share are of no interest (0.01). A third of it is taken for a scatter
    /// from setting to setting that no repeating shows.
    pub delta: f64,
    /// Rate of false knees allowed (0.05).
    pub alpha: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Curves drawn in the bootstrap (199).
    pub resamples: u32,
}

/// Of what kind a knee is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KneeKind {
    /// One level before it, another after it.
    Step,
    /// One slope before it, another after it.
    Hinge,
}

/// A place where the curve changes its ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Of a step: the last value that surely has the level before it. Of a hinge: lower end of
    /// the interval of its place.
    pub low: f64,
    /// The first value that surely has the level after it; the upper end.
    pub high: f64,
    /// Best single place.
    pub at: f64,
    /// Its kind.
    pub kind: KneeKind,
    /// Of a step: level after it ÷ level before it. Of a hinge: growth per doubling (on a linear
    /// axis per unit) after it ÷ growth before it. 95 %.
    pub effect: Estimate,
    /// Probability that a knee is there and lies in the interval.
    pub confidence: f64,
    /// How often a smooth curve would look so bent.
    pub p_value: f64,
    /// Of a step: whether the places that remain likely overlap. If not, there are settings of
    /// which it is not known at which side of it they lie.
    pub settled: bool,
}

/// A setting with its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The parameter.
    pub x: f64,
    /// The metric, 95 %.
    pub level: Estimate,
    /// Runs behind it.
    pub runs: u32,
}

/// A part of the curve without a knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// First and last setting.
    pub from: f64,
    /// Last setting.
    pub to: f64,
    /// Whether a constant describes it as well as anything.
    pub flat: bool,
    /// Largest distance of a level from their middle, as a share.
    pub within: f64,
}

/// A curve with its knees.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// All settings in the order of the parameter.
    pub settings: Vec<Setting>,
    /// The knees, from left to right.
    pub knees: Vec<Knee>,
    /// Knees that may be there, for want of a better measurement.
    pub suspects: Vec<Knee>,
    /// The parts between the knees.
    pub stretches: Vec<Stretch>,
    /// Typical standard deviation of a single run, as a share.
    pub scatter: f64,
    /// About the smallest step in the middle that would have been seen, as a share.
    pub visible_step: f64,
}

/// 97.5 % of the normal distribution.
const NORMAL: f64 = 1.96;
/// The share of δ that settings may differ by without meaning anything.
const FLOOR: f64 = 1.0 / 3.0;
/// Knees with a larger probability of being chance are not worth a measurement.
const SUSPECT: f64 = 0.15;
/// What the interval of a place leaves out at either side.
const TAIL: f64 = 0.025;
/// A ramp is so many times steeper than what is beside it.
const STEEPER: f64 = 4.0;
/// A step seen four times in five is so many standard errors high.
const SEEN: f64 = 4.0;

/// Finds levels and knees.
///
/// # Errors
/// No settings, settings most of which have a single run, values that are not above zero, on a doubling axis
/// parameters that are not; more settings than 200; δ or α out of range.
pub fn curve(points: &[CurvePoint], question: &CurveQuestion) -> Result<Curve, StatsError> {
    check::open_unit("alpha", question.alpha)?;
    if !(question.delta >= 0.0 && question.delta < 1.0) {
        return Err(StatsError::Parameter {
            name: "delta",
            value: question.delta,
            range: "at or above 0 and below 1",
        });
    }
    if points.is_empty() {
        return Err(StatsError::TooFew { needed: 1, got: 0 });
    }
    if points.len() > pieces::MOST {
        return Err(StatsError::Parameter {
            name: "number of settings",
            value: points.len() as f64,
            range: "at most 200",
        });
    }
    let levels = Levels::of(points, question.axis, question.delta * FLOOR)?;
    levels.enough()?;
    let (found, suspects) = Search {
        levels: &levels,
        question,
    }
    .run();
    let settings = (levels.all.iter().zip(levels.counts()).enumerate())
        .map(|(index, (level, count))| Setting {
            x: level.x,
            level: ratio(level.z, NORMAL * levels.own_error(index)),
            runs: u32::try_from(*count).unwrap_or(u32::MAX),
        })
        .collect();
    let errors: Vec<f64> = levels.all.iter().map(|level| level.se).collect();
    let typical = crate::median(&errors)?;
    Ok(Curve {
        settings,
        stretches: stretches(&levels.all, &found, question.delta),
        knees: found.iter().map(|found| found.knee).collect(),
        suspects: suspects.iter().map(|found| found.knee).collect(),
        scatter: levels.scatter(),
        visible_step: (SEEN * typical * 2.0 / (levels.all.len() as f64).sqrt()).exp_m1(),
    })
}

fn ratio(z: f64, half: f64) -> Estimate {
    Estimate {
        value: z.exp(),
        low: (z - half).exp(),
        high: (z + half).exp(),
    }
}

/// A knee with the settings beside it.
#[derive(Clone, Copy, Debug)]
struct Found {
    knee: Knee,
    before: usize,
    after: usize,
}

struct Search<'a> {
    levels: &'a Levels,
    question: &'a CurveQuestion,
}

impl Search<'_> {
    fn run(&self) -> (Vec<Found>, Vec<Found>) {
        let all = &self.levels.all;
        let last = all.len() - 1;
        let mut places = self.proposed();
        let mut suspects: Vec<Found> = Vec::new();
        let mut rounds = 2 * places.len() + 3;
        loop {
            let tested: Vec<Option<Found>> = (0..places.len())
                .map(|index| {
                    let from = if index == 0 { 0 } else { places[index - 1].1 };
                    let to = places.get(index + 1).map_or(last, |next| next.0);
                    self.test(from, to)
                })
                .collect();
            let doubt = |found: &Option<Found>| match found {
                None => 2.0,
                Some(found) if self.is_firm(found) => found.knee.p_value,
                Some(_) => 1.5,
            };
            let worst =
                (0..tested.len()).max_by(|a, b| doubt(&tested[*a]).total_cmp(&doubt(&tested[*b])));
            rounds = rounds.saturating_sub(1);
            match worst {
                Some(worst) if doubt(&tested[worst]) >= self.question.alpha => {
                    places.remove(worst);
                    let weak = tested[worst].filter(|found| found.knee.p_value < SUSPECT);
                    suspects.extend(weak);
                }
                _ => {
                    let now: Vec<(usize, usize)> = (tested.iter().flatten())
                        .map(|found| (found.before, found.after))
                        .collect();
                    let ordered = now.windows(2).all(|pair| pair[0].1 <= pair[1].0);
                    if now == places || rounds == 0 || !ordered {
                        let knees = self.ramps(in_order(tested.into_iter().flatten().collect()));
                        let apart = |a: &Found, b: &Found| {
                            a.knee.high <= b.knee.low || a.knee.low >= b.knee.high
                        };
                        suspects.retain(|weak| knees.iter().all(|knee| apart(weak, knee)));
                        suspects.sort_by(|a, b| a.knee.p_value.total_cmp(&b.knee.p_value));
                        let mut single: Vec<Found> = Vec::new();
                        for weak in suspects {
                            if single.iter().all(|other| apart(&weak, other)) {
                                single.push(weak);
                            }
                        }
                        let suspects = single;
                        return (knees, suspects);
                    }
                    places = now;
                }
            }
        }
    }

    /// Borders of pieces, those that bound the same short way from one level to another as one.
    fn proposed(&self) -> Vec<(usize, usize)> {
        let all = &self.levels.all;
        let mut places: Vec<(usize, usize)> = Vec::new();
        for border in pieces::borders(all) {
            let place = (border, border + 1);
            if let Some(last) = places.last_mut()
                && {
                    let first = all[last.1].z - all[last.0].z;
                    let second = all[place.1].z - all[place.0].z;
                    let whole = all[place.0].z - all[last.1].z;
                    let rising = first > 0.0;
                    (second > 0.0) == rising
                        && (place.0 == last.1
                            || (whole > 0.0) == rising && !self.is_flat(last.1, place.0))
                }
                && bent::is_narrow(all, last.0, place.1, self.question.axis)
            {
                last.1 = place.1;
                continue;
            }
            places.push(place);
        }
        places
    }

    /// Knees that are the ends of a short ramp between two levels are one step.
    fn ramps(&self, knees: Vec<Found>) -> Vec<Found> {
        let last = self.levels.all.len() - 1;
        let mut merged: Vec<Found> = Vec::new();
        let mut index = 0;
        while index < knees.len() {
            let from = merged.last().map_or(0, |found: &Found| found.after);
            let step = (index + 1..(index + 3).min(knees.len()))
                .rev()
                .find_map(|end| {
                    let pair = [&knees[index], &knees[end]];
                    let hinged = pair.iter().any(|found| found.knee.kind == KneeKind::Hinge);
                    let to = knees.get(end + 1).map_or(last, |next| next.before);
                    let step = hinged.then(|| self.ramp(from, to, pair[0], pair[1]))??;
                    Some((step, end))
                });
            match step {
                Some((step, end)) => {
                    merged.push(step);
                    index = end + 1;
                }
                None => {
                    merged.push(knees[index]);
                    index += 1;
                }
            }
        }
        merged
    }

    fn ramp(&self, from: usize, to: usize, first: &Found, second: &Found) -> Option<Found> {
        let all = &self.levels.all;
        let before = all.iter().rposition(|level| level.x <= first.knee.low)?;
        let after = all.iter().position(|level| level.x >= second.knee.high)?;
        if before < from + 1
            || after + 1 > to
            || !bent::is_narrow(all, before, after, self.question.axis)
        {
            return None;
        }
        let step = bent::step(&all[from..=to], before - from, after - from)?;
        // The level must change on the ramp and hardly beside it.
        let (a, b) = (&all[before], &all[after]);
        let ramp = (b.z - a.z) / (b.u - a.u);
        let beside = [(from, before), (after, to)]
            .map(|(left, right)| (all[right].z - all[left].z) / (all[right].u - all[left].u));
        if beside
            .iter()
            .any(|slope| slope.abs() * STEEPER > ramp.abs())
        {
            return None;
        }
        Some(Found {
            knee: Knee {
                low: a.x,
                high: b.x,
                at: self.question.axis.value(a.u.midpoint(b.u)),
                kind: KneeKind::Step,
                effect: ratio(step.effect.0, NORMAL * step.effect.1),
                confidence: first.knee.confidence.min(second.knee.confidence),
                p_value: first.knee.p_value.max(second.knee.p_value),
                settled: first.knee.settled && second.knee.settled,
            },
            before,
            after,
        })
    }

    /// Whether settings do not differ more than their errors allow.
    fn is_flat(&self, from: usize, to: usize) -> bool {
        let part = &self.levels.all[from..=to];
        let constant = smooth::fit(part, smooth::Form::Constant);
        constant.is_some_and(|fit| fit.misfit < 4.0 * part.len() as f64)
    }

    /// The best knee of a stretch, with its chance of being none.
    fn test(&self, from: usize, to: usize) -> Option<Found> {
        let part = &self.levels.all[from..=to];
        let axis = self.question.axis;
        let smooth = smooth::best(part)?;
        let all = bent::all(part, axis);
        let best = bent::best(&all)?;
        let statistic = statistic(smooth.cost(), best);
        let p_value = if statistic <= 0.0 {
            1.0
        } else {
            self.chance(from, to, &smooth.fitted, statistic)
        };
        let mut all = all;
        bent::finer(&mut all, part, axis);
        Some(self.found(from, &all, bent::best(&all)?, p_value))
    }

    /// How often curves without a knee look as bent.
    fn chance(&self, from: usize, to: usize, truth: &[f64], statistic: f64) -> f64 {
        // More than so many make it clear.
        let most = (self.question.resamples / 5).max(10);
        let seed = self.question.seed ^ (from as u64) << 32 ^ (to as u64) << 48;
        let mut random = Random::new(seed);
        let (mut beyond, mut drawn) = (0u32, 0u32);
        while drawn < self.question.resamples && beyond < most {
            let levels = self.levels.redraw(from, truth, &mut random);
            let smooth = smooth::best(&levels).map_or(f64::INFINITY, |fit| fit.cost());
            let all = bent::all(&levels, self.question.axis);
            let other =
                bent::best(&all).map_or(f64::NEG_INFINITY, |best| self::statistic(smooth, best));
            beyond += u32::from(other >= statistic);
            drawn += 1;
        }
        f64::from(beyond + 1) / f64::from(drawn + 1)
    }

    fn found(&self, from: usize, all: &[Bent], best: &Bent, p_value: f64) -> Found {
        let axis = self.question.axis;
        let levels = &self.levels.all;
        let region = bent::region(all, best, TAIL);
        let half = NORMAL * best.effect.1 * bent::inflation(best).sqrt();
        let effect = ratio(best.effect.0, half);
        let confidence = ((1.0 - p_value) * region.weight).clamp(0.0, 1.0);
        match best.place {
            Place::Step(before, after) => {
                let x = |index: f64| levels[from + index as usize].x;
                let (before, after) = (from + before, from + after);
                let middle = levels[before].u.midpoint(levels[after].u);
                Found {
                    knee: Knee {
                        low: x(region.low),
                        high: x(region.high),
                        at: axis.value(middle),
                        kind: KneeKind::Step,
                        effect,
                        confidence,
                        p_value,
                        settled: region.settled,
                    },
                    before,
                    after,
                }
            }
            Place::Hinge(at) => {
                let before = levels
                    .iter()
                    .rposition(|level| level.u <= at)
                    .unwrap_or(from);
                Found {
                    knee: Knee {
                        low: axis.value(region.low),
                        high: axis.value(region.high),
                        at: axis.value(at),
                        kind: KneeKind::Hinge,
                        effect,
                        confidence,
                        p_value,
                        settled: region.settled,
                    },
                    before,
                    after: (before + 1).min(levels.len() - 1),
                }
            }
        }
    }

    /// Whether there are two settings at either side, and the change matters.
    fn is_firm(&self, found: &Found) -> bool {
        let sides = found.before >= 1 && found.after + 1 < self.levels.all.len();
        let matters = match found.knee.kind {
            KneeKind::Step => found.knee.effect.value.ln().abs() > self.question.delta,
            KneeKind::Hinge => {
                let all = &self.levels.all;
                let at = self.question.axis.place(found.knee.at);
                let reach = (all[all.len() - 1].u - at).min(at - all[0].u);
                found.knee.effect.value.ln().abs() * reach > self.question.delta
            }
        };
        sides && matters
    }
}

/// By how much the knee improves the fit, in units of what is left.
fn statistic(smooth: f64, best: &Bent) -> f64 {
    (smooth - best.cost) / bent::inflation(best)
}

/// Knees from left to right; of two that claim the same settings the surer one.
fn in_order(mut knees: Vec<Found>) -> Vec<Found> {
    knees.sort_by_key(|found| (found.before, found.after));
    let mut kept: Vec<Found> = Vec::new();
    for knee in knees {
        match kept.last_mut() {
            Some(last) if last.after > knee.before => {
                if knee.knee.confidence > last.knee.confidence {
                    *last = knee;
                }
            }
            _ => kept.push(knee),
        }
    }
    kept
}

fn stretches(all: &[Level], knees: &[Found], delta: f64) -> Vec<Stretch> {
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
                smooth::best(part),
                smooth::fit(part, smooth::Form::Constant),
            ) {
                (Some(best), Some(constant)) => {
                    let change = best.fitted[best.fitted.len() - 1] - best.fitted[0];
                    let fits = constant.misfit < 4.0 * part.len() as f64;
                    fits && (constant.cost() <= best.cost() + 4.0 || change.abs() < delta)
                }
                _ => false,
            };
            Stretch {
                from: all[from].x,
                to: all[to].x,
                flat,
                within: ((high - low) / 2.0).exp_m1(),
            }
        })
        .collect()
}
