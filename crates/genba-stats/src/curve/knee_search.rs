//! Search for change points: proposed by the segmentation, tested one by one.

use super::bootstrap_random::Random;
use super::change_points::{CurveQuestion, Knee, KneeKind, NORMAL, ratio};
use super::knee_models::{self, KneeFit, Place};
use super::setting_levels::Levels;
use super::{segmentation, smooth_models};

/// Knees with a larger probability of being chance are not worth a measurement.
const SUSPECT: f64 = 0.15;
/// What the interval of a place leaves out at either side.
const TAIL: f64 = 0.025;

/// A knee with the settings beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) knee: Knee,
    pub(super) before: usize,
    pub(super) after: usize,
}

pub(super) struct Search<'a> {
    pub(super) levels: &'a Levels,
    pub(super) question: &'a CurveQuestion,
}

impl Search<'_> {
    /// The knees, and those that may be there.
    pub(super) fn run(&self) -> (Vec<Found>, Vec<Found>) {
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

    /// Borders of segments; those at the ends of the same short ramp between two levels count as one.
    fn proposed(&self) -> Vec<(usize, usize)> {
        let all = &self.levels.all;
        let mut places: Vec<(usize, usize)> = Vec::new();
        for border in segmentation::borders(all) {
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
                && knee_models::is_narrow(all, last.0, place.1, self.question.axis)
            {
                last.1 = place.1;
                continue;
            }
            places.push(place);
        }
        places
    }

    /// Whether settings do not differ more than their errors allow.
    fn is_flat(&self, from: usize, to: usize) -> bool {
        let part = &self.levels.all[from..=to];
        let constant = smooth_models::fit(part, smooth_models::Form::Constant);
        constant.is_some_and(|fit| fit.misfit < 4.0 * part.len() as f64)
    }

    /// The best knee of a stretch, with its chance of being none.
    fn test(&self, from: usize, to: usize) -> Option<Found> {
        let part = &self.levels.all[from..=to];
        let axis = self.question.axis;
        let smooth = smooth_models::best(part)?;
        let all = knee_models::all(part, axis);
        let best = knee_models::best(&all)?;
        let statistic = statistic(smooth.cost(), best);
        let p_value = if statistic <= 0.0 {
            1.0
        } else {
            self.chance(from, to, &smooth.fitted, statistic)
        };
        let mut all = all;
        knee_models::finer(&mut all, part, axis);
        Some(self.found(from, &all, knee_models::best(&all)?, p_value))
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
            drawn += 1;
            let smooth = smooth_models::best(&levels).map_or(f64::INFINITY, |fit| fit.cost());
            // No knee improves the fit by more; of a true one's redraws hardly any needs the search.
            if smooth - knee_models::LEAST_COST < statistic {
                continue;
            }
            let all = knee_models::all(&levels, self.question.axis);
            let other = knee_models::best(&all)
                .map_or(f64::NEG_INFINITY, |best| self::statistic(smooth, best));
            beyond += u32::from(other >= statistic);
        }
        f64::from(beyond + 1) / f64::from(drawn + 1)
    }

    fn found(&self, from: usize, all: &[KneeFit], best: &KneeFit, p_value: f64) -> Found {
        let axis = self.question.axis;
        let levels = &self.levels.all;
        let region = knee_models::region(all, best, TAIL);
        let half = NORMAL * best.effect.1 * knee_models::inflation(best).sqrt();
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
fn statistic(smooth: f64, best: &KneeFit) -> f64 {
    (smooth - best.cost) / knee_models::inflation(best)
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
