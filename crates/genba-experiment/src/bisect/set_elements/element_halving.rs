//! Search among set elements when the metric has no noise: halving.

use std::collections::BTreeMap;

use genba_model::{BisectionOutcome, Estimate, VerdictName};
use genba_stats::{Test, bifurcate, reduce};

use super::{ElementFinder, NO_NOISE_SHARE};
use crate::ExperimentError;
use crate::bisect::search_result::VerifiedEffect;

/// Effects up to this share of the total are ignored: the subset itself (its length on the command
/// line) costs instructions, too.
const NEGLIGIBLE_SHARE: f64 = 0.05;
/// Number of passes over the remaining elements.
const MAX_PASSES: usize = 16;

impl ElementFinder<'_, '_, '_> {
    /// Finds the elements; `ends` are the values with none and with all of them.
    pub(super) fn find_exactly(
        &mut self,
        ends: (f64, f64),
    ) -> Result<BisectionOutcome, ExperimentError> {
        let all = self.all();
        let (none, whole) = (self.set.variant(&[])?.name, self.set.variant(&all)?.name);
        let verified = (self.measurement).conclude_exact((&none, ends.0), (&whole, ends.1));
        if verified.verdict == VerdictName::Same {
            return Ok(BisectionOutcome::NoDifference);
        }
        let mut known: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        known.insert(all.clone(), ends.1 - ends.0);
        let mut left = all;
        let mut effect = ends.1 - ends.0;
        let negligible = NEGLIGIBLE_SHARE * effect.abs();
        for _ in 0..MAX_PASSES {
            if left.is_empty() || effect.abs() <= negligible {
                break;
            }
            let shares = bifurcate(&left, effect, negligible, &mut |subset| {
                self.effect(subset, ends.0, &mut known)
            })?;
            let mut found = Vec::new();
            for share in shares {
                let items = if share.split {
                    share.items
                } else {
                    let half = share.effect / 2.0;
                    reduce(&share.items, usize::MAX, |subset| {
                        let effect = self.effect(subset, ends.0, &mut known)?;
                        let shows = effect / half >= 1.0;
                        Ok::<_, ExperimentError>(if shows { Test::Shows } else { Test::Lacks })
                    })?
                    .items
                };
                let effect = self.effect(&items, ends.0, &mut known)?;
                self.add_exact_culprit(&items, ends.0, effect)?;
                found.extend(items);
            }
            if found.is_empty() {
                break;
            }
            left.retain(|item| !found.contains(item));
            effect = match left.is_empty() {
                true => 0.0,
                false => self.effect(&left, ends.0, &mut known)?,
            };
        }
        Ok(if self.culprits.is_empty() {
            BisectionOutcome::Undecided
        } else {
            BisectionOutcome::Found
        })
    }

    fn effect(
        &mut self,
        subset: &[usize],
        none: f64,
        known: &mut BTreeMap<Vec<usize>, f64>,
    ) -> Result<f64, ExperimentError> {
        if let Some(effect) = known.get(subset) {
            return Ok(*effect);
        }
        if self.measurement.exceeds(1.0) {
            return Err(ExperimentError::Plan {
                what: "out of time before the search finished; increase --budget".to_owned(),
            });
        }
        self.measurement
            .progress(&format!("{} elements on", subset.len()));
        let variant = self.set.variant(subset)?;
        // A subset that fails counts as one without effect.
        let value = self.measurement.run(&variant, "search")?;
        let effect = value.map_or(0.0, |value| value - none);
        known.insert(subset.to_vec(), effect);
        Ok(effect)
    }

    /// Adds a culprit if one more run repeats its value.
    fn add_exact_culprit(
        &mut self,
        items: &[usize],
        none: f64,
        effect: f64,
    ) -> Result<(), ExperimentError> {
        let variant = self.set.variant(items)?;
        let again = self.measurement.run(&variant, "verify alone")?;
        let stays = |value: f64| (value - none - effect).abs() <= NO_NOISE_SHARE * effect.abs();
        let verified = if again.is_some_and(stays) {
            let name = self.set.variant(&[])?.name;
            (self.measurement).conclude_exact((&name, none), (&variant.name, none + effect))
        } else {
            VerifiedEffect {
                verdict: VerdictName::Undecided,
                ratio: Some(Estimate::exact((none + effect) / none)),
                pairs: 1,
            }
        };
        self.add_culprit(items, &verified);
        Ok(())
    }
}
