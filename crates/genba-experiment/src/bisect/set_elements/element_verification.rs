//! Verification of suspected set elements: compared alone and together; elements that act only
//! together are reduced to the smallest subset.

use genba_model::{BisectionOutcome, Culprit, VerdictName};
use genba_stats::{Test, reduce};

use super::{ElementFinder, SCREENING_BUDGET_SHARE};
use crate::ExperimentError;
use crate::bisect::search_result::VerifiedEffect;

/// A subset shows the effect of its superset if its effect is at least this share of it.
const MIN_SHARE_OF_EFFECT: f64 = 0.5;

impl ElementFinder<'_, '_, '_> {
    /// Compares the suspects with none, one by one and together, and all with all but them.
    pub(super) fn verify(
        &mut self,
        suspects: &[usize],
        ends: &VerifiedEffect,
    ) -> Result<BisectionOutcome, ExperimentError> {
        if suspects.is_empty() {
            if !ends.differs() {
                self.measurement.notes.push(
                    "no element stands out, and the difference between none and all is undecided; a \
                     longer --budget may show one"
                        .to_owned(),
                );
                return Ok(BisectionOutcome::Undecided);
            }
            let all = self.all();
            return self.reduce(&all, ends);
        }
        let mut suspects = suspects.to_vec();
        suspects.sort_unstable();
        // One by one, together, and all elements but these.
        let queries = if suspects.len() == 1 {
            2
        } else {
            suspects.len() + 2
        };
        let alpha = self.measurement.plan().alpha / queries as f64;
        let mut made = 0;
        let share = |made: &mut usize| {
            *made += 1;
            SCREENING_BUDGET_SHARE + (1.0 - SCREENING_BUDGET_SHARE) * *made as f64 / queries as f64
        };
        let mut single = Vec::new();
        let mut left = Vec::new();
        for item in suspects.iter().copied() {
            let verified = self.compare_with_none(&[item], alpha, share(&mut made))?;
            if verified.differs() {
                single.push((item, verified));
            } else {
                left.push(item);
            }
        }
        for (item, verified) in &single {
            self.add_culprit(&[*item], verified);
        }
        let mut together = None;
        if suspects.len() > 1 {
            together = Some(self.compare_with_none(&suspects, alpha, share(&mut made))?);
        }
        let explained = together.or(single.first().map(|(_, verified)| *verified));
        if left.len() > 1 && explained.is_some_and(|whole| whole.differs()) {
            // Elements without an effect alone may act together.
            let whole = if single.is_empty() {
                together
            } else {
                Some(self.compare_with_none(&left, alpha, 1.0)?)
            };
            if let Some(whole) = whole.filter(VerifiedEffect::differs) {
                self.reduce(&left, &whole)?;
            }
        }
        if !self.culprits.is_empty() {
            self.without(&suspects, alpha, share(&mut made))?;
            self.note_the_rest(explained.as_ref(), ends);
            return Ok(BisectionOutcome::Found);
        }
        let names: Vec<&str> = (suspects.iter())
            .map(|item| self.set.names()[*item].as_str())
            .collect();
        self.measurement.notes.push(format!(
            "the screening suspects {}, but no comparison confirmed it; a longer --budget may",
            names.join(", ")
        ));
        Ok(BisectionOutcome::Undecided)
    }

    /// Compares all elements with all but these: whether they are necessary for the effect. The
    /// comparison is reported whatever its verdict.
    fn without(&mut self, of: &[usize], alpha: f64, share: f64) -> Result<(), ExperimentError> {
        let rest: Vec<usize> = (self.all().into_iter())
            .filter(|item| !of.contains(item))
            .collect();
        if rest.is_empty() {
            return Ok(());
        }
        let (rest, all) = (self.set.variant(&rest)?, self.set.variant(&self.all())?);
        let verified = self
            .measurement
            .compare(&rest, &all, alpha, share, "verify without")?;
        if verified.verdict == VerdictName::Same {
            self.measurement.notes.push(
                "with all other elements on, switching these off makes no difference: other elements \
                 have the same effect"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn compare_with_none(
        &mut self,
        on: &[usize],
        alpha: f64,
        share: f64,
    ) -> Result<VerifiedEffect, ExperimentError> {
        let (none, some) = (self.set.variant(&[])?, self.set.variant(on)?);
        self.measurement
            .compare(&none, &some, alpha, share, "verify alone")
    }

    /// Delta debugging: the smallest subset that shows the effect of these elements together.
    pub(super) fn reduce(
        &mut self,
        items: &[usize],
        whole: &VerifiedEffect,
    ) -> Result<BisectionOutcome, ExperimentError> {
        let most = most_tests(items.len());
        let alpha = self.measurement.plan().alpha / most as f64;
        let mut best: Option<(Vec<usize>, VerifiedEffect)> = None;
        let mut made = 0;
        let from = self.measurement.spent().min(1.0);
        let reduced = reduce(items, most, |subset| {
            made += 1;
            let share = from + (1.0 - from) * (made as f64 / most as f64).sqrt();
            let verified = self.compare_with_none(subset, alpha, share)?;
            let shows = verified.differs_as(whole) && is_most_of(&verified, whole);
            if shows {
                best = Some((subset.to_vec(), verified));
            }
            Ok::<_, ExperimentError>(match verified.verdict {
                _ if shows => Test::Shows,
                VerdictName::Undecided => Test::Unresolved,
                _ => Test::Lacks,
            })
        })?;
        let verified = match best {
            Some((subset, verified)) if subset == reduced.items => verified,
            _ => *whole,
        };
        if !reduced.minimal {
            self.measurement.notes.push(format!(
                "some of the {} tests of smaller subsets were undecided: fewer elements may suffice",
                reduced.tests
            ));
        }
        self.add_culprit(&reduced.items, &verified);
        if reduced.items.len() == self.all().len() && self.all().len() > 2 {
            return Ok(BisectionOutcome::Undecided);
        }
        Ok(BisectionOutcome::Found)
    }

    pub(super) fn add_culprit(&mut self, items: &[usize], verified: &VerifiedEffect) {
        let names: Vec<String> = (items.iter())
            .map(|item| self.set.names()[*item].clone())
            .collect();
        if items.len() == 1
            && let Some(part) = self.parts.iter_mut().find(|part| part.name == names[0])
        {
            part.verified = true;
        }
        self.culprits.push(Culprit {
            name: names.join(" + "),
            detail: (items.len() > 1).then(|| "only together".to_owned()),
            elements: names,
            before: None,
            ratio: verified.ratio,
            verified: verified.differs(),
        });
    }

    /// Notes if the culprits do not explain the whole difference between none and all.
    fn note_the_rest(&mut self, explained: Option<&VerifiedEffect>, ends: &VerifiedEffect) {
        let (Some(explained), Some(ends)) = (explained.and_then(|one| one.ratio), ends.ratio)
        else {
            return;
        };
        // Only if the intervals do not overlap.
        if explained.high < ends.low || explained.low > ends.high {
            self.measurement.notes.push(format!(
                "ratio with the culprits alone {:.3}, with all elements {:.3}: other elements \
                 contribute",
                explained.value, ends.value
            ));
        }
    }
}

/// Number of tests that delta debugging may make; each is judged at α divided by it.
fn most_tests(items: usize) -> usize {
    let log = usize::BITS - items.leading_zeros();
    6 * log as usize + 6
}

/// Whether an effect is at least half of another in the same direction.
fn is_most_of(part: &VerifiedEffect, whole: &VerifiedEffect) -> bool {
    match (part.ratio, whole.ratio) {
        (Some(part), Some(whole)) => part.value.ln() / whole.value.ln() >= MIN_SHARE_OF_EFFECT,
        _ => false,
    }
}
