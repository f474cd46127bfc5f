//! Merging of two change points at the ends of a short ramp into one step.

use super::change_points::{Knee, KneeKind, NORMAL, ratio};
use super::knee_models;
use super::knee_search::{Found, Search};

/// A ramp is so many times steeper than what is beside it.
const STEEPER: f64 = 4.0;

impl Search<'_> {
    /// Knees that are the ends of a short ramp between two levels are one step.
    pub(super) fn ramps(&self, knees: Vec<Found>) -> Vec<Found> {
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
            || !knee_models::is_narrow(all, before, after, self.question.axis)
        {
            return None;
        }
        let step = knee_models::step(&all[from..=to], before - from, after - from)?;
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
}
